"""A view of groups in place of all sources of a block of groups that are made of these."""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.analysis.block import Block, Source
from viewkeeper.analysis.conditions import Conditions, core
from viewkeeper.analysis.rewriting import Rewriting, lacking, place_of, rebuilt
from viewkeeper.model.types import BIGINT, Type
from viewkeeper.plan.aggregate import AggregateCall, AggregateKind, result_type
from viewkeeper.plan.expr import Call, Cast, Expr, Input, Literal, rewrite


class GroupRewriting(Rewriting):
    """With a view of groups."""

    def groups(self) -> Block | None:
        """A view of groups in place of all sources of a block of groups."""
        block, inner = self.block, self.known.block
        if block.group is None or len(self.chosen) != len(block.sources) or not self.is_implied():
            return None
        assert inner.group is not None
        groups = [self.outside(expr) for expr in inner.group]
        places = {expr.index: place for place, expr in enumerate(inner.outputs) if isinstance(expr, Input)}
        if len(places) < len(groups) or any(place not in places for place in range(len(groups))):
            return None

        shown = dict(enumerate(groups))

        def column(expr: Expr, same: Conditions | None) -> Expr | None:
            number = place_of(expr, shown, same)
            if number is None:
                return None
            found = Input(places[number], self.view.columns[places[number]].type)
            return found if found.type == expr.type else Cast(found, expr.type)

        def translate(expr: Expr) -> Expr:
            return column(expr, None) or column(expr, self.conditions) or rebuilt(expr, translate, lacking)

        def strictly(expr: Expr) -> Expr:
            return column(expr, None) or column(expr, self.inside) or rebuilt(expr, strictly, lacking)

        conjuncts: list[Expr] = []
        for conjunct in block.conjuncts:
            if self.within_view(conjunct) or conjunct in self.inside.conjuncts:
                continue
            conjuncts.append(strictly(conjunct))
        wanted = [translate(expr) for expr in block.group]
        over = Conditions(conjuncts)
        free = [
            place
            for number in range(len(groups))
            for place in [places[number]]
            if not over.constants(Input(place, self.view.columns[place].type))
        ]
        grouped_by = {one.index for expr in wanted for one in [core(expr)] if isinstance(one, Input)}
        is_single = set(free) <= grouped_by
        calls, arguments, finish = [], [], []
        for call, argument in zip(block.calls, block.arguments, strict=True):
            place = self._call_column(call, argument, inner)
            if place is None:
                return None
            again = _again(call, self.view.columns[place].type, is_single)
            if again is None:
                return None
            calls.append(again)
            arguments.append(Input(place, self.view.columns[place].type))
            finish.append(call)
        width = len(wanted)

        def finished(expr: Expr) -> Expr:
            def one(column: Input) -> Expr:
                if column.index < width:
                    return column
                number = column.index - width
                value: Expr = Input(column.index, calls[number].type)
                if value.type != column.type:
                    value = Cast(value, column.type)
                if finish[number].kind in COUNTS and not wanted:
                    value = Call("coalesce", (value, Literal(0, BIGINT)), BIGINT)
                return value

            return rewrite(expr, one)

        source = Source(start=0, leaf=0, width=len(self.view.columns), name=self.view.name, stored=self.view)
        return replace(
            block,
            sources=(source,),
            conjuncts=tuple(dict.fromkeys(conjuncts)),
            group=tuple(wanted),
            calls=tuple(calls),
            arguments=tuple(arguments),
            outputs=tuple(map(finished, block.outputs)),
            having=tuple(map(finished, block.having)),
        )

    def _call_column(self, call: AggregateCall, argument: Expr | None, inner: Block) -> int | None:
        """The column of the view that has an aggregate."""
        assert inner.group is not None
        width = len(inner.group)
        for number, (kept, over) in enumerate(zip(inner.calls, inner.arguments, strict=True)):
            same = (over is None) == (argument is None) and (
                over is None or argument is None or core(self.outside(over)) == core(argument)
            )
            alike = kept.kind is call.kind and kept.type == call.type and kept.fraction == call.fraction
            if same and alike:
                for place, expr in enumerate(inner.outputs):
                    if isinstance(expr, Input) and expr.index == width + number:
                        return place
        return None


COUNTS = frozenset({AggregateKind.COUNT_ROWS, AggregateKind.COUNT, AggregateKind.COUNT_DISTINCT})
SUMMED = {
    AggregateKind.COUNT_ROWS: AggregateKind.SUM,
    AggregateKind.COUNT: AggregateKind.SUM,
    AggregateKind.SUM: AggregateKind.SUM,
    AggregateKind.MIN: AggregateKind.MIN,
    AggregateKind.MAX: AggregateKind.MAX,
}


def _again(call: AggregateCall, type: Type, is_single: bool) -> AggregateCall | None:
    """What makes an aggregate of a group from those of the groups that it is made of; of one, it is taken as it is."""
    kind = AggregateKind.MAX if is_single else SUMMED.get(call.kind)
    if kind is None:
        return None
    made = result_type(kind, type)
    return None if made is None else AggregateCall(kind, 0, made)

"""A view of groups in place of all sources of a block of groups that are made of these."""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.analysis.block import Block, Source
from viewkeeper.analysis.conditions import Conditions, core
from viewkeeper.analysis.rewriting import Rewriting, lacking, place_of, rebuilt
from viewkeeper.model.types import BIGINT, Type
from viewkeeper.plan.aggregate import AggregateCall, AggregateKind, result_type
from viewkeeper.plan.expr import Call, Cast, Expr, Input, Literal, inputs, rewrite


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
        calls: list[AggregateCall] = []
        arguments: list[Expr | None] = []
        finish: list[AggregateCall] = []
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
        ready: dict[Expr, Input] = {}
        # Without GROUP BY there is a row even if the view has none: it is computed from counts of nothing.
        for expr in block.outputs if is_single and wanted else ():
            place = self._ready_column(expr, inner)
            made = None if place is None else result_type(AggregateKind.MAX, expr.type)
            if place is not None and made is not None:
                ready[expr] = Input(width + len(calls), made)
                calls.append(AggregateCall(AggregateKind.MAX, 0, made))
                arguments.append(Input(place, made))

        def finished(expr: Expr) -> Expr:
            if expr in ready:
                return ready[expr]

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
        number = self._call_number(call, argument, inner)
        if number is None:
            return None
        at = len(inner.group or ()) + number
        return next((n for n, expr in enumerate(inner.outputs) if isinstance(expr, Input) and expr.index == at), None)

    def _call_number(self, call: AggregateCall, argument: Expr | None, inner: Block) -> int | None:
        """Which of the view's aggregates one is."""
        for number, (kept, over) in enumerate(zip(inner.calls, inner.arguments, strict=True)):
            same = (over is None) == (argument is None) and (
                over is None or argument is None or core(self.outside(over)) == core(argument)
            )
            if same and kept.kind is call.kind and kept.type == call.type and kept.fraction == call.fraction:
                return number
        return None

    def _ready_column(self, expr: Expr, inner: Block) -> int | None:
        """The column of the view that has what the query computes from aggregates."""
        width = len(self.block.group or ())
        places = list(inputs(expr))
        if isinstance(expr, Input) or not places or min(places) < width:
            return None
        numbers: dict[int, int] = {}
        for place in places:
            number = self._call_number(self.block.calls[place - width], self.block.arguments[place - width], inner)
            if number is None:
                return None
            numbers[place] = number + len(inner.group or ())
        wanted = rewrite(expr, lambda one: Input(numbers[one.index], one.type))
        return next((place for place, shown in enumerate(inner.outputs) if shown == wanted), None)


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

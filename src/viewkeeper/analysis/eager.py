"""Groups of a join whose one side is grouped before it is joined: a pre-aggregated view in place of a table.

    COUNT(*) over U ⋈ P  =  SUM(cnt) over U ⋈ (P by its join columns, COUNT(*) AS cnt)

A changed row of U then finds one row for all rows of P that it is joined with, so the maintenance of the groups is
bounded where otherwise it is not. The delta query of U asks for that view: it is an aggregate of one relation less.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from viewkeeper.analysis.block import Block, NotAnalysed, Source, SourceKind
from viewkeeper.analysis.build import placed, relation_of
from viewkeeper.analysis.conditions import core, equal_pair
from viewkeeper.analysis.construct import Constructed, Refused, construct, has_parameter
from viewkeeper.analysis.groupmatching import COUNTS, SUMMED
from viewkeeper.analysis.groupviews import Aggregated
from viewkeeper.analysis.paths import definition_of
from viewkeeper.analysis.rewriting import rebuilt
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.model.types import BIGINT
from viewkeeper.plan.aggregate import EXTREMES, AggregateCall, AggregateKind, result_type
from viewkeeper.plan.expr import Call, Cast, Expr, Input, Literal, inputs, rewrite


def may_group_first(block: Block) -> bool:
    """Whether a block is of groups over inner joins of stored sources."""
    return (
        block.group is not None
        and block.factor == 1
        and len(block.sources) > 1
        and all(one.kind is SourceKind.INNER and one.stored is not None for one in block.sources)
    )


def grouped_first(block: Block, schema: Schema) -> Iterator[Block]:
    """A block over the pre-aggregated views that exist, in place of one or several of its sources."""
    if not may_group_first(block):
        return
    views = [view for view in schema.views() if _is_of_groups(view, schema)]
    pending = [(block, 0)]
    while pending:
        before, first = pending.pop(0)
        # Sources from left to right, so that no set of them is replaced twice.
        for number in range(first, len(block.sources)):
            for view in views:
                made = _over(before, number, view, schema)
                if made is not None:
                    yield made
                    pending.append((made, number + 1))


def _is_of_groups(view: Stored, schema: Schema) -> bool:
    known = definition_of(view, schema)
    return known is not None and known.block.group is not None and len(known.block.sources) == 1


def pre_aggregated(block: Block, number: int, schema: Schema, name: str) -> tuple[Constructed, Block] | None:
    """A pre-aggregated view of one source that is to be made, and the block over it; None if that cannot be."""
    if not may_group_first(block):
        return None
    source = block.sources[number]
    table = source.stored
    assert table is not None
    assert block.group is not None
    own = [
        one
        for one in block.conjuncts
        if block.reads(one) == {number} and not has_parameter(one) and equal_pair(one) is None
    ]
    exprs = [*(one for one in block.conjuncts if one not in own), *block.group]
    exprs += [one for one in block.arguments if one is not None and not _is_of(source, one)]
    places = sorted({place for expr in exprs for place in inputs(expr) if source.has(place)})
    group = tuple(Input(place, table.columns[place - source.start].type) for place in places)
    pairs = zip(block.calls, block.arguments, strict=True)
    of_it: list[Aggregated] = [(call, one) for call, one in pairs if one is not None and _is_of(source, one)]
    rows: Aggregated = (AggregateCall(AggregateKind.COUNT_ROWS, None, BIGINT), None)
    calls = list(dict.fromkeys([rows, *of_it]))
    width = len(group)
    types = [*(expr.type for expr in group), *(call.type for call, _ in calls)]
    alone = replace(
        block,
        sources=(source,),
        conjuncts=tuple(own),
        group=group,
        calls=tuple(call for call, _ in calls),
        arguments=tuple(argument for _, argument in calls),
        outputs=tuple(Input(n, type) for n, type in enumerate(types)),
        names=tuple("rows" if n == width else f"column {n}" for n in range(len(types))),
        having=(),
        order=(),
        limit=None,
        limit_max=None,
        offset=0,
    )
    try:
        made = construct(alone, name, schema.next_id(), keeps_all=True)
    except (Refused, NotAnalysed):
        return None
    over = _over(block, number, made.stored, schema.with_objects(made.stored))
    return None if over is None else (made, over)


def _is_of(source: Source, expr: Expr) -> bool:
    return all(map(source.has, inputs(expr))) and any(True for _ in inputs(expr))


def _over(block: Block, number: int, view: Stored, schema: Schema) -> Block | None:
    """A block with a view of groups in place of one source, whose columns it is joined and grouped by."""
    source = block.sources[number]
    known = definition_of(view, schema)
    if known is None or known.block.group is None or len(known.block.sources) != 1 or view.mode == "PERIODIC":
        return None
    inner = known.block.sources[0]
    is_plain = not known.block.having and known.block.factor == 1
    if inner.stored is None or source.stored is None or inner.stored.id != source.stored.id or not is_plain:
        return None
    try:
        return _Eager(block, source, view, known.block, inner.start).made()
    except NotAnalysed:
        return None


class _Eager:
    def __init__(self, block: Block, source: Source, view: Stored, inner: Block, start: int) -> None:
        self.block = block
        self.source = source
        self.view = view
        stands = Source(start=source.start, leaf=0, width=len(view.columns), name=view.name, stored=view)
        sources = [stands if one is source else one for one in block.sources]
        self.sources, self.moved = placed(sources)
        shift = source.start - start

        def outside(expr: Expr) -> Expr:
            return rewrite(expr, lambda one: Input(one.index + shift, one.type))

        self.held = frozenset(map(outside, inner.conjuncts))
        assert inner.group is not None
        self.groups: dict[Expr, int] = {}
        self.calls: dict[tuple[AggregateKind, Expr | None], int] = {}
        for place, expr in enumerate(inner.outputs):
            if not isinstance(expr, Input):
                continue
            if expr.index < len(inner.group):
                self.groups[core(outside(inner.group[expr.index]))] = place
            else:
                at = expr.index - len(inner.group)
                argument = inner.arguments[at]
                self.calls[inner.calls[at].kind, None if argument is None else core(outside(argument))] = place

    def column(self, place: int) -> Input:
        return Input(self.moved[self.source.start] + place, self.view.columns[place].type)

    def translate(self, expr: Expr) -> Expr:
        """An expression over the sources as they are now; NotAnalysed if the view does not show what it reads."""
        place = self.groups.get(core(expr))
        if place is not None:
            found = self.column(place)
            return found if found.type == expr.type else Cast(found, expr.type)
        return rebuilt(expr, self.translate, self._stays)

    def _stays(self, column: Input) -> Expr:
        if self.source.has(column.index):
            raise NotAnalysed("the view lacks a column")
        source = self.block.sources[self.block.source_at(column.index)]
        return Input(column.index - source.start + self.moved[source.start], column.type)

    def made(self) -> Block | None:
        """None if the view lacks some of the rows, or does not have what is asked of them."""
        block = self.block
        assert block.group is not None
        if not self.held <= set(block.conjuncts):
            return None
        calls, arguments = [], []
        for call, argument in zip(block.calls, block.arguments, strict=True):
            again = self._again(call, argument)
            if again is None:
                return None
            calls.append(again[0])
            arguments.append(again[1])
        width = len(block.group)

        def finished(column: Input) -> Expr:
            if column.index < width:
                return column
            value: Expr = Input(column.index, calls[column.index - width].type)
            value = value if value.type == column.type else Cast(value, column.type)
            if block.calls[column.index - width].kind in COUNTS and not block.group:
                value = Call("coalesce", (value, Literal(0, BIGINT)), BIGINT)
            return value

        made = replace(
            block,
            sources=tuple(self.sources),
            conjuncts=tuple(self.translate(one) for one in block.conjuncts if one not in self.held),
            group=tuple(map(self.translate, block.group)),
            calls=tuple(calls),
            arguments=tuple(arguments),
            outputs=tuple(rewrite(expr, finished) for expr in block.outputs),
            having=tuple(rewrite(expr, finished) for expr in block.having),
        )
        return replace(made, relation=relation_of(made))

    def _again(self, call: AggregateCall, argument: Expr | None) -> tuple[AggregateCall, Expr] | None:
        """An aggregate over the groups; None if it does not follow from theirs."""
        extreme = call.kind in EXTREMES
        if argument is not None and not any(map(self.source.has, inputs(argument))):
            # Rows of another source are there once for a group, however many rows that is of.
            return (call, self.translate(argument)) if extreme else None
        place = self.calls.get((call.kind, None if argument is None else core(argument)))
        kind = SUMMED.get(call.kind)
        if place is None or kind is None:
            return None
        column = self.column(place)
        type = result_type(kind, column.type)
        return None if type is None else (AggregateCall(kind, 0, type), column)

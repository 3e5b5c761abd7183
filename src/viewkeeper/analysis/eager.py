"""Groups of a join whose one side is grouped before it is joined: a pre-aggregated view in place of some sources.

    COUNT(*) over U ⋈ P  =  SUM(cnt) over U ⋈ (P by its join columns, COUNT(*) AS cnt)

A changed row of U then finds one row for all rows of P that it is joined with, so the maintenance of the groups is
bounded where otherwise it is not. The delta query of U asks for that view: it is an aggregate of one relation less.
Where P has such a view in its own place, both are grouped together: the points of the tasks of the members of a team.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from viewkeeper.analysis.block import Block, NotAnalysed, Source, SourceKind
from viewkeeper.analysis.build import placed, relation_of
from viewkeeper.analysis.conditions import Conditions, core, equal_pair
from viewkeeper.analysis.construct import Constructed, Refused, construct, has_parameter
from viewkeeper.analysis.groupmatching import COUNTS, SUMMED
from viewkeeper.analysis.groupviews import Aggregated
from viewkeeper.analysis.matching import mappings
from viewkeeper.analysis.paths import Definition, definition_of
from viewkeeper.analysis.products import parted, product
from viewkeeper.analysis.rewriting import Rewriting, rebuilt
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.model.types import BIGINT, BOOLEAN
from viewkeeper.plan.aggregate import HOLISTIC, AggregateCall, AggregateKind, result_type
from viewkeeper.plan.expr import Call, Case, Cast, Expr, Input, Literal, inputs, rewrite

ROWS: Aggregated = (AggregateCall(AggregateKind.COUNT_ROWS, None, BIGINT), None)
MOST = 60
"""Blocks over views of groups that are tried for one block."""


def may_group_first(block: Block) -> bool:
    """Whether a block is of groups over inner joins of stored sources."""
    return (
        block.group is not None
        and block.factor == 1
        and len(block.sources) > 1
        and all(one.kind is SourceKind.INNER and one.stored is not None for one in block.sources)
    )


def grouped_first(block: Block, schema: Schema) -> Iterator[Block]:
    """A block over the pre-aggregated views that exist, in place of some of its sources."""
    if not may_group_first(block):
        return
    views = [(view, known) for view in schema.views() if (known := _of_groups(view, schema)) is not None]
    seen = [block]
    for before in seen:
        for view, known in views:
            for made in _over(before, view, known):
                if made not in seen and len(seen) <= MOST:
                    seen.append(made)
                    yield made


def _of_groups(view: Stored, schema: Schema) -> Definition | None:
    """The definition of a view that has all groups of inner joins, or of one table."""
    known = definition_of(view, schema)
    if known is None or view.mode == "PERIODIC":
        return None
    block = known.block
    is_whole = block.group is not None and not block.having and not block.distinct and block.rows_wanted is None
    if not is_whole or block.offset or block.factor > 1:
        return None
    return known if all(one.kind is SourceKind.INNER and one.stored is not None for one in block.sources) else None


def pre_aggregated(block: Block, numbers: Sequence[int], schema: Schema, name: str) -> tuple[Constructed, Block] | None:
    """A pre-aggregated view of some sources that is to be made, and the block over it; None if that cannot be."""
    if not may_group_first(block) or len(numbers) == len(block.sources):
        return None
    sources = tuple(block.sources[number] for number in numbers)
    assert block.group is not None
    own = [one for one in block.conjuncts if _is_own(block, one, set(numbers))]
    exprs = [*(one for one in block.conjuncts if one not in own), *block.group]
    pairs = list(zip(block.calls, block.arguments, strict=True))
    exprs += [one for call, one in pairs if one is not None and _added(call, one, sources) is None]
    places = sorted({place for expr in exprs for place in inputs(expr) if _has(sources, place)})
    group = tuple(_attribute(block, place) for place in places)
    inside = Conditions(own)
    if all(not inside.same(_attribute(block, one)).isdisjoint(group) for source in sources for one in _key_of(source)):
        # Each of their rows would be a group.
        return None
    of_it = [one for call, argument in pairs if argument is not None for one in _added(call, argument, sources) or ()]
    # The rows of what is grouped already are counted there.
    is_counted = len(sources) > 1 and ROWS not in of_it and all(argument is not None for _, argument in pairs)
    calls = list(dict.fromkeys([*([] if is_counted else [ROWS]), *of_it]))
    width = len(group)
    types = [*(expr.type for expr in group), *(call.type for call, _ in calls)]
    names = [f"column {n}" for n in range(len(types))]
    if ROWS in calls:
        names[width + calls.index(ROWS)] = "rows"
    alone = replace(
        block,
        sources=sources,
        conjuncts=tuple(own),
        group=group,
        calls=tuple(call for call, _ in calls),
        arguments=tuple(argument for _, argument in calls),
        outputs=tuple(Input(n, type) for n, type in enumerate(types)),
        names=tuple(names),
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
    known = _of_groups(made.stored, schema.with_objects(made.stored))
    over = None if known is None else next(_over(block, made.stored, known, frozenset(numbers)), None)
    return None if over is None else (made, over)


def _is_own(block: Block, conjunct: Expr, numbers: set[int]) -> bool:
    """Whether a condition is kept in the view of some sources.

    What equals a constant in a single one is what that is grouped by, so that it is counted for other constants, too.
    """
    is_kept = len(numbers) > 1 or equal_pair(conjunct) is None
    return is_kept and block.reads(conjunct) <= numbers and not has_parameter(conjunct)


def _key_of(source: Source) -> set[int]:
    """The attributes of which no two rows of a source have the same values."""
    assert source.stored is not None
    unique = source.stored.unique
    return {source.start + place for place in (range(source.width) if unique is None else unique)}


def _attribute(block: Block, place: int) -> Input:
    source = block.sources[block.source_at(place)]
    assert source.stored is not None
    return Input(place, source.stored.columns[place - source.start].type)


def _has(sources: Sequence[Source], place: int) -> bool:
    return any(source.has(place) for source in sources)


def _added(call: AggregateCall, argument: Expr, sources: Sequence[Source]) -> list[Aggregated] | None:
    """What has to be kept of the groups of some sources for an aggregate; None if its columns have to be."""
    if _is_of(sources, argument):
        return [(call, argument)]
    is_inside = partial(_has, sources)
    if not any(map(is_inside, inputs(argument))):
        return [] if call.kind in HOLISTIC else [ROWS]
    parts = parted(argument, is_inside) if call.kind is AggregateKind.SUM else None
    kept = None if parts is None else product(parts[0])
    type = None if kept is None else result_type(AggregateKind.SUM, kept.type)
    if kept is None or type is None:
        return None
    return [(AggregateCall(AggregateKind.SUM, 0, type), kept)]


def _is_of(sources: Sequence[Source], expr: Expr) -> bool:
    return all(_has(sources, place) for place in inputs(expr)) and any(True for _ in inputs(expr))


def _over(block: Block, view: Stored, known: Definition, wanted: frozenset[int] | None = None) -> Iterator[Block]:
    """A block with a view of groups in place of sources whose columns it is joined and grouped by."""
    if len(known.block.sources) >= len(block.sources):
        return
    for chosen in mappings(known.block, block):
        if wanted is None or wanted == set(chosen):
            try:
                made = _Eager(block, view, known, chosen).made()
            except NotAnalysed:
                continue
            if made is not None:
                yield made


class _Eager(Rewriting):
    """With a view of groups in place of some sources, and the others beside it."""

    def __init__(self, block: Block, view: Stored, known: Definition, chosen: tuple[int, ...]) -> None:
        super().__init__(block, view, known, chosen)
        self.gone = [block.sources[number] for number in chosen]
        first = min(self.gone, key=lambda one: one.start)
        stands = Source(start=first.start, leaf=0, width=len(view.columns), name=view.name, stored=view)
        sources = [stands if one is first else one for one in block.sources if one is first or one not in self.gone]
        self.sources, self.moved = placed(sources)
        self.start = self.moved[first.start]
        inner = known.block
        assert inner.group is not None
        self.groups: dict[Expr, int] = {}
        self.calls: dict[tuple[AggregateKind, Expr | None], int] = {}
        for place, expr in enumerate(inner.outputs):
            if not isinstance(expr, Input):
                continue
            if expr.index < len(inner.group):
                self.groups[core(self.outside(inner.group[expr.index]))] = place
            else:
                at = expr.index - len(inner.group)
                argument = inner.arguments[at]
                self.calls[inner.calls[at].kind, None if argument is None else core(self.outside(argument))] = place

    def column(self, place: int) -> Input:
        return Input(self.start + place, self.view.columns[place].type)

    def translate(self, expr: Expr) -> Expr:
        """An expression over the sources as they are now; NotAnalysed if the view does not show what it reads."""
        place = next((self.groups[one] for one in self.inside.same(expr) if one in self.groups), None)
        if place is not None:
            found = self.column(place)
            return found if found.type == expr.type else Cast(found, expr.type)
        return rebuilt(expr, self.translate, self._stays)

    def _stays(self, column: Input) -> Expr:
        if _has(self.gone, column.index):
            raise NotAnalysed("the view lacks a column")
        source = self.block.sources[self.block.source_at(column.index)]
        return Input(column.index - source.start + self.moved[source.start], column.type)

    def made(self) -> Block | None:
        """None if the view lacks some of the rows, or does not have what is asked of them."""
        block = self.block
        assert block.group is not None
        if not self.is_implied():
            return None
        rest = [one for one in block.conjuncts if not self.within_view(one) and one not in self.inside.conjuncts]
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
            conjuncts=tuple(map(self.translate, rest)),
            group=tuple(map(self.translate, block.group)),
            calls=tuple(calls),
            arguments=tuple(arguments),
            outputs=tuple(rewrite(expr, finished) for expr in block.outputs),
            having=tuple(rewrite(expr, finished) for expr in block.having),
        )
        return replace(made, relation=relation_of(made))

    def _again(self, call: AggregateCall, argument: Expr | None) -> tuple[AggregateCall, Expr] | None:
        """An aggregate over the groups; None if it does not follow from theirs."""
        place = self.calls.get((call.kind, None if argument is None else core(argument)))
        kind = SUMMED.get(call.kind)
        if place is not None and kind is not None:
            return _call(kind, self.column(place))
        if argument is None:
            return None
        is_inside = partial(_has, self.gone)
        if call.kind in HOLISTIC:
            # A row of another source is there once for a group, however many rows that is of.
            return None if any(map(is_inside, inputs(argument))) else (call, self.translate(argument))
        if call.kind is AggregateKind.COUNT and not any(map(is_inside, inputs(argument))):
            return self._counted(argument)
        parts = parted(argument, is_inside) if call.kind is AggregateKind.SUM else None
        return None if parts is None else self._product(*parts)

    def _product(self, inside: Sequence[Expr], outside: Sequence[Expr]) -> tuple[AggregateCall, Expr] | None:
        """A sum of products of which some factors are of the groups; if none is, it is how many rows they are of."""
        kept = product(inside) if inside else None
        if inside and kept is None:
            return None
        key = (AggregateKind.SUM, core(kept)) if kept is not None else (AggregateKind.COUNT_ROWS, None)
        place = self.calls.get(key)
        made = None if place is None else product([*map(self.translate, outside), self.column(place)])
        return None if made is None else _call(AggregateKind.SUM, made)

    def _counted(self, argument: Expr) -> tuple[AggregateCall, Expr] | None:
        """How many rows have a value of another source."""
        place = self.calls.get((AggregateKind.COUNT_ROWS, None))
        if place is None:
            return None
        missing = Call("is_null", (self.translate(argument),), BOOLEAN)
        return _call(AggregateKind.SUM, Case(((missing, Literal(0, BIGINT)),), self.column(place), BIGINT))


def _call(kind: AggregateKind, argument: Expr) -> tuple[AggregateCall, Expr] | None:
    type = result_type(kind, argument.type)
    return None if type is None else (AggregateCall(kind, 0, type), argument)

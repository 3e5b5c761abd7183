"""A relation without the columns that nothing above it reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from viewkeeper.plan.expr import Expr, Input, inputs, rewrite
from viewkeeper.plan.join import Equality, InnerJoin, PartnerJoin, UnionAll, starts_of
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Filter, Project, Relation, Scan, Tokens
from viewkeeper.plan.whole import Single, Sort, TopN, Window, WindowCall

Places = dict[int, int]
"""Where the columns that were kept are now."""


def prune(relation: Relation) -> Relation:
    """The same fields over inputs that are as narrow as they can be; scans list columns by id, ascending."""
    return _narrowed(relation, range(len(relation.fields)))[0]


def _narrowed(relation: Relation, wanted: Iterable[int]) -> tuple[Relation, Places]:
    """The relation with at least the wanted columns, in their old order."""
    kept = sorted(set(wanted))
    match relation:
        case Scan(columns=columns, fields=fields):
            narrow = replace(relation, columns=tuple(columns[n] for n in kept), fields=tuple(fields[n] for n in kept))
            return narrow, _places(kept)
        case Filter(input, condition):
            below, places = _narrowed(input, [*kept, *inputs(condition)])
            return Filter(below, _moved(condition, places)), places
        case Project(input, exprs, names):
            below, places = _narrowed(input, (n for place in kept for n in inputs(exprs[place])))
            moved = tuple(_moved(exprs[place], places) for place in kept)
            return Project(below, moved, tuple(names[place] for place in kept)), _places(kept)
        case Expand(input, projections, names):
            read = (n for row in projections for place in kept for n in inputs(row[place]))
            below, places = _narrowed(input, read)
            rows = tuple(tuple(_moved(row[place], places) for place in kept) for row in projections)
            return Expand(below, rows, tuple(names[place] for place in kept)), _places(kept)
        case Tokens(input, text, name):
            width = len(input.fields)
            below, places = _narrowed(input, [*(place for place in kept if place < width), *inputs(text)])
            return Tokens(below, _moved(text, places), name), places | {width: len(below.fields)}
        case Aggregate():
            return _aggregate(relation, kept)
        case Distinct(input):
            every = range(len(input.fields))
            return Distinct(_narrowed(input, every)[0]), _places(every)
        case InnerJoin(parts, equalities):
            inner, places = _side_by_side(parts, [*kept, *_read(equalities)])
            return InnerJoin(inner, _paired(equalities, places)), places
        case PartnerJoin():
            return _partner_join(relation, kept)
        case TopN():
            # What tells equal rows of an order apart stays.
            every = range(len(relation.fields))
            return replace(relation, input=_exactly(relation.input, list(every))), _places(every)
        case Window():
            return _window(relation, kept)
        case Single():
            return relation, {}
        case UnionAll(parts):
            return UnionAll(tuple(_exactly(part, kept) for part in parts)), _places(kept)
    assert_never(relation)


def _partner_join(relation: PartnerJoin, kept: list[int]) -> tuple[Relation, Places]:
    condition = relation.condition
    read = [*kept, *_read(relation.equalities), *(() if condition is None else inputs(condition))]
    (left, right), places = _side_by_side((relation.left, relation.right), read)
    also = None if condition is None else _moved(condition, places)
    narrow = PartnerJoin(relation.kind, left, right, _paired(relation.equalities, places), also)
    shown = len(narrow.fields)
    return narrow, {old: new for old, new in places.items() if new < shown}


def _side_by_side(parts: tuple[Relation, ...], wanted: Iterable[int]) -> tuple[tuple[Relation, ...], Places]:
    """The inputs of a join with at least the wanted columns, and where those are among all that are left."""
    starts = starts_of(parts)
    read = set(wanted)
    narrow: list[Relation] = []
    found: Places = {}
    width = 0
    for part, start in zip(parts, starts, strict=False):
        own = (place - start for place in read if start <= place < start + len(part.fields))
        below, places = _narrowed(part, own)
        found |= {start + old: width + new for old, new in places.items()}
        narrow.append(below)
        width += len(below.fields)
    return tuple(narrow), found


def _exactly(relation: Relation, kept: list[int]) -> Relation:
    """The relation with the wanted columns alone: the inputs of a union all have the same."""
    narrow, places = _narrowed(relation, kept)
    if [places[place] for place in kept] == list(range(len(narrow.fields))):
        return narrow
    fields = relation.fields
    exprs = tuple(Input(places[place], fields[place].type) for place in kept)
    return Project(narrow, exprs, tuple(fields[place].name for place in kept))


def _read(equalities: Iterable[Equality]) -> Iterable[int]:
    return (place for pair in equalities for side in pair for place in inputs(side))


def _paired(equalities: Iterable[Equality], places: Places) -> tuple[Equality, ...]:
    return tuple((_moved(left, places), _moved(right, places)) for left, right in equalities)


def _aggregate(relation: Aggregate, kept: list[int]) -> tuple[Relation, Places]:
    """Group columns all stay: they make the groups."""
    count = len(relation.group)
    calls = [relation.calls[place - count] for place in kept if place >= count]
    read = [*relation.group, *(call.argument for call in calls if call.argument is not None)]
    below, places = _narrowed(relation.input, read)
    moved = tuple(replace(call, argument=None if call.argument is None else places[call.argument]) for call in calls)
    stay = [*range(count), *(place for place in kept if place >= count)]
    names = tuple(relation.names[place] for place in stay)
    return Aggregate(below, tuple(places[place] for place in relation.group), moved, names), _places(stay)


def _window(relation: Window, kept: list[int]) -> tuple[Relation, Places]:
    width = len(relation.input.fields)
    shown = [place - width for place in kept if place >= width]
    if not shown:
        return _narrowed(relation.input, kept)
    calls = [relation.calls[number] for number in shown]
    read = [*(place for place in kept if place < width), *(column for call in calls for column in call.read)]
    below, places = _narrowed(relation.input, read)
    moved = tuple(_moved_call(call, places) for call in calls)
    names = tuple(relation.names[number] for number in shown)
    start = len(below.fields)
    return Window(below, moved, names), places | {width + number: start + n for n, number in enumerate(shown)}


def _moved_call(call: WindowCall, places: Places) -> WindowCall:
    return replace(
        call,
        argument=None if call.argument is None else places[call.argument],
        partition=tuple(places[column] for column in call.partition),
        order=tuple(Sort(places[sort.column], sort.descending) for sort in call.order),
    )


def _places(kept: Iterable[int]) -> Places:
    return {old: new for new, old in enumerate(kept)}


def _moved(expr: Expr, places: Places) -> Expr:
    return rewrite(expr, lambda column: Input(places[column.index], column.type))

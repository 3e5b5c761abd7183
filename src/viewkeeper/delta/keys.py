"""What makes the rows of a view unique, and the hidden columns that it takes to say so.

A view shows what its SELECT says. Two of its rows may look alike and still come from different base rows; maintenance
has to tell them apart, so the keys that the SELECT leaves out go along, hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import assert_never

from viewkeeper.model.types import BIGINT, INT, Type
from viewkeeper.plan.expr import Cast, Expr, Input, Literal, rewrite
from viewkeeper.plan.expr import inputs as inputs_of
from viewkeeper.plan.join import Equality, InnerJoin, PartnerJoin, PartnerKind, UnionAll, input_of, starts_of
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Field, Filter, Project, Relation, Scan, Tokens
from viewkeeper.plan.whole import Single, TopN, Window

KeyOf = Callable[[Scan], tuple[tuple[int, Field], ...] | None]
"""The columns of a scanned object that identify its rows, by column id; None if its rows may repeat."""

Keyed = tuple[Relation, tuple[int, ...] | None]
"""A relation whose first fields are those asked for, and which of its fields are a key; None: rows may repeat."""


def keyed(relation: Relation, key_of: KeyOf) -> Keyed:
    """The relation with whatever hidden columns it takes to have a key."""
    match relation:
        case Scan():
            return _scan(relation, key_of)
        case Filter(input, condition):
            below, key = keyed(input, key_of)
            return Filter(below, condition), key
        case Project():
            return _project(relation, key_of)
        case Expand():
            return _expand(relation, key_of)
        case Tokens():
            return _tokens(relation, key_of)
        case Aggregate(_, group, _, _):
            return relation, tuple(range(len(group)))
        case Distinct(input):
            return relation, tuple(range(len(input.fields)))
        case InnerJoin():
            return _joined(relation, relation.inputs, key_of)
        case PartnerJoin():
            return _partners(relation, key_of)
        case UnionAll():
            return _union(relation, key_of)
        case TopN(input):
            below, key = keyed(input, key_of)
            return replace(relation, input=below), key
        case Window():
            return _window(relation, key_of)
        case Single():
            return relation, ()
    assert_never(relation)


def _scan(scan: Scan, key_of: KeyOf) -> Keyed:
    wanted = key_of(scan)
    if wanted is None:
        return scan, None
    columns, fields = list(scan.columns), list(scan.fields)
    for column, field in wanted:
        if column not in columns:
            columns.append(column)
            fields.append(field)
    key = tuple(columns.index(column) for column, _ in wanted)
    return replace(scan, columns=tuple(columns), fields=tuple(fields)), key


def _project(project: Project, key_of: KeyOf) -> Keyed:
    below, key = keyed(project.input, key_of)
    if key is None:
        return Project(below, project.exprs, project.names), None
    exprs, names = list(project.exprs), list(project.names)
    places = []
    for column in key:
        passed = Input(column, below.fields[column].type)
        if passed not in exprs:
            exprs.append(passed)
            names.append(below.fields[column].name)
        places.append(exprs.index(passed))
    return Project(below, tuple(exprs), tuple(names)), tuple(places)


def _expand(expand: Expand, key_of: KeyOf) -> Keyed:
    below, key = keyed(expand.input, key_of)
    if key is None:
        return Expand(below, expand.projections, expand.names), None
    kept = tuple(Input(column, below.fields[column].type) for column in key)
    projections = tuple(
        (*projection, *kept, Literal(number, INT)) for number, projection in enumerate(expand.projections)
    )
    names = (*expand.names, *(below.fields[column].name for column in key), "branch")
    width = len(expand.names)
    return Expand(below, projections, names), tuple(range(width, len(names)))


def _tokens(tokens: Tokens, key_of: KeyOf) -> Keyed:
    below, key = keyed(tokens.input, key_of)
    inner = Tokens(below, tokens.text, tokens.name)
    if key is None:
        return inner, None
    # The word comes right behind the fields asked for; what was added below goes behind it.
    width, total = len(tokens.input.fields), len(below.fields)
    moved, places = _added_last(inner, width, total)
    return moved, (*(places[column] for column in key), width)


def _window(window: Window, key_of: KeyOf) -> Keyed:
    below, key = keyed(window.input, key_of)
    inner = replace(window, input=below)
    width, total = len(window.input.fields), len(below.fields)
    if key is None or width == total:
        return inner, key
    moved, places = _added_last(inner, width, total)
    return moved, tuple(places[column] for column in key)


def _added_last(relation: Relation, width: int, total: int) -> tuple[Relation, list[int]]:
    """The relation with its fields from `width` to `total` behind all others; and where each field is then."""
    fields = relation.fields
    order = [*range(width), *range(total, len(fields)), *range(width, total)]
    exprs = tuple(Input(column, fields[column].type) for column in order)
    moved = Project(relation, exprs, tuple(fields[column].name for column in order))
    return moved, [order.index(column) for column in range(len(fields))]


def _joined(join: InnerJoin | PartnerJoin, inputs: Sequence[Relation], key_of: KeyOf) -> Keyed:
    """The keys of all inputs together, but for those that follow from the others."""
    found = [keyed(input, key_of) for input in inputs]
    starts = starts_of(inputs)
    for number in _told_by_others(join, [key for _, key in found], starts):
        found[number] = inputs[number], ()
    places: list[int] = []
    extended = [below for below, _ in found]
    moved = starts_of(extended)
    for number, (_, key) in enumerate(found):
        if key is None:
            return join, None
        places += [moved[number] + place for place in key]

    def move(place: int) -> int:
        number = input_of(place, starts)
        return moved[number] + place - starts[number]

    wide = _over(join, extended, move)
    shown = [move(place) for place in range(starts[-1])]
    order = [*shown, *(place for place in places if place not in shown)]
    if order == list(range(moved[-1])):
        return wide, tuple(places)
    fields = wide.fields
    exprs = tuple(Input(place, fields[place].type) for place in order)
    project = Project(wide, exprs, tuple(fields[place].name for place in order))
    return project, tuple(order.index(place) for place in places)


def _told_by_others(
    join: InnerJoin | PartnerJoin, keys: Sequence[tuple[int, ...] | None], starts: Sequence[int]
) -> list[int]:
    """The inputs of which each row of the others meets at most one: equalities fix their whole keys.

    Of a LEFT join that can be the right one, of a FULL one neither.
    """
    fixed: list[tuple[int, int, int]] = []
    for pair in join.equalities:
        for mine, theirs in (pair, pair[::-1]):
            column = mine.arg if isinstance(mine, Cast) and mine.arg.type == INT and mine.type == BIGINT else mine
            if isinstance(column, Input):
                side = input_of(column.index, starts)
                fixed.append((side, column.index - starts[side], input_of(next(inputs_of(theirs)), starts)))
    dropped: list[int] = []
    candidates = range(len(keys) - 1, -1, -1)
    if isinstance(join, PartnerJoin):
        candidates = range(1, 0, -1) if join.kind is PartnerKind.LEFT else range(0)
    for number in candidates:
        known = {other for other in range(len(keys)) if other != number and other not in dropped}
        for _ in keys:
            for side, key in enumerate(keys):
                columns = {column for of, column, by in fixed if of == side and by in known}
                if key is not None and columns.issuperset(key):
                    known.add(side)
        if len(known) == len(keys):
            dropped.append(number)
    return dropped


def _over(
    join: InnerJoin | PartnerJoin, below: Sequence[Relation], move: Callable[[int], int]
) -> InnerJoin | PartnerJoin:
    """The join over inputs with more fields, given where the old ones are now."""

    def over(expr: Expr) -> Expr:
        return rewrite(expr, lambda column: Input(move(column.index), column.type))

    equalities: tuple[Equality, ...] = tuple((over(left), over(right)) for left, right in join.equalities)
    if isinstance(join, InnerJoin):
        return replace(join, inputs=tuple(below), equalities=equalities)
    condition = None if join.condition is None else over(join.condition)
    return replace(join, left=below[0], right=below[1], equalities=equalities, condition=condition)


def _partners(join: PartnerJoin, key_of: KeyOf) -> Keyed:
    if join.kind.shows_pairs:
        if join.kind is PartnerKind.FULL and not (_never_null(join.left) and _never_null(join.right)):
            # A left row alone and a right one alone might have the same key, all NULL.
            return join, None
        return _joined(join, (join.left, join.right), key_of)
    left, key = keyed(join.left, key_of)
    width, more = len(join.left.fields), len(left.fields) - len(join.left.fields)
    wide = _over(join, (left, join.right), lambda place: place if place < width else place + more)
    return wide, key


def _never_null(relation: Relation) -> bool:
    """Whether the key of a relation is never NULL, for sure: it comes from the keys of tables."""
    match relation:
        case Scan():
            return not relation.is_view
        case Filter(input, _) | Project(input, _, _):
            return _never_null(input)
        case InnerJoin(inputs, _):
            return all(map(_never_null, inputs))
        case _:
            return False


def _union(union: UnionAll, key_of: KeyOf) -> Keyed:
    """The number of the branch, then the keys of all branches side by side; those of like type share a column."""
    found = [keyed(branch, key_of) for branch in union.inputs]
    width = len(union.fields)
    slots: list[tuple[str, Type]] = []
    taken: list[dict[int, int]] = []
    for below, key in found:
        if key is None:
            return union, None
        free = list(range(len(slots)))
        mine: dict[int, int] = {}
        for place in key:
            field = below.fields[place]
            slot = next((slot for slot in free if slots[slot][1] == field.type), None)
            if slot is None:
                slot = len(slots)
                slots.append((field.name, field.type))
            else:
                free.remove(slot)
            mine[slot] = place
        taken.append(mine)
    names = (*(field.name for field in union.fields), "branch", *(name for name, _ in slots))
    branches = []
    for number, ((below, _), mine) in enumerate(zip(found, taken, strict=True)):
        shown = (Input(place, below.fields[place].type) for place in range(width))
        keys = (
            Input(mine[slot], type) if slot in mine else Literal(None, type) for slot, (_, type) in enumerate(slots)
        )
        branches.append(Project(below, (*shown, Literal(number, INT), *keys), names))
    return UnionAll(tuple(branches)), tuple(range(width, len(names)))

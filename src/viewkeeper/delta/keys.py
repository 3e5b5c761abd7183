"""What makes the rows of a view unique, and the hidden columns that it takes to say so.

A view shows what its SELECT says. Two of its rows may look alike and still come from different base rows; maintenance
has to tell them apart, so the keys that the SELECT leaves out go along, hidden.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from viewkeeper.model.types import INT
from viewkeeper.plan.expr import Input, Literal
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Field, Filter, Project, Relation, Scan, Tokens

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
    return Scan(scan.object, scan.name, tuple(columns), tuple(fields)), key


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
    order = [*range(width), total, *range(width, total)]
    fields = inner.fields
    exprs = tuple(Input(column, fields[column].type) for column in order)
    moved = Project(inner, exprs, tuple(fields[column].name for column in order))
    return moved, (*(order.index(column) for column in key), width)

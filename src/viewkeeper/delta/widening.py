"""Plans whose plain sides carry the columns that other views use as well, so that one join index serves them all.

The columns come behind those that a side has of its own: nothing in the plan refers to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from viewkeeper.delta.deltaplan import Changes, DeltaPlan, RowsSink
from viewkeeper.delta.joinplan import InnerSource, PartnerSource, Side, UnionSource
from viewkeeper.delta.program import Program
from viewkeeper.delta.sides import is_plain
from viewkeeper.delta.tables import indexes_of, plan_tables
from viewkeeper.model.types import Type

Columns = dict[int, Type]
"""Types by column id."""


def used_columns(programs: Iterable[Program]) -> dict[str, Columns]:
    """By the contents of a join index, the columns of its source that programs use of it.

    All indexes of one side have the columns of that side: what one of them has because of another view, the others have
    too, and so has each index that is of the same contents as these.
    """
    used: dict[str, Columns] = {}
    sides: dict[int, list[str]] = {}
    for program in programs:
        for side, table in indexes_of(program.plan, program.tables):
            if is_plain(side):
                used.setdefault(table.contents, {}).update(_columns(side))
                sides.setdefault(id(side), []).append(table.contents)
    together = [contents for contents in sides.values() if len(contents) > 1]
    grew = True
    while grew:
        grew = False
        for contents in together:
            columns = {number: type for one in contents for number, type in used[one].items()}
            for one in contents:
                grew = grew or not columns.keys() <= used[one].keys()
                used[one] |= columns
    return used


def _columns(side: Side) -> Columns:
    source = side.plan.source
    assert isinstance(source, Changes)
    return dict(zip(source.columns, source.types, strict=True))


def widened(program: Program, used: Mapping[str, Columns]) -> Program:
    """The program, still without ids, with what is used of its join indexes anywhere."""
    extra: dict[int, Columns] = {}
    for side, table in indexes_of(program.plan, program.tables):
        if is_plain(side) and not used.get(table.contents, {}).keys() <= _columns(side).keys():
            extra.setdefault(id(side), {}).update(used[table.contents])
    if not extra:
        return program
    plan = _plan(program.plan, extra)
    tables = plan_tables(plan, merged=program.is_merged)
    return replace(program, plan=plan, tables=tables)


def _plan(plan: DeltaPlan, extra: Mapping[int, Columns]) -> DeltaPlan:
    first, *rest = plan.stages
    source = first.source
    match source:
        case InnerSource():
            source = replace(source, sides=tuple(_side(side, extra) for side in source.sides))
        case PartnerSource():
            left, right = source.sides
            source = replace(source, sides=(_side(left, extra), _side(right, extra)))
        case UnionSource():
            source = UnionSource(tuple(_plan(branch, extra) for branch in source.branches))
    return DeltaPlan((replace(first, source=source), *rest))


def _side(side: Side, extra: Mapping[int, Columns]) -> Side:
    more = extra.get(id(side))
    if more is None:
        return replace(side, plan=_plan(side.plan, extra))
    (stage,) = side.plan.stages
    source = stage.source
    assert isinstance(source, Changes)
    added = [(number, type) for number, type in sorted(more.items()) if number not in source.columns]
    columns = (*source.columns, *(number for number, _ in added))
    types = (*source.types, *(type for _, type in added))
    wide = replace(stage, source=Changes(source.object, columns, types), sink=RowsSink(types))
    return replace(side, plan=DeltaPlan((wide,)))

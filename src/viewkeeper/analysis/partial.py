"""A view of some rows of one table, in the order in which a query of several tables reads them.

    posts WHERE NOT deleted, by (author, at DESC)

An index has all rows, so LIMIT cannot stop a scan of it where a condition without parameters drops some of them. The
view has just the others. The planner finds its key: that of the index that it would make of the view.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from viewkeeper.analysis.block import Block, NotAnalysed, Source, SourceKind
from viewkeeper.analysis.conditions import equal_pair
from viewkeeper.analysis.construct import Constructed, Refused, compared, has_parameter, is_kept_test, made_view
from viewkeeper.analysis.matching import rewritten
from viewkeeper.analysis.planning import Planned, plan_block
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.plan.expr import Expr, Input, inputs
from viewkeeper.plan.relation import Project, Scan


@dataclass(frozen=True, slots=True)
class OverPartial:
    """The plan of a block over a partial view that is made for one of its sources."""

    made: Constructed
    planned: Planned


def over_partial(block: Block, schema: Schema, name: str) -> Iterator[OverPartial]:
    """The plans of a block over a view of the rows of one source that its own conditions keep."""
    if len(block.sources) < 2:
        return
    for number, source in enumerate(block.sources):
        own = _own(block, number)
        if source.stored is None or not source.stored.is_table or own is None:
            continue
        wanted = schema.name_for(name, source.name, "Rows")
        table = source.stored
        plain = [(number, False) for number in table.key]
        first = _view(block, source, own, plain, wanted, schema, widen=True)
        found = None if first is None else _planned(block, first.stored, schema, widen=True)
        if first is None or found is None:
            continue
        key = _key_of_index(found, first.stored)
        names = [column.name for column in table.columns]
        order = [(names.index(first.stored.columns[place].name), down) for place, down in key]
        for widen in (False, True):
            made = _view(block, source, own, [*order, *plain], wanted, schema, widen=widen)
            planned = None if made is None else _planned(block, made.stored, schema)
            if made is not None and planned is not None:
                yield OverPartial(made, planned)
                break


@dataclass(frozen=True, slots=True)
class _Own:
    """What is asked of one source alone, without parameters: conditions by which nothing is found, and EXISTS."""

    conditions: tuple[Expr, ...]
    tests: tuple[Source, ...]


def _own(block: Block, number: int) -> _Own | None:
    if block.sources[number].kind is not SourceKind.INNER:
        return None
    conditions = tuple(
        one
        for one in block.conjuncts
        if block.reads(one) == {number} and not has_parameter(one) and equal_pair(one) is None
    )
    tests = tuple(
        other
        for place, other in enumerate(block.sources)
        if is_kept_test(block, place) and all(block.reads(one) <= {number, place} for one in other.on)
    )
    return _Own(conditions, tests) if conditions or tests else None


def _view(
    block: Block,
    source: Source,
    own: _Own,
    key: Sequence[tuple[int, bool]],
    name: str,
    schema: Schema,
    *,
    widen: bool,
) -> Constructed | None:
    """The view with these conditions and this key, by columns of the table; with `widen`, all that the block reads."""
    assert source.stored is not None
    columns = source.stored.columns

    def column(number: int) -> Expr:
        return Input(source.start + number, columns[number].type)

    seen: dict[int, bool] = {}
    for number, down in key:
        seen.setdefault(number, down)
    width = len(seen)
    rest = replace(
        block,
        sources=tuple(one for one in block.sources if one not in own.tests),
        conjuncts=tuple(one for one in block.conjuncts if one not in own.conditions),
    )
    for place in sorted(rest.used()):
        if widen and source.has(place):
            seen.setdefault(place - source.start, False)
    shown = [(column(number), down) for number, down in seen.items()]
    alone = replace(
        block,
        sources=(source, *own.tests),
        conjuncts=own.conditions,
        outputs=tuple(expr for expr, _ in shown),
        names=tuple(columns[next(iter(inputs(expr))) - source.start].name for expr, _ in shown),
        group=None,
        calls=(),
        arguments=(),
        having=(),
        distinct=False,
        order=(),
        limit=None,
        limit_max=None,
        offset=0,
    )
    try:
        made = made_view(compared(alone, {}, keeps_all=True), name, schema.next_id(), shown, width)
    except (Refused, NotAnalysed):
        return None
    return None if made.stored.is_temporal else made


def _planned(block: Block, view: Stored, schema: Schema, *, widen: bool = False) -> Planned | None:
    """The cheapest plan over the view, with indexes that are to be made."""
    known = schema.with_objects(view)
    found = []
    for again in rewritten(block, view, known):
        planned = plan_block(again, known, allowed=_is_kept, propose=True, widen=widen)
        if isinstance(planned, Planned):
            found.append(planned)
    return min(found, key=lambda one: one.reads.cost[1:], default=None)


def _is_kept(view: Stored) -> bool:
    return view.mode != "PERIODIC"


def _key_of_index(planned: Planned, view: Stored) -> list[tuple[int, bool]]:
    """The key of the index of the view that is to be made, as columns of the view; empty if there is none."""
    for one in planned.made:
        plain = isinstance(one.plan, Project) and isinstance(one.plan.input, Scan) and one.plan.input.object == view.id
        if plain:
            names = [column.name for column in view.columns]
            key = zip(one.key, one.descending, strict=True)
            return [(names.index(one.columns[place].name), down) for place, down in key if place < one.visible]
    return []

"""Groups of a join over pre-aggregated views that are made for it: the first ones that make maintenance bounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from viewkeeper.analysis.block import Block, NotAnalysed, Source
from viewkeeper.analysis.conditions import equal_pair
from viewkeeper.analysis.construct import Constructed, Refused, construct
from viewkeeper.analysis.eager import grouped_first, pre_aggregated
from viewkeeper.analysis.maintenance import totals
from viewkeeper.analysis.overviews import plans_over, ranked
from viewkeeper.analysis.planning import Planned
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.storage import storage_bound

MOST = 40
"""Ways to put pre-aggregated views in place of sources that are tried."""


@dataclass(frozen=True, slots=True)
class PreAggregated:
    """A plan over a view of groups; `first` are the views that it stands on and that are to be made before it."""

    planned: Planned
    made: Constructed
    first: tuple[Stored, ...]


def over_pre_aggregated(block: Block, schema: Schema, name: str, view_name: str) -> PreAggregated | None:
    """A block over a view of its groups that has a bound, thanks to pre-aggregated ones; None if none gives one."""
    pending: list[tuple[Block, Schema, tuple[Stored, ...]]] = [(block, schema, ())]
    pending += [(one, schema, ()) for one in grouped_first(block, schema)]
    for _ in range(MOST):
        if not pending:
            return None
        over, known, first = pending.pop(0)
        if first:
            # What was made for one source may do for another one, too.
            pending += [(again, known, first) for again in grouped_first(over, known)]
        if over is not block and (found := _over_groups(over, known, first, view_name)) is not None:
            return found
        for numbers in _to_group(over, first):
            more = pre_aggregated(over, numbers, known, counts_name(over.sources[numbers[0]], known, name))
            if more is not None:
                kept, again = more
                pending.append((again, known.with_objects(kept.stored), (*first, kept.stored)))
    return None


def counts_name(source: Source, schema: Schema, name: str) -> str:
    """What a view of the groups of a source is called that is made for the query of this name."""
    return schema.free_name(f"{name}{source.name}Counts" if name else f"{source.name}_counts")


def _to_group(block: Block, made: Sequence[Stored]) -> Iterator[tuple[int, ...]]:
    """The sources that may be grouped before they are joined: a table, or one with groups that it is joined with."""
    joined = [reads for one in block.conjuncts if equal_pair(one) is not None and len(reads := block.reads(one)) == 2]
    tables = [n for n, source in enumerate(block.sources) if source.stored is not None and source.stored.is_table]
    yield from ((number,) for number in tables)
    for number in tables:
        for other, source in enumerate(block.sources):
            if source.stored in made and {number, other} in joined:
                yield (number, other)


def _over_groups(block: Block, schema: Schema, first: tuple[Stored, ...], name: str) -> PreAggregated | None:
    try:
        made = construct(block, name, schema.next_id())
    except (Refused, NotAnalysed):
        return None
    whole = schema.with_objects(made.stored)
    new = (*first, made.stored)
    unlimited = totals(whole).unlimited
    if any(storage_bound(one, whole).factor is None or one.id in unlimited for one in new):
        return None
    plans = [*plans_over(block, made.stored, whole), *ranked(block, made.stored, whole)]
    best = min(plans, key=lambda one: one.reads.cost[1:], default=None)
    return None if best is None else PreAggregated(best, made, first)

"""Groups of a join over pre-aggregated views that are made for it: the first ones that make maintenance bounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from viewkeeper.analysis.block import Block, NotAnalysed
from viewkeeper.analysis.conditions import equal_pair
from viewkeeper.analysis.construct import Constructed, Refused, construct, has_more_to_keep
from viewkeeper.analysis.eager import grouped_first, may_group_first, pre_aggregated
from viewkeeper.analysis.maintenance import is_limited
from viewkeeper.analysis.overviews import plans_over, ranked
from viewkeeper.analysis.planning import Planned
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.storage import storage_bound

MOST, FEW = 40, 3
"""Ways to put pre-aggregated views in place of sources that are tried; few where all of them together do not help."""


@dataclass(frozen=True, slots=True)
class PreAggregated:
    """A plan over a view of groups; `first` are the views that it stands on and that are to be made before it."""

    planned: Planned
    made: Constructed
    first: tuple[Stored, ...]


@dataclass(frozen=True, slots=True)
class _Way:
    """A block over views that are to be made first. `made_of` says of those what they are groups of."""

    block: Block
    schema: Schema
    first: tuple[Stored, ...] = ()
    made_of: Mapping[int, object] = field(default_factory=dict)

    @property
    def sources(self) -> tuple[object, ...]:
        """What the block is over, whatever its views are called and in which order they are made."""
        return tuple(self.source(number) for number in range(len(self.block.sources)))

    def source(self, number: int) -> object:
        stored = self.block.sources[number].stored
        assert stored is not None
        return self.made_of.get(stored.id, stored.id)

    def over(self, kept: Stored, block: Block, numbers: Sequence[int]) -> _Way:
        parts = frozenset(map(self.source, numbers))
        return _Way(block, self.schema.with_objects(kept), (*self.first, kept), {**self.made_of, kept.id: parts})


def over_pre_aggregated(block: Block, schema: Schema, name: str, view_name: str) -> PreAggregated | None:
    """A block over a view of its groups that has a bound, thanks to pre-aggregated ones; None if none gives one.

    With the fewest of these, where it has one with all that there may be; else little is tried.
    """
    if not may_group_first(block):
        return None
    whole = _Way(block, schema)
    while (more := next(_collapsed(whole, name), None)) is not None:
        whole = more
    found = _over_groups(whole, view_name) if whole.first else None
    pending = [_Way(block, schema), *(_Way(one, schema) for one in grouped_first(block, schema))]
    seen: set[tuple[object, ...]] = set()
    while pending and len(seen) < (FEW if found is None else MOST):
        way = pending.pop(0)
        if way.sources in seen:
            continue
        seen.add(way.sources)
        if way.first:
            # What was made for one source may do for another one, too.
            pending += [replace(way, block=again) for again in grouped_first(way.block, way.schema)]
        if way.block is not block and (fewer := _over_groups(way, view_name)) is not None:
            return fewer
        pending += _collapsed(way, name)
    return found


def _collapsed(way: _Way, name: str) -> Iterator[_Way]:
    """The block with one more pre-aggregated view, which has a bound itself."""
    for numbers in _to_group(way.block, way.first):
        kept_name = way.schema.name_for(name, way.block.sources[numbers[0]].name, "Counts")
        made = pre_aggregated(way.block, numbers, way.schema, kept_name)
        if made is None:
            continue
        view, block = made
        more = way.over(view.stored, block, numbers)
        if _is_bounded(view.stored, more.schema):
            yield more


def _to_group(block: Block, made: Sequence[Stored]) -> Iterator[tuple[int, ...]]:
    """The sources that may be grouped before they are joined: a table, or one with all groups it is joined with."""
    joined = [reads for one in block.conjuncts if equal_pair(one) is not None and len(reads := block.reads(one)) == 2]
    tables = [n for n, source in enumerate(block.sources) if source.stored is not None and source.stored.is_table]
    groups = [n for n, source in enumerate(block.sources) if source.stored in made]
    yield from ((number,) for number in tables)
    for number in tables:
        below = tuple(other for other in groups if {number, other} in joined)
        if below:
            yield (number, *below)


def _over_groups(way: _Way, name: str) -> PreAggregated | None:
    for keeps_all in (False, True) if has_more_to_keep(way.block) else (False,):
        try:
            made = construct(way.block, name, way.schema.next_id(), keeps_all=keeps_all)
        except (Refused, NotAnalysed):
            continue
        whole = way.schema.with_objects(made.stored)
        if not _is_bounded(made.stored, whole):
            continue
        plans = [*plans_over(way.block, made.stored, whole), *ranked(way.block, made.stored, whole)]
        if plans:
            return PreAggregated(min(plans, key=lambda one: one.reads.cost[1:]), made, way.first)
    return None


def _is_bounded(view: Stored, schema: Schema) -> bool:
    """Whether a view is, where those that it stands on are."""
    return storage_bound(view, schema).factor is not None and is_limited(view, schema)

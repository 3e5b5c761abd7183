"""Fold a change table into the state of an aggregate, and give the delta that follows.

Refresh matches on the group key: no match inserts, a match adds, weight zero deletes. Both executors end here: Spark
makes the change table of a large batch, plain Python that of a small one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import add
from typing import Any, Protocol

from viewkeeper.delta.deltaplan import AggregateSink
from viewkeeper.errors import StoreDamaged
from viewkeeper.execute.changetable import ChangeTable, Weighted, combine
from viewkeeper.execute.groupstate import Finish, GroupState, ValueState, empty_state, finishers
from viewkeeper.model.keycodec import sortable_double
from viewkeeper.model.types import Cell, Kind, Row, Type


class StateReader(Protocol):
    """The state of one aggregate as it is at the group's watermark."""

    def states(self, groups: Sequence[Row]) -> list[GroupState | None]:
        """The states of groups, in their order; None for one that is not there."""

    def weights(self, preaggregation: int, keys: Sequence[tuple[Row, Cell]]) -> list[int]:
        """The weights of values, in their order; 0 for one that is not there."""

    def values(self, preaggregation: int, group: Row, *, reverse: bool) -> Iterator[Cell]:
        """The values of a group in order."""


@dataclass(slots=True)
class Folded:
    """What a fold writes: new states (None: the group is gone), new weights of values (0: gone); and what it emits.

    The weights are in the order in which the reader was asked for the old ones.
    `outputs` are the output rows of those groups, before and after: group columns, then aggregates. `delta` are those
    that differ, with weights −1 and +1. `failed` is by how much the number of output rows on which an aggregate failed
    has grown.
    """

    states: dict[Row, GroupState | None] = field(default_factory=dict)
    values: list[dict[tuple[Row, Cell], int]] = field(default_factory=list)
    outputs: dict[Row, tuple[Row | None, Row | None]] = field(default_factory=dict)
    delta: list[Weighted] = field(default_factory=list)
    failed: int = 0


def fold(
    sink: AggregateSink,
    table: ChangeTable,
    reader: StateReader,
    gone: Sequence[Row] = (),
    outputs: Sequence[Finish] | None = None,
    *,
    emits: bool = True,
) -> Folded:
    """The new state of the groups in a change table, and the delta of the aggregate.

    Groups that are `gone` lose their state whatever it is; they are not in the table. `outputs` are the finishers of
    the sink, if they are at hand. Without `emits` there is no delta: nothing behind the aggregate asks for it.
    """
    folded = Folded(values=[{} for _ in sink.preaggregations])
    groups = list(table.groups)
    changed = _fold_values(sink, table, reader, folded)
    if outputs is None:
        outputs = finishers(sink)
    for group, old in zip(groups, reader.states(groups), strict=True):
        change = table.groups[group]
        state = old if old is not None else empty_state(sink)
        sums = [
            mine + more if type(mine) is int else combine(measure, mine, more)
            for measure, mine, more in zip(sink.measures, state.sums, change.sums, strict=True)
        ]
        values = [
            _settle(sink, number, group, state.values[number], changed[number].get(group), reader)
            for number in range(len(sink.preaggregations))
        ]
        new: GroupState | None = GroupState(state.weight + change.weight, sums, values)
        assert new is not None
        if new.weight < 0:
            raise StoreDamaged(f"a group of a view has weight {new.weight}", hint="Repair the view: viewkeeper repair.")
        if new.weight == 0 and not sink.is_global:
            new = None
        before = None if old is None else _output(group, old, outputs)
        after = None if new is None else _output(group, new, outputs)
        if old is not None or new is not None:
            folded.states[group] = new
            folded.outputs[group] = (None if before is None else before[0], None if after is None else after[0])
        _emit(folded, before, after, emits)
    for group, old in zip(gone, reader.states(gone) if gone else (), strict=True):
        if old is not None:
            shown = _output(group, old, outputs)
            folded.states[group], folded.outputs[group] = None, (shown[0], None)
            _emit(folded, shown, None, emits)
    return folded


def _output(group: Row, state: GroupState, outputs: Sequence[Finish]) -> tuple[Row, bool]:
    cells: list[Cell] = []
    failed = False
    for finish in outputs:
        cell, bad = finish(state)
        cells.append(cell)
        failed = failed or bad
    return (*group, *cells), failed


def _emit(folded: Folded, before: tuple[Row, bool] | None, after: tuple[Row, bool] | None, emits: bool) -> None:
    # Also where the row looks the same: a NULL may begin, or cease, to be a failure.
    folded.failed += (after is not None and after[1]) - (before is not None and before[1])
    if not emits:
        return
    if before is not None and after is not None and same_row(before[0], after[0]):
        return
    if before is not None:
        folded.delta.append((before[0], -1))
    if after is not None:
        folded.delta.append((after[0], 1))


def same_row(left: Row, right: Row) -> bool:
    """Whether two rows are the same; NaN is the same as NaN."""
    return left == right or all(a == b or (a != a and b != b) for a, b in zip(left, right, strict=True))


@dataclass(slots=True)
class _ValuesOfGroup:
    came: list[Cell] = field(default_factory=list)
    went: set[Cell] = field(default_factory=set)


def _fold_values(
    sink: AggregateSink, table: ChangeTable, reader: StateReader, folded: Folded
) -> list[dict[Row, _ValuesOfGroup]]:
    """New weights of the values that changed; by group, which values came and which went."""
    changed: list[dict[Row, _ValuesOfGroup]] = []
    for number in range(len(sink.preaggregations)):
        by_group: dict[Row, _ValuesOfGroup] = {}
        moves = {key: weight for key, weight in table.values[number].items() if weight}
        keys = list(moves)
        old_weights = reader.weights(number, keys)
        new_weights = list(map(add, old_weights, moves.values()))
        if new_weights and min(new_weights) < 0:
            raise StoreDamaged("a value of a view has a negative weight", hint="Repair it: viewkeeper repair.")
        folded.values[number] = dict(zip(keys, new_weights, strict=True))
        for (group, cell), old, new in zip(keys, old_weights, new_weights, strict=True):
            if old and new:
                continue
            values = by_group.get(group)
            if values is None:
                values = by_group[group] = _ValuesOfGroup()
            if new:
                values.came.append(cell)
            else:
                values.went.add(cell)
        changed.append(by_group)
    return changed


def _settle(
    sink: AggregateSink,
    number: int,
    group: Row,
    old: ValueState,
    change: _ValuesOfGroup | None,
    reader: StateReader,
) -> ValueState:
    """Count, least and greatest of a group's values after a change. Only an extremum that went costs a seek."""
    if change is None:
        return old
    order = _order(sink.preaggregations[number].type)
    ends: list[Cell] = []
    for end, reverse in ((old.least, False), (old.greatest, True)):
        stored = partial(reader.values, number, group, reverse=reverse)
        ends.append(_extremum(change, end, order, stored, reverse))
    return ValueState(old.different + len(change.came) - len(change.went), ends[0], ends[1])


def _extremum(
    change: _ValuesOfGroup, end: Cell, order: Callable[[Any], Any], stored: Callable[[], Iterator[Cell]], reverse: bool
) -> Cell:
    if end in change.went:
        end = next((cell for cell in stored() if cell not in change.went), None)
    candidates = [*change.came, *([] if end is None else [end])]
    if not candidates:
        return None
    return max(candidates, key=order) if reverse else min(candidates, key=order)


def _order(type: Type) -> Callable[[Any], Any]:
    return sortable_double if type.kind is Kind.DOUBLE else lambda cell: cell

"""Epochs that leave a view by rule: which groups are too old, and what goes with them.

    kept at w  =  groups whose epoch began at or behind  (commit time of the last transaction before w) − retention

The clock is that of the log, so the rule gives the same view for any split of it, and a recompute can apply it too. An
epoch without a beginning (NULL) never leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from viewkeeper.delta.program import Epochs
from viewkeeper.execute.changetable import ChangeTable
from viewkeeper.execute.fold import Folded
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.store.applying import ObjectChanges
from viewkeeper.store.scan import Interval
from viewkeeper.store.viewreading import ViewReading

SLICE = 1024


@dataclass(frozen=True, slots=True)
class Clock:
    """Commit times in µs of the last transactions before the lower and the upper end of a batch."""

    lower: int = 0
    upper: int = 0


class EpochRunner:
    """The rule of one view."""

    def __init__(self, epochs: Epochs) -> None:
        self._epochs = epochs
        self._column = epochs.column
        self.codec = RowCodec(epochs.table)

    def prune(self, table: ChangeTable, clock: Clock) -> int:
        """Take what belongs to epochs that are gone out of a change table; how many changes of it came too late.

        Too late is a change to an epoch that had left the view when the batch began; others meet an epoch that comes
        and goes within the batch.
        """
        gone_before, gone = clock.lower - self._epochs.retain_us, clock.upper - self._epochs.retain_us
        late = 0
        for group in [group for group in table.groups if self._is_before(group, gone)]:
            change = table.groups.pop(group)
            if self._is_before(group, gone_before):
                late += max(1, abs(change.weight))
        for values in table.values:
            for key in [key for key in values if self._is_before(key[0], gone)]:
                del values[key]
        return late

    def _is_before(self, group: Row, cut: int) -> bool:
        began = group[self._column]
        return began is not None and began < cut  # type: ignore[operator]

    def expired(self, reading: ViewReading, clock: Clock) -> list[Row]:
        """The groups that are stored and whose epoch is gone at the upper end of the batch."""
        rest = Interval(b"", self.codec.key.encode_key((clock.upper - self._epochs.retain_us,)))
        found: list[Row] = []
        while True:
            items = reading.slice(self.codec, rest, SLICE)
            found += [self.codec.decode(value) for _, value in items]
            if len(items) < SLICE:
                return found
            rest = Interval(items[-1][0] + b"\0", rest.upper)

    def keep(self, folded: Folded, objects: dict[int, ObjectChanges]) -> None:
        """Note the groups that came and went by their epochs."""
        kept = objects.setdefault(self.codec.table.id, ObjectChanges(self.codec))
        for group, state in folded.states.items():
            if group[self._column] is None:
                continue
            old = folded.outputs[group][0]
            if (old is None) != (state is None):
                key, row = self.codec.key.encode(group), self.codec.encode(group)
                kept.changes[key] = (None, row) if old is None else (row, None)


def values_of(reading: ViewReading, codec: RowCodec, group: Row) -> Iterator[bytes]:
    """The keys of all values that a pre-aggregation has of a group."""
    rest = Interval.of_prefix(codec.key.encode_key(group))
    while True:
        items = reading.slice(codec, rest, SLICE)
        yield from (key for key, _ in items)
        if len(items) < SLICE:
            return
        rest = Interval(items[-1][0] + b"\0", rest.upper)

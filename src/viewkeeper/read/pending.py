"""The changes of inputs between where a group stands and where it is folded to, read once and counted.

A group that stands behind that place is folded backwards: each change with before and after exchanged, the last first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from viewkeeper.store.interface import Store
from viewkeeper.views.deltas import Pair

LOOK = 20_000
"""Changes of its inputs that a read looks at. Decoding one costs some 2 µs: more is the pipeline's."""
REACH = 200_000
"""Changes of all tables between the two places; those of other tables are passed over, which is not free either."""
LOG_BLOCKS = 256


class TooMany(Exception):
    """More changes are pending than a read takes upon itself."""


@dataclass(slots=True)
class Pending:
    """What tables changed by, from any place up to `target`; `own` are changes behind that which nobody else sees."""

    store: Store
    target: int
    own: Mapping[int, list[Pair]] = field(default_factory=dict)
    looked: int = 0
    _known: dict[tuple[int, int], list[Pair]] = field(default_factory=dict)

    def of_table(self, number: int, since: int) -> list[Pair]:
        """The changes of one table; TooMany if they, with what was looked at before, are."""
        pairs = self._known.get((number, since))
        if pairs is None:
            pairs = self._logged(number, min(since, self.target), max(since, self.target))
            if since > self.target:
                pairs = [(after, before) for before, after in reversed(pairs)]
            pairs = pairs + self.own.get(number, [])
            self._known[number, since] = pairs
        return pairs

    def _logged(self, number: int, lower: int, upper: int) -> list[Pair]:
        if upper - lower > REACH:
            raise TooMany
        codec = self.store.catalog().codecs.get(number)
        pairs: list[Pair] = []
        start = lower
        while start < upper and codec is not None:
            end = self.store.position(upper)
            blocks = self.store.blocks(self.store.position(start), end, frozenset([number]), LOG_BLOCKS)
            for block in blocks:
                for section in block.sections:
                    self.look(section.changes)
                    pairs.extend(section.pairs(codec))
            if not blocks:
                break
            start = blocks[-1].end
        return pairs

    def look(self, changes: int) -> None:
        """Count changes that are looked at."""
        self.looked += changes
        if self.looked > LOOK:
            raise TooMany

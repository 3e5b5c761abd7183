"""The truth: every table and view at every transaction boundary, replayed from the commits of a history.

Boundaries are numbered: 0 is the empty database, n the end of the n-th commit. A set of boundaries is an int whose n-th
bit says that n is in it, so that what can explain an answer is found by `&`.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.histories.history import Cells, Commit, Row

Tables = Mapping[str, Mapping[Cells, Row]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A view, or a table: `rows` computes it from the tables in plain Python, `key` is the order of its rows.

    `descending`: columns of the key that are stored from high to low, which must be numbers. `group`: views of one
    group are to be seen at one moment. `unique`: no two rows have one key, so that it can be read by it.
    """

    name: str
    key: tuple[str, ...]
    rows: Callable[[Tables], list[Row]]
    text: str = ""
    mode: str = "DEFERRED"
    descending: frozenset[str] = frozenset()
    group: str = ""
    unique: bool = True

    @property
    def is_current(self) -> bool:
        """Whether every read of it, at any level, has all that was committed before it began."""
        return self.mode in ("TABLE", "SYNC", "LOCAL")

    def key_of(self, row: Row) -> Cells:
        return tuple(row[name] for name in self.key)

    def stored(self, key: Cells) -> Cells:
        """A key, or the first columns of one, as it is sorted."""
        return tuple(-cell if name in self.descending else cell for name, cell in zip(self.key, key, strict=False))


def table(name: str, *key: str) -> Definition:
    return Definition(name=name, key=key, rows=lambda tables: list(tables[name].values()), mode="TABLE")


def written(rows: Sequence[Row]) -> str:
    """Rows as a text by which bags of them are compared."""
    return json.dumps(sorted(json.dumps(row, sort_keys=True) for row in rows)) if rows else ""


class Timeline:
    """One table or view over all boundaries: which of them have which rows under which key."""

    def __init__(self, definition: Definition, states: Sequence[Tables]) -> None:
        self.definition = definition
        self.all = (1 << len(states)) - 1
        self.keys: list[Cells] = []
        self._places: dict[Cells, dict[str, int]] = {}
        for place, tables in enumerate(states):
            for key, rows in self._by_key(definition.rows(tables)).items():
                found = self._places.setdefault(key, {})
                text = written(rows)
                found[text] = found.get(text, 0) | 1 << place
        for found in self._places.values():
            found[""] = self.all & ~sum(found.values())
        self.keys = sorted(self._places, key=definition.stored)

    def with_rows(self, key: Cells, rows: Sequence[Row]) -> int:
        """The boundaries at which exactly these rows are under a key."""
        known = self._places.get(key)
        if known is None:
            return 0 if rows else self.all
        return known.get(written(rows), 0)

    def _by_key(self, rows: Sequence[Row]) -> dict[Cells, list[Row]]:
        found: dict[Cells, list[Row]] = {}
        for row in rows:
            found.setdefault(self.definition.key_of(row), []).append(row)
        assert not self.definition.unique or all(len(same) == 1 for same in found.values()), self.definition.name
        return found


class Truth:
    """What everything was at each boundary."""

    def __init__(self, commits: Sequence[Commit], definitions: Sequence[Definition]) -> None:
        self.definitions = {definition.name: definition for definition in definitions}
        self.ends = [0, *(commit.end for commit in commits)]
        self.moments = [0, *(commit.committed_at for commit in commits)]
        self.states = list(_states(commits, [one.name for one in definitions if one.mode == "TABLE"]))
        self._timelines: dict[str, Timeline] = {}

    def timeline(self, name: str) -> Timeline:
        if name not in self._timelines:
            self._timelines[name] = Timeline(self.definitions[name], self.states)
        return self._timelines[name]

    def covering(self, offset: int) -> int:
        """The first boundary that has every change before an offset."""
        return bisect_left(self.ends, offset)

    def reached(self, offset: int) -> int:
        """The last boundary that is not behind an offset."""
        return bisect_right(self.ends, offset) - 1

    def at(self, offset: int) -> int | None:
        """The boundary that is there; None if a transaction goes on across the offset."""
        place = self.reached(offset)
        return place if self.ends[place] == offset else None

    def older(self, moment: int) -> int:
        """The last boundary that was committed at or before a moment; commit times never run backwards."""
        return bisect_right(self.moments, moment) - 1


def between(first: int, last: int) -> int:
    """The boundaries first <= n <= last.

    >>> bin(between(1, 3)), between(3, 1)
    ('0b1110', 0)
    """
    return max(0, (1 << last + 1) - (1 << first)) if last >= 0 else 0


def first_of(boundaries: int, since: int = 0) -> int | None:
    """The least of them that is not before `since`; None if there is none.

    >>> first_of(0b1010, 2), first_of(0b1010, 4)
    (3, None)
    """
    left = boundaries >> since
    return since + (left & -left).bit_length() - 1 if left else None


def _states(commits: Sequence[Commit], tables: Sequence[str]) -> list[Tables]:
    """The tables at each boundary; rows are shared, a table that a commit leaves alone is too."""
    state: dict[str, Mapping[Cells, Row]] = {name: {} for name in tables}
    states: list[Tables] = [state]
    for commit in commits:
        state = dict(state)
        copied: dict[str, dict[Cells, Any]] = {name: dict(state[name]) for name, _, _ in commit.changes}
        for name, key, row in commit.changes:
            if row is None:
                copied[name].pop(key, None)
            else:
                copied[name][key] = row
        state.update(copied)
        states.append(state)
    return states

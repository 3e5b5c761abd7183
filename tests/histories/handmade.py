"""A small history, written by hand, to which answers are added.

at 1   order 1 of a, n 1                Totals  a 1 1
at 3   order 2 of a, n 2; 3 of b, n 5           a 2 3, b 1 5
at 4   order 1 is removed                       a 1 2, b 1 5
at 5   order 3 has n 7                          a 1 2, b 1 7
"""

from __future__ import annotations

from collections import Counter
from itertools import count
from typing import Any

from tests.histories.history import Commit, Event, Opened, Operation, Read, Row, Write
from tests.histories.model import Definition, Tables, table

SECOND = 1_000_000


def _totals(tables: Tables) -> list[Row]:
    counts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for row in tables["T"].values():
        counts[row["g"]] += 1
        sums[row["g"]] += row["n"]
    return [{"g": g, "c": counts[g], "s": sums[g]} for g in counts]


def _groups(tables: Tables) -> list[Row]:
    return [{"g": row["g"]} for row in _totals(tables)]


T = table("T", "id")
TOTALS = Definition(name="Totals", key=("g",), group="g", rows=_totals)
GROUPS = Definition(name="Groups", key=("g",), group="g", rows=_groups)
SYNC = Definition(name="Sync", key=("g",), mode="SYNC", rows=_totals)
LAZY = Definition(name="Lazy", key=("g",), mode="LAZY", rows=_totals)
DEFINITIONS = (T, TOTALS, GROUPS, SYNC, LAZY)


def row(id: int, g: str, n: int) -> Operation:
    return "T", (id,), {"id": id, "g": g, "n": n}


COMMITS = (
    Commit(end=1, committed_at=1 * SECOND, changes=(row(1, "a", 1),)),
    Commit(end=3, committed_at=2 * SECOND, changes=(row(2, "a", 2), row(3, "b", 5))),
    Commit(end=4, committed_at=3 * SECOND, changes=(("T", (1,), None),)),
    Commit(end=5, committed_at=4 * SECOND, changes=(row(3, "b", 7),)),
)
A1, A3, A4 = ({"g": "a", "c": c, "s": s} for c, s in ((1, 1), (2, 3), (1, 2)))
B3, B5 = ({"g": "b", "c": 1, "s": s} for s in (5, 7))


class Story:
    """Events one after the other; those made with `during` overlap all that follow until the moment given."""

    def __init__(self) -> None:
        self.events: list[Event] = list(COMMITS)
        self._moments = count(10, 10)

    def read(self, kind: str, name: str, *rows: Row, ends: int = 5, **more: Any) -> Story:
        """An answer; the head is 5 from its beginning to its end unless `before` or `after` say otherwise."""
        at = next(self._moments)
        given = {"stream": "h", "before": 5, "after": 5, "clock": 5 * SECOND, **more}
        self.events.append(Read(kind=kind, name=name, rows=rows, started=at, ended=at + ends, **given))
        return self

    def get(self, name: str, key: Any, *rows: Row, **more: Any) -> Story:
        return self.read("get", name, *rows, key=(key,), **more)

    def scan(self, name: str, *rows: Row, **more: Any) -> Story:
        return self.read("scan", name, *rows, **more)

    def write(self, position: int, *operations: Operation, stream: str = "h") -> Story:
        at = next(self._moments)
        self.events.append(Write(stream=stream, operations=operations, position=position, started=at, ended=at + 5))
        return self

    def opened(self, kind: str, name: str, position: int, head: int = 5) -> Story:
        at = next(self._moments)
        self.events.append(
            Opened(
                kind=kind, name=name, stream="h", position=position, before=head, after=head, started=at, ended=at + 5
            )
        )
        return self

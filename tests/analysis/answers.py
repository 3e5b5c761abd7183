"""The same tables and views in SQLite, which answers the same queries: it shares nothing with ours."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import viewkeeper as vk
from tests.analysis.worlds import Source, World

Cells = tuple[Any, ...]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Question:
    """A query for us; the same for SQLite, whose rows end in what is sorted by, without LIMIT.

    `order` says of each of these whether it descends.
    """

    ours: str
    theirs: str
    order: tuple[bool, ...] = ()
    limit: int | str | None = None
    offset: int = 0
    params: Mapping[str, tuple[str, int]] | None = None


def plain(cell: Any) -> Any:
    if isinstance(cell, datetime):
        return (cell - EPOCH) // timedelta(microseconds=1)
    return round(cell, 6) if isinstance(cell, float) else cell


def _words(text: str | None) -> list[str]:
    return re.findall(r"[^\W_]+", (text or "").lower())


def _has_word(text: str | None, word: str | None) -> bool:
    return word is not None and word in _words(text)


def _has_word_like(text: str | None, pattern: str | None) -> bool:
    return pattern is not None and any(word.startswith(pattern.removesuffix("%")) for word in _words(text))


class Sqlite:
    """What the tables of a database are now."""

    def __init__(self, db: vk.Database, world: World) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.create_function("HAS_WORD", 2, _has_word)
        self._db.create_function("HAS_WORD_LIKE", 2, _has_word_like)
        self._db.execute("PRAGMA case_sensitive_like = ON")
        for text in world.theirs:
            self._db.execute(text)
        for table in world.tables:
            marks = ", ".join("?" * len(table.columns))
            rows = [tuple(map(plain, row.values())) for row in db.scan(table.name)]
            self._db.executemany(f"INSERT INTO {table.name} VALUES ({marks})", rows)

    def count(self, name: str) -> int:
        return int(self._db.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0])

    def shown(self, view: Source) -> list[Cells]:
        """What a view has."""
        names = ", ".join(one.name for one in view.columns)
        return [tuple(map(plain, row)) for row in self._db.execute(f"SELECT {names} FROM {view.name}")]

    def rows(self, question: Question, params: Mapping[str, Any]) -> list[Cells]:
        text, given = question.theirs, {}
        for name, cell in params.items():
            if isinstance(cell, list):
                given |= {f"{name}_{place}": plain(one) for place, one in enumerate(cell)}
                listed = ", ".join(f":{name}_{place}" for place in range(len(cell)))
                text = re.sub(rf"IN :{name}\b( MAX \d+)?", f"IN ({listed})", text)
            else:
                given[name] = plain(cell)
        return [tuple(map(plain, row)) for row in self._db.execute(text, given)]


def check(question: Question, params: Mapping[str, Any], ours: Sequence[Cells], all_rows: Sequence[Cells]) -> None:
    """Our rows are those of SQLite, as far as ORDER BY and LIMIT determine them."""
    width = len(question.order)
    limit = params.get(question.limit) if isinstance(question.limit, str) else question.limit
    keyed = [(row[len(row) - width :], row[: len(row) - width]) for row in all_rows]
    for place in reversed(range(width)):
        keyed.sort(
            key=lambda one: (one[0][place] is not None, one[0][place] if one[0][place] is not None else 0),
            reverse=question.order[place],
        )
    end = len(keyed) if limit is None else question.offset + limit
    wanted = keyed[question.offset : end]
    assert len(ours) == len(wanted), f"{len(ours)} rows, not {len(wanted)}"
    start = 0
    while start < len(wanted):
        tie = wanted[start][0]
        stop = next((n for n in range(start, len(wanted)) if wanted[n][0] != tie), len(wanted))
        among = Counter(row for key, row in keyed if key == tie)
        found = Counter(ours[start:stop])
        assert found <= among, f"at {start}: {found - among} are not among {among}"
        start = stop

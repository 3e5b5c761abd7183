"""The bookstore in SQLite, which answers the same queries: an oracle that shares nothing with ours."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa


def has_word(text: str | None, word: str) -> bool:
    return text is not None and word in re.findall(r"[^\W_]+", text.lower())


def plain(value: Any) -> Any:
    """Moments as milliseconds and days as numbers, so that SQLite computes with them; decimals as floats."""
    match value:
        case datetime():
            return (value - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
        case date():
            return value.toordinal()
        case Decimal():
            return float(value)
    return value


def plain_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{name: plain(value) for name, value in row.items()} for row in rows]


class SqliteStore:
    def __init__(self, tables: Iterable[tuple[str, pa.Table]]) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.create_function("HAS_WORD", 2, has_word)
        self._db.row_factory = sqlite3.Row
        for name, rows in tables:
            columns = ", ".join(rows.column_names)
            self._db.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})")
            places = ", ".join("?" * len(rows.column_names))
            values = ([plain(value) for value in row.values()] for row in rows.to_pylist())
            self._db.executemany(f"INSERT INTO {name} VALUES ({places})", values)

    def ask(self, sql: str, **params: Any) -> list[dict[str, Any]]:
        """The rows of a query of ours."""
        text = re.sub(r"TOKENS\((\w+)\) = (:\w+)", r"HAS_WORD(\1, \2)", sql)
        given = {name: plain(value) for name, value in params.items() if not isinstance(value, list)}
        for name, values in params.items():
            if isinstance(values, list):
                given |= {f"{name}{place}": plain(value) for place, value in enumerate(values)}
                listed = ", ".join(f":{name}{place}" for place in range(len(values)))
                text = re.sub(rf"IN :{name} MAX \d+", f"IN ({listed})", text)
        return [dict(row) for row in self._db.execute(text, given)]

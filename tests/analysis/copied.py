"""The tables of a database copied to SQLite, which answers the same text: it shares nothing with ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from decimal import Decimal
from typing import Any

import viewkeeper as vk


def in_sqlite(db: vk.Database, sql: str, params: Mapping[str, Any]) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(":memory:")) as other:
        for table in db.tables():
            names = [column.name for column in table.columns]
            other.execute(f"CREATE TABLE {table.name} ({', '.join(names)})")
            rows = [plain(row).values() for row in db.scan(table.name)]
            other.executemany(f"INSERT INTO {table.name} VALUES ({', '.join('?' * len(names))})", map(tuple, rows))
        found = other.execute(sql, params)
        return [dict(zip([one[0] for one in found.description], row, strict=True)) for row in found]


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as SQLite would show it."""
    return {name: _cell(cell) for name, cell in row.items()}


def _cell(cell: Any) -> Any:
    if isinstance(cell, datetime):
        return cell.timestamp()
    return float(cell) if isinstance(cell, Decimal) else cell

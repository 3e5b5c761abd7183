"""The logged fact: what happened to one row."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from viewkeeper.model.position import Position
from viewkeeper.model.types import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change as users see it; `before` is None for an insert, `after` for a delete.

    `position` is the place right behind it: reading on from there misses nothing and repeats nothing.
    """

    table: str
    key: tuple[Any, ...]
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    position: Position
    committed_at: datetime


@dataclass(frozen=True, slots=True)
class RowChange:
    """One change inside: rows as cells, the table by id."""

    table: int
    before: Row | None
    after: Row | None

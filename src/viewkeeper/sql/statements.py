"""What a statement asks for, bound to its table: columns by id, values as cells."""

from __future__ import annotations

from dataclasses import dataclass

from viewkeeper.model.schema import Column, Table
from viewkeeper.model.types import Cell, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRange:
    """The rows whose key begins with `prefix` and whose next key column lies between the bounds.

    `prefix` holds cells in key order; empty, it is every row. A bound that is None is open; key columns are never
    NULL, so no bound ever needs to be NULL.
    """

    prefix: Row
    lower: Cell | None = None
    lower_inclusive: bool = True
    upper: Cell | None = None
    upper_inclusive: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable:
    """`table` has no id yet; the catalog gives it one."""

    table: Table
    if_not_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumn:
    table: str
    column: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTable:
    """`name` as the text has it; whether there is such a table is not checked yet."""

    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """New rows as cells by column id. Every key and NOT NULL column is there; a column left out is NULL."""

    table: str
    rows: tuple[dict[int, Cell], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """`cells` replace those of every row in `where`; none is of the key."""

    table: str
    where: tuple[KeyRange, ...]
    cells: dict[int, Cell]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    table: str
    where: tuple[KeyRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """Rows of one table in key order, or its reverse.

    `columns` are (output name, column id). The ranges of `where` are disjoint and in ascending key order, whatever
    `descending` says; no range means no row. `limit` counts over all ranges.
    """

    table: str
    columns: tuple[tuple[str, int], ...]
    where: tuple[KeyRange, ...]
    descending: bool
    limit: int | None


Statement = CreateTable | AddColumn | DropTable | Insert | Update | Delete | Select

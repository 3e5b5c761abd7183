"""Random schemas of two to four small tables, and random transactions over them in which keys come again and again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Columns = tuple[tuple[str, str], ...]
"""Names and types."""

MONEY = "DECIMAL(6,2)"
TYPES = ("INT", "BIGINT", "STRING", "DOUBLE", MONEY)
CELLS: dict[str, tuple[Any, ...]] = {
    "INT": (None, 0, 1, 2, 3),
    "BIGINT": (None, 0, 1, 2, 1 << 40),
    "STRING": (None, "", "a", "b"),
    "DOUBLE": (None, 0.0, -0.0, 1.0, 2.5, math.nan),
    MONEY: (None, 0, 100, 200, 250),
}
"""Few of each type, as cells; numbers of different types are equal often."""

Write = tuple[str, str, tuple[Any, ...]]
"""What is done, "put" or "delete", to which table, and a row; of a deleted one only the key counts."""


@dataclass(frozen=True)
class JoinTable:
    """A table whose key is its first columns."""

    name: str
    columns: Columns
    key: int

    @property
    def create(self) -> str:
        columns = ", ".join(f"{name} {type}" for name, type in self.columns)
        key = ", ".join(name for name, _ in self.columns[: self.key])
        return f"CREATE TABLE {self.name} ({columns}, PRIMARY KEY ({key}))"

    def rows(self) -> st.SearchStrategy[tuple[Any, ...]]:
        """With a key of one column four rows at most, with two six to nine."""
        cells = []
        for place, (_, type) in enumerate(self.columns):
            if place < self.key:
                cells.append(st.sampled_from(CELLS[type][1 : 5 if self.key == 1 else 4]))
            else:
                cells.append(st.sampled_from(CELLS[type]))
        return st.tuples(*cells)


@st.composite
def schemas(draw: st.DrawFn) -> tuple[JoinTable, ...]:
    """Tables A, B, …; each has an INT and a STRING beside its key, so that any two can be joined."""
    found = []
    for name in "ABCD"[: draw(st.integers(2, 4))]:
        keys = draw(st.lists(st.sampled_from(["INT", "BIGINT", "STRING", MONEY]), min_size=1, max_size=2))
        rest = draw(st.lists(st.sampled_from(TYPES), max_size=2))
        columns = [*((f"k{place}", type) for place, type in enumerate(keys)), ("n", "INT"), ("s", "STRING")]
        columns += [(f"c{place}", type) for place, type in enumerate(rest)]
        found.append(JoinTable(name, tuple(columns), len(keys)))
    return tuple(found)


@st.composite
def transactions(draw: st.DrawFn, tables: tuple[JoinTable, ...]) -> list[Write]:
    """A few writes: of rows that come, that change, perhaps by moving to another join key, that go and come again."""
    found: list[Write] = []
    for _ in range(draw(st.integers(1, 5))):
        table = draw(st.sampled_from(tables))
        row = draw(table.rows())
        match draw(st.sampled_from(["put", "put", "put", "delete", "again"])):
            case "again":
                found += [("delete", table.name, row), ("put", table.name, row)]
            case "delete":
                found.append(("delete", table.name, row))
            case _:
                found.append(("put", table.name, row))
    return found


@st.composite
def loads(draw: st.DrawFn, tables: tuple[JoinTable, ...]) -> list[Write]:
    """A first transaction, of some rows for each table."""
    return [
        ("put", table.name, row)
        for table in tables
        for row in draw(st.lists(table.rows(), min_size=2, max_size=6, unique_by=lambda row, key=table.key: row[:key]))  # type: ignore[misc]
    ]

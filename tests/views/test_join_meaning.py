"""What random texts of joins mean, by another database: the oracle over the bound plan gives the same rows."""

from __future__ import annotations

import math
import sqlite3
import tempfile
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import viewkeeper as vk
from tests.oracle import Cells
from tests.views.joinschemas import Columns, JoinTable, loads, schemas
from tests.views.jointexts import Query, views
from tests.views.kept import Truth
from viewkeeper.model.types import Kind, Type
from viewkeeper.views.bound import bound_views

Rows = dict[str, list[Cells]]


@st.composite
def databases(draw: st.DrawFn) -> tuple[tuple[JoinTable, ...], Rows, list[Query]]:
    """Tables, their rows without NaN, which the other database lacks, and three views that may read each other."""
    tables = draw(schemas())
    rows: Rows = {table.name: [] for table in tables}
    for _, name, row in draw(loads(tables)):
        rows[name].append(tuple(None if isinstance(cell, float) and math.isnan(cell) else cell for cell in row))
    sources: dict[str, Columns] = {table.name: table.columns for table in tables}
    found = []
    for number in range(3):
        query = draw(views(sources).filter(_understood))
        sources[f"V{number}"] = query.columns
        found.append(query)
    return tables, rows, found


def _understood(query: Query) -> bool:
    """SQLite 3.40 forgets conditions above a UNION ALL that has a RIGHT or FULL join in it, and shows too much."""
    return "UNION" not in query.text or not ("RIGHT" in query.text or "FULL" in query.text)


@settings(suppress_health_check=list(HealthCheck))
@given(drawn=databases())
def test_joins_mean_what_another_database_makes_of_them(
    drawn: tuple[tuple[JoinTable, ...], Rows, list[Query]],
) -> None:
    tables, rows, queries = drawn
    with tempfile.TemporaryDirectory() as folder, vk.open(Path(folder) / "db", durability="os") as db:
        other = sqlite3.connect(":memory:")
        for table in tables:
            note(table.create)
            db.execute(table.create)
            other.execute(table.create)
            for row in rows[table.name]:
                cells = [_plain(cell, type) for cell, (_, type) in zip(row, table.columns, strict=True)]
                other.execute(f"INSERT INTO {table.name} VALUES ({', '.join('?' * len(cells))})", cells)
        names = {number: table.name for number, table in db._shared.catalog().tables.items()}
        for number, query in enumerate(queries):
            note(f"V{number}: {query.text}")
            db.execute(f"CREATE VIEW V{number} AS {query.text}")
            # Not a view, which it would merge into those above.
            other.execute(f"CREATE TABLE V{number} AS {query.text}")
            view = db._shared.catalog().known_view(f"V{number}")
            assert tuple((column.name, str(column.type)) for column in view.columns) == query.columns
            truth = Truth(bound_views(db._shared), lambda table, _: rows[names[table]], 0)
            meant = Counter(
                tuple(_exact(cell, column.type) for cell, column in zip(row, view.columns, strict=True))
                for row in truth.rows(view.id)
            )
            assert meant == Counter(tuple(map(_number, row)) for row in other.execute(f"SELECT * FROM V{number}"))
        other.close()


def _plain(cell: Any, type: str) -> Any:
    """A cell as the other database takes it; its decimals are doubles, which all of ours are exactly."""
    return cell if cell is None or not type.startswith("DECIMAL") else cell / 100


def _exact(cell: Any, type: Type) -> Any:
    return Fraction(cell, 10**type.scale) if cell is not None and type.kind is Kind.DECIMAL else _number(cell)


def _number(cell: Any) -> Any:
    return cell if cell is None or isinstance(cell, str) else Fraction(cell)

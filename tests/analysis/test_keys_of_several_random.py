"""Random joins by keys of columns of several tables: rows against nested loops, operations against the bound."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import viewkeeper as vk

VALUES: dict[str, list[Any]] = {
    "INT": [0, 1, 2],
    "BIGINT": [0, 1, 2, 1 << 40],
    "DOUBLE": [-0.0, 0.0, 1.0, math.nan],
    "DECIMAL(12,2)": [Decimal("0.00"), Decimal("1.00"), Decimal("1.50")],
    "STRING": ["", "a", "b"],
}
MEET = {
    "INT": {"INT", "BIGINT", "DOUBLE", "DECIMAL(12,2)"},
    "BIGINT": {"INT", "BIGINT"},
    "DOUBLE": {"INT", "DOUBLE"},
    "DECIMAL(12,2)": {"INT", "DECIMAL(12,2)"},
    "STRING": {"STRING"},
}
"""What each type is compared with as it is."""
LIMITS = {"a": 3, "b": 2, "c": 2, "d": 2}
SEEN: Counter[str] = Counter()
Row = dict[str, Any]


class Case:
    """Tables a to d of four columns; under the first of two key columns there are not many rows. All are joined."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.types = {f"{t}.{c}": rng.choice([*VALUES]) for t in "abcd" for c in "klxy"} | {"a.k": "INT"}
        self.keys = {t: "kl" if t == "a" or rng.random() < 0.8 else "k" for t in "abcd"}
        self.rows = {t: self._rows(t, rng.randint(3, 12)) for t in "abcd"}
        # For each table behind the first one, what its columns are compared with.
        self.on = {t: self._on(t) for t in "bcd"}
        self.left = {t: rng.random() < 0.4 for t in "bcd"}

    def statements(self) -> str:
        made = []
        for table, key in self.keys.items():
            columns = ", ".join(f"{c} {self.types[table + '.' + c]}" for c in "klxy")
            text = f"CREATE TABLE {table} ({columns}, PRIMARY KEY ({', '.join(key)}))"
            made.append(text + f" WITH CARDINALITY (l, {LIMITS[table]})" * (key == "kl"))
        return "; ".join(made)

    def _rows(self, table: str, count: int) -> list[Row]:
        found: dict[Any, Row] = {}
        under: Counter[Any] = Counter()
        for _ in range(count):
            row = {c: self._value(table, c) for c in "klxy"}
            key = tuple(_plain(row[c]) for c in self.keys[table])
            if key not in found and (len(key) == 1 or under[key[0]] < LIMITS[table]):
                found[key] = row
                under[key[0]] += 1
        return list(found.values())

    def _value(self, table: str, column: str) -> Any:
        if column not in self.keys[table] and self.rng.random() < 0.15:
            return None
        return self.rng.choice(VALUES[self.types[f"{table}.{column}"]][: 2 if (table, column) == ("a", "k") else None])

    def _on(self, table: str) -> list[tuple[str, str]]:
        before = [name for name in self.types if name < table]
        found = []
        for column in [*self.keys[table], *(["x"] if self.rng.random() < 0.2 else [])]:
            types = MEET[self.types[f"{table}.{column}"]]
            others = [name for name in before if self.types[name] in types]
            if others and (not found or self.rng.random() < 0.9):
                found.append((f"{table}.{column}", self.rng.choice(others)))
        return found

    @property
    def sql(self) -> str:
        joins = " ".join(
            f"{'LEFT ' * self.left[t]}JOIN {t} ON {' AND '.join(f'{one} = {other}' for one, other in self.on[t])}"
            for t in "bcd"
        )
        shown = ", ".join(f"{name} AS {name.replace('.', '')}" for name in self.types)
        return f"SELECT {shown} FROM a {joins} WHERE a.k = :k"

    def expected(self, key: int) -> Counter[tuple[Any, ...]]:
        rows = [{f"a.{c}": cell for c, cell in row.items()} for row in self.rows["a"] if row["k"] == key]
        for table in "bcd":
            joined = []
            for row in rows:
                both = [row | {f"{table}.{c}": cell for c, cell in other.items()} for other in self.rows[table]]
                partners = [one for one in both if all(_equal(one[x], one[y]) for x, y in self.on[table])]
                alone = [row | {f"{table}.{c}": None for c in "klxy"}] if self.left[table] else []
                joined += partners or alone
            rows = joined
        return Counter(tuple(_plain(row[name]) for name in self.types) for row in rows)


def _plain(cell: Any) -> Any:
    return "NaN" if cell != cell else cell + 0.0 if isinstance(cell, float) else cell


def _equal(one: Any, other: Any) -> bool:
    return one is not None and other is not None and _plain(one) == _plain(other)


@settings(max_examples=max(60, settings().max_examples), suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_keys_of_columns_of_several_tables_find_what_is_joined_within_the_bound(seed: int) -> None:
    rng = Random(seed)
    case = Case(rng)
    while not all(case.on.values()):
        case = Case(rng)
    with TemporaryDirectory() as folder, vk.open(Path(folder) / "db", durability="os") as db:
        db.execute(case.statements())
        for table, rows in case.rows.items():
            for row in rows:
                db.put(table, row)
        verdict = db.explain(case.sql)
        if verdict.level != "SI-0":
            SEEN["other"] += 1
            return
        for key in (0, 1):
            rows = db.query(case.sql, k=key)
            found = Counter(tuple(map(_plain, row.values())) for row in rows)
            assert found == case.expected(key), case.sql
            assert rows.meta.operations <= (verdict.operations_max or 0), f"{case.sql}\n{verdict}"
            assert rows.meta.rows <= (verdict.rows_max or 0), f"{case.sql}\n{verdict}"
            SEEN["rows"] += bool(found)
        SEEN["several"] += any(len({*_sources(line)}) > 1 for line in str(verdict.plan).splitlines())


def _sources(line: str) -> list[str]:
    return [part[0] for part in line.split("= ")[1:] if part[1:2] == "."]


def test_the_random_joins_have_rows_and_keys_of_several_tables() -> None:
    assert min(SEEN["rows"], SEEN["several"]) > 10

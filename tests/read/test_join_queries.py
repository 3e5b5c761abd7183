"""Random SELECTs with joins, answered from join indexes, against the oracle over all rows of the tables."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import viewkeeper as vk
from tests import oracle
from tests.execute.driving import canonical
from tests.read.moving import store_of
from viewkeeper.model.schema import Column
from viewkeeper.model.values import accept
from viewkeeper.plan.relation import Scan
from viewkeeper.read.query import bind_query, parse_query
from viewkeeper.sql.statements import JoinSelect
from viewkeeper.store.scan import ALL

TABLES = ("A", "B", "C")
KINDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN")


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[vk.Database]:
    """Three tables of a dozen rows each, with heavy reuse of keys; B has the key as a smaller type."""
    draw = random.Random(7)
    with vk.open(tmp_path_factory.mktemp("joins") / "db", durability="os") as db:
        for name in TABLES:
            type = "INT" if name == "B" else "BIGINT"
            db.execute(f"CREATE TABLE {name} (id BIGINT PRIMARY KEY, k {type}, m {type}, s STRING, x DOUBLE)")
            for number in range(14):
                numbers = {"k": draw.choice([0, 1, 2, None]), "m": draw.choice([0, 1, None])}
                texts = {"s": draw.choice(["a", "b", None]), "x": draw.choice([0.5, -0.0, 0.0, None])}
                db.put(name, {"id": number, **numbers, **texts})
        db.execute("CREATE JOIN INDEX ByK ON A (k), B (k), C (k); CREATE JOIN INDEX ByM ON A (m, k), B (m, k)")
        yield db


@st.composite
def selects(draw: st.DrawFn) -> str:
    """Two or three sources, joined by their keys and perhaps more, of which one has its key fixed."""

    def choice(*options: Any) -> Any:
        return draw(st.sampled_from(options))

    sources = [f"{choice(*TABLES)} AS t0"]
    shown = ["t0"]
    for number in range(1, choice(2, 2, 3)):
        other, me = choice(*shown), f"t{number}"
        kind = choice(*KINDS)
        on = choice(f"{other}.k = {me}.k", f"{me}.k = {other}.k")
        more = choice("", "", f" AND {other}.m = {me}.m", f" AND {other}.m <= {me}.m", f" AND {me}.s <> 'a'")
        sources.append(f"{kind} {choice(*TABLES)} AS {me} ON {on}{more}")
        if kind not in KINDS[4:]:
            shown.append(me)
    fixed = choice(*shown)
    where = f"{fixed}.k = {choice(0, 1, 2, 3)}"
    where = choice(where, f"({where}) AND {choice(*shown)}.m IS NOT NULL", f"{choice(*shown)}.m = 1 AND {where}")
    one = choice(*shown)
    columns = ", ".join(f"{source}.id AS id_{source}" for source in shown)
    what, behind = choice(
        (f"{columns}, {one}.k AS k, {one}.x AS x", ""),
        (f"DISTINCT {one}.s, {one}.k + 1 AS next", ""),
        (f"{one}.s, COUNT(*) AS n, MAX({fixed}.id) AS most", f" GROUP BY {one}.s"),
        (f"COUNT({one}.m) AS n, SUM({fixed}.m) AS sum", ""),
    )
    return f"SELECT {what} FROM {' '.join(sources)} WHERE {where}{behind}"


@settings(max_examples=400)
@given(text=selects())
def test_a_join_is_what_the_oracle_says_over_whole_tables(db: vk.Database, text: str) -> None:
    answer = db.query(text, allow_scan=True)
    catalog = store_of(db).catalog()
    statement = bind_query(parse_query(text, {}), catalog, {})
    assert isinstance(statement, JoinSelect)

    def whole(scan: Scan) -> list[tuple[Any, ...]]:
        codec = catalog.codecs[scan.object]
        return [row for chunk in store_of(db).snapshot().scan(codec, ALL) for row in chunk]

    found = [_cells(row, statement.columns) for row in answer]
    assert canonical(found) == canonical(oracle.evaluate(statement.plan, whole))
    # All rows are read where it takes more than one step to see that those of another key do not matter.
    assert (answer.meta.path, answer.meta.operations) in (("view", 1), ("scan", 0))
    event(answer.meta.path)


def _cells(row: dict[str, Any], columns: tuple[Column, ...]) -> tuple[Any, ...]:
    return tuple(accept(row[column.name], column.type, column.name) for column in columns)

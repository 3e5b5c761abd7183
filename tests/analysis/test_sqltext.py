"""Expressions as SQL are read back as the same expressions: views are made from such texts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import viewkeeper as vk
from viewkeeper.analysis.flatten import block_of
from viewkeeper.analysis.sqltext import quoted, sql
from viewkeeper.plan.expr import Expr
from viewkeeper.read.prepared import schema_now
from viewkeeper.sql.bind import query_of
from viewkeeper.sql.parse import parse
from viewkeeper.sql.sources import finder

NAMES = ("k", "i", "b", "d", "e", "s", "y", "o", "t", "f")
TABLE = (
    "CREATE TABLE T (k INT PRIMARY KEY, i INT, b BIGINT, d DOUBLE, e DECIMAL(10,2), s STRING, y BINARY, o BOOLEAN,"
    " t TIMESTAMP, f DATE)"
)
MOMENT = "TIMESTAMP '2020-01-01 00:00:00'"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[vk.Database]:
    with vk.open(tmp_path_factory.mktemp("sqltext") / "db", durability="os") as db:
        db.execute(TABLE)
        yield db


def conditions(db: vk.Database, text: str) -> tuple[Expr, ...]:
    catalog = db._shared.catalog()
    query = query_of(parse(f"SELECT k FROM T WHERE {text}")[0], finder(catalog))
    return block_of(query.plan, schema_now(db._shared, catalog)).conjuncts


@pytest.mark.parametrize(
    "text",
    [
        *("i IS NULL", "i IS NOT NULL", "NOT (i = 1)", "i IN (1, 2, 3)", "i NOT IN (1, 2)", "i <=> 1", "i = NULL"),
        *(
            "b = 5",
            "b > 5000000000",
            "b = -9223372036854775808",
            "i = -3",
            "-i = 3",
            "i - (1 - i) = 0",
            "i - 1 - i = 0",
        ),
        *("d = 1.5", "d > 1", "d = 1e300", "d = CAST('NaN' AS DOUBLE)", "i / 2 > 1", "e = 1.50", "e > 2", "e = -1.5"),
        *("s = 'it''s'", r"s = 'a\\b'", "s LIKE 'wo%'", r"s LIKE 'a\\%%'", "s NOT LIKE 'x'", "s = 'a\nb'", "s = 'é☃'"),
        *("y = X'ff'", "o", "NOT o", "o = TRUE", f"t > {MOMENT}", "f = DATE '2020-01-01'", "t > f"),
        *(
            f"t - (t % (60*1000)) = {MOMENT}",
            f"t + 1000 > {MOMENT}",
            "YEAR(t) = 2020",
            f"DATE_TRUNC('DAY', t) = {MOMENT}",
        ),
        *("CASE WHEN i = 1 THEN 2 ELSE 3 END = 2", "CASE i WHEN 1 THEN 's' END = 's'", "NULLIF(i, 1) = 2"),
        *(
            "COALESCE(i, 0) = 1",
            "s || 'x' = 'yx'",
            "UPPER(s) = 'X'",
            "SUBSTRING(s, 1, 2) = 'ab'",
            "LPAD(s, 3, 'x') = 'a'",
        ),
        *("CAST(i AS STRING) = '1'", "HASH(i, s) INTO 4 = 1", "TOKENS(s) = 'x'", "TOKENS(s) LIKE 'x%'"),
        *("i = 1 OR i = 2 AND b = 3", "(i = 1 OR i = 2) AND (b = 3 OR b = 4)", "i % 2 = 0", "i DIV 2 = 1"),
        *("ROUND(e, 1) = 1.5", "FLOOR(d) = 1", "DATE_ADD(f, 1) = DATE '2020-01-01'", "ISNAN(d)", "INSTR(s, 'a') = 1"),
    ],
)
def test_a_condition_is_read_back_as_itself(db: vk.Database, text: str) -> None:
    first = conditions(db, text)
    again = [sql(one, lambda column: quoted(NAMES[column.index])) for one in first]
    assert conditions(db, " AND ".join(f"({one})" for one in again)) == first

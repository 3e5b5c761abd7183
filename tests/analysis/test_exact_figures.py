"""Figures that are exact, not only above what is counted: a bound that is too large is wrong, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import viewkeeper as vk

TABLES = """
CREATE TABLE A (id INT, no INT, b INT, w STRING, n INT, PRIMARY KEY (id, no))
    WITH CARDINALITY (no, 3), CARDINALITY (TOKENS(w), 4);
CREATE TABLE B (k INT, m INT, kind INT, n INT, at TIMESTAMP TEMPORAL, PRIMARY KEY (k, m)) WITH CARDINALITY (m, 9);
CREATE TABLE C (x INT PRIMARY KEY, y INT, v INT)
"""
LATEST = "SELECT kind, MAX(at) AS last FROM B GROUP BY kind ORDER BY last DESC LIMIT 5"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLES)
        yield db


@pytest.mark.parametrize(
    ("sql", "level", "operations", "rows"),
    [
        ("SELECT n FROM A WHERE id = 1 AND no = 2", "SI-0", 1, 1),
        ("SELECT n FROM A WHERE id = 1 AND no IN (1, 2, 3)", "SI-0", 3, 3),
        ("SELECT n FROM A WHERE id = :id", "SI-0", 1, 3),
        ("SELECT DISTINCT n FROM A WHERE id = :id", "SI-0", 1, 3),
        ("SELECT n, COUNT(*) AS c FROM A WHERE id = :id GROUP BY n HAVING COUNT(*) > 1", "SI-0", 1, 3),
        ("SELECT a.no, c.v FROM A a JOIN C c ON c.x = a.n WHERE a.id = :id", "SI-0", 1 + 3, 3 + 3),
        ("SELECT a.no, b.n FROM A a LEFT JOIN B b ON b.k = a.n WHERE a.id = :id", "SI-0", 1 + 3, 3 + 3 * 9),
        ("SELECT DISTINCT n FROM A WHERE n = :n AND b = :b", "SI-2", 1, 1),
        ("SELECT n, COUNT(*) AS c FROM A WHERE n = :n GROUP BY n HAVING COUNT(*) > 1", "SI-2", 1, 1),
        # An entry is for one word, so a row is there as often as it has words that begin so.
        ("SELECT id, no FROM A WHERE TOKENS(w) = :word LIMIT 5", "SI-1", 1 + 5, 5 + 5),
        ("SELECT id, no FROM A WHERE TOKENS(w) LIKE 'a%' LIMIT 5", "SI-1", 1 + 5 * 4, 5 * 4 + 5 * 4),
    ],
)
def test_a_bound_is_what_the_worst_data_takes(
    db: vk.Database, sql: str, level: str, operations: int, rows: int
) -> None:
    found = db.explain(sql)
    assert (found.level, found.operations_max, found.rows_max) == (level, operations, rows)


@pytest.mark.parametrize(
    ("view", "storage"),
    [
        ("SELECT a.id, a.no, b.m, b.kind FROM A a JOIN B b ON a.id = b.k", (3, "B")),
        ("SELECT c.x, a.no, a.n FROM C c LEFT JOIN A a ON a.id = c.x", (3, "C")),
        ("SELECT kind, n, COUNT(*) AS c FROM B GROUP BY ROLLUP (kind, n)", (3, "B")),
        ("SELECT kind, n, COUNT(*) AS c FROM B GROUP BY CUBE (kind, n)", (4, "B")),
        ("SELECT id, no FROM A UNION ALL SELECT k, m FROM B UNION ALL SELECT k, n FROM B", (2, "(A + B)")),
        ("SELECT id, no FROM A UNION ALL SELECT id, n FROM A", (2, "A")),
        ("SELECT COUNT(*) AS c FROM A", (1, "one row")),
    ],
)
def test_a_view_has_as_many_rows_as_the_worst_data_gives(db: vk.Database, view: str, storage: tuple[int, str]) -> None:
    assert db.explain(f"CREATE MATERIALIZED VIEW v AS {view}").storage == storage


def test_the_factor_of_a_view_over_a_view_is_the_product(db: vk.Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT a.id, a.no, b.m FROM A a JOIN B b ON a.id = b.k")
    over = db.explain("CREATE MATERIALIZED VIEW o AS SELECT v.id, v.no, v.m, b.m AS p FROM v JOIN B b ON b.k = v.id")
    assert over.storage == (3 * 9, "B")


def test_a_query_stores_the_most_of_all_its_views(db: vk.Database) -> None:
    counted = db.explain("SELECT c.x, SUM(a.b) AS s FROM C c JOIN A a ON a.n = c.x WHERE c.x = :x GROUP BY c.x")
    assert len(counted.needs) == 2
    assert counted.storage == (1, "(A + C)")
    newest = db.explain("SELECT k, m FROM B ORDER BY at DESC LIMIT 10")
    assert (newest.level, newest.storage) == ("SI-3", (1, "B"))


def test_the_most_is_of_the_view_with_the_most_rows_and_of_tables_before_constants(db: vk.Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW total AS SELECT COUNT(*) AS c FROM B")
    db.execute("CREATE MATERIALIZED VIEW pairs AS SELECT a.id, a.no, b.m FROM A a JOIN B b ON a.id = b.k")
    db.execute("CREATE MATERIALIZED VIEW perK AS SELECT k, COUNT(*) AS c FROM B GROUP BY k")
    for first, second in (("perK t", "pairs p"), ("pairs p", "perK t")):
        found = db.explain(f"SELECT p.no, t.c FROM {first} JOIN {second} ON t.k = p.id WHERE p.id = :id")
        assert (set(found.uses), found.storage) == ({"perK", "pairs"}, (3, "B"))
    assert db.explain("SELECT c FROM total UNION ALL SELECT no FROM pairs WHERE id = :id").storage == (3, "B")
    assert db.explain("SELECT c FROM total").storage == (1, "one row")


@pytest.mark.parametrize(
    ("sql", "marks"),
    [
        ("SELECT n FROM A WHERE id = 1 AND no = 2", "I----"),
        ("SELECT id, no FROM A WHERE n = :n LIMIT 5", "DI---"),
        ("SELECT n, COUNT(*) AS c FROM A WHERE n = :n GROUP BY n", "DDII-"),
        ("SELECT k, m FROM B ORDER BY at DESC LIMIT 10", "DDDII"),
        (LATEST, "DD---"),
    ],
)
def test_what_depends_on_the_size_of_the_data_is_marked(db: vk.Database, sql: str, marks: str) -> None:
    (advised,) = db.advise({"q": sql}).queries
    assert "".join(advised.invariants) == marks


def test_a_view_that_is_computed_whole_depends_on_it_in_every_part(db: vk.Database) -> None:
    db.execute(
        "CREATE MATERIALIZED VIEW byKind MAINTAIN PERIODIC 1 MINUTE AS SELECT kind, COUNT(*) AS c FROM B GROUP BY kind"
    )
    (advised,) = db.advise({"q": "SELECT c FROM byKind WHERE kind = :k"}).queries
    assert advised.level == "unbounded"
    assert db.explain("SELECT c FROM byKind WHERE kind = :k").storage == (1, "B")


def test_equal_group_columns_are_in_the_key_once(db: vk.Database) -> None:
    found = db.explain("SELECT kind, n, COUNT(*) AS c FROM B GROUP BY kind, n, kind ORDER BY c DESC LIMIT 4")
    assert "KEY (kind, n)" in found.needs[0]
    joined = db.explain("SELECT a.n, COUNT(*) AS c FROM A a JOIN C c ON c.x = a.n WHERE a.n = :n GROUP BY a.n, c.x")
    assert any("KEY (n)" in ddl for ddl in joined.needs)


def test_a_staging_view_in_one_order_is_not_used_for_the_other(db: vk.Database) -> None:
    db.prepare("SELECT k, m FROM B ORDER BY at LIMIT 10", create=True, name="oldest")
    newest = db.explain("SELECT k, m FROM B ORDER BY at DESC LIMIT 10")
    assert [ddl.startswith("CREATE MATERIALIZED VIEW") for ddl in newest.needs] == [True, True]
    assert "at DESC" in newest.needs[0]
    assert len(db.explain("SELECT m, k FROM B ORDER BY at LIMIT 20").needs) == 1


def test_groups_in_the_order_of_time_alone_have_no_index(db: vk.Database) -> None:
    found = db.explain(LATEST)
    assert (found.level, found.needs) == ("unbounded", ())
    assert "what is TEMPORAL, and an index would have all changes at one end" in found.reason
    chosen = LATEST.replace("GROUP BY", "WHERE n = :n GROUP BY")
    assert db.explain(chosen).level == "SI-2"


def test_groups_of_a_view_in_the_order_of_time_have_no_index_either(db: vk.Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW seen MAINTAIN SYNC AS SELECT kind, MAX(at) AS last FROM B GROUP BY kind")
    for sql in (LATEST, "SELECT kind, last FROM seen ORDER BY last DESC LIMIT 5"):
        assert db.explain(sql).level == "unbounded"
    # One that somebody made is used all the same.
    db.execute("CREATE INDEX latest ON seen (last DESC)")
    assert db.explain("SELECT kind, last FROM seen ORDER BY last DESC LIMIT 5").uses == ("latest",)


def test_rows_that_are_joined_are_counted_in_a_view_that_is_looked_up(db: vk.Database) -> None:
    sql = "SELECT b.m, COUNT(*) AS c, SUM(a.b) AS s FROM B b JOIN A a ON a.n = b.m WHERE b.k = :k GROUP BY b.m"
    found = db.explain(sql)
    assert (found.level, found.operations_max, found.rows_max, found.storage) == ("SI-2", 1 + 9, 9 + 9, (1, "A"))
    db.execute("INSERT INTO A (id, no, n, b) VALUES (1, 1, 1, 5), (1, 2, 1, 6), (2, 1, 2, NULL)")
    db.execute("INSERT INTO B (k, m) VALUES (7, 1), (7, 2), (7, 3), (8, 1)")
    asked = db.prepare(sql, create=True, maintain="SYNC")
    rows = asked(k=7)
    assert sorted(tuple(row.values()) for row in rows) == [(1, 2, 11), (2, 1, None)]
    assert rows.meta.operations <= 10


def test_a_list_with_more_values_than_there_may_be_rows_is_read_as_one_range(db: vk.Database) -> None:
    sql = "SELECT n FROM A WHERE id = :id AND no IN :no"
    found = db.explain(sql)
    assert (found.operations_max, found.rows_max) == (1, 3)
    db.execute("INSERT INTO A (id, no, n) VALUES (1, 1, 10), (1, 2, 20), (2, 1, 30)")
    for listed, expected in (([1], [10]), ([2, 1], [10, 20]), ([9, 2, 8, 7, 7], [20]), ([], [])):
        for rows in (db.query(sql, id=1, no=listed), db.snapshot().query(sql, id=1, no=listed)):
            assert sorted(row["n"] for row in rows) == expected
            assert rows.meta.operations <= 1
            assert rows.meta.rows <= 3

"""What is made for a query is made by the statements that are said, and answers it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.views.kept import finish, maintainer

TABLES = """
CREATE TABLE T (a INT, b INT, c INT, d INT, x DOUBLE, PRIMARY KEY (a, b, c)) WITH CARDINALITY (c, 3);
CREATE TABLE P (k INT PRIMARY KEY, g INT, n INT) PARTITIONED BY HASH (k) INTO 3;
"""


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLES)
        db.load("T", [{"a": 1, "b": b, "c": c, "d": c % 2, "x": c / 2} for b in range(3) for c in range(3)])
        db.load("P", [{"k": k, "g": k % 3, "n": k} for k in range(9)])
        yield db


def answer(db: vk.Database, sql: str, **params: Any) -> list[tuple[Any, ...]]:
    prepared = db.prepare(sql, create=True)
    assert not prepared.verdict.needs
    finish(maintainer(db._shared))
    rows = prepared(**params)
    found = [tuple(row.values()) for row in rows]
    assert rows.meta.operations <= prepared.verdict.operations_max
    assert rows.meta.rows <= prepared.verdict.rows_max
    return found


def test_a_condition_on_null_is_kept_in_the_view(db: vk.Database) -> None:
    db.put("T", {"a": 2, "b": 0, "c": 0})
    assert answer(db, "SELECT COUNT(*) AS n FROM T WHERE d = :d AND x IS NOT NULL", d=0) == [(6,)]
    assert answer(db, "SELECT COUNT(*) AS n FROM T WHERE a = :a AND x IS NULL", a=2) == [(1,)]
    assert any("x IS NULL" in view.text for view in db.views())


def test_a_number_in_a_view_stays_a_double(db: vk.Database) -> None:
    assert answer(db, "SELECT COUNT(*) AS n FROM T WHERE d = :d AND x > 0.25", d=0) == [(3,)]


def test_grouping_sets_are_computed_from_rows_by_key(db: vk.Database) -> None:
    sql = "SELECT c, d, COUNT(*) AS n FROM T WHERE a = :a AND b = :b GROUP BY GROUPING SETS ((c, d), (d))"
    assert sorted(answer(db, sql, a=1, b=0), key=repr) == [(0, 0, 1), (1, 1, 1), (2, 0, 1), (None, 0, 2), (None, 1, 1)]


def test_no_view_is_made_of_grouping_sets(db: vk.Database) -> None:
    found = db.explain("SELECT d, COUNT(*) AS n FROM T WHERE c = :c AND d = :d GROUP BY ROLLUP (d)")
    assert (found.level, found.needs) == ("unbounded", ())
    assert "grouping sets" in found.reason


def test_a_view_of_grouping_sets_does_not_stand_for_its_rows(db: vk.Database) -> None:
    db.execute(
        "CREATE MATERIALIZED VIEW V AS SELECT a, b, c, COUNT(*) AS n FROM T GROUP BY GROUPING SETS ((a, b, c), (a, b))"
    )
    assert "V" not in db.explain("SELECT COUNT(*) AS n FROM T WHERE a = :a AND b = :b").uses
    assert answer(db, "SELECT COUNT(*) AS n FROM T WHERE a = :a AND b = :b", a=1, b=0) == [(3,)]


def test_nothing_is_made_of_a_local_view(db: vk.Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW L MAINTAIN LOCAL AS SELECT g, SUM(n) AS n FROM P GROUP BY g")
    assert db.explain("SELECT g, n FROM L ORDER BY n DESC LIMIT 2").needs == ()
    assert db.explain("SELECT COUNT(*) AS c FROM L WHERE n = :n").needs == ()
    found = db.explain("SELECT n FROM L WHERE g = :g")
    # Each part is looked up.
    assert found.operations_max == 3
    assert answer(db, "SELECT n FROM L WHERE g = :g", g=1) == [(12,)]


def test_a_view_above_an_unbounded_one_says_why(db: vk.Database) -> None:
    db.execute(
        "CREATE MATERIALIZED VIEW U AS SELECT l.a, l.b, l.c, r.a AS ra, r.b AS rb, r.c AS rc"
        " FROM T l JOIN T r ON l.d = r.d"
    )
    db.execute("CREATE MATERIALIZED VIEW N KEY (a) AS SELECT a, COUNT(*) AS n FROM U GROUP BY a")
    found = db.explain("SELECT n FROM N WHERE a = :a")
    assert found.level == "unbounded"
    assert 'View "U" has no bound' in found.reason


def test_groups_of_a_finer_view_are_added_up(db: vk.Database) -> None:
    db.execute(
        "CREATE MATERIALIZED VIEW F KEY (a, b, d) MAINTAIN SYNC "
        "AS SELECT a, b, d, COUNT(*) AS n, MIN(x) AS m, MAX(x) AS h FROM T GROUP BY a, b, d"
    )
    sql = "SELECT COUNT(*) AS n, MIN(x) AS m FROM T WHERE a = :a AND b = :b AND d IN :ds MAX 2"
    assert answer(db, sql, a=1, b=0, ds=[0, 1]) == [(3, 0.0)]
    assert answer(db, sql, a=1, b=0, ds=[]) == [(0, None)]
    assert answer(db, sql, a=9, b=0, ds=[0]) == [(0, None)]


SHOP = """
CREATE TABLE S (k INT PRIMARY KEY, u INT);
CREATE TABLE U (u INT, c INT, PRIMARY KEY (u, c)) WITH CARDINALITY (c, 3);
"""
JOINED = "FROM S JOIN U ON S.u = U.u"


def test_a_view_that_has_every_row_twice_does_not_stand_for_them(db: vk.Database) -> None:
    """With a total for each u beside its parts, a sum over the view would count each row twice."""
    db.execute(SHOP)
    db.load("S", [{"k": k, "u": 1} for k in range(4)])
    db.load("U", [{"u": 1, "c": c} for c in range(3)])
    select = f"SELECT S.u, U.c, COUNT(*) AS n {JOINED} GROUP BY"
    counted = f"SELECT COUNT(*) AS n {JOINED} WHERE S.u = :u"
    db.execute(f"CREATE MATERIALIZED VIEW Sets AS {select} GROUPING SETS ((S.u, U.c), (S.u))")
    assert "Sets" not in db.explain(counted).uses
    db.execute(f"CREATE MATERIALIZED VIEW Parts MAINTAIN SYNC AS {select} S.u, U.c")
    rows = db.query(counted, u=1)
    assert ([row["n"] for row in rows], rows.meta.path) == ([12], "view")
    assert answer(db, counted, u=1) == [(12,)]
    assert not db.explain(f"SELECT U.c, COUNT(*) AS n {JOINED} WHERE S.u = :u GROUP BY ROLLUP (U.c)").is_bounded


def test_what_an_unbounded_view_answers_gets_a_bounded_one_where_there_is_one(db: vk.Database) -> None:
    joined = "SELECT T.x FROM P JOIN T ON T.d = P.g WHERE P.k = :k ORDER BY T.x DESC LIMIT 2"
    db.execute(
        "CREATE MATERIALIZED VIEW Dear KEY (k, x DESC) MAINTAIN SYNC AS"
        " SELECT P.k, T.x, T.a, T.b, T.c FROM P JOIN T ON T.d = P.g"
    )
    found = db.explain(joined)
    assert (found.level, len(found.needs)) == ("SI-1", 1)
    assert "until then: it is answered from what there is" in str(found)
    assert "Dear" not in found.plan
    # Until then, it is what it was: no query stops when a view is made, however dear.
    rows = db.query(joined, k=0)
    assert ([row["x"] for row in rows], rows.meta.operations) == ([1.0, 1.0], 1)
    assert answer(db, joined, k=0) == [(1.0,), (1.0,)]
    assert "Dear" not in db.explain(joined).plan
    # What asks for it by name still reads it.
    assert db.explain("SELECT x FROM Dear WHERE k = :k LIMIT 1").level == "unbounded"
    assert len(list(db.query("SELECT x FROM Dear WHERE k = :k LIMIT 1", k=0))) == 1


def test_groups_of_an_unbounded_view_are_pre_aggregated_instead(db: vk.Database) -> None:
    db.execute(SHOP)
    db.load("S", [{"k": k, "u": 1} for k in range(4)])
    db.load("U", [{"u": 1, "c": c} for c in range(3)])
    counted = f"SELECT COUNT(*) AS n {JOINED} WHERE U.c = :c"
    db.execute(f"CREATE MATERIALIZED VIEW Dear KEY (c) AS SELECT U.c, COUNT(*) AS n {JOINED} GROUP BY U.c")
    found = db.explain(counted)
    assert (found.level, found.uses) == ("SI-2", ("S_U_view",))
    assert answer(db, counted, c=1) == [(4,)]


def test_a_view_stands_beside_a_query_in_from(db: vk.Database) -> None:
    """Each reads its own rows of the same table."""
    db.execute("CREATE MATERIALIZED VIEW odd MAINTAIN SYNC AS SELECT k, g, n FROM P WHERE n > 3")
    sql = (
        "SELECT f.k AS first, q.k AS k FROM (SELECT k, n FROM P WHERE k <= :k ORDER BY k DESC LIMIT 2) f"
        " JOIN P q ON q.g = f.n AND q.n > 3 ORDER BY q.k LIMIT 4"
    )
    assert answer(db, sql, k=1) == [(1, 4), (0, 6), (1, 7)]


def test_a_view_stands_beside_a_join_in_from(db: vk.Database) -> None:
    """What is in FROM reads two tables, and the view a third time one of them."""
    db.execute("CREATE MATERIALIZED VIEW odd MAINTAIN SYNC AS SELECT k, g, n FROM P WHERE n > 3")
    sql = (
        "SELECT f.k AS first, f.n AS n, q.k AS k, s.g AS g FROM (SELECT p.k, o.n FROM P p LEFT JOIN P o ON o.k = p.g"
        " WHERE p.k <= :k ORDER BY p.k DESC LIMIT 2) f JOIN P q ON q.g = f.n AND q.n > 3 LEFT JOIN P s ON s.k = f.k"
        " ORDER BY q.k LIMIT 4"
    )
    assert answer(db, sql, k=4) == [(4, 1, 4, 1), (3, 0, 6, 0), (4, 1, 7, 1)]


def test_no_index_is_proposed_by_what_a_view_does_not_show(db: vk.Database) -> None:
    """A view without the key of its table keeps that hidden."""
    db.execute("CREATE MATERIALIZED VIEW some KEY (d DESC) MAINTAIN SYNC AS SELECT d FROM T WHERE d IS NOT NULL")
    sql = "SELECT p.k FROM P p JOIN T t ON t.d = p.g WHERE p.k = :k AND t.d IS NOT NULL ORDER BY p.k, t.b DESC LIMIT 1"
    assert answer(db, sql, k=1) == [(1,)]

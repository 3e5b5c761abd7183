"""The rows behind one, `(a, b) < (:a, :b)`: compared as SQL does, and read as one stretch of keys if they are one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

import viewkeeper as vk

TABLE = """
CREATE TABLE t (g INT, id BIGINT, a INT, b INT NOT NULL, c INT, s STRING, PRIMARY KEY (g, id));
CREATE TABLE names (id BIGINT PRIMARY KEY, name STRING);
"""
CELLS = (None, 0, 1, 2)
ROWS = [
    {"g": g, "id": number, "a": a, "b": b, "c": c}
    for g in (1, 2)
    for number, (a, b, c) in enumerate(product(CELLS, (0, 1), CELLS))
]


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[vk.Database]:
    with vk.open(tmp_path_factory.mktemp("pages") / "db", durability="os") as db:
        db.execute(TABLE)
        with db.transaction() as tx:
            for row in ROWS:
                tx.put("t", row)
            for row in ROWS[:20]:
                tx.put("names", {"id": row["id"], "name": f"n{row['id'] % 3}"})
        yield db


def less(left: int | None, right: int | None) -> bool | None:
    return None if left is None or right is None else left < right


def behind(row: dict[str, Any], columns: str, values: tuple[int | None, ...], signs: str) -> bool | None:
    """What the standard says of a row: column by column, NULL being neither true nor false."""
    (name, *others), (value, *rest), (sign, *more) = columns, values, signs
    here: int | None = row["id" if name == "i" else name]
    beyond = less(here, value) if sign == "<" else less(value, here)
    if not others:
        return beyond
    same = None if here is None or value is None else here == value
    then = behind(row, "".join(others), tuple(rest), "".join(more))
    both = False if same is False or then is False else None if same is None or then is None else True
    return True if beyond or both else None if beyond is None or both is None else False


def sql_name(name: str) -> str:
    return "id" if name == "i" else name


def behind_sql(names: list[str], signs: str) -> str:
    sides = [
        " AND ".join([*(f"{name} = :{name}" for name in names[:place]), f"{names[place]} {sign} :{names[place]}"])
        for place, sign in enumerate(signs)
    ]
    return f"({' OR '.join(sides)})"


@pytest.mark.parametrize(
    ("columns", "signs", "level"),
    [
        ("ai", "<<", "SI-1"),
        ("ai", ">>", "SI-1"),
        ("ai", "<>", "SI-1"),
        ("ai", "><", "SI-1"),
        ("ab", "<<", "SI-1"),
        ("bi", "<<", "SI-1"),
        ("abi", "<<<", "SI-1"),
        ("abi", "<><", "SI-1"),
        ("ac", ">>", "SI-1"),
        ("ac", "<>", "SI-1"),
        ("ac", "<<", "unbounded"),
        ("cai", "<<<", "unbounded"),
        ("iab", ">>>", "SI-1"),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_rows_behind_one_are_those_that_the_standard_says(
    db: vk.Database, columns: str, signs: str, level: str, turned: bool
) -> None:
    names = [sql_name(one) for one in columns]
    down = [(sign == "<") is not turned for sign in signs]
    order = ", ".join(f"{name}{' DESC' * one}" for name, one in zip(names, down, strict=True))
    sql = f"SELECT {', '.join(names)} FROM t WHERE g = :g AND {behind_sql(names, signs)} ORDER BY {order} LIMIT 4"
    verdict = db.explain(sql)
    assert verdict.level == level
    if level == "unbounded":
        return
    query = db.prepare(sql, create=True, maintain="SYNC", name=f"{columns}{len(db.views())}")
    for values in product((None, 0, 1), repeat=len(columns)):
        found = [tuple(row.values()) for row in query(g=1, **dict(zip(names, values, strict=True)))]
        wanted = [tuple(row[name] for name in names) for row in ROWS[:32] if behind(row, columns, values, signs)]
        for place, one in reversed([*enumerate(down)]):
            wanted.sort(key=lambda row, place=place: (row[place] is not None, row[place] or 0), reverse=one)  # type: ignore[misc]
        assert found == wanted[:4], values


@pytest.mark.parametrize(
    ("where", "plan"),
    [
        ("(a, id) < (:a, :i)", "(a, id) < (:a, :i)"),
        ("(a, id) <= (:a, 5)", "(a, id) <= (:a, 5)"),
        ("(:a, :i) > (a, id)", "(a, id) < (:a, :i)"),
        ("a > 0 AND (a, id) < (:a, :i)", "a > 0, (a, id) < (:a, :i)"),
        ("(a = :a AND id < :i OR a < :a)", "(a, id) < (:a, :i)"),
        ("(id < :i AND :a = a OR :a > a)", "(a, id) < (:a, :i)"),
        ("(a < :a OR a = :a AND id > :i)", "a < :a or a = :a and id > :i"),
        ("(a < :a OR a = :a AND id >= :i)", "a < :a or a = :a and id >= :i"),
        ("(a <= :a OR a = :a AND id < :i)", None),
        ("(a < :a OR a = :b AND id < :i)", None),
        ("(a < :a OR a = :a)", None),
        ("(a < :a OR id < :i)", None),
        ("(a, id) < (3000000000, :i)", None),
        ("(a, id) < (1.5, :i)", None),
        ("(a < :a OR a = :a AND id < :i OR b = 1)", None),
        ("(a < :a OR a = :a AND (id < :i OR b = 1))", None),
        ("(a, id) <> (:a, :i)", None),
        ("NOT (a, id) < (:a, :i)", None),
    ],
)
def test_what_is_recognised_and_what_not(db: vk.Database, where: str, plan: str | None) -> None:
    order = "a DESC, id" if "id >" in where else "a DESC, id DESC"
    found = db.explain(f"SELECT id FROM t WHERE g = 1 AND {where} ORDER BY {order} LIMIT 5")
    if plan is None:
        assert found.level == "unbounded"
    else:
        assert f"(g = 1, {plan}), first 5: 1 operation, 5 rows" in found.plan


@pytest.mark.parametrize("order", ["a DESC, id DESC", "a, id", "a DESC, b, id DESC"])
def test_page_after_page_shows_each_row_once(db: vk.Database, order: str) -> None:
    names = [part.removesuffix(" DESC") for part in order.split(", ")]
    signs = "".join("<" if part.endswith(" DESC") else ">" for part in order.split(", "))
    parts = f"SELECT {', '.join(names)} FROM t WHERE g = 2 AND a >= 0", f"ORDER BY {order} LIMIT 5"
    first = db.prepare(" ".join(parts), create=True, maintain="SYNC", name=f"first{len(db.views())}")
    following = db.prepare(f" AND {behind_sql(names, signs)} ".join(parts), create=True, maintain="SYNC")
    seen = first().all()
    while page := following(**seen[-1]).all():
        seen += page
    assert len(seen) == len({row["id"] for row in seen}) == 24
    assert following.verdict.operations_max == 1


def test_pages_of_a_join_are_those_of_a_view(db: vk.Database) -> None:
    sql = (
        "SELECT n.name, t.id FROM u t JOIN names n ON n.id = t.id "
        "WHERE n.name = :name AND (t.b, t.g, t.id) < (:b, :g, :i) ORDER BY t.b DESC, t.g DESC, t.id DESC LIMIT 3"
    )
    db.execute("CREATE TABLE u (g INT, id BIGINT, b INT NOT NULL, PRIMARY KEY (id, g)) WITH CARDINALITY (g, 2)")
    for row in ROWS:
        db.put("u", {name: row[name] for name in ("g", "id", "b")})
    query = db.prepare(sql, create=True, maintain="SYNC", name="pages")
    assert query.verdict.level == "SI-2"
    assert query.verdict.operations_max == 1
    for name, b, g, number in product(("n0", "n1"), (0, 1, 2), (0, 1, 2), (0, 6, 15)):
        wanted = sorted(
            (
                (row["b"], row["g"], row["id"])
                for row in ROWS
                if row["id"] < 20 and f"n{row['id'] % 3}" == name and (row["b"], row["g"], row["id"]) < (b, g, number)
            ),
            reverse=True,
        )
        found = [(row["id"]) for row in query(name=name, b=b, g=g, i=number)]
        assert found == [row[2] for row in wanted[:3]]


def test_a_side_that_leaves_the_first_column_open_is_no_row(db: vk.Database) -> None:
    where, order = "a < :a OR a = :a AND b < :b OR %sb = :b AND id < :i", "a DESC, b DESC, id DESC"
    levels = [
        db.explain(f"SELECT id FROM t WHERE g = 1 AND ({where % same}) ORDER BY {order} LIMIT 5").level
        for same in ("a = :a AND ", "")
    ]
    assert levels == ["SI-1", "unbounded"]


def test_no_index_has_a_column_twice_for_an_order_that_turns_the_other_way(db: vk.Database) -> None:
    where = "id < :i OR id = :i AND name > :name"
    found = db.explain(f"SELECT name FROM names WHERE {where} ORDER BY id, name LIMIT 5")
    assert found.needs == ("CREATE INDEX names_by_id_name ON names (id, name DESC)",)


def test_an_index_of_a_view_is_as_unique_once_it_is_there(db: vk.Database) -> None:
    """The view has more in its key than makes its rows unique, and so would the index."""
    db.execute("CREATE TABLE x (id BIGINT PRIMARY KEY, a INT, s STRING)")
    db.execute("CREATE VIEW twos KEY (a DESC, id, s) MAINTAIN SYNC AS SELECT a, id, s FROM x WHERE a = 2")
    where = "id < :i OR id = :i AND a > :a"
    query = db.prepare(f"SELECT id FROM twos WHERE {where} ORDER BY id, a LIMIT 5", create=True, maintain="SYNC")
    assert db.explain(query.sql).needs == ()


def test_a_view_is_stored_by_the_row_if_nothing_is_ordered(db: vk.Database) -> None:
    db.execute("CREATE TABLE w (id BIGINT PRIMARY KEY, b INT)")
    sql = "SELECT t.id FROM w t JOIN names n ON n.id = t.id WHERE n.name = :name AND (t.b, t.id) > (:b, :i) LIMIT 3"
    found = db.explain(sql)
    assert (found.level, found.operations_max, found.rows_max) == ("SI-2", 1, 3)
    assert "(b, id) > (:b, :i)" in found.plan


def test_rows_without_a_place_in_the_order_are_told(db: vk.Database) -> None:
    found = db.explain("SELECT id FROM t WHERE g = 1 AND (a, c) < (:a, :c) ORDER BY a DESC, c DESC LIMIT 5")
    assert found.level == "unbounded"
    assert "Declare c of table t NOT NULL, so that all rows have a place in its order." in str(found)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("(a, id) < (:a, :i, 1)", "a row of 2 is compared with one of 3"),
        ("(a, id) < 5", "a tuple in WHERE is not supported"),
        ("(a, id) IN ((1, 2))", "a tuple in WHERE is not supported"),
        ("(a, id) < ('x', 5)", "'x' is not"),
    ],
)
def test_rows_are_compared_with_rows(db: vk.Database, where: str, said: str) -> None:
    with pytest.raises(vk.ViewkeeperError, match=said):
        db.explain(f"SELECT id FROM t WHERE {where} LIMIT 5")


@pytest.mark.parametrize(("sign", "found"), [("=", [1]), ("<>", [0, 2, 3]), ("<", [0]), ("<=", [0, 1]), (">", [2, 3])])
def test_each_comparison_of_rows(db: vk.Database, sign: str, found: list[int]) -> None:
    rows = db.query(f"SELECT id FROM t WHERE g = 1 AND id IN (0, 1, 2, 3) AND (b, id) {sign} (0, 1)")
    assert sorted(row["id"] for row in rows) == found


def test_a_view_may_compare_rows(db: vk.Database) -> None:
    db.execute("CREATE VIEW below MAINTAIN SYNC AS SELECT g, id FROM t WHERE (g, id) < (1, 4)")
    assert [row["id"] for row in db.scan("below")] == [0, 1, 2, 3]
    assert db.verify("below").ok
    db.execute("DROP VIEW below")

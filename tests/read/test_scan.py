"""Views in stored order: prefixes, bounds, directions, NULLs, weights."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import viewkeeper as vk
from tests.read.moving import move, put_orders, values
from viewkeeper.read.viewat import repeated

COSTS = (None, 1, 2, 3)
SHOPS = (None, "a", "b")
ROWS = [(shop, cost) for shop in SHOPS for cost in COSTS]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[vk.Database]:
    """Every pair of shop and cost once, stored four ways."""
    with vk.open(tmp_path_factory.mktemp("pairs") / "db", durability="os") as db:
        db.execute("CREATE TABLE Orders (id BIGINT PRIMARY KEY, shop STRING, cost INT, note STRING)")
        put_orders(db, *((number, shop, cost) for number, (shop, cost) in enumerate(ROWS)))
        for number, (first, second) in enumerate(DIRECTIONS):
            db.execute(
                f"CREATE MATERIALIZED VIEW V{number} KEY (shop{' DESC' * first}, cost{' DESC' * second}) AS "
                "SELECT cost, shop FROM Orders"
            )
        yield db


DIRECTIONS = [(False, False), (False, True), (True, False), (True, True)]


def stored(directions: tuple[bool, bool]) -> list[tuple[Any, Any]]:
    """The rows (shop, cost) as they are stored: NULL first, or last where the column descends."""

    def by(place: int) -> Any:
        return lambda row: (row[place] is not None, row[place] if row[place] is not None else "")

    rows = sorted(ROWS, key=lambda row: (row[1] is not None, row[1] or 0), reverse=directions[1])
    return sorted(rows, key=by(0), reverse=directions[0])


def place(rows: list[tuple[Any, Any]], bound: tuple[Any, ...]) -> int:
    """Where the first row that begins with `bound` is."""
    return next(number for number, row in enumerate(rows) if row[: len(bound)] == bound)


def shown(rows: vk.Rows) -> list[tuple[Any, Any]]:
    return [(row["shop"], row["cost"]) for row in rows]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("reverse", [False, True])
def test_rows_come_in_stored_order_or_its_reverse(pairs: vk.Database, number: int, reverse: bool) -> None:
    expected = stored(DIRECTIONS[number])
    if reverse:
        expected.reverse()
    rows = pairs.scan(f"V{number}", reverse=reverse)
    assert rows.columns == ("cost", "shop")
    assert shown(rows) == expected
    assert shown(pairs.scan(f"V{number}", reverse=reverse, limit=5)) == expected[:5]


bounds = st.one_of(
    st.none(), st.tuples(st.sampled_from(SHOPS)), st.tuples(st.sampled_from(SHOPS), st.sampled_from(COSTS))
)


@given(st.integers(0, 3), bounds, bounds)
def test_bounds_are_in_stored_order(pairs: vk.Database, number: int, lower: Any, upper: Any) -> None:
    rows = stored(DIRECTIONS[number])
    start = 0 if lower is None else place(rows, lower)
    end = len(rows) if upper is None else place(rows, upper)
    assert shown(pairs.scan(f"V{number}", lower=lower, upper=upper)) == rows[start:end]


@given(st.integers(0, 3), st.sampled_from(SHOPS), st.none() | st.sampled_from(COSTS).map(lambda cost: (cost,)))
def test_bounds_go_on_behind_a_prefix(pairs: vk.Database, number: int, shop: Any, lower: Any) -> None:
    rows = [row for row in stored(DIRECTIONS[number]) if row[0] == shop]
    start = 0 if lower is None else place(rows, (shop, *lower))
    assert shown(pairs.scan(f"V{number}", prefix=shop, lower=lower)) == rows[start:]
    assert shown(pairs.scan(f"V{number}", prefix=[shop], upper=lower)) == (rows[:start] if lower else rows)


@st.composite
def conditions(draw: st.DrawFn) -> tuple[str, Any]:
    """A condition on shop, perhaps with one on cost, and whether a row meets it."""
    shop = draw(st.sampled_from(["a", "b"]))
    cost = draw(st.integers(0, 4))
    first = draw(
        st.sampled_from(
            [
                (f"shop = '{shop}'", lambda cell: cell == shop),
                ("shop IS NULL", lambda cell: cell is None),
                (f"shop IN ('b', '{shop}')", lambda cell: cell in ("b", shop)),
            ]
        )
    )
    second = draw(
        st.sampled_from(
            [
                ("", lambda cell: True),
                (f" AND cost = {cost}", lambda cell: cell == cost),
                (f" AND cost > {cost}", lambda cell: cell is not None and cell > cost),
                (f" AND cost <= {cost}", lambda cell: cell is not None and cell <= cost),
                (f" AND cost >= 1 AND cost < {cost}", lambda cell: cell is not None and 1 <= cell < cost),
                (" AND cost IS NOT NULL", lambda cell: cell is not None),
                (" AND cost IS NULL", lambda cell: cell is None),
            ]
        )
    )
    return first[0] + second[0], lambda row: first[1](row[0]) and second[1](row[1])


@given(st.integers(0, 3), conditions(), st.integers(0, 6) | st.none(), st.booleans())
def test_a_query_finds_what_its_condition_says(
    pairs: vk.Database, number: int, condition: tuple[str, Any], limit: int | None, backwards: bool
) -> None:
    text, holds = condition
    expected = [row for row in stored(DIRECTIONS[number]) if holds(row)]
    order = ", ".join(
        f"{name}{' DESC' * (down != backwards)}"
        for name, down in zip(("shop", "cost"), DIRECTIONS[number], strict=True)
    )
    if backwards:
        expected.reverse()
    tail = "" if limit is None else f" LIMIT {limit}"
    sql = f"SELECT shop, cost FROM V{number} WHERE {text} ORDER BY {order}{tail}"
    assert values(pairs.query(sql, allow_scan=True)) == expected[:limit]
    assert values(pairs.execute(sql)) == expected[:limit]
    assert values(pairs.snapshot().query(sql, allow_scan=True)) == expected[:limit]


@pytest.mark.parametrize("number", range(4))
def test_ranges_of_the_first_column_leave_out_null(pairs: vk.Database, number: int) -> None:
    rows = stored(DIRECTIONS[number])
    for text, holds in [
        ("shop > 'a'", lambda shop: shop == "b"),
        ("shop < 'b'", lambda shop: shop == "a"),
        ("shop IS NOT NULL", lambda shop: shop is not None),
        ("shop >= 'a' AND shop <= 'a'", lambda shop: shop == "a"),
    ]:
        found = values(pairs.query(f"SELECT shop, cost FROM V{number} WHERE {text}", allow_scan=True))
        assert found == [row for row in rows if holds(row[0])]


def test_more_values_than_visible_columns_are_refused(pairs: vk.Database) -> None:
    with pytest.raises(vk.WrongType, match=r'view "V1" is stored by 2 columns, \(shop, cost DESC\), found 3 values'):
        pairs.scan("V1", prefix=("a", 1, 7))


def test_meta_tells_of_a_view_and_where_it_stood(pairs: vk.Database) -> None:
    rows = pairs.scan("V0", limit=3)
    assert (rows.meta.path, rows.meta.operations) == ("view", 1)
    assert rows.meta.position == pairs.head()
    rows.all()
    assert rows.meta.rows == 3
    text = "SELECT * FROM V0 WHERE shop IN ('a', 'b')"
    for found, path in ((pairs.query(f"{text} LIMIT 9"), "view"), (pairs.query(text, allow_scan=True), "scan")):
        assert len(found.all()) == 8
        assert (found.meta.path, found.meta.operations, found.meta.rows) == (path, 2, 8)


@pytest.fixture
def bag(db: vk.Database, weighted_views: None) -> vk.Database:
    """A view with rows NULL, NULL, a, a, a, b, and nothing to tell the equal ones apart."""
    db.execute("CREATE MATERIALIZED VIEW Bag AS SELECT shop FROM Orders WHERE cost > 0")
    put_orders(db, (1, "a", 1), (2, "a", 1), (3, "b", 1), (4, "a", 1), (5, None, 1), (6, None, 1), (7, "c", 0))
    move(db)
    return db


BAG = [(None,), (None,), ("a",), ("a",), ("a",), ("b",)]


def test_a_row_is_repeated_as_often_as_it_weighs(bag: vk.Database) -> None:
    assert bag.views()[0].repeats
    assert values(bag.scan("Bag")) == BAG
    assert values(bag.scan("Bag", reverse=True)) == BAG[::-1]
    assert values(bag.scan("Bag", prefix="a")) == [("a",)] * 3
    assert bag.scan("Bag").to_arrow().to_pylist() == [{"shop": shop} for (shop,) in BAG]
    bag.delete("Orders", 2)
    bag.delete("Orders", 3)
    move(bag)
    assert values(bag.scan("Bag")) == [(None,), (None,), ("a",), ("a",)]


@pytest.mark.parametrize("limit", range(8))
def test_limit_counts_every_time_that_a_row_is_given(bag: vk.Database, limit: int) -> None:
    assert values(bag.scan("Bag", limit=limit)) == BAG[:limit]
    assert values(bag.query(f"SELECT shop FROM Bag LIMIT {limit}")) == BAG[:limit]
    assert values(bag.query(f"SELECT shop FROM Bag WHERE shop IN ('a', 'b') LIMIT {limit}")) == BAG[2:][:limit]
    assert values(bag.snapshot().scan("Bag", limit=limit, reverse=True)) == BAG[::-1][:limit]


def test_a_row_that_weighs_much_is_not_held_as_often(bag: vk.Database) -> None:
    rows = repeated(iter([[("a", 10**9)]]), None)
    assert len(next(rows)) < 10_000
    assert sum(map(len, repeated(iter([[("a", 3)], [("b", 10_000)]]), 9_000))) == 9_000


def test_rows_go_to_arrow_without_hidden_columns(db: vk.Database) -> None:
    db.execute("CREATE INDEX ByCost ON Orders (cost DESC) INCLUDE (shop)")
    put_orders(db, (1, "a", 5), (2, "b", 7))
    move(db)
    table = db.scan("ByCost").to_arrow()
    assert table.column_names == ["cost", "shop"]
    assert table.to_pylist() == [{"cost": 7, "shop": "b"}, {"cost": 5, "shop": "a"}]


def test_a_scan_of_many_rows_is_whole(db: vk.Database) -> None:
    put_orders(db, *((number, f"s{number % 7}", number) for number in range(10_000)))
    db.execute("CREATE INDEX ByCost ON Orders (cost DESC)")
    assert values(db.scan("ByCost")) == [(number,) for number in range(9_999, -1, -1)]
    assert values(islice(db.scan("ByCost", reverse=True), 3)) == [(0,), (1,), (2,)]


def test_a_bad_limit_is_refused_before_anything_is_read(db: vk.Database) -> None:
    db.execute("CREATE INDEX ByCost ON Orders (cost DESC)")
    with pytest.raises(vk.WrongType, match="limit is -1"):
        db.scan("ByCost", limit=-1)

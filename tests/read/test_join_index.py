"""Join indexes when they are read: as they are stored, and by queries that join the rows of one key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import viewkeeper as vk
from tests.cli.running import run
from tests.read.moving import fill, move, unfilled
from viewkeeper.write.statements import Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHOP = """
CREATE TABLE Items (ItemID BIGINT PRIMARY KEY, Name STRING, Price DECIMAL(10,2));
CREATE TABLE Reviews (ReviewID BIGINT PRIMARY KEY, ItemID INT, Rating INT, Text STRING);
CREATE TABLE Links (source BIGINT, target BIGINT, weight INT, PRIMARY KEY (source, target));
"""
INDEX = "CREATE JOIN INDEX ItemsReviews ON Items (ItemID), Reviews (ItemID) INCLUDE (Rating)"
JOIN = "SELECT Name, Rating FROM Items i {} JOIN Reviews r ON i.ItemID = r.ItemID"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[vk.Database]:
    """Item 1 has two reviews, item 2 has none, a review is of an item 9 that is not there, and one of no item."""
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(SHOP)
        for number, name in ((1, "pen"), (2, "ink")):
            db.put("Items", {"ItemID": number, "Name": name, "Price": Decimal(number)})
        for number, item, rating in ((11, 1, 5), (12, 1, 3), (13, 9, 4), (14, None, 1)):
            db.put("Reviews", {"ReviewID": number, "ItemID": item, "Rating": rating, "Text": "fine"})
        db.execute(INDEX)
        yield db


def rows(found: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in found]


PEN = [("pen", 3), ("pen", 5)]


@pytest.mark.parametrize(
    ("kind", "by_item", "by_review"),
    [
        ("", {1: PEN}, {1: PEN}),
        ("LEFT", {1: PEN, 2: [("ink", None)]}, {1: PEN}),
        ("RIGHT", {1: PEN}, {1: PEN, 9: [(None, 4)]}),
        ("FULL", {1: PEN, 2: [("ink", None)]}, {1: PEN, 9: [(None, 4)]}),
        ("LEFT SEMI", {1: [("pen",)]}, {}),
        ("LEFT ANTI", {2: [("ink",)]}, {}),
    ],
)
def test_a_join_of_each_kind_is_answered_from_one_key(
    shop: vk.Database, kind: str, by_item: dict[int, Any], by_review: dict[int, Any]
) -> None:
    shows_left = kind in ("LEFT SEMI", "LEFT ANTI")
    text = JOIN.format(kind).replace("Name, Rating", "Name") if shows_left else JOIN.format(kind)
    for number in (1, 2, 9, 77):
        for column, wanted in (("i.ItemID", by_item), ("r.ItemID", by_review)):
            if column == "r.ItemID" and shows_left:
                continue
            answer = shop.query(f"{text} WHERE {column} = :id", id=number, allow_scan=True)
            assert sorted(rows(answer), key=repr) == wanted.get(number, [])
            assert (answer.meta.path, answer.meta.operations, answer.meta.position) == ("view", 1, shop.head())


def test_a_join_by_an_index_of_a_limited_number_of_rows_needs_no_leave(tmp_path: Path) -> None:
    """As many rows of one key as a CARDINALITY says: what is read is bounded, whatever the tables hold."""
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(
            "CREATE TABLE Items (ItemID BIGINT PRIMARY KEY, Name STRING);"
            "CREATE TABLE Reviews (ItemID BIGINT, ReviewID BIGINT, Rating INT, PRIMARY KEY (ItemID, ReviewID)) "
            "WITH CARDINALITY (ReviewID, 5);"
            "CREATE JOIN INDEX ItemsReviews ON Items (ItemID), Reviews (ItemID)"
        )
        db.put("Items", {"ItemID": 1, "Name": "pen"})
        for number, rating in ((11, 5), (12, 3)):
            db.put("Reviews", {"ItemID": 1, "ReviewID": number, "Rating": rating})
        move(db)
        for kind in ("", "LEFT"):
            text = f"{JOIN.format(kind)} WHERE i.ItemID = :id"
            verdict = db.explain(text)
            answer = db.query(text, id=1)
            assert sorted(rows(answer)) == PEN
            assert verdict.operations_max is not None
            assert answer.meta.operations <= verdict.operations_max <= 2
            assert db.query(text, id=2).all() == []


def test_a_join_index_has_a_bound_of_its_own_whatever_its_sides_have(shop: vk.Database) -> None:
    verdict = shop.explain(INDEX.replace("ItemsReviews", "Another"))
    assert (verdict.level, verdict.storage) == ("SI-1", (1, "(Items + Reviews)"))
    assert verdict.added == {"Items": (2, 2), "Reviews": (2, 2)}
    assert shop.explain("CREATE JOIN INDEX Ways ON Links (source), Links (target)").storage == (2, "Links")
    assert [status.level for status in shop.status()] == ["SI-1"]
    shop.execute("SET scale_independence = strict")
    made = shop.execute("CREATE JOIN INDEX Ways ON Links (source), Links (target)")
    assert isinstance(made, Outcome)
    assert made.warnings == ()


def test_rows_are_joined_in_a_snapshot_and_in_a_session(shop: vk.Database) -> None:
    text = f"{JOIN.format('')} WHERE i.ItemID = :id ORDER BY Rating"
    with shop.session() as session, session.snapshot() as snapshot:
        for reader in (session, snapshot):
            with pytest.raises(vk.Unbounded):
                reader.query(text, id=1)
            assert rows(reader.query(text, id=1, allow_scan=True)) == PEN
        everything = "SELECT COUNT(*) AS n FROM Items i JOIN Reviews r ON i.ItemID = r.ItemID"
        assert session.query(everything, allow_scan=True).all() == [{"n": 2}]
        with pytest.raises(vk.Unsupported, match="cannot run in a snapshot"):
            snapshot.query(everything, allow_scan=True)
        answer = snapshot.query("SELECT Name FROM Items WHERE ItemID > 1", allow_scan=True)
        assert (rows(answer), answer.meta.path) == ([("ink",)], "scan")


def test_full_join_using_its_key_is_fixed_by_whichever_side_is_there(shop: vk.Database) -> None:
    text = "SELECT ItemID, Name, Rating FROM Items FULL JOIN Reviews USING (ItemID) WHERE ItemID = ? ORDER BY Rating"
    assert rows(shop.execute(text, [1])) == [(1, "pen", 3), (1, "pen", 5)]
    assert rows(shop.execute(text, [2])) == [(2, "ink", None)]
    assert rows(shop.execute(text, [9])) == [(9, None, 4)]


def test_all_that_a_view_can_compute_is_computed(shop: vk.Database) -> None:
    grouped = """
    SELECT UPPER(i.Name) AS name, COUNT(r.Rating) AS n, AVG(r.Rating) AS average
    FROM Items i LEFT JOIN Reviews r ON i.ItemID = r.ItemID WHERE i.ItemID = :id GROUP BY i.Name
    """
    assert shop.query(grouped, id=1, allow_scan=True).all() == [{"name": "PEN", "n": 2, "average": 4.0}]
    assert shop.query(grouped, id=2, allow_scan=True).all() == [{"name": "INK", "n": 0, "average": None}]
    assert shop.query(grouped, id=3, allow_scan=True).all() == []
    total = "SELECT COUNT(*) AS n FROM Items i, Reviews r WHERE i.ItemID = r.ItemID AND :id = r.ItemID"
    assert shop.query(total, id=3, allow_scan=True).all() == [{"n": 0}]
    once = "SELECT DISTINCT i.Name FROM Items i JOIN Reviews r ON i.ItemID = r.ItemID WHERE i.ItemID = 1"
    assert shop.query(once, allow_scan=True).all() == [{"Name": "pen"}]
    more = f"{JOIN.format('LEFT')} AND r.Rating > :least WHERE i.ItemID = :id AND (Rating < :most OR Rating IS NULL)"
    assert rows(shop.query(more, id=1, least=3, most=9, allow_scan=True)) == [("pen", 5)]
    assert rows(shop.query(more, id=1, least=5, most=9, allow_scan=True)) == [("pen", None)]
    sub_query = """
    SELECT i.Name, best.top FROM Items AS i
    JOIN (SELECT ItemID, MAX(Rating) AS top FROM Reviews GROUP BY ItemID) AS best ON best.ItemID = i.ItemID
    WHERE i.ItemID IN (:id)
    """
    assert rows(shop.query(sub_query, id=[1], allow_scan=True)) == [("pen", 5)]


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("BOOLEAN", True),
        ("INT", -5),
        ("BIGINT", 1 << 40),
        ("DECIMAL(26,0)", 10**25),
        ("DOUBLE", 0.1),
        ("DOUBLE", -1e300),
        ("DOUBLE", float("inf")),
        ("DECIMAL(4,2)", Decimal("-12.50")),
        ("STRING", "it's 5"),
        ("BINARY", b"\x00\xff"),
        ("DATE", date(2024, 2, 29)),
        ("TIMESTAMP", datetime(2024, 2, 29, 12, 30, 0, 1, tzinfo=UTC)),
    ],
    ids=repr,
)
def test_a_parameter_is_a_value_of_the_type_that_is_written(shop: vk.Database, type: str, value: Any) -> None:
    text = (
        f"SELECT CAST(:p AS {type}) AS p, CAST(:p AS {type}) = :p AS same "
        "FROM Items i JOIN Reviews r ON i.ItemID = r.ItemID WHERE i.ItemID = 1 LIMIT 1"
    )
    (row,) = shop.query(text, p=value, allow_scan=True)
    found = row["p"]
    assert (found, row["same"]) == (value, True)
    assert found.__class__ is (Decimal if value == 10**25 else value.__class__)


def test_a_list_stands_for_its_values_in_in(shop: vk.Database) -> None:
    text = f"{JOIN.format('')} WHERE i.ItemID = 1 AND Rating"
    assert rows(shop.query(f"{text} IN (:some, 7)", some=[3, 4], allow_scan=True)) == [("pen", 3)]
    assert rows(shop.query(f"{text} IN :some", some=(5, None), allow_scan=True)) == [("pen", 5)]
    assert rows(shop.query(f"{text} IN (:some)", some=[], allow_scan=True)) == []
    assert len(rows(shop.query(f"{text} NOT IN (:some)", some=[], allow_scan=True))) == 2


def test_rows_are_sorted_and_cut_at_the_end(shop: vk.Database) -> None:
    full = "SELECT r.Rating AS stars, Name FROM Items i JOIN Reviews r ON i.ItemID = r.ItemID WHERE i.ItemID = 1"
    for number, rating in ((21, None), (22, 5), (23, 4)):
        shop.put("Reviews", {"ReviewID": number, "ItemID": 1, "Rating": rating})
    move(shop)

    def stars(order: str, **params: Any) -> list[Any]:
        return [row["stars"] for row in shop.query(f"{full} {order}", **params, allow_scan=True)]

    assert stars("ORDER BY stars") == [None, 3, 4, 5, 5]
    assert stars("ORDER BY stars DESC") == [5, 5, 4, 3, None]
    assert stars("AND r.Rating IS NOT NULL ORDER BY stars LIMIT 2") == [3, 4]
    assert stars("ORDER BY stars DESC NULLS LAST LIMIT :n", n=2) == [5, 5]
    assert stars("ORDER BY stars NULLS FIRST LIMIT :n MAX 9 OFFSET 1", n=2) == [3, 4]
    assert stars("ORDER BY r.ReviewID DESC") == [4, 5, None, 3, 5]
    assert stars("ORDER BY Name DESC, stars % 4, r.ReviewID LIMIT 3") == [None, 4, 5]
    assert stars("LIMIT 0") == []
    distinct = full.replace("SELECT", "SELECT DISTINCT")
    assert [row["stars"] for row in shop.query(f"{distinct} ORDER BY Name, stars", allow_scan=True)] == [None, 3, 4, 5]


def test_columns_that_are_only_sorted_by_are_not_shown(shop: vk.Database) -> None:
    answer = shop.query(f"{JOIN.format('')} WHERE i.ItemID = 1 ORDER BY r.ReviewID", allow_scan=True)
    assert answer.columns == ("Name", "Rating")
    assert answer.to_arrow().to_pylist() == [{"Name": "pen", "Rating": 5}, {"Name": "pen", "Rating": 3}]


def test_a_join_is_answered_as_of_the_watermark_of_its_index(shop: vk.Database) -> None:
    text = f"{JOIN.format('LEFT')} WHERE i.ItemID = :id"
    before = shop.head()
    with shop.snapshot() as snapshot:
        with shop.transaction() as tx:
            tx.put("Items", {"ItemID": 3, "Name": "cap"})
            tx.put("Reviews", {"ReviewID": 31, "ItemID": 3, "Rating": 2})
        answer = shop.query(text, id=3, allow_scan=True)
        assert (rows(answer), answer.meta.position) == ([], before)
        answer = shop.query(text, id=3, consistency=vk.at_least(tx.position), timeout=0, allow_scan=True)
        assert (rows(answer), answer.meta.path) == ([("cap", 2)], "folded")
        move(shop)
        assert rows(shop.query(text, id=3, consistency="latest", allow_scan=True)) == [("cap", 2)]
        answer = snapshot.query(text, id=3, allow_scan=True)
        assert (rows(answer), answer.meta.position) == ([], before)


def test_a_join_by_an_index_that_is_not_filled_waits_for_it(shop: vk.Database) -> None:
    with unfilled():
        shop.execute("CREATE JOIN INDEX Pairs ON Links (source), Items (ItemID) INCLUDE (Name)")
    shop.put("Links", {"source": 1, "target": 2, "weight": 5})
    text = "SELECT Name, weight FROM Links JOIN Items ON source = ItemID WHERE source = 1"
    with pytest.raises(vk.ViewNotReady, match="Pairs"):
        shop.query(text, allow_scan=True)
    fill(shop, "Pairs")
    move(shop)
    assert rows(shop.query(text, allow_scan=True)) == [("pen", 5)]


def test_a_null_key_finds_nothing_and_reads_nothing(shop: vk.Database) -> None:
    answer = shop.query(f"{JOIN.format('FULL')} WHERE i.ItemID = :id", id=None, allow_scan=True)
    assert (rows(answer), answer.meta.operations) == ([], 0)


def test_a_key_beyond_the_type_of_one_side_finds_the_other(shop: vk.Database) -> None:
    shop.put("Items", {"ItemID": 1 << 40, "Name": "far"})
    move(shop)
    assert rows(shop.query(f"{JOIN.format('LEFT')} WHERE i.ItemID = :id", id=1 << 40, allow_scan=True)) == [
        ("far", None)
    ]
    assert rows(shop.query(f"{JOIN.format('LEFT')} WHERE r.ItemID = :id", id=1 << 40, allow_scan=True)) == []


def test_key_columns_have_the_type_of_their_own_table(shop: vk.Database) -> None:
    text = "SELECT r.ItemID, i.ItemID AS id FROM Reviews r JOIN Items i ON i.ItemID = r.ItemID WHERE r.ItemID = 1"
    schema = shop.query(text, allow_scan=True).to_arrow().schema
    assert [str(field.type) for field in schema] == ["int32", "int64"]


def test_key_columns_have_the_digits_of_their_own_table(shop: vk.Database) -> None:
    shop.execute(
        "CREATE TABLE Short (p DECIMAL(5,1) PRIMARY KEY, n INT); CREATE TABLE Long (p DECIMAL(9,3) PRIMARY KEY, n INT);"
        "CREATE JOIN INDEX Priced ON Short (p), Long (p)"
    )
    shop.put("Short", {"p": Decimal("2.5"), "n": 1})
    shop.put("Long", {"p": Decimal("2.500"), "n": 2})
    move(shop)
    text = "SELECT s.p, l.p AS long, s.n + l.n AS n FROM Short s JOIN Long l ON s.p = l.p WHERE s.p = :p"
    for given in (Decimal("2.5"), Decimal("2.50000")):
        (row,) = shop.query(text, p=given, allow_scan=True)
        assert list(map(str, row.values())) == ["2.5", "2.500", "3"]
    with pytest.raises(vk.BadParameter, match=r"Decimal\('2.55'\), expected DECIMAL\(5,1\)"):
        shop.query(text, p=Decimal("2.55"))
    assert shop.query(text.replace(":p", "CAST(:p AS DECIMAL(9,3))"), p=Decimal("2.55")).all() == []


def test_key_of_several_columns_needs_all_of_them(shop: vk.Database) -> None:
    shop.execute(
        "CREATE TABLE Weights (a BIGINT, b BIGINT, n INT, PRIMARY KEY (a, b));"
        "CREATE JOIN INDEX Weighed ON Links (source, target), Weights (a, b)"
    )
    for a, b in ((1, 1), (1, 2), (2, 1)):
        shop.put("Links", {"source": a, "target": b, "weight": 10 * a + b})
        shop.put("Weights", {"a": b, "b": a, "n": 100 * a + b})
    move(shop)
    text = "SELECT weight, n FROM Links LEFT JOIN Weights ON source = a AND target = b WHERE source = 1"
    assert rows(shop.query(f"{text} AND target = 2", allow_scan=True)) == [(12, 201)]
    assert rows(shop.query(f"{text.replace('LEFT ', '')} AND b = 2", allow_scan=True)) == [(12, 201)]
    with pytest.raises(vk.Unbounded):
        shop.query(text)
    assert shop.query(text, allow_scan=True).meta.path == "scan"


def test_a_table_beside_itself_is_joined_with_itself(shop: vk.Database) -> None:
    shop.execute("CREATE JOIN INDEX Paths ON Links (target), Links (source)")
    for source, target in ((1, 2), (2, 3), (2, 4), (5, 2)):
        shop.put("Links", {"source": source, "target": target, "weight": 1})
    move(shop)
    text = "SELECT a.source, b.target FROM Links a JOIN Links b ON a.target = b.source WHERE b.source = :via"
    answer = shop.query(text, via=2, allow_scan=True)
    assert sorted(rows(answer)) == [(1, 3), (1, 4), (5, 3), (5, 4)]
    assert answer.meta.operations == 1


def test_three_sides_are_joined_at_once(shop: vk.Database) -> None:
    shop.execute("CREATE JOIN INDEX Three ON Items (ItemID), Reviews (ItemID), Links (source)")
    shop.put("Links", {"source": 1, "target": 7, "weight": 1})
    move(shop)
    text = """
    SELECT Name, Rating, target FROM Items
    LEFT JOIN Reviews ON Reviews.ItemID = Items.ItemID FULL JOIN Links ON source = Items.ItemID WHERE Items.ItemID = ?
    """
    assert Counter(rows(shop.execute(text, [1]))) == Counter([("pen", 5, 7), ("pen", 3, 7)])
    assert rows(shop.execute(text, [2])) == [("ink", None, None)]


@pytest.mark.usefixtures("weighted_views")
def test_rows_that_an_index_repeats_are_joined_as_often(tmp_path: Path) -> None:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(SHOP)
        db.execute("CREATE VIEW Stars AS SELECT ItemID, Rating FROM Reviews")
        db.execute("CREATE JOIN INDEX Starred ON Items (ItemID) INCLUDE (Name), Stars (ItemID)")
        db.put("Items", {"ItemID": 1, "Name": "pen"})
        for number in range(3):
            db.put("Reviews", {"ReviewID": number, "ItemID": 1, "Rating": 5})
        move(db)
        text = "SELECT Name, Rating FROM Items JOIN Stars ON Items.ItemID = Stars.ItemID WHERE Items.ItemID = 1"
        assert rows(db.query(text, allow_scan=True)) == [("pen", 5)] * 3


def test_an_index_over_a_view_answers_joins_with_it(shop: vk.Database) -> None:
    shop.execute(
        "CREATE VIEW Averages AS SELECT ItemID, AVG(Rating) AS average FROM Reviews GROUP BY ItemID;"
        "CREATE JOIN INDEX Rated ON Items (ItemID) INCLUDE (Name), Averages (ItemID)"
    )
    text = "SELECT Name, average FROM Items LEFT JOIN Averages a ON a.ItemID = Items.ItemID WHERE Items.ItemID = :id"
    assert rows(shop.query(text, id=1, allow_scan=True)) == [("pen", 4.0)]
    assert rows(shop.query(text, id=2, allow_scan=True)) == [("ink", None)]


def test_the_command_line_answers_joins(shop: vk.Database, tmp_path: Path) -> None:
    select = f"{JOIN.format('LEFT')} WHERE i.ItemID = :id ORDER BY Rating"
    done = run("query", tmp_path / "db", select, "-p", "id=1", "-f", "json")
    assert done.rows == [{"Name": "pen", "Rating": 3}, {"Name": "pen", "Rating": 5}]


def test_a_handle_that_may_not_write_joins_in_execute(shop: vk.Database, tmp_path: Path) -> None:
    with vk.open(tmp_path / "db", read_only=True) as reader:
        assert rows(reader.execute(f"{JOIN.format('')} WHERE i.ItemID = ? ORDER BY Rating", [1])) == PEN


def test_an_index_that_is_replaced_answers_with_what_it_has_now(shop: vk.Database) -> None:
    text = "SELECT Name, Text FROM Items i JOIN Reviews r ON i.ItemID = r.ItemID WHERE i.ItemID = 1"

    def path() -> str:
        answer = shop.query(text, allow_scan=True)
        assert rows(answer) == [("pen", "fine")] * 2
        return answer.meta.path

    assert path() == "scan"
    shop.execute(INDEX.replace("CREATE", "CREATE OR REPLACE").replace("(Rating)", "(Rating, Text)"))
    assert path() == "view"
    shop.execute("ALTER TABLE Items ADD COLUMN Stock INT")
    assert path() == "view"
    shop.execute("DROP INDEX ItemsReviews")
    assert path() == "scan"


def test_rows_of_one_key_are_scanned_with_the_name_of_their_table(shop: vk.Database) -> None:
    found = shop.scan("ItemsReviews", prefix=(1,))
    assert found.columns == ("ItemID", "table", "Name", "Price", "ReviewID", "Rating")
    assert rows(found) == [
        (1, "Items", "pen", Decimal("1.00"), None, None),
        (1, "Reviews", None, None, 11, 5),
        (1, "Reviews", None, None, 12, 3),
    ]
    assert [row["ReviewID"] for row in shop.scan("ItemsReviews", prefix=(1, "Reviews"), reverse=True)] == [12, 11]
    assert [row["ItemID"] for row in shop.scan("ItemsReviews")] == [1, 1, 1, 2, 9]


def test_one_row_of_a_join_index_cannot_be_got_by_key(shop: vk.Database) -> None:
    with pytest.raises(vk.NotUnique) as told:
        shop.get("ItemsReviews", 1, "Items")
    assert '"ItemsReviews"' in told.value.message
    assert "scan" in told.value.hint


def test_a_row_that_moves_to_another_key_is_two_changes_of_the_feed(shop: vk.Database) -> None:
    since = shop.head()
    shop.put("Reviews", {"ReviewID": 12, "ItemID": 2})
    shop.put("Reviews", {"ReviewID": 14, "ItemID": 2})
    move(shop)
    found = [
        (change.key, change.before is None, change.after is None)
        for change in shop.changes("ItemsReviews", since=since)
    ]
    assert sorted(found) == [
        ((1, "Reviews"), False, True),
        ((2, "Reviews"), True, False),
        ((2, "Reviews"), True, False),
    ]


def test_spark_reads_a_join_index_with_the_names_of_the_tables(
    shop: vk.Database, spark: SparkSession, tmp_path: Path
) -> None:
    spark.dataSource.register(vk.spark.Viewkeeper)
    frame = spark.read.format("viewkeeper").options(path=str(tmp_path / "db"), table="ItemsReviews").load()
    found = [tuple(row.values()) for row in frame.toArrow().to_pylist()]
    assert Counter(found) == Counter(rows(shop.scan("ItemsReviews")))
    assert frame.filter("ItemID = 1 AND table = 'Reviews'").count() == 2

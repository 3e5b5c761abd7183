"""What users call: rows in and out by name, transactions, snapshots, loads, handles."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import viewkeeper as vk

ITEMS = "CREATE TABLE Items (ItemID BIGINT PRIMARY KEY, Name STRING, Price DECIMAL(10,2), Stock INT)"
TAGS = "CREATE TABLE Tags (doc BIGINT, tag STRING, weight INT, PRIMARY KEY (doc, tag)) WITH CARDINALITY (tag, 3)"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as opened:
        opened.execute(f"{ITEMS}; {TAGS}")
        yield opened


class TestRows:
    def test_insert_put_and_delete_return_growing_positions(self, db: vk.Database) -> None:
        start = db.head()
        first = db.insert("Items", {"ItemID": 1, "Name": "pen"})
        second = db.put("Items", {"ItemID": 1, "Stock": 3})
        third = db.delete("Items", 1)
        assert db.head() == third
        for later, earlier in ((first, start), (second, first), (third, second)):
            assert later.covers(earlier)
            assert not earlier.covers(later)

    def test_put_merges_the_given_columns(self, db: vk.Database) -> None:
        db.put("Items", {"ItemID": 1, "Name": "pen", "Stock": 3})
        db.put("Items", {"ItemID": 1, "Price": Decimal("9.99"), "Stock": None})
        assert db.get("Items", 1) == {"ItemID": 1, "Name": "pen", "Price": Decimal("9.99"), "Stock": None}

    def test_insert_refuses_a_key_that_is_there(self, db: vk.Database) -> None:
        db.insert("Items", {"ItemID": 1, "Name": "pen"})
        with pytest.raises(vk.KeyExists, match="ItemID=1"):
            db.insert("Items", {"ItemID": 1})
        assert db.get("Items", 1)["Name"] == "pen"  # type: ignore[index]

    def test_deleting_what_is_absent_is_no_change_and_no_error(self, db: vk.Database) -> None:
        head = db.head()
        assert db.delete("Items", 5) == head
        assert db.get("Items", 5) is None

    def test_names_are_compared_without_case(self, db: vk.Database) -> None:
        db.put("ITEMS", {"itemid": 1, "NAME": "pen"})
        assert db.get("items", 1) == {"ItemID": 1, "Name": "pen", "Price": None, "Stock": None}
        assert [row["Name"] for row in db.scan("iTeMs")] == ["pen"]
        with db.transaction() as tx:
            tx.put("items", {"ITEMID": 2})
            assert tx.get("ITEMS", 2) is not None
        db.delete("itEMS", 2)
        assert [change.table for change in db.changes("ITEMS", since=db.oldest())] == ["Items"] * 3

    def test_values_come_back_in_their_python_form(self, db: vk.Database) -> None:
        db.execute(
            "CREATE TABLE Every (k BINARY PRIMARY KEY, b BOOLEAN, i INT, l BIGINT, d DOUBLE, n DECIMAL(38,10), "
            "s STRING, y DATE, t TIMESTAMP)"
        )
        row: dict[str, Any] = {
            "k": b"\0\xff",
            "b": True,
            "i": -(2**31),
            "l": 2**63 - 1,
            "d": -0.5,
            "n": Decimal("-9999999999999999999999999999.9999999999"),
            "s": "é\0",
            "y": dt.date(1, 1, 1),
            "t": dt.datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC),
        }
        db.insert("Every", row)
        assert db.get("Every", b"\0\xff") == row
        assert list(db.scan("Every")) == [row]
        (change,) = db.changes("Every", since=db.oldest())
        assert (change.key, change.before, change.after) == ((b"\0\xff",), None, row)
        assert db.scan("Every").to_arrow().to_pylist() == [row]


class TestScans:
    @pytest.fixture
    def tags(self, db: vk.Database) -> vk.Database:
        for doc in range(1, 5):
            for tag in ("a", "b", "c"):
                db.put("Tags", {"doc": doc, "tag": tag, "weight": doc})
        return db

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({}, "1a 1b 1c 2a 2b 2c 3a 3b 3c 4a 4b 4c"),
            ({"prefix": 2}, "2a 2b 2c"),
            ({"prefix": (2,)}, "2a 2b 2c"),
            ({"prefix": [2, "b"]}, "2b"),
            ({"prefix": 9}, ""),
            ({"lower": 3}, "3a 3b 3c 4a 4b 4c"),
            ({"upper": 2}, "1a 1b 1c"),
            ({"lower": 2, "upper": 3}, "2a 2b 2c"),
            ({"lower": (2, "b"), "upper": (3, "b")}, "2b 2c 3a"),
            ({"prefix": 3, "lower": "b"}, "3b 3c"),
            ({"prefix": 3, "upper": "b"}, "3a"),
            ({"prefix": 3, "lower": "b", "upper": "b"}, ""),
            ({"prefix": 3, "lower": "c", "upper": "a"}, ""),
            ({"limit": 2}, "1a 1b"),
            ({"limit": 0}, ""),
            ({"reverse": True, "limit": 4}, "4c 4b 4a 3c"),
            ({"prefix": 2, "reverse": True}, "2c 2b 2a"),
            ({"lower": 2, "upper": 4, "reverse": True, "limit": 2}, "3c 3b"),
        ],
        ids=str,
    )
    def test_scan_gives_the_rows_of_a_range_in_order(
        self, tags: vk.Database, options: dict[str, Any], expected: str
    ) -> None:
        shown = [f"{row['doc']}{row['tag']}" for row in tags.scan("Tags", **options)]
        assert " ".join(shown) == expected
        with tags.transaction() as tx:
            assert [f"{row['doc']}{row['tag']}" for row in tx.scan("Tags", **options)] == shown
        with tags.snapshot() as snapshot:
            assert [f"{row['doc']}{row['tag']}" for row in snapshot.scan("Tags", **options)] == shown

    def test_rows_can_be_taken_once(self, tags: vk.Database) -> None:
        rows = tags.scan("Tags")
        assert len(list(rows)) == 12
        with pytest.raises(vk.RowsConsumed):
            list(rows)
        with pytest.raises(vk.RowsConsumed):
            rows.to_arrow()
        assert len(tags.scan("Tags").all()) == 12

    def test_rows_say_how_they_were_found(self, tags: vk.Database) -> None:
        rows = tags.scan("Tags", prefix=2)
        assert rows.columns == ("doc", "tag", "weight")
        assert (rows.meta.path, rows.meta.position, rows.meta.operations) == ("table", tags.head(), 1)
        list(rows)
        assert rows.meta.rows == 3

    def test_rows_as_arrow(self, tags: vk.Database) -> None:
        found = tags.scan("Tags", prefix=2).to_arrow()
        assert found.schema.types == [pa.int64(), pa.string(), pa.int32()]
        assert found.to_pylist() == list(tags.scan("Tags", prefix=2))
        empty = tags.scan("Tags", prefix=99).to_arrow()
        assert (empty.num_rows, empty.schema) == (0, found.schema)


class TestTransactions:
    def test_block_commits_at_its_end(self, db: vk.Database) -> None:
        with db.transaction() as tx:
            tx.insert("Items", {"ItemID": 1})
            tx.put("Tags", {"doc": 1, "tag": "a"})
            assert tx.get("Items", 1) is not None
            assert db.get("Items", 1) is None
            with pytest.raises(vk.TransactionError, match="no position yet"):
                _ = tx.position
        assert tx.position == db.head()
        assert db.get("Items", 1) is not None
        assert len(list(db.scan("Tags"))) == 1

    def test_error_in_the_block_rolls_back(self, db: vk.Database) -> None:
        with pytest.raises(ZeroDivisionError), db.transaction() as tx:
            tx.put("Items", {"ItemID": 1})
            tx.put("Items", {"ItemID": 1 // 0})
        assert db.get("Items", 1) is None
        with pytest.raises(vk.TransactionOver):
            tx.get("Items", 1)

    def test_block_may_end_its_transaction_itself(self, db: vk.Database) -> None:
        with db.transaction() as tx:
            tx.put("Items", {"ItemID": 1})
            position = tx.commit()
        assert tx.position == position
        with db.transaction() as tx:
            tx.delete("Items", 1)
            tx.rollback()
        assert db.get("Items", 1) is not None

    def test_conflict_comes_out_of_the_block_and_writes_nothing(self, db: vk.Database) -> None:
        db.put("Items", {"ItemID": 1, "Stock": 1})
        with pytest.raises(vk.Conflict), db.transaction() as tx:
            stock = tx.get("Items", 1)["Stock"]  # type: ignore[index]
            db.put("Items", {"ItemID": 1, "Stock": 5})
            tx.put("Items", {"ItemID": 1, "Stock": stock + 1})
        assert db.get("Items", 1)["Stock"] == 5  # type: ignore[index]

    def test_position_is_that_of_changes_behind_it(self, db: vk.Database) -> None:
        with db.transaction() as tx:
            for number in range(5):
                tx.put("Items", {"ItemID": number})
        db.put("Items", {"ItemID": 99})
        assert [change.key for change in db.changes("Items", since=tx.position)] == [(99,)]


class TestSnapshots:
    def test_reads_of_a_snapshot_are_of_one_moment(self, db: vk.Database) -> None:
        db.put("Items", {"ItemID": 1, "Stock": 1})
        with db.snapshot() as snapshot:
            db.put("Items", {"ItemID": 1, "Stock": 2})
            db.put("Tags", {"doc": 1, "tag": "a"})
            assert snapshot.get("Items", 1)["Stock"] == 1  # type: ignore[index]
            assert list(snapshot.scan("Tags")) == []
            assert [row["Stock"] for row in snapshot.query("SELECT Stock FROM Items WHERE ItemID = 1")] == [1]
        assert db.get("Items", 1)["Stock"] == 2  # type: ignore[index]

    def test_past_is_read_by_position_or_its_text(self, db: vk.Database) -> None:
        positions = [db.put("Items", {"ItemID": 1, "Stock": stock}) for stock in range(5)]
        db.delete("Items", 1)
        for stock, position in enumerate(positions):
            again = vk.Position.parse(str(position))
            assert db.snapshot(at=again).get("Items", 1)["Stock"] == stock  # type: ignore[index]
            assert db.snapshot(at=again).position == position

    def test_positions_that_cannot_be_read_are_refused(self, db: vk.Database, tmp_path: Path) -> None:
        head = db.put("Items", {"ItemID": 1})
        database, _, offset = str(head).partition("@")
        with pytest.raises(vk.FuturePosition):
            db.snapshot(at=vk.Position.parse(f"{database}@{int(offset) + 1}"))
        with vk.open(tmp_path / "other", durability="os") as other, pytest.raises(vk.ForeignPosition):
            other.snapshot(at=head)

"""The database as a whole: loads, settings, what it says of itself, threads."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
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


class TestLoads:
    def test_load_puts_rows_of_dicts(self, db: vk.Database) -> None:
        db.put("Items", {"ItemID": 3, "Name": "kept", "Stock": 0})
        position = db.load("Items", ({"ItemID": number, "Stock": number} for number in range(25)), batch_rows=10)
        assert position == db.head()
        assert len(list(db.scan("Items"))) == 25
        assert db.get("Items", 3) == {"ItemID": 3, "Name": "kept", "Price": None, "Stock": 3}

    def test_load_of_arrow(self, db: vk.Database) -> None:
        data = pa.table({"stock": pa.array([1, None], pa.int64()), "ITEMID": [1, 2], "price": ["1.50", None]})
        data = data.set_column(2, "price", data["price"].cast(pa.decimal128(10, 2)))
        db.load("items", data)
        assert [row["Price"] for row in db.scan("Items")] == [Decimal("1.50"), None]
        assert [row["Stock"] for row in db.scan("Items")] == [1, None]

    def test_bad_row_is_named_and_earlier_batches_stay(self, db: vk.Database) -> None:
        rows: list[dict[str, Any]] = [{"ItemID": number} for number in range(25)]
        rows[17]["Stock"] = "many"
        with pytest.raises(vk.BadRow, match=r"row 18.*Stock"):
            db.load("Items", rows, batch_rows=10)
        assert len(list(db.scan("Items"))) == 10
        rows[17]["Stock"] = 1
        db.load("Items", rows, batch_rows=10)
        assert len(list(db.scan("Items"))) == 25

    def test_row_that_the_store_refuses_is_named_too(self, db: vk.Database) -> None:
        rows = [{"doc": number // 3, "tag": f"{number}"} for number in range(9)] + [{"doc": 1, "tag": "one more"}]
        rows += [{"doc": number, "tag": "x"} for number in range(10, 20)]
        with pytest.raises(vk.BadRow, match=r"row 10: .*more than 3"):
            db.load("Tags", rows)
        assert list(db.scan("Tags")) == []

    def test_reason_is_that_of_the_row_that_is_named(self, db: vk.Database) -> None:
        """Documents 1 and 2 both get a tag too many; that of document 1 comes first, though 2 was seen before it."""
        rows = [{"doc": 2, "tag": "a"}, *({"doc": doc, "tag": tag} for doc in (1, 2) for tag in "bcde")]
        with pytest.raises(vk.BadRow, match=r"^row 5: .* would hold 4 values of tag for doc=1,"):
            db.load("Tags", rows)

    def test_bad_rows_can_be_set_aside(self, db: vk.Database, tmp_path: Path) -> None:
        rows: list[dict[str, Any]] = [{"doc": number // 3, "tag": f"{number}"} for number in range(9)]
        rows[4:4] = [{"doc": 0, "tag": "one more"}, {"doc": None, "tag": "x"}, {"doc": 0, "tag": "and more"}]
        db.load("Tags", rows, skip_bad=tmp_path / "bad.jsonl")
        assert len(list(db.scan("Tags"))) == 9
        lines = (tmp_path / "bad.jsonl").read_text().splitlines()
        assert len(lines) == 3

    def test_many_bad_rows_are_set_aside_without_trying_the_good_ones_over_and_over(
        self, db: vk.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Rows handed to the store: a few times as many as there are, not the square of it."""
        store = db._store
        load = store.load
        tried: list[int] = []

        def counted(codec: Any, data: Any, **options: Any) -> vk.Position:
            tried.append(len(data))
            return load(codec, data, **options)

        monkeypatch.setattr(store, "load", counted)
        rows = [{"doc": number % 10, "tag": f"{number}"} for number in range(512)]
        db.load("Tags", rows, skip_bad=tmp_path / "bad.jsonl")
        assert [(row["doc"], row["tag"]) for row in db.scan("Tags")] == sorted(
            (number % 10, f"{number}") for number in range(30)
        )
        assert len((tmp_path / "bad.jsonl").read_text().splitlines()) == 482
        assert sum(tried) < 512 * 20

    def test_unknown_columns_are_refused_or_left_out(self, db: vk.Database) -> None:
        data = pa.table({"ItemID": [1], "color": ["red"]})
        with pytest.raises(vk.UnknownColumn, match="color"):
            db.load("Items", data)
        db.load("Items", data, ignore_unknown=True)
        assert db.get("Items", 1) is not None

    def test_load_into_a_range_table_gives_it_its_bounds(self, db: vk.Database) -> None:
        db.execute("CREATE TABLE Days (day BIGINT, n INT, PRIMARY KEY (day, n)) PARTITIONED BY RANGE (day) INTO 3")
        db.load("Days", ({"day": number // 100, "n": number % 100} for number in range(4_000)))
        (days,) = (found for found in db.tables() if found.name == "Days")
        assert days.partitioning is not None
        assert len(days.partitioning.bounds) == 2


class TestDatabase:
    def test_tables_are_listed_by_name(self, db: vk.Database) -> None:
        db.execute("CREATE TABLE apples (id INT PRIMARY KEY)")
        assert [found.name for found in db.tables()] == ["apples", "Items", "Tags"]
        (tags,) = (found for found in db.tables() if found.name == "Tags")
        db.execute("DROP TABLE Tags")
        db.execute(str(tags))
        (again,) = (found for found in db.tables() if found.name == "Tags")
        assert (again.columns, again.primary_key, again.cardinalities) == (
            tags.columns,
            tags.primary_key,
            tags.cardinalities,
        )

    def test_settings(self, db: vk.Database) -> None:
        assert db.configure().log_retention_ms == 3_600_000
        changed = db.configure(log_retention="2 days", statement_rows=50)
        assert (changed.log_retention_ms, changed.statement_rows) == (172_800_000, 50)
        assert db.configure() == changed
        for bad in ("soon", "-1s", "", 5):
            with pytest.raises(vk.WrongType):
                db.configure(log_retention=bad)  # type: ignore[arg-type]
        for wrong in (0, -1, "many", 1.5, True):
            with pytest.raises(vk.WrongType):
                db.configure(statement_rows=wrong)  # type: ignore[arg-type]
        assert db.configure() == changed

    def test_info_says_what_there_is(self, db: vk.Database, tmp_path: Path) -> None:
        for number in range(10):
            db.put("Items", {"ItemID": number})
        info = db.info()
        assert (info.path, info.durability, info.format) == (str((tmp_path / "db").resolve()), "os", 1)
        assert (info.head, info.oldest, info.log_changes) == (db.head(), db.oldest(), 10)
        assert str(info.head).startswith(info.database + "@")
        assert [(found.name, found.rows, found.key) for found in info.tables] == [
            ("Items", 10, ("ItemID",)),
            ("Tags", 0, ("doc", "tag")),
        ]
        assert info.settings == db.configure()
        assert min(info.log_bytes, info.base_bytes, info.views_bytes) > 0

    def test_info_counts_no_reader_while_nothing_is_read(self, db: vk.Database) -> None:
        for number in range(50):
            db.get("Items", number)
        list(db.scan("Items"))
        assert db.info().readers == 0

    def test_database_is_found_again(self, tmp_path: Path) -> None:
        with vk.open(tmp_path / "new") as db:
            db.execute(ITEMS)
            position = db.put("Items", {"ItemID": 1})
        with vk.open(str(tmp_path / "new")) as db:
            assert db.info().durability == "sync"
            assert db.get("Items", 1) is not None
            assert db.head() == position

    def test_one_handle_serves_many_threads(self, db: vk.Database) -> None:
        def work(thread: int) -> None:
            for number in range(30):
                key = thread * 100 + number
                db.insert("Items", {"ItemID": key, "Stock": number})
                assert db.get("Items", key) is not None
                with db.transaction() as tx:
                    tx.put("Items", {"ItemID": key, "Name": f"{thread}"})
                assert len(list(db.scan("Items", lower=thread * 100, upper=thread * 100 + 100))) == number + 1

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        assert db.info().tables[0].rows == 240

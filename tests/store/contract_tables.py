"""Tables come, get columns, and go."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.store.harness import Harness
from tests.store.shapes import ITEMS, TAGS, codec_of, column, delete, encoded, get, put, rows, table
from viewkeeper.errors import BadDefinition, Conflict, TableExists, UnknownTable, ViewkeeperError
from viewkeeper.model.types import BIGINT, INT, STRING
from viewkeeper.store.interface import ALL, Store


class TestTables:
    def test_new_table_has_an_id_and_is_empty(self, store: Store) -> None:
        created = store.create_table(ITEMS)
        assert created.id > 0
        assert store.catalog().tables == {created.id: created}
        assert rows(store, "Items") == []
        assert store.row_count(codec_of(store, "Items")) == 0

    def test_name_is_found_in_any_case(self, store: Store) -> None:
        store.create_table(ITEMS)
        put(store, "iTEMS", id=1)
        assert get(store, "items", 1) == get(store, "ITEMS", 1) == (1, None, None)

    def test_name_is_taken_in_any_case(self, store: Store) -> None:
        store.create_table(ITEMS)
        with pytest.raises(TableExists, match='"ITEMS"'):
            store.create_table(table("ITEMS", ("id",), column("id", STRING)))
        assert codec_of(store, "items").table.columns == ITEMS.columns

    def test_unknown_table_names_the_known_ones(self, store: Store) -> None:
        store.create_table(ITEMS)
        store.create_table(TAGS)
        with pytest.raises(UnknownTable) as raised:
            store.get("Itms", (1,))
        assert '"Itms"' in raised.value.message
        assert "Items, Tags" in raised.value.detail

    def test_dropping_an_unknown_table_is_refused(self, store: Store) -> None:
        with pytest.raises(UnknownTable):
            store.drop_table("Items")

    def test_dropped_table_is_unknown_to_reads_and_writes(self, store: Store) -> None:
        store.create_table(ITEMS)
        put(store, "Items", id=1)
        codec = codec_of(store, "Items")
        snapshot = store.snapshot()
        store.drop_table("items")
        head = store.head()
        for use in (
            lambda: get(store, "Items", 1),
            lambda: snapshot.get(codec, encoded(codec, 1)),
            lambda: snapshot.get_many(codec, [encoded(codec, 1)]),
            lambda: list(snapshot.scan(codec, ALL)),
            lambda: store.put(codec, {0: 2}),
            lambda: store.row_count(codec),
            lambda: store.split(codec, 2),
            lambda: store.add_column("Items", column("price", INT)),
        ):
            with pytest.raises(UnknownTable):
                use()
        assert store.head() == head

    def test_table_made_again_is_empty_and_has_another_id(self, store: Store) -> None:
        first = store.create_table(ITEMS)
        put(store, "Items", id=1)
        store.drop_table("Items")
        second = store.create_table(table("Items", ("name",), column("name", STRING)))
        assert second.id > first.id
        assert rows(store, "Items") == []
        put(store, "Items", name="x")
        assert rows(store, "Items") == [("x",)]

    def test_ids_are_not_reused_after_a_reopen(self, harness: Harness, folder: Path) -> None:
        store = harness.open(folder)
        seen = []
        for _ in range(3):
            seen.append(store.create_table(ITEMS).id)
            store.drop_table("Items")
            harness.close(store)
            store = harness.open(folder)
            harness.clean(store)
        harness.close(store)
        assert seen == sorted(set(seen))

    def test_tables_and_rows_survive_a_reopen(self, harness: Harness, folder: Path) -> None:
        store = harness.open(folder)
        created = store.create_table(TAGS)
        position = put(store, "Tags", doc=1, tag="a", weight=3)
        harness.close(store)
        store = harness.open(folder)
        assert store.catalog().table("Tags") == created
        assert rows(store, "Tags") == [(1, "a", 3)]
        assert store.head() == position
        harness.close(store)

    def test_many_tables_keep_their_rows_apart(self, store: Store) -> None:
        for number in range(40):
            store.create_table(table(f"t{number}", ("id",), column("id", BIGINT)))
        for number in range(40):
            put(store, f"t{number}", id=number)
        assert [rows(store, f"t{number}") for number in range(40)] == [[(number,)] for number in range(40)]

    def test_row_count_follows_inserts_and_deletes(self, store: Store) -> None:
        store.create_table(ITEMS)
        for number in range(5):
            put(store, "Items", id=number)
        put(store, "Items", id=2, name="again")
        delete(store, "Items", 0)
        delete(store, "Items", 77)
        assert store.row_count(codec_of(store, "Items")) == 4


class TestColumns:
    def test_rows_from_before_have_null_in_an_added_column(self, store: Store) -> None:
        store.create_table(ITEMS)
        put(store, "Items", id=1, name="a")
        changed = store.add_column("items", column("price", INT))
        assert changed.column_names == ("id", "name", "stock", "price")
        assert get(store, "Items", 1) == (1, "a", None, None)
        assert rows(store, "Items") == [(1, "a", None, None)]
        put(store, "Items", id=1, price=5)
        assert get(store, "Items", 1) == (1, "a", None, 5)

    def test_column_that_is_there_already_is_refused(self, store: Store) -> None:
        store.create_table(ITEMS)
        with pytest.raises(BadDefinition, match="twice"):
            store.add_column("Items", column("NAME", INT))
        assert codec_of(store, "Items").table.columns == ITEMS.columns

    def test_column_cannot_be_added_not_null(self, store: Store) -> None:
        store.create_table(ITEMS)
        with pytest.raises(BadDefinition, match="NOT NULL"):
            store.add_column("Items", column("price", INT, nullable=False))

    def test_write_made_for_the_columns_of_before_conflicts(self, store: Store) -> None:
        """Else a whole row of before would pass for a whole row of now, and wipe the new column."""
        store.create_table(ITEMS)
        codec = codec_of(store, "Items")
        store.add_column("Items", column("price", INT))
        put(store, "Items", id=1, price=9)
        with pytest.raises(Conflict, match="columns"):
            store.put(codec, {0: 1, 1: "a", 2: 2})
        assert get(store, "Items", 1) == (1, None, None, 9)

    def test_reads_with_the_columns_of_before_go_on(self, store: Store) -> None:
        store.create_table(ITEMS)
        put(store, "Items", id=1, name="a", stock=2)
        codec = codec_of(store, "Items")
        snapshot = store.snapshot()
        store.add_column("Items", column("price", INT))
        put(store, "Items", id=1, price=9)
        found = snapshot.get(codec, encoded(codec, 1))
        assert found is not None
        assert codec.to_dict(found) == {"id": 1, "name": "a", "stock": 2}

    def test_snapshot_that_undid_a_row_before_gives_it_with_the_column(self, store: Store) -> None:
        store.create_table(ITEMS)
        put(store, "Items", id=1, name="a")
        put(store, "Items", id=2, name="b")
        snapshot = store.snapshot()
        put(store, "Items", id=1, name="changed")
        codec = codec_of(store, "Items")
        assert snapshot.get(codec, encoded(codec, 1)) == (1, "a", None)
        store.add_column("Items", column("price", INT))
        codec = codec_of(store, "Items")
        assert snapshot.get(codec, encoded(codec, 1)) == (1, "a", None, None)
        assert snapshot.get_many(codec, [encoded(codec, 1)]) == [(1, "a", None, None)]
        found = [row for chunk in snapshot.scan(codec, ALL) for row in chunk]
        assert found == [(1, "a", None, None), (2, "b", None, None)]


class TestSettings:
    def test_settings_stay_as_they_were_set(self, harness: Harness, folder: Path) -> None:
        store = harness.open(folder)
        assert store.configure().log_retention_ms == 3_600_000
        store.configure(log_retention_ms=5)
        store.configure(statement_rows=7)
        harness.close(store)
        store = harness.open(folder)
        assert (store.configure().log_retention_ms, store.configure().statement_rows) == (5, 7)
        harness.close(store)

    @pytest.mark.parametrize(
        "setting",
        [
            {"statement_rows": "many"},
            {"statement_rows": None},
            {"statement_rows": 2.5},
            {"statement_rows": -1},
            {"log_retention_ms": "1h"},
            {"log_retention_ms": -1},
        ],
        ids=str,
    )
    def test_setting_that_makes_no_sense_is_refused_and_leaves_the_store_usable(
        self, store: Store, setting: dict[str, Any]
    ) -> None:
        store.create_table(ITEMS)
        with pytest.raises(ViewkeeperError):
            store.configure(**setting)
        put(store, "Items", id=1)
        assert rows(store, "Items") == [(1, None, None)]
        assert store.configure().statement_rows == 10_000

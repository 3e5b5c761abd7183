"""What a write returns, and writes that change nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.store.harness import Harness
from tests.store.shapes import ITEMS, codec_of, column, delete, encoded, fill, get, insert, put, rows, table
from tests.strategies import same_cells
from viewkeeper.errors import ForeignPosition, KeyExists
from viewkeeper.model.position import Position
from viewkeeper.model.types import BIGINT, DOUBLE, INT
from viewkeeper.store.interface import Store, WriteSet


class TestPositions:
    def test_write_returns_the_head_behind_its_own_changes(self, store: Store) -> None:
        store.create_table(ITEMS)
        start = store.head()
        writes: list[Callable[[], Position]] = [
            lambda: put(store, "Items", id=1),
            lambda: insert(store, "Items", id=2),
            lambda: put(store, "Items", id=1, name="a"),
            lambda: delete(store, "Items", 2),
            lambda: fill(store, "Items", [{"id": number} for number in range(10, 200)]),
        ]
        for write in writes:
            position = write()
            assert position == store.head()
            assert position.covers(start)
            assert not start.covers(position)
            start = position

    def test_definitions_do_not_move_the_head(self, store: Store) -> None:
        store.create_table(ITEMS)
        store.add_column("Items", column("price", INT))
        store.drop_table("Items")
        assert store.offset(store.head()) == 0

    def test_head_survives_a_reopen(self, harness: Harness, folder: Path) -> None:
        store = harness.open(folder)
        store.create_table(ITEMS)
        position = put(store, "Items", id=1)
        harness.close(store)
        store = harness.open(folder)
        assert store.head() == position
        assert put(store, "Items", id=2).covers(position)
        harness.close(store)

    def test_position_is_read_back_from_its_text(self, store: Store) -> None:
        store.create_table(ITEMS)
        position = put(store, "Items", id=1)
        put(store, "Items", id=2)
        assert rows(store, "Items", Position.parse(str(position))) == [(1, None, None)]

    def test_position_of_another_database_is_refused_everywhere(self, store: Store, harness: Harness) -> None:
        other = harness.open(store.folder.path.parent / "other")
        foreign = other.head()
        harness.close(other)
        for use in (
            lambda: store.offset(foreign),
            lambda: store.snapshot(foreign),
            lambda: store.blocks(foreign),
            lambda: store.blocks(store.head(), foreign),
            lambda: store.pin(foreign, seconds=1, holder="test"),
            lambda: store.offset(Position(store.database, (1, 2))),
        ):
            with pytest.raises(ForeignPosition, match="another database"):
                use()

    def test_insert_of_a_key_that_is_there_changes_nothing(self, store: Store) -> None:
        store.create_table(ITEMS)
        position = put(store, "Items", id=1, name="a")
        with pytest.raises(KeyExists, match='table "Items" already has a row with key id=1'):
            insert(store, "Items", id=1, name="b")
        assert store.head() == position
        assert get(store, "Items", 1) == (1, "a", None)

    def test_insert_twice_in_one_write_set_is_refused_at_once(self, store: Store) -> None:
        store.create_table(ITEMS)
        codec = codec_of(store, "Items")
        writes = WriteSet()
        writes.insert(codec, encoded(codec, 1), {0: 1})
        with pytest.raises(KeyExists):
            writes.insert(codec, encoded(codec, 1), {0: 1})

    def test_insert_behind_a_removal_in_one_write_set_replaces(self, store: Store) -> None:
        store.create_table(ITEMS)
        put(store, "Items", id=1, name="old", stock=1)
        codec = codec_of(store, "Items")
        writes = WriteSet()
        writes.remove(codec, encoded(codec, 1))
        writes.insert(codec, encoded(codec, 1), {0: 1, 1: "new"})
        store.commit(writes)
        assert rows(store, "Items") == [(1, "new", None)]

    def test_writes_without_net_change_log_nothing_and_return_the_head(self, store: Store) -> None:
        store.create_table(ITEMS)
        put(store, "Items", id=1, name="a", stock=2)
        head = put(store, "Items", id=2)
        assert put(store, "Items", id=1, name="a", stock=2) == head
        assert put(store, "Items", id=1, name="a") == head
        assert put(store, "Items", id=1) == head
        assert delete(store, "Items", 99) == head
        assert fill(store, "Items", [{"id": 1, "stock": 2}, {"id": 2, "name": None}]) == head
        codec = codec_of(store, "Items")
        tx = store.transaction()
        tx.remove(codec, encoded(codec, 1))
        tx.insert(codec, encoded(codec, 1), {0: 1, 1: "a", 2: 2})
        tx.put(codec, encoded(codec, 7), {0: 7})
        tx.remove(codec, encoded(codec, 7))
        assert tx.commit() == head
        assert store.head() == head
        assert store.blocks(head) == []

    def test_only_the_rows_that_change_are_logged(self, store: Store) -> None:
        store.create_table(ITEMS)
        fill(store, "Items", [{"id": number, "stock": 0} for number in range(100)])
        head = store.head()
        fill(store, "Items", [{"id": number, "stock": number % 2} for number in range(100)])
        (block,) = store.blocks(head)
        assert block.changes == 50
        codec = codec_of(store, "Items")
        assert {after[2] for _, after in block.sections[0].pairs(codec) if after} == {1}

    @pytest.mark.parametrize("width", [2, 15, 16, 17, 40])
    def test_row_written_again_after_a_column_was_added_is_no_change(self, store: Store, width: int) -> None:
        names = [f"c{number}" for number in range(width)]
        store.create_table(table("Wide", ("c0",), *(column(name, BIGINT) for name in names)))
        values = {name: number for number, name in enumerate(names)}
        head = put(store, "Wide", **values)
        store.add_column("Wide", column("late", INT))
        assert put(store, "Wide", **values) == head
        assert put(store, "Wide", **values, late=None) == head
        assert put(store, "Wide", **values, late=1) != head

    @pytest.mark.parametrize(
        ("stored", "given", "same"),
        [(math.nan, math.nan, True), (0.0, 0.0, True), (0.0, -0.0, False), (1.0, math.nan, False), (1, 1.0, True)],
        ids=str,
    )
    @pytest.mark.parametrize("widened", [False, True], ids=["plain", "after ADD COLUMN"])
    def test_doubles_change_when_their_bits_do(
        self, store: Store, stored: float, given: float, same: bool, widened: bool
    ) -> None:
        store.create_table(table("Doubles", ("id",), column("id", BIGINT), column("value", DOUBLE)))
        head = put(store, "Doubles", id=1, value=stored)
        if widened:
            store.add_column("Doubles", column("late", INT))
        assert (put(store, "Doubles", id=1, value=given) == head) is same
        assert same_cells((get(store, "Doubles", 1) or ())[1:2], (float(given),))

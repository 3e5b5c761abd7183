"""The janitor lets go of what nobody needs any more, and of nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.store.harness import Harness
from tests.store.shapes import ITEMS, WORDS, codec_of, column, delete, encoded, fill, put, rows, scan, table
from viewkeeper.errors import CardinalityExceeded, NotRetained
from viewkeeper.model.schema import Cardinality
from viewkeeper.model.types import BIGINT, STRING
from viewkeeper.store.interface import Store, WriteSet


class TestTruncation:
    @pytest.fixture
    def ten(self, store: Store) -> Store:
        """Ten transactions of one change each, and no retention."""
        store.create_table(ITEMS)
        store.configure(log_retention_ms=0)
        for number in range(10):
            put(store, "Items", id=number)
        return store

    def test_log_is_kept_for_its_retention(self, store: Store, harness: Harness) -> None:
        store.create_table(ITEMS)
        start = store.head()
        for number in range(10):
            put(store, "Items", id=number)
        harness.clean(store)
        assert store.oldest() == start
        assert len(store.blocks(start)) == 10
        store.configure(log_retention_ms=60_000)
        harness.clean(store)
        assert store.oldest() == start

    def test_without_retention_only_the_last_block_stays(self, ten: Store, harness: Harness) -> None:
        harness.clean(ten)
        assert ten.offset(ten.oldest()) == 9
        assert ten.log_size()[0] == 1
        assert ten.offset(ten.head()) == 10
        assert len(rows(ten, "Items")) == 10
        assert len(rows(ten, "Items", ten.oldest())) == 9

    def test_last_block_stays_however_often_it_is_cleaned(self, ten: Store, harness: Harness) -> None:
        for _ in range(3):
            harness.clean(ten)
        assert len(ten.blocks(ten.oldest())) == 1
        assert ten.offset(put(ten, "Items", id=99)) == 11

    def test_clean_of_a_store_without_changes_does_nothing(self, store: Store, harness: Harness) -> None:
        store.configure(log_retention_ms=0)
        harness.clean(store)
        assert store.head() == store.oldest() == store.position(0)

    def test_head_goes_on_from_a_truncated_log_after_a_reopen(self, harness: Harness, folder: Path) -> None:
        store = harness.open(folder)
        store.create_table(ITEMS)
        store.configure(log_retention_ms=0)
        fill(store, "Items", [{"id": number} for number in range(7)])
        put(store, "Items", id=7)
        harness.clean(store)
        harness.close(store)
        store = harness.open(folder)
        assert store.offset(store.head()) == 8
        assert store.offset(put(store, "Items", id=8)) == 9
        harness.close(store)

    @pytest.mark.parametrize(
        ("pins", "watermarks", "oldest"),
        [
            ([4], [], 4),
            ([4, 2], [], 2),
            ([], [3], 3),
            ([], [8, 5], 5),
            ([6], [3, 9], 3),
            ([0], [5], 0),
            ([], [10], 9),
            ([10], [10], 9),
        ],
        ids=str,
    )
    def test_log_is_kept_from_the_least_of_pins_and_watermarks(
        self, ten: Store, harness: Harness, pins: list[int], watermarks: list[int], oldest: int
    ) -> None:
        for offset in pins:
            ten.pin(ten.position(offset), seconds=60, holder="test")
        for group, offset in enumerate(watermarks):
            harness.hold(ten, group, offset)
        harness.clean(ten)
        assert ten.offset(ten.oldest()) == oldest

    def test_block_is_kept_whole_for_a_pin_inside_it(self, ten: Store, harness: Harness) -> None:
        start = ten.offset(ten.head())
        fill(ten, "Items", [{"id": number, "stock": 1} for number in range(5)])
        put(ten, "Items", id=77)
        ten.pin(ten.position(start + 2), seconds=60, holder="test")
        harness.clean(ten)
        assert ten.offset(ten.oldest()) == start

    def test_pin_that_ran_out_holds_nothing(self, ten: Store, harness: Harness) -> None:
        ten.pin(ten.position(2), seconds=0.05, holder="short")
        ten.pin(ten.position(6), seconds=60, holder="long")
        time.sleep(0.1)
        harness.clean(ten)
        assert ten.offset(ten.oldest()) == 6

    def test_pin_that_was_renewed_holds_from_where_it_was_moved(self, ten: Store, harness: Harness) -> None:
        pin = ten.pin(ten.position(2), seconds=0.05, holder="test")
        ten.renew(pin, ten.position(5), seconds=60, holder="test")
        time.sleep(0.1)
        harness.clean(ten)
        assert ten.offset(ten.oldest()) == 5

    def test_pin_that_was_given_up_holds_nothing(self, ten: Store, harness: Harness) -> None:
        pin = ten.pin(ten.position(2), seconds=60, holder="test")
        ten.unpin(pin)
        ten.unpin(pin)
        harness.clean(ten)
        assert ten.offset(ten.oldest()) == 9

    def test_pin_renewed_too_late_is_refused(self, ten: Store, harness: Harness) -> None:
        """Else its holder would believe that the log is still there."""
        pin = ten.pin(ten.position(2), seconds=0.0, holder="slow")
        harness.clean(ten)
        with pytest.raises(NotRetained):
            ten.renew(pin, ten.position(2), seconds=60, holder="slow")

    def test_group_that_is_gone_holds_nothing(self, ten: Store, harness: Harness) -> None:
        harness.hold(ten, 1, 2)
        harness.clean(ten)
        assert ten.offset(ten.oldest()) == 2
        harness.hold(ten, 1, None)
        harness.clean(ten)
        assert ten.offset(ten.oldest()) == 9

    def test_positions_behind_the_oldest_stay_readable(self, ten: Store, harness: Harness) -> None:
        ten.pin(ten.position(4), seconds=60, holder="test")
        delete(ten, "Items", 0)
        harness.clean(ten)
        assert [len(rows(ten, "Items", ten.position(offset))) for offset in range(4, 12)] == [4, 5, 6, 7, 8, 9, 10, 9]

    def test_many_blocks_go_in_one_round(self, store: Store, harness: Harness) -> None:
        store.create_table(ITEMS)
        store.configure(log_retention_ms=0)
        for number in range(1_500):
            put(store, "Items", id=number % 50, stock=number)
        harness.clean(store)
        assert store.log_size()[0] == 1
        assert len(rows(store, "Items")) == 50


class TestDroppedTables:
    def test_rows_of_a_dropped_table_give_their_room_back(self, store: Store, harness: Harness) -> None:
        store.configure(log_retention_ms=0)
        store.create_table(ITEMS)
        for part in range(4):
            fill(store, "Items", [{"id": part * 3_000 + number, "name": "n" * 50} for number in range(3_000)])
        store.drop_table("Items")
        harness.clean(store)
        full = sum(store.sizes())
        for _ in range(3):
            store.create_table(ITEMS)
            for part in range(4):
                fill(store, "Items", [{"id": part * 3_000 + number, "name": "n" * 50} for number in range(3_000)])
            store.drop_table("Items")
            harness.clean(store)
        assert sum(store.sizes()) < 1.5 * full

    @pytest.mark.parametrize("cleaned", [False, True])
    def test_next_table_begins_empty(self, store: Store, harness: Harness, cleaned: bool) -> None:
        """Rows, counters and samples of the table before must not show through."""
        limited = table(
            "Old",
            ("a", "b"),
            column("a", BIGINT),
            column("b", BIGINT),
            cardinalities=(Cardinality(columns=("b",), limit=600),),
        )
        store.create_table(limited)
        fill(store, "Old", [{"a": number // 600, "b": number} for number in range(6_000)])
        with pytest.raises(CardinalityExceeded):
            put(store, "Old", a=0, b=-1)
        store.drop_table("Old")
        if cleaned:
            harness.clean(store)
        store.create_table(limited)
        codec = codec_of(store, "Old")
        assert store.row_count(codec) == 0
        assert rows(store, "Old") == []
        put(store, "Old", a=0, b=-1)
        assert rows(store, "Old") == [(0, -1)]
        assert len(store.split(codec, 4)) <= 2

    def test_table_made_in_the_place_of_one_with_longer_keys_reads_well(self, store: Store, harness: Harness) -> None:
        store.create_table(WORDS)
        fill(store, "Words", [{"word": "x" * 600 + f"{number}"} for number in range(300)])
        store.drop_table("Words")
        harness.clean(store)
        store.create_table(ITEMS)
        fill(store, "Items", [{"id": number} for number in range(100)])
        codec = codec_of(store, "Items")
        assert [row[0] for row in scan(store.snapshot(), codec)] == list(range(100))

    def test_log_of_a_dropped_table_stays_for_its_retention(self, store: Store, harness: Harness) -> None:
        store.create_table(ITEMS)
        codec = codec_of(store, "Items")
        start = store.head()
        fill(store, "Items", [{"id": number} for number in range(100)])
        store.drop_table("Items")
        harness.clean(store)
        (block,) = store.blocks(start, tables=frozenset([codec.table.id]))
        assert len(block.sections[0].pairs(codec)) == 100

    def test_many_tables_can_come_and_go(self, store: Store, harness: Harness) -> None:
        """More than a store has room for at once."""
        for number in range(1_200):
            store.create_table(table(f"t{number}", ("name",), column("name", STRING)))
            store.drop_table(f"t{number}")
            if number % 400 == 399:
                harness.clean(store)
        store.create_table(WORDS)
        put(store, "Words", word="last")
        assert rows(store, "Words") == [("last", None)]

    def test_dropping_a_table_leaves_the_others_alone(self, store: Store, harness: Harness) -> None:
        store.create_table(ITEMS)
        store.create_table(WORDS)
        put(store, "Words", word="kept")
        put(store, "Items", id=1)
        store.drop_table("Items")
        harness.clean(store)
        assert rows(store, "Words") == [("kept", None)]
        words = codec_of(store, "Words")
        writes = WriteSet()
        writes.remove(words, encoded(words, "kept"))
        store.commit(writes)
        assert rows(store, "Words") == []

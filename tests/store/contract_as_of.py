"""Reads of the past: any table at any retained position, while writers go on."""

from __future__ import annotations

import threading
from random import Random
from typing import Any

import pytest

from tests.store.harness import Harness
from tests.store.shapes import ITEMS, TAGS, between, codec_of, delete, encoded, fill, put, rows, scan, table
from tests.store.shapes import column as col
from viewkeeper.errors import ForeignPosition, FuturePosition, NotRetained
from viewkeeper.model.position import Position
from viewkeeper.model.types import BIGINT, INT
from viewkeeper.store.interface import ALL, Store, WriteSet


class TestAsOf:
    def test_every_position_gives_the_table_as_it_was(self, store: Store) -> None:
        store.create_table(ITEMS)
        random = Random(1)
        now: dict[int, Any] = {}
        states: list[tuple[Position, list[Any]]] = [(store.head(), [])]
        for step in range(60):
            for number in {random.randrange(40) for _ in range(random.choice([1, 1, 5]))}:
                if random.random() < 0.4:
                    delete(store, "Items", number)
                    now.pop(number, None)
                else:
                    put(store, "Items", id=number, stock=step)
                    now[number] = (number, None, step)
                states.append((store.head(), [now[key] for key in sorted(now)]))
        codec = codec_of(store, "Items")
        for position, expected in states:
            snapshot = store.snapshot(position)
            assert snapshot.position == position
            assert scan(snapshot, codec) == expected
            assert scan(snapshot, codec, reverse=True, limit=7) == expected[::-1][:7]
            inside = [row for row in expected if 10 <= row[0] < 30]
            assert scan(snapshot, codec, between(codec, 10, 30), limit=3) == inside[:3]
            keys = [encoded(codec, number) for number in range(40)]
            found = [row for row in snapshot.get_many(codec, keys) if row is not None]
            assert found == expected
            assert [snapshot.get(codec, key) for key in keys] == snapshot.get_many(codec, keys)

    def test_key_deleted_since_reappears(self, store: Store) -> None:
        store.create_table(ITEMS)
        before = put(store, "Items", id=5, name="gone")
        delete(store, "Items", 5)
        codec = codec_of(store, "Items")
        snapshot = store.snapshot(before)
        assert snapshot.get(codec, encoded(codec, 5)) == (5, "gone", None)
        assert snapshot.get_many(codec, [encoded(codec, 5)]) == [(5, "gone", None)]
        assert scan(snapshot, codec) == [(5, "gone", None)]

    def test_key_inserted_since_is_absent(self, store: Store) -> None:
        store.create_table(ITEMS)
        before = store.head()
        put(store, "Items", id=5)
        codec = codec_of(store, "Items")
        assert store.snapshot(before).get(codec, encoded(codec, 5)) is None
        assert scan(store.snapshot(before), codec) == []

    def test_position_inside_a_transaction_is_rounded_up_to_its_end(self, store: Store) -> None:
        store.create_table(ITEMS)
        start = store.offset(put(store, "Items", id=0))
        end = fill(store, "Items", [{"id": number} for number in range(1, 6)])
        put(store, "Items", id=6)
        for offset in range(start + 1, store.offset(end) + 1):
            snapshot = store.snapshot(store.position(offset))
            assert snapshot.position == end
            assert len(scan(snapshot, codec_of(store, "Items"))) == 6
        assert len(rows(store, "Items", store.position(start))) == 1

    @pytest.mark.parametrize("reverse", [False, True])
    def test_rows_that_all_came_or_went_since_fill_slices_without_harm(self, store: Store, reverse: bool) -> None:
        """Slices of the present that are nothing in the past, and the other way round."""
        store.create_table(ITEMS)
        fill(store, "Items", [{"id": number} for number in range(0, 3_000, 3)])
        position = store.head()
        codec = codec_of(store, "Items")
        writes = WriteSet()
        for number in range(300, 2_400, 3):
            writes.remove(codec, encoded(codec, number))
        store.commit(writes)
        fill(store, "Items", [{"id": number} for number in range(1, 2_000, 3)])
        fill(store, "Items", [{"id": number} for number in range(-2_000, 0)])
        expected = [(number, None, None) for number in range(0, 3_000, 3)]
        ordered = expected[::-1] if reverse else expected
        snapshot = store.snapshot(position)
        assert scan(snapshot, codec, reverse=reverse) == ordered
        for limit in (1, 64, 65, 500, 999, 1_000, 1_001):
            assert scan(snapshot, codec, limit=limit, reverse=reverse) == ordered[:limit]

    def test_several_tables_are_of_one_position(self, store: Store) -> None:
        store.create_table(ITEMS)
        store.create_table(TAGS)
        items, tags = codec_of(store, "Items"), codec_of(store, "Tags")
        for number in range(20):
            writes = WriteSet()
            writes.put(items, encoded(items, number), {0: number})
            writes.put(tags, encoded(tags, number, "t"), {0: number, 1: "t"})
            store.commit(writes)
        for offset in range(0, 41, 2):
            snapshot = store.snapshot(store.position(offset))
            assert len(scan(snapshot, items)) == len(scan(snapshot, tags)) == offset // 2

    def test_table_of_today_was_empty_before_it_was_made(self, store: Store) -> None:
        store.create_table(ITEMS)
        position = put(store, "Items", id=1)
        store.drop_table("Items")
        store.create_table(ITEMS)
        put(store, "Items", id=2)
        assert rows(store, "Items", position) == []

    def test_past_is_seen_with_the_columns_of_today(self, store: Store) -> None:
        store.create_table(ITEMS)
        position = put(store, "Items", id=1, name="a")
        store.add_column("Items", col("price", INT))
        put(store, "Items", id=1, price=3)
        put(store, "Items", id=2)
        assert rows(store, "Items", position) == [(1, "a", None, None)]

    def test_open_scan_does_not_move_while_others_write(self, store: Store) -> None:
        store.create_table(ITEMS)
        fill(store, "Items", [{"id": number, "stock": 0} for number in range(0, 10_000, 2)])
        codec = codec_of(store, "Items")
        snapshot = store.snapshot()
        chunks = snapshot.scan(codec, ALL)
        found = list(next(chunks))
        fill(store, "Items", [{"id": number, "stock": 1} for number in range(10_000)])
        found += next(chunks)
        codec = codec_of(store, "Items")
        writes = WriteSet()
        for number in range(4_000, 8_000):
            writes.remove(codec, encoded(codec, number))
        store.commit(writes)
        found += [row for chunk in chunks for row in chunk]
        assert found == [(number, None, 0) for number in range(0, 10_000, 2)]

    @pytest.mark.parametrize("reverse", [False, True])
    def test_scans_are_of_one_moment_while_a_thread_writes(self, store: Store, reverse: bool) -> None:
        """Each transaction moves a piece from one row to another; any single moment has them all."""
        count, pieces = 1_500, 3
        store.create_table(table("Boxes", ("id",), col("id", BIGINT), col("pieces", BIGINT)))
        fill(store, "Boxes", [{"id": number, "pieces": pieces} for number in range(count)])
        codec = codec_of(store, "Boxes")
        stop = threading.Event()
        errors: list[Exception] = []

        def write() -> None:
            random = Random(4)
            now = dict.fromkeys(range(count), pieces)
            try:
                while not stop.is_set():
                    source, target = random.choice(list(now)), random.randrange(2 * count)
                    if source == target:
                        continue
                    now[source] -= 1
                    now[target] = now.get(target, 0) + 1
                    writes = WriteSet()
                    for number in (source, target):
                        key = encoded(codec, number)
                        if now[number]:
                            writes.put(codec, key, {0: number, 1: now[number]})
                        else:
                            writes.remove(codec, key)
                    if not now[source]:
                        del now[source]
                    store.commit(writes)
            except Exception as error:  # noqa: BLE001 - whatever it is, the test has to hear of it
                errors.append(error)

        thread = threading.Thread(target=write)
        thread.start()
        try:
            start = store.head()
            for _ in range(8):
                snapshot = store.snapshot()
                found = scan(snapshot, codec, reverse=reverse)
                numbers = [row[0] for row in found]
                assert numbers == sorted(set(numbers), reverse=reverse)
                assert sum(int(row[1] or 0) for row in found) == count * pieces
                assert scan(snapshot, codec, reverse=reverse) == found
                assert scan(snapshot, codec, reverse=reverse, limit=400) == found[:400]
        finally:
            stop.set()
            thread.join()
        assert errors == []
        assert store.head() != start


class TestPositionsThatCannotBeRead:
    def test_position_in_the_future_is_refused_with_the_head(self, store: Store) -> None:
        store.create_table(ITEMS)
        head = put(store, "Items", id=1)
        future = store.position(store.offset(head) + 1)
        with pytest.raises(FuturePosition) as raised:
            store.snapshot(future)
        assert str(head) in raised.value.detail

    def test_blocks_from_the_future_are_refused(self, store: Store) -> None:
        """An empty answer would let a reader with a wrong position wait for ever."""
        store.create_table(ITEMS)
        head = put(store, "Items", id=1)
        assert store.blocks(head) == []
        with pytest.raises(FuturePosition):
            store.blocks(store.position(store.offset(head) + 1))

    def test_position_of_another_database_is_refused(self, store: Store, harness: Harness) -> None:
        other = harness.open(store.folder.path.parent / "other")
        foreign = other.head()
        harness.close(other)
        with pytest.raises(ForeignPosition):
            store.snapshot(foreign)

    def test_truncated_position_is_refused_with_the_oldest(self, store: Store, harness: Harness) -> None:
        store.create_table(ITEMS)
        store.configure(log_retention_ms=0)
        early = put(store, "Items", id=1)
        overtaken = store.snapshot()
        put(store, "Items", id=2)
        put(store, "Items", id=3)
        codec = codec_of(store, "Items")
        assert overtaken.get(codec, encoded(codec, 2)) is None
        harness.clean(store)
        oldest = store.oldest()
        assert not early.covers(oldest)
        for use in (
            lambda: store.snapshot(early),
            lambda: store.blocks(early),
            lambda: store.pin(early, seconds=60, holder="late"),
        ):
            with pytest.raises(NotRetained) as raised:
                use()
            assert str(oldest) in raised.value.detail
        assert rows(store, "Items", oldest) == [(number, None, None) for number in (1, 2)]

    def test_snapshot_overtaken_by_truncation_is_refused_not_wrong(self, store: Store, harness: Harness) -> None:
        store.create_table(ITEMS)
        store.configure(log_retention_ms=0)
        put(store, "Items", id=1)
        snapshot = store.snapshot()
        for number in range(2, 6):
            put(store, "Items", id=number)
        harness.clean(store)
        codec = codec_of(store, "Items")
        with pytest.raises(NotRetained):
            scan(snapshot, codec)
        with pytest.raises(NotRetained):
            snapshot.get(codec, encoded(codec, 1))

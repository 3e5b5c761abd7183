"""Writers in many threads: each as if it were alone."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from tests.store.shapes import ITEMS, codec_of, column, encoded, fill, get, put, rows, table
from viewkeeper.errors import CardinalityExceeded, Conflict, KeyExists, UnknownTable
from viewkeeper.model.position import Position
from viewkeeper.model.schema import Cardinality
from viewkeeper.model.types import BIGINT, INT
from viewkeeper.store.interface import Store, WriteSet

THREADS = 8


def together(work: Callable[[int], object], threads: int = THREADS) -> list[object]:
    """The results of `work(0)`, `work(1)`, … run at once in threads that start together."""
    barrier = threading.Barrier(threads)

    def run(number: int) -> object:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(threads)))


class TestGroupCommit:
    def test_positions_are_distinct_and_without_gaps(self, store: Store) -> None:
        store.create_table(ITEMS)
        each = 60

        def work(thread: int) -> list[tuple[Position, int]]:
            found = []
            for number in range(each):
                size = 1 + number % 3
                values = [{"id": thread * 10_000 + number * 10 + place} for place in range(size)]
                found.append((fill(store, "Items", values), size))
            return found

        written = [one for found in together(work) for one in found]  # type: ignore[attr-defined]
        ends = sorted((store.offset(position), size) for position, size in written)
        place = 0
        for end, size in ends:
            assert end == place + size
            place = end
        blocks = store.blocks(store.position(0))
        assert [(block.end, block.changes) for block in blocks] == ends
        assert len({block.transaction for block in blocks}) == THREADS * each
        assert store.row_count(codec_of(store, "Items")) == sum(size for _, size in ends)

    def test_positions_of_one_thread_grow(self, store: Store) -> None:
        store.create_table(ITEMS)
        found = together(lambda thread: [put(store, "Items", id=thread * 1_000 + n) for n in range(40)])
        for positions in found:
            assert isinstance(positions, list)
            assert all(later.covers(earlier) for earlier, later in pairwise(positions))

    def test_write_is_readable_by_its_thread_once_it_returned(self, store: Store) -> None:
        store.create_table(ITEMS)

        def work(thread: int) -> None:
            for number in range(40):
                key = thread * 1_000 + number
                position = put(store, "Items", id=key, stock=number)
                assert get(store, "Items", key) == (key, None, number)
                assert store.head().covers(position)

        together(work)

    def test_failing_member_is_rolled_back_alone(self, store: Store) -> None:
        """Odd threads write transactions that fail in the middle, with rows of their own before the failure."""
        store.create_table(ITEMS)
        store.create_table(
            table(
                "Limited",
                ("a", "b"),
                column("a", BIGINT),
                column("b", INT),
                cardinalities=(Cardinality(columns=("b",), limit=1),),
            )
        )
        put(store, "Limited", a=1, b=1)
        items, limited = codec_of(store, "Items"), codec_of(store, "Limited")
        each = 40

        def work(thread: int) -> int:
            failures = 0
            for number in range(each):
                key = thread * 1_000 + number
                writes = WriteSet()
                writes.put(items, encoded(items, key), {0: key})
                if thread % 2:
                    writes.put(limited, encoded(limited, 1, 2 + key), {0: 1, 1: 2 + key})
                try:
                    store.commit(writes)
                except CardinalityExceeded:
                    failures += 1
            return failures

        failures = together(work)
        assert failures == [each * (thread % 2) for thread in range(THREADS)]
        kept = [thread * 1_000 + number for thread in range(0, THREADS, 2) for number in range(each)]
        assert [row[0] for row in rows(store, "Items")] == kept
        assert rows(store, "Limited") == [(1, 1)]
        assert store.offset(store.head()) == 1 + len(kept)

    def test_of_many_inserts_of_one_key_one_wins(self, store: Store) -> None:
        store.create_table(ITEMS)
        codec = codec_of(store, "Items")

        def work(thread: int) -> list[int]:
            won = []
            for number in range(30):
                try:
                    store.put(codec, {0: number, 2: thread}, insert=True)
                    won.append(number)
                except KeyExists:
                    pass
            return won

        won = [number for found in together(work) for number in found]  # type: ignore[attr-defined]
        assert sorted(won) == list(range(30))
        assert store.offset(store.head()) == 30

    def test_definitions_among_writes_keep_every_acknowledged_row(self, store: Store) -> None:
        store.create_table(ITEMS)

        def work(thread: int) -> int:
            done = 0
            for number in range(25):
                if thread == 0:
                    store.add_column("Items", column(f"extra{number}", INT))
                elif thread == 1:
                    store.create_table(table(f"t{number}", ("id",), column("id", BIGINT)))
                    put(store, f"t{number}", id=1)
                    if number % 2:
                        store.drop_table(f"t{number}")
                else:
                    while True:
                        codec = codec_of(store, "Items")
                        try:
                            store.put(codec, codec.merge({"id": thread * 1_000 + number}))
                            done += 1
                            break
                        except Conflict:
                            continue
            return done

        assert together(work) == [0, 0] + [25] * (THREADS - 2)
        assert store.row_count(codec_of(store, "Items")) == 25 * (THREADS - 2)
        assert len(codec_of(store, "Items").names) == 3 + 25
        assert sorted(found.name for found in store.catalog().tables.values() if found.name != "Items") == sorted(
            f"t{number}" for number in range(0, 25, 2)
        )

    def test_reads_beside_a_drop_give_rows_or_say_unknown(self, store: Store) -> None:
        """Nothing else: no row of another table, and no error of the machinery."""
        stop = threading.Event()

        def define() -> None:
            try:
                for _ in range(60):
                    store.create_table(ITEMS)
                    put(store, "Items", id=1, name="here")
                    store.drop_table("Items")
            finally:
                stop.set()

        def read() -> int:
            looks = 0
            while not stop.is_set():
                looks += 1
                try:
                    assert get(store, "Items", 1) in (None, (1, "here", None))
                    assert rows(store, "Items") in ([], [(1, "here", None)])
                    store.row_count(codec_of(store, "Items"))
                    store.split(codec_of(store, "Items"), 2)
                except UnknownTable:
                    continue
            return looks

        with ThreadPoolExecutor(4) as pool:
            readers = [pool.submit(read) for _ in range(3)]
            pool.submit(define).result()
            assert all(reader.result() > 0 for reader in readers)

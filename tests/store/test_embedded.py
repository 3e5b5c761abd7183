"""What only the embedded store promises: how much it reads, and that its side tables agree with the rows."""

from __future__ import annotations

import struct
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import pyarrow as pa
import pytest

from tests.store.harness import EMBEDDED
from tests.store.shapes import (
    ITEMS,
    WORDS,
    beginning,
    codec_of,
    column,
    delete,
    encoded,
    fill,
    get,
    put,
    rows,
    scan,
    table,
)
from viewkeeper.errors import CardinalityExceeded, Closed, StoreFull, UnknownTable
from viewkeeper.model.schema import Cardinality
from viewkeeper.model.types import BIGINT, STRING
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.environment import Database
from viewkeeper.store.interface import Interval
from viewkeeper.store.registry import close_store, open_store
from viewkeeper.store.undo import TableUndo

PAIRS = table(
    "Pairs",
    ("a", "b"),
    column("a", BIGINT),
    column("b", STRING),
    cardinalities=(Cardinality(columns=("b",), limit=40), Cardinality(columns=("a",), limit=30)),
)


@pytest.fixture
def store(folder: Path) -> Iterator[EmbeddedStore]:
    opened = open_store(folder, durability="os")
    yield opened
    close_store(opened)


def entries(store: EmbeddedStore, db: Database) -> dict[bytes, bytes]:
    with store.base.begin() as txn:
        return dict(txn.cursor(db=db))


@pytest.mark.parametrize("reverse", [False, True])
def test_range_of_long_keys_reads_no_further_than_its_end(store: EmbeddedStore, reverse: bool) -> None:
    store.create_table(WORDS)
    words = [f"{number:04d}" + "x" * 600 for number in range(2_000)]
    store.load(codec_of(store, "Words"), pa.record_batch({"word": words}))
    codec = codec_of(store, "Words")
    decode, decoded = codec.decode, Counter[str]()

    def counted(data: bytes) -> Any:
        decoded["rows"] += 1
        return decode(data)

    codec.decode = counted
    assert len(scan(store.snapshot(), codec, beginning(codec, words[1_000]), reverse=reverse)) == 1
    ten = Interval(encoded(codec, "1000"), encoded(codec, "1010"))
    assert len(scan(store.snapshot(), codec, ten, reverse=reverse)) == 10
    assert decoded["rows"] < 60


def test_looking_at_the_head_does_not_copy_the_last_block(store: EmbeddedStore) -> None:
    """Readers poll it, also right behind a load."""
    store.create_table(WORDS)
    store.load(codec_of(store, "Words"), pa.record_batch({"word": [f"{number}" * 100 for number in range(10_000)]}))
    store.head()
    tracemalloc.start()
    try:
        store.head()
        store.oldest()
        store.blocks(store.head())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert store.log_size()[1] > 1_000_000
    assert peak < 100_000


def test_counters_and_samples_agree_with_the_rows_after_any_sequence(store: EmbeddedStore) -> None:
    store.create_table(PAIRS)
    codec = codec_of(store, "Pairs")
    random = Random(1)
    refused = 0
    for step in range(400):
        keys = [(random.randrange(60), f"{random.randrange(60)}") for _ in range(random.choice([1, 2, 40]))]
        try:
            if step % 3 == 0:
                store.load(codec, pa.record_batch({"a": [a for a, _ in keys], "b": [b for _, b in keys]}))
            elif step % 3 == 1:
                fill(store, "Pairs", [{"a": a, "b": b} for a, b in keys])
            else:
                for key in keys:
                    delete(store, "Pairs", *key)
        except CardinalityExceeded:
            refused += 1
    assert refused
    found = rows(store, "Pairs")
    assert len(found) > 500
    number = codec.table.id
    counted = Counter[bytes]()
    for a, b in found:
        assert isinstance(b, str)
        counted[struct.pack(">IB", number, 0) + b"\x02" + struct.pack(">Q", int(a or 0) + 2**63)] += 1
        counted[struct.pack(">IB", number, 1) + b"\x02" + b.encode() + b"\0\x01"] += 1
    assert {key: struct.unpack(">Q", value)[0] for key, value in entries(store, store.counts_db).items()} == counted
    sampled = [code for code in map(codec.key.encode, found) if crc32(code) % 256 == 0]
    assert entries(store, store.samples_db) == {struct.pack(">I", number) + code: b"" for code in sampled}


def test_janitor_empties_everything_a_dropped_table_left_and_its_slot_is_used_again(store: EmbeddedStore) -> None:
    kept = store.create_table(ITEMS)
    dropped = store.create_table(PAIRS)
    fill(store, "Pairs", [{"a": number // 20, "b": f"{number}"} for number in range(6_000)])
    slot = store.catalog().slots[dropped.id]
    assert len(entries(store, store.samples_db)) > 5
    store.drop_table("Pairs")
    assert store.clean().rows >= 6_000
    assert entries(store, store.counts_db) == entries(store, store.samples_db) == {}
    again = store.create_table(WORDS)
    assert again.id == dropped.id + 1
    assert store.catalog().slots == {kept.id: store.catalog().slots[kept.id], again.id: slot}


def test_more_tables_than_there_is_room_for_are_refused_and_the_rest_goes_on(store: EmbeddedStore) -> None:
    with pytest.raises(StoreFull) as raised:
        for number in range(1_100):
            store.create_table(table(f"t{number}", ("id",), column("id", BIGINT)))
    assert raised.value.code == "store.full"
    assert "Drop" in raised.value.hint
    count = len(store.catalog().tables)
    assert count > 1_000
    put(store, f"t{count - 1}", id=1)
    store.drop_table("t0")
    store.clean()
    store.create_table(WORDS)
    put(store, "Words", word="room again")
    assert rows(store, "Words") == [("room again", None)]
    assert rows(store, f"t{count - 1}") == [(1,)]


@pytest.fixture
def ten(store: EmbeddedStore) -> EmbeddedStore:
    """Ten transactions of one change each, and no retention."""
    store.create_table(ITEMS)
    store.configure(log_retention_ms=0)
    for number in range(10):
        put(store, "Items", id=number)
    return store


def between_look_and_removal(store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let something happen when the janitor has made the views durable and has not removed a block yet."""
    sync = store.views.sync

    def sync_then_act() -> None:
        sync()
        act()

    monkeypatch.setattr(store.views, "sync", sync_then_act)


def test_pin_set_while_the_janitor_is_at_work_holds(ten: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    between_look_and_removal(ten, monkeypatch, lambda: ten.pin(ten.position(4), seconds=60, holder="late"))
    ten.clean()
    assert ten.offset(ten.oldest()) == 4


def test_log_is_kept_for_a_watermark_that_is_not_durable_yet(
    ten: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut would take the group back to where it was synced, and the changes behind that must still be there."""
    EMBEDDED.hold(ten, 1, 3)
    between_look_and_removal(ten, monkeypatch, lambda: EMBEDDED.hold(ten, 1, 8))
    ten.clean()
    assert ten.offset(ten.oldest()) == 3


def test_views_are_made_durable_only_for_a_truncation(ten: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[None] = []
    between_look_and_removal(ten, monkeypatch, lambda: calls.append(None))
    assert (ten.clean().blocks, len(calls)) == (9, 1)
    assert (ten.clean().blocks, len(calls)) == (0, 1)


@pytest.mark.parametrize(
    "read",
    [
        lambda store, codec: store.get("Items", (1,)),
        lambda store, codec: store.snapshot().get(codec, encoded(codec, 1)),
        lambda store, codec: store.snapshot().get_many(codec, [encoded(codec, 1)]),
        lambda store, codec: scan(store.snapshot(), codec),
        lambda store, codec: store.row_count(codec),
        lambda store, codec: store.split(codec, 2),
    ],
    ids=["get", "snapshot.get", "get_many", "scan", "row_count", "split"],
)
def test_table_dropped_just_behind_the_begin_of_a_read_is_still_read(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch, read: Callable[[EmbeddedStore, Any], Any]
) -> None:
    """The read sees the catalog of its moment, with the handles of that moment."""
    store.create_table(ITEMS)
    put(store, "Items", id=1)
    codec = codec_of(store, "Items")
    expected = read(store, codec)
    begin_read = store.begin_read
    due = threading.Event()

    def begin_then_drop() -> Any:
        begun = begin_read()
        if not due.is_set():
            due.set()
            thread = threading.Thread(target=store.drop_table, args=("Items",))
            thread.start()
            thread.join()
        return begun

    monkeypatch.setattr(store, "begin_read", begin_then_drop)
    assert read(store, codec) == expected
    with pytest.raises(UnknownTable):
        store.get("Items", (1,))


def test_changed_keys_of_a_range_are_right_while_another_thread_adds_some(store: EmbeddedStore) -> None:
    """A snapshot may be shared by threads: one asks while another catches up with the log."""
    store.create_table(ITEMS)
    snapshot = store.snapshot()
    codec = codec_of(store, "Items")

    def catch_up(*numbers: int) -> TableUndo:
        for number in numbers:
            put(store, "Items", id=number)
        txn, _ = store.begin_read()
        with txn:
            undo = snapshot.catch_up(txn, codec)
        assert undo is not None
        return undo

    undo = catch_up(10, 20, 30, 40)

    class Interrupted(Interval):
        """An interval at whose upper end another thread gets its turn."""

        @property
        def upper(self) -> bytes | None:
            thread = threading.Thread(target=catch_up, args=(1, 2, 3))
            thread.start()
            # Where a lock keeps it out it gets its turn later, which is as good.
            thread.join(0.5)
            return encoded(codec, 35)

    asked = object.__new__(Interrupted)
    object.__setattr__(asked, "lower", encoded(codec, 15))
    assert undo.within(asked) == [encoded(codec, 20), encoded(codec, 30)]


def test_handles_of_one_process_share_a_store_until_the_last_is_closed(folder: Path) -> None:
    first, second = open_store(folder, durability="os"), open_store(folder)
    assert first is second
    first.create_table(ITEMS)
    close_store(first)
    put(second, "Items", id=1)
    close_store(second)
    for use in (
        lambda: get(second, "Items", 1),
        lambda: put(second, "Items", id=2),
        second.head,
        second.catalog,
        second.snapshot,
        second.transaction,
        second.clean,
        lambda: second.create_table(WORDS),
    ):
        with pytest.raises(Closed):
            use()
    close_store(second)
    third = open_store(folder)
    assert rows(third, "Items") == [(1, None, None)]
    close_store(third)

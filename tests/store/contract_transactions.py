"""Transactions: all or nothing, and what they see of themselves."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from tests.store.shapes import (
    ITEMS,
    ORDERS,
    TAGS,
    beginning,
    between,
    codec_of,
    delete,
    encoded,
    fill,
    get,
    put,
    rows,
    scan,
)
from viewkeeper.errors import KeyExists, MissingColumn, TransactionOver, UnknownTable
from viewkeeper.model.types import Cell, Row
from viewkeeper.store.interface import ALL, Store


class TestTransactions:
    def test_writes_are_seen_by_nobody_before_the_commit(self, store: Store) -> None:
        store.create_table(ITEMS)
        codec = codec_of(store, "Items")
        before = store.head()
        tx = store.transaction()
        tx.put(codec, encoded(codec, 1), {0: 1, 1: "a"})
        assert get(store, "Items", 1) is None
        assert store.head() == before
        tx.commit()
        assert get(store, "Items", 1) == (1, "a", None)

    def test_all_tables_change_at_one_position(self, store: Store) -> None:
        store.create_table(ITEMS)
        store.create_table(TAGS)
        items, tags = codec_of(store, "Items"), codec_of(store, "Tags")
        before = store.head()
        tx = store.transaction()
        tx.put(items, encoded(items, 1), {0: 1})
        tx.put(tags, encoded(tags, 1, "a"), {0: 1, 1: "a"})
        after = tx.commit()
        (block,) = store.blocks(before)
        assert [(section.table, section.changes) for section in block.sections] == [
            (items.table.id, 1),
            (tags.table.id, 1),
        ]
        assert store.offset(after) - store.offset(before) == 2

    def test_failing_write_leaves_nothing_of_the_others(self, store: Store) -> None:
        store.create_table(ITEMS)
        store.create_table(ORDERS)
        items, orders = codec_of(store, "Items"), codec_of(store, "Orders")
        before = store.head()
        tx = store.transaction()
        tx.put(items, encoded(items, 1), {0: 1})
        tx.put(orders, encoded(orders, 1), {0: 1, 2: "no buyer"})
        with pytest.raises(MissingColumn, match="buyer"):
            tx.commit()
        assert rows(store, "Items") == rows(store, "Orders") == []
        assert store.head() == before

    def test_rollback_writes_nothing(self, store: Store) -> None:
        store.create_table(ITEMS)
        codec = codec_of(store, "Items")
        tx = store.transaction()
        tx.put(codec, encoded(codec, 1), {0: 1})
        tx.rollback()
        assert tx.is_over
        assert rows(store, "Items") == []

    @pytest.mark.parametrize("end", ["commit", "rollback"])
    def test_nothing_can_be_done_behind_the_end(self, store: Store, end: str) -> None:
        store.create_table(ITEMS)
        codec = codec_of(store, "Items")
        key = encoded(codec, 1)
        tx = store.transaction()
        getattr(tx, end)()
        assert tx.is_over
        for use in (
            lambda: tx.get(codec, key),
            lambda: tx.scan(codec, ALL),
            lambda: tx.put(codec, key, {0: 1}),
            lambda: tx.insert(codec, key, {0: 1}),
            lambda: tx.remove(codec, key),
            tx.commit,
        ):
            with pytest.raises(TransactionOver):
                use()
        tx.rollback()
        assert rows(store, "Items") == []

    def test_reading_transaction_stands_where_it_began(self, store: Store) -> None:
        store.create_table(ITEMS)
        position = put(store, "Items", id=1)
        codec = codec_of(store, "Items")
        tx = store.transaction()
        assert tx.position == position
        put(store, "Items", id=2)
        assert tx.get(codec, encoded(codec, 1)) == (1, None, None)
        assert tx.get(codec, encoded(codec, 3)) is None
        assert tx.commit() == position

    def test_reads_are_of_one_moment_while_others_write(self, store: Store) -> None:
        store.create_table(ITEMS)
        fill(store, "Items", [{"id": number, "stock": 1} for number in range(10)])
        codec = codec_of(store, "Items")
        tx = store.transaction()
        assert tx.get(codec, encoded(codec, 0)) == (0, None, 1)
        fill(store, "Items", [{"id": number, "stock": 2} for number in range(1, 20)])
        delete(store, "Items", 5)
        assert tx.get(codec, encoded(codec, 5)) == (5, None, 1)
        assert scan(tx, codec) == [(number, None, 1) for number in range(10)]

    def test_dropped_table_ends_a_transaction_that_wrote_to_it(self, store: Store) -> None:
        store.create_table(ITEMS)
        store.create_table(TAGS)
        items, tags = codec_of(store, "Items"), codec_of(store, "Tags")
        tx = store.transaction()
        tx.put(tags, encoded(tags, 1, "a"), {0: 1, 1: "a"})
        tx.put(items, encoded(items, 1), {0: 1})
        store.drop_table("Items")
        with pytest.raises(UnknownTable, match="Items"):
            tx.commit()
        assert rows(store, "Tags") == []


class TestOwnWrites:
    def test_compositions_on_one_key_have_the_effect_of_one_after_the_other(self, store: Store) -> None:
        """Every sequence of two or three writes, on a key that is there and on one that is not."""
        store.create_table(ITEMS)
        steps: dict[str, Callable[[Any], Any]] = {
            "put name": lambda row: (row[0], "n", row[2]) if row else (1, "n", None),
            "put stock": lambda row: (row[0], row[1], 7) if row else (1, None, 7),
            "put all": lambda row: (1, "all", 0),
            "remove": lambda row: None,
            "insert": lambda row: "exists" if row else (1, "new", None),
        }
        cells: dict[str, dict[int, Cell]] = {
            "put name": {0: 1, 1: "n"},
            "put stock": {0: 1, 2: 7},
            "put all": {0: 1, 1: "all", 2: 0},
            "insert": {0: 1, 1: "new"},
        }
        codec = codec_of(store, "Items")
        key = encoded(codec, 1)
        names = list(steps)
        sequences = [(a, b) for a in names for b in names] + [(a, b, c) for a in names for b in names for c in names]
        for start in (None, (1, "old", 3)):
            for sequence in sequences:
                delete(store, "Items", 1)
                if start is not None:
                    put(store, "Items", id=1, name="old", stock=3)
                expected: Any = start
                tx = store.transaction()
                for name in sequence:
                    outcome = steps[name](expected)
                    if outcome == "exists":
                        with pytest.raises(KeyExists, match="id=1"):
                            tx.insert(codec, key, cells[name])
                        continue
                    expected = outcome
                    if name == "remove":
                        tx.remove(codec, key)
                    elif name == "insert":
                        tx.insert(codec, key, cells[name])
                    else:
                        tx.put(codec, key, cells[name])
                    # Not read after each step: a read would hide what only a blind sequence gets wrong.
                if len(sequence) == 3:
                    assert tx.get(codec, key) == expected, (start, sequence)
                    assert scan(tx, codec) == ([] if expected is None else [expected])
                tx.commit()
                assert get(store, "Items", 1) == expected, (start, sequence)

    @pytest.mark.parametrize("seed", range(8))
    def test_scans_see_own_writes_with_any_limit_and_direction(self, store: Store, seed: int) -> None:
        store.create_table(ITEMS)
        random = Random(seed)
        stored = {number: (number, "stored", None) for number in random.sample(range(300), 120)}
        fill(store, "Items", [{"id": number, "name": "stored"} for number in stored])
        codec = codec_of(store, "Items")
        tx = store.transaction()
        seen: dict[int, Row] = dict(stored)
        for _ in range(60):
            number = random.randrange(300)
            key = encoded(codec, number)
            if random.random() < 0.4:
                tx.remove(codec, key)
                seen.pop(number, None)
            else:
                tx.put(codec, key, {0: number, 2: 5})
                seen[number] = (number, seen[number][1] if number in seen else None, 5)
            low, high = sorted(random.sample(range(-1, 301), 2))
            limit = random.choice([None, 0, 1, 2, 10, 63, 64, 65, 500])
            reverse = random.random() < 0.5
            expected = [seen[n] for n in sorted(seen, reverse=reverse) if low <= n < high]
            found = scan(tx, codec, between(codec, low, high), limit=limit, reverse=reverse)
            assert found == expected[:limit]
        tx.commit()
        assert rows(store, "Items") == [seen[number] for number in sorted(seen)]

    def test_scan_with_a_limit_passes_over_a_partial_put_beyond_it(self, store: Store) -> None:
        """The row that the put merges into is behind what the scan reads, and it has the columns that are required."""
        store.create_table(ORDERS)
        fill(store, "Orders", [{"id": number, "buyer": "b"} for number in range(10)])
        codec = codec_of(store, "Orders")
        tx = store.transaction()
        tx.put(codec, encoded(codec, 9), {0: 9, 2: "late"})
        tx.put(codec, encoded(codec, 0), {0: 0, 2: "early"})
        assert scan(tx, codec, limit=1) == [(0, "b", "early")]
        assert scan(tx, codec, limit=1, reverse=True) == [(9, "b", "late")]
        tx.commit()
        assert get(store, "Orders", 9) == (9, "b", "late")

    def test_prefix_scan_sees_own_inserts_and_removals(self, store: Store) -> None:
        store.create_table(TAGS)
        for tag in ("b", "d"):
            put(store, "Tags", doc=1, tag=tag)
        put(store, "Tags", doc=2, tag="z")
        codec = codec_of(store, "Tags")
        tx = store.transaction()
        tx.insert(codec, encoded(codec, 1, "a"), {0: 1, 1: "a"})
        tx.insert(codec, encoded(codec, 1, "c"), {0: 1, 1: "c"})
        tx.insert(codec, encoded(codec, 0, "c"), {0: 0, 1: "c"})
        tx.remove(codec, encoded(codec, 1, "d"))
        assert [row[1] for row in scan(tx, codec, beginning(codec, 1))] == ["a", "b", "c"]
        assert [row[1] for row in scan(tx, codec, beginning(codec, 1), limit=2, reverse=True)] == ["c", "b"]

    def test_insert_that_fails_leaves_the_transaction_usable(self, store: Store) -> None:
        store.create_table(ITEMS)
        put(store, "Items", id=1, name="there")
        codec = codec_of(store, "Items")
        tx = store.transaction()
        tx.put(codec, encoded(codec, 2), {0: 2})
        with pytest.raises(KeyExists, match=r'"Items".*id=1'):
            tx.insert(codec, encoded(codec, 1), {0: 1})
        with pytest.raises(KeyExists, match="id=2"):
            tx.insert(codec, encoded(codec, 2), {0: 2})
        tx.commit()
        assert rows(store, "Items") == [(1, "there", None), (2, None, None)]

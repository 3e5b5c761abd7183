"""The partition of a key: fixed for HASH, by bounds for RANGE."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import replace

import pytest

from tests.store.shapes import ITEMS, TAGS, codec_of, encoded, fill, put, scan, table
from tests.store.shapes import column as col
from viewkeeper.model.schema import Partitioning, PartitionKind, Table
from viewkeeper.model.types import BIGINT, STRING
from viewkeeper.store.interface import Store

# Worked out from the grammar of keys and the formula, apart from the code under test.
GOLDEN_NUMBERS = [7, 2, 7, 4, 1, 5, 0, 1]
GOLDEN_KEYS = [118, 827, 480, 771, 958]


def hashed(table: Table, count: int, *columns: str) -> Table:
    return replace(table, partitioning=Partitioning(kind=PartitionKind.HASH, columns=columns, count=count))


def ranged(table: Table, count: int, *columns: str, bounds: tuple[bytes, ...] = ()) -> Table:
    kind = PartitionKind.RANGE
    return replace(table, partitioning=Partitioning(kind=kind, columns=columns, count=count, bounds=bounds))


class TestHashPartitions:
    def test_partition_of_a_key_never_changes(self, store: Store) -> None:
        """LOCAL views keep their parts by it: these numbers stand for all databases that exist."""
        store.create_table(hashed(ITEMS, 8, "id"))
        store.create_table(hashed(TAGS, 1000, "doc", "tag"))
        items, tags = codec_of(store, "Items"), codec_of(store, "Tags")
        numbers = [0, 1, 2, 3, 42, -1, 2**63 - 1, -(2**63)]
        assert [store.partition_of(items, (number, None, None)) for number in numbers] == GOLDEN_NUMBERS
        keys = [(1, "a"), (1, "b"), (2, ""), (-5, "é\0"), (7, "x" * 600)]
        assert [store.partition_of(tags, (*key, None)) for key in keys] == GOLDEN_KEYS

    def test_only_the_named_columns_count(self, store: Store) -> None:
        store.create_table(hashed(TAGS, 16, "tag"))
        codec = codec_of(store, "Tags")
        found = {store.partition_of(codec, (doc, "same", weight)) for doc in range(50) for weight in (None, 1)}
        assert len(found) == 1
        assert len({store.partition_of(codec, (1, f"tag{number}", None)) for number in range(200)}) == 16

    @pytest.mark.parametrize("step", [1, 8, 1000, 1 << 32])
    def test_keys_of_any_step_spread_evenly(self, store: Store, step: int) -> None:
        store.create_table(hashed(ITEMS, 8, "id"))
        codec = codec_of(store, "Items")
        sizes = Counter(store.partition_of(codec, (number * step, None, None)) for number in range(4_000))
        assert set(sizes) == set(range(8))
        assert max(sizes.values()) < 1.25 * 500
        assert min(sizes.values()) > 0.75 * 500

    def test_texts_spread_evenly(self, store: Store) -> None:
        made = table("Users", ("name",), col("name", STRING))
        store.create_table(hashed(made, 5, "name"))
        codec = codec_of(store, "Users")
        sizes = Counter(store.partition_of(codec, (f"user-{number:07d}@example.org",)) for number in range(2_500))
        assert set(sizes) == set(range(5))
        assert max(sizes.values()) < 1.25 * 500

    def test_unpartitioned_table_is_one_partition(self, store: Store) -> None:
        store.create_table(ITEMS)
        store.create_table(hashed(TAGS, 1, "doc"))
        for number in range(50):
            assert store.partition_of(codec_of(store, "Items"), (number, None, None)) == 0
            assert store.partition_of(codec_of(store, "Tags"), (number, "x", None)) == 0


class TestRangePartitions:
    def test_every_key_is_in_the_first_partition_until_bounds_are_known(self, store: Store) -> None:
        store.create_table(ranged(ITEMS, 4, "id"))
        codec = codec_of(store, "Items")
        assert {store.partition_of(codec, (number, None, None)) for number in (-9, 0, 10**12)} == {0}

    def test_partition_begins_at_its_bound(self, store: Store) -> None:
        plain = store.create_table(ITEMS)
        codec = codec_of(store, "Items")
        bounds = tuple(encoded(codec, number) for number in (-10, 0, 10))
        store.create_table(ranged(replace(plain, name="Ranged", id=0), 4, "id", bounds=bounds))
        ranged_codec = codec_of(store, "Ranged")
        numbers = [-11, -10, -1, 0, 9, 10, 10**9]
        found = [store.partition_of(ranged_codec, (number, None, None)) for number in numbers]
        assert found == [0, 1, 1, 2, 2, 3, 3]

    def test_repartition_cuts_into_like_sizes(self, store: Store) -> None:
        store.create_table(ranged(ITEMS, 5, "id"))
        fill(store, "Items", [{"id": number**2} for number in range(2_000)])
        changed = store.repartition("Items")
        assert changed.partitioning is not None
        assert len(changed.partitioning.bounds) == 4
        codec = codec_of(store, "Items")
        assert codec.table == changed
        sizes = Counter(store.partition_of(codec, (number**2, None, None)) for number in range(2_000))
        assert sorted(sizes) == [0, 1, 2, 3, 4]
        assert max(sizes.values()) <= 2 * min(sizes.values())

    def test_repartition_of_too_few_rows_leaves_one_partition(self, store: Store) -> None:
        store.create_table(ranged(ITEMS, 5, "id"))
        put(store, "Items", id=1)
        assert store.repartition("Items").partitioning == codec_of(store, "Items").table.partitioning
        assert store.partition_of(codec_of(store, "Items"), (10**6, None, None)) == 0

    def test_repartition_of_a_hash_table_changes_nothing(self, store: Store) -> None:
        created = store.create_table(hashed(ITEMS, 5, "id"))
        fill(store, "Items", [{"id": number} for number in range(500)])
        assert store.repartition("Items") == created

    def test_partition_is_the_keys_between_its_bounds_also_by_part_of_the_key(self, store: Store) -> None:
        """A parallel reader takes a partition as a key range: both must name the same rows."""
        made = table("Logs", ("day", "line"), col("day", BIGINT), col("line", BIGINT))
        store.create_table(ranged(made, 4, "day"))
        fill(store, "Logs", [{"day": day, "line": line} for day in range(20) for line in range(100)])
        changed = store.repartition("Logs")
        assert changed.partitioning is not None
        bounds = changed.partitioning.bounds
        assert len(bounds) == 3
        codec = codec_of(store, "Logs")
        for row in scan(store.snapshot(), codec):
            assert store.partition_of(codec, row) == bisect_right(bounds, codec.key.encode(row)), row

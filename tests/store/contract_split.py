"""Cutting a table into key ranges of like size for parallel readers."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from tests.store.shapes import codec_of, column, encoded, put, scan, table
from viewkeeper.model.arrow import arrow_type
from viewkeeper.model.types import BIGINT, STRING, Type
from viewkeeper.store.interface import ALL, Interval, Store, WriteSet

ROWS = 24_000
"""Above what a store may look at row by row to find the cuts."""


def sequential() -> list[int]:
    return list(range(ROWS))


def in_steps() -> list[int]:
    return [number << 16 for number in range(ROWS)]


def uniform() -> list[int]:
    return list({Random(number).getrandbits(64) - 2**63 for number in range(ROWS)})


def skewed() -> list[int]:
    """Most of them in a narrow range, few spread over a wide one."""
    random = Random(2)
    return list({int(random.paretovariate(0.3)) if n % 2 else n for n in range(2 * ROWS)} - {2**63})[:ROWS]


def one_prefix() -> list[str]:
    """Nine tenths begin alike."""
    return [f"https://example.org/users/{n}" if n % 10 else f"{chr(97 + n % 26)}{n}" for n in range(ROWS)]


def long_words() -> list[str]:
    return [f"{n * 7919 % ROWS:06d}" + "w" * 500 for n in range(ROWS // 4)]


KEYS: dict[Callable[[], list[Any]], Type] = {
    sequential: BIGINT,
    in_steps: BIGINT,
    uniform: BIGINT,
    skewed: BIGINT,
    one_prefix: STRING,
    long_words: STRING,
}


def load(store: Store, keys: list[Any], type: Type) -> list[Any]:
    """Loads rows of just a key; the keys in their order."""
    store.create_table(table("Keys", ("key",), column("key", type)))
    store.load(codec_of(store, "Keys"), pa.record_batch({"key": pa.array(keys, arrow_type(type))}))
    return sorted(keys)


def sizes(store: Store, parts: int, whole: Interval = ALL) -> list[int]:
    """The rows of each range; checks that the ranges adjoin and are `whole` together."""
    codec = codec_of(store, "Keys")
    ranges = store.split(codec, parts, whole)
    assert (ranges[0].lower, ranges[-1].upper) == (whole.lower, whole.upper)
    assert [one.upper for one in ranges[:-1]] == [one.lower for one in ranges[1:]]
    snapshot = store.snapshot()
    found = [scan(snapshot, codec, one) for one in ranges]
    assert [row for part in found for row in part] == scan(snapshot, codec, whole)
    return [len(part) for part in found]


class TestSplit:
    @pytest.mark.parametrize("keys", list(KEYS), ids=lambda keys: keys.__name__)
    def test_ranges_of_a_large_table_are_of_like_size(self, store: Store, keys: Callable[[], list[Any]]) -> None:
        count = len(load(store, keys(), KEYS[keys]))
        for parts in (2, 3, 5):
            found = sizes(store, parts)
            assert len(found) == parts
            assert max(found) < 1.6 * count / parts
            assert min(found) > 0.4 * count / parts

    def test_ranges_follow_what_was_deleted(self, store: Store) -> None:
        keys = load(store, sequential(), BIGINT)
        codec = codec_of(store, "Keys")
        writes = WriteSet()
        for key in keys[: ROWS * 2 // 3]:
            writes.remove(codec, encoded(codec, key))
        store.commit(writes)
        found = sizes(store, 2)
        assert max(found) < 0.7 * (ROWS // 3)

    def test_part_of_a_table_is_cut_too(self, store: Store) -> None:
        load(store, sequential(), BIGINT)
        codec = codec_of(store, "Keys")
        found = sizes(store, 3, Interval(encoded(codec, 3_000), encoded(codec, 15_000)))
        assert len(found) == 3
        assert sum(found) == 12_000
        assert max(found) < 1.6 * 4_000

    def test_rows_of_a_small_table_are_dealt_out_exactly(self, store: Store) -> None:
        load(store, list(range(10)), BIGINT)
        assert sorted(sizes(store, 4)) == [2, 2, 3, 3]
        assert sizes(store, 10) == [1] * 10
        assert sizes(store, 1) == [10]

    def test_more_parts_than_rows_gives_no_empty_range_but_the_first(self, store: Store) -> None:
        load(store, [5, 6, 7], BIGINT)
        found = sizes(store, 100)
        assert sum(found) == 3
        assert found[1:] == [1] * (len(found) - 1)

    def test_empty_table_is_one_range(self, store: Store) -> None:
        load(store, [], BIGINT)
        assert store.split(codec_of(store, "Keys"), 4) == [ALL]
        put(store, "Keys", key=1)
        assert sum(sizes(store, 4)) == 1

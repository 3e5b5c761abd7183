"""Gets and scans of a table as it is now."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tests.store.shapes import ITEMS, TAGS, beginning, between, codec_of, encoded, fill, get, put, scan
from viewkeeper.errors import KeyTooLong, NullKey, WrongType
from viewkeeper.model.types import Row
from viewkeeper.store.interface import ALL, Interval, Store

LARGE = 9_000
"""Enough rows for several slices of any scan."""


def row(number: int) -> Row:
    return (number, f"n{number}", number % 7)


def fill_items(store: Store, numbers: range) -> list[Any]:
    store.create_table(ITEMS)
    fill(store, "Items", [dict(zip(("id", "name", "stock"), row(number), strict=True)) for number in numbers])
    return [row(number) for number in sorted(numbers)]


class TestGets:
    def test_row_is_found_by_its_whole_key(self, store: Store) -> None:
        store.create_table(TAGS)
        put(store, "Tags", doc=1, tag="a", weight=3)
        assert get(store, "Tags", 1, "a") == (1, "a", 3)
        assert get(store, "Tags", 1, "b") is None
        assert get(store, "Tags", 2, "a") is None

    def test_get_gives_the_codec_that_the_row_fits(self, store: Store) -> None:
        store.create_table(ITEMS)
        put(store, "Items", id=1, name="x")
        codec, found = store.get("Items", (1,))
        assert found is not None
        assert codec.to_dict(found) == {"id": 1, "name": "x", "stock": None}

    def test_part_of_a_key_is_refused(self, store: Store) -> None:
        store.create_table(TAGS)
        with pytest.raises(WrongType, match="key of 2 columns"):
            store.get("Tags", (1,))
        with pytest.raises(NullKey):
            store.get("Tags", (1, None))

    def test_key_beyond_any_length_is_refused(self, store: Store) -> None:
        store.create_table(TAGS)
        with pytest.raises(KeyTooLong):
            store.get("Tags", (1, "x" * 40_000))

    def test_get_many_gives_rows_in_the_order_of_the_keys(self, store: Store) -> None:
        fill_items(store, range(10))
        codec = codec_of(store, "Items")
        keys = [encoded(codec, number) for number in (7, 99, 0, 7)]
        assert store.snapshot().get_many(codec, keys) == [row(7), None, row(0), row(7)]
        assert store.snapshot().get_many(codec, []) == []


class TestScans:
    def test_rows_come_in_key_order_whatever_the_order_of_writing(self, store: Store) -> None:
        store.create_table(TAGS)
        keys = [(doc, tag) for doc in (-5, 0, 3) for tag in ("", "a", "a\0", "ab", "é")]
        shuffled = Random(1).sample(keys, len(keys))
        for doc, tag in shuffled:
            put(store, "Tags", doc=doc, tag=tag)
        codec = codec_of(store, "Tags")
        assert [found[:2] for found in scan(store.snapshot(), codec)] == keys
        assert [found[:2] for found in scan(store.snapshot(), codec, reverse=True)] == keys[::-1]

    def test_scan_of_many_slices_gives_each_row_once(self, store: Store) -> None:
        expected = fill_items(store, range(LARGE))
        codec = codec_of(store, "Items")
        assert scan(store.snapshot(), codec) == expected
        assert scan(store.snapshot(), codec, reverse=True) == expected[::-1]

    def test_no_chunk_is_empty(self, store: Store) -> None:
        fill_items(store, range(200))
        codec = codec_of(store, "Items")
        snapshot = store.snapshot()
        assert all(snapshot.scan(codec, ALL))
        assert list(snapshot.scan(codec, between(codec, 500))) == []
        assert list(snapshot.scan(codec, between(codec, 5, 5))) == []
        assert list(snapshot.scan(codec, between(codec, 6, 5))) == []
        assert list(snapshot.scan(codec, between(codec, 6, 5), reverse=True)) == []

    def test_scan_of_an_empty_table_gives_nothing(self, store: Store) -> None:
        store.create_table(ITEMS)
        assert scan(store.snapshot(), codec_of(store, "Items")) == []
        assert scan(store.snapshot(), codec_of(store, "Items"), reverse=True) == []

    @pytest.mark.parametrize("reverse", [False, True])
    def test_every_interval_and_limit_gives_what_a_sorted_list_would(self, store: Store, reverse: bool) -> None:
        expected = fill_items(store, range(-100, 500, 3))
        codec = codec_of(store, "Items")
        snapshot = store.snapshot()
        random = Random(7)
        for _ in range(400):
            lower, upper = (random.choice([None, *range(-110, 510)]) for _ in range(2))
            limit = random.choice([None, None, 0, 1, 2, 63, 64, 65, 199, 200, 201, 1000])
            wanted = [
                row for row in expected if (lower is None or lower <= row[0]) and (upper is None or row[0] < upper)
            ]
            ordered = wanted[::-1] if reverse else wanted
            interval = between(codec, lower, upper)
            found = scan(snapshot, codec, interval, limit=limit, reverse=reverse)
            assert found == ordered[:limit], (lower, upper, limit)

    def test_prefix_gives_the_rows_that_begin_with_it(self, store: Store) -> None:
        store.create_table(TAGS)
        for doc in (-1, 0, 1, 2**62):
            for tag in ("x", "y", "z"):
                put(store, "Tags", doc=doc, tag=tag)
        codec = codec_of(store, "Tags")
        snapshot = store.snapshot()
        for doc in (-1, 0, 1, 2**62):
            tags = [found[1] for found in scan(snapshot, codec, beginning(codec, doc))]
            assert tags == ["x", "y", "z"]
        assert scan(snapshot, codec, beginning(codec, 5)) == []
        assert len(scan(snapshot, codec, beginning(codec))) == 12
        last_two = scan(snapshot, codec, beginning(codec, 0), limit=2, reverse=True)
        assert [found[:2] for found in last_two] == [(0, "z"), (0, "y")]

    def test_bounds_may_name_part_of_the_key(self, store: Store) -> None:
        store.create_table(TAGS)
        for doc in range(4):
            for tag in ("x", "y"):
                put(store, "Tags", doc=doc, tag=tag)
        codec = codec_of(store, "Tags")
        interval = Interval(encoded(codec, 1), encoded(codec, 3, "y"))
        found = [found[:2] for found in scan(store.snapshot(), codec, interval)]
        assert found == [(1, "x"), (1, "y"), (2, "x"), (2, "y"), (3, "x")]

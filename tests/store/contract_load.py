"""Bulk loads: an Arrow batch is a transaction of puts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.store.shapes import ITEMS, ORDERS, TAGS, WORDS, codec_of, column, get, put, rows, table
from tests.strategies import EVERY_TYPE, edge_cells, same_cells
from viewkeeper.errors import Conflict, KeyTooLong, MissingColumn, UnknownTable
from viewkeeper.model.arrow import arrow_type, from_cells
from viewkeeper.model.position import Position
from viewkeeper.model.types import BIGINT, INT, Row
from viewkeeper.store.interface import Store


def load(store: Store, name: str, data: dict[str, list[Any]], *, rehearse: bool = False) -> Position:
    codec = codec_of(store, name)
    types = {one.name: arrow_type(one.type) for one in codec.table.columns}
    arrays = {name: pa.array(values, types[name]) for name, values in data.items()}
    return store.load(codec, pa.record_batch(arrays), rehearse=rehearse)


class TestLoad:
    def test_new_rows_are_one_transaction_of_inserts(self, store: Store) -> None:
        store.create_table(ITEMS)
        start = store.head()
        position = load(store, "Items", {"id": list(range(500)), "name": [f"n{n}" for n in range(500)]})
        expected = [(number, f"n{number}", None) for number in range(500)]
        assert rows(store, "Items") == expected
        assert position == store.head()
        (block,) = store.blocks(start)
        codec = codec_of(store, "Items")
        assert block.sections[0].pairs(codec) == [(None, row) for row in expected]
        assert rows(store, "Items", start) == []

    @pytest.mark.parametrize("size", [1, 5, 63, 64, 200])
    def test_loaded_rows_are_those_that_puts_would_give(self, store: Store, size: int) -> None:
        columns = [column(f"c{number}", type) for number, type in enumerate(EVERY_TYPE)]
        edges = [(None, *edge_cells(type)) for type in EVERY_TYPE]
        cells = [(n, *(values[n % len(values)] for values in edges)) for n in range(size)]
        for name in ("Loaded", "Put"):
            store.create_table(table(name, ("id",), column("id", BIGINT), *columns))
        loaded, by_put = codec_of(store, "Loaded"), codec_of(store, "Put")
        given = zip(zip(*cells, strict=True), loaded.table.columns, strict=True)
        arrays = [from_cells(values, one.type) for values, one in given]
        start = store.head()
        store.load(loaded, pa.record_batch(arrays, names=list(loaded.names)))
        for row in cells:
            store.put(by_put, dict(enumerate(row)))
        found, wanted = rows(store, "Loaded"), rows(store, "Put")
        assert len(found) == len(wanted) == size
        assert all(map(same_cells, found, wanted))
        logged = [after for section in store.blocks(start)[0].sections for _, after in section.pairs(loaded)]
        assert all(same_cells(row or (), cell) for row, cell in zip(logged, cells, strict=True))

    def test_rows_that_are_there_get_just_the_given_columns(self, store: Store) -> None:
        store.create_table(ITEMS)
        put(store, "Items", id=1, name="kept", stock=1)
        put(store, "Items", id=3, name="same", stock=3)
        start = store.head()
        load(store, "Items", {"stock": [9, 2, 3], "id": [1, 2, 3]})
        assert rows(store, "Items") == [(1, "kept", 9), (2, None, 2), (3, "same", 3)]
        (block,) = store.blocks(start)
        codec = codec_of(store, "Items")
        assert [pair for section in block.sections for pair in section.pairs(codec)] == [
            ((1, "kept", 1), (1, "kept", 9)),
            (None, (2, None, 2)),
        ]

    def test_null_in_a_given_column_is_a_value(self, store: Store) -> None:
        store.create_table(ITEMS)
        put(store, "Items", id=1, name="a", stock=1)
        load(store, "Items", {"id": [1], "name": [None]})
        assert rows(store, "Items") == [(1, None, 1)]

    @pytest.mark.parametrize("existing", [False, True])
    def test_key_that_comes_twice_is_put_twice(self, store: Store, existing: bool) -> None:
        store.create_table(ITEMS)
        put(store, "Items", id=7 if existing else 8)
        start = store.head()
        load(store, "Items", {"id": [7, 5, 7], "name": ["first", "x", "last"], "stock": [1, 2, 3]})
        assert get(store, "Items", 7) == (7, "last", 3)
        (block,) = store.blocks(start)
        assert block.changes == 2

    def test_same_rows_again_change_nothing(self, store: Store) -> None:
        store.create_table(ITEMS)
        data: dict[str, list[Any]] = {"id": list(range(100)), "name": ["n"] * 100}
        head = load(store, "Items", data)
        assert load(store, "Items", data) == head
        assert store.head() == head

    def test_empty_batch_changes_nothing(self, store: Store) -> None:
        store.create_table(ITEMS)
        head = put(store, "Items", id=1)
        assert load(store, "Items", {"id": [], "name": []}) == head

    @pytest.mark.parametrize("existing", [False, True], ids=["new table", "one row there"])
    def test_required_column_that_is_not_given_is_refused(self, store: Store, existing: bool) -> None:
        store.create_table(ORDERS)
        if existing:
            put(store, "Orders", id=1, buyer="b")
        head, before = store.head(), rows(store, "Orders")
        with pytest.raises(MissingColumn, match=r'"buyer".*NOT NULL'):
            load(store, "Orders", {"id": [1, 2], "note": ["x", "y"]})
        assert (store.head(), rows(store, "Orders")) == (head, before)

    def test_required_column_need_not_be_given_for_rows_that_have_it(self, store: Store) -> None:
        store.create_table(ORDERS)
        put(store, "Orders", id=1, buyer="b")
        load(store, "Orders", {"id": [1], "note": ["x"]})
        assert rows(store, "Orders") == [(1, "b", "x")]

    @pytest.mark.parametrize("existing", [False, True], ids=["new table", "one row there"])
    def test_null_in_a_required_column_is_refused(self, store: Store, existing: bool) -> None:
        store.create_table(ORDERS)
        if existing:
            put(store, "Orders", id=1, buyer="b")
        before = rows(store, "Orders")
        with pytest.raises(MissingColumn, match='"buyer"'):
            load(store, "Orders", {"id": [1, 2], "buyer": ["b", None]})
        assert rows(store, "Orders") == before

    @pytest.mark.parametrize("existing", [False, True], ids=["all new", "one row there"])
    def test_rehearsal_leaves_nothing(self, store: Store, existing: bool) -> None:
        store.create_table(TAGS)
        if existing:
            put(store, "Tags", doc=1, tag="a")
        head, before = store.head(), rows(store, "Tags")
        data: dict[str, list[Any]] = {"doc": list(range(300)), "tag": ["a"] * 300}
        assert load(store, "Tags", data, rehearse=True) == head
        assert (store.head(), rows(store, "Tags")) == (head, before)
        assert store.row_count(codec_of(store, "Tags")) == len(before)
        assert len(store.split(codec_of(store, "Tags"), 8)) <= 2
        load(store, "Tags", data)
        assert len(rows(store, "Tags")) == 300

    def test_rehearsal_finds_what_a_load_would(self, store: Store) -> None:
        store.create_table(ORDERS)
        with pytest.raises(MissingColumn):
            load(store, "Orders", {"id": [1]}, rehearse=True)

    def test_keys_in_any_order_and_of_any_length(self, store: Store) -> None:
        store.create_table(WORDS)
        words = [f"{n * 7919 % 400:03d}" + "w" * (n % 600) for n in range(400)]
        load(store, "Words", {"word": words, "count": list(range(400))})
        expected: list[Row] = sorted((word, number) for number, word in enumerate(words))
        assert rows(store, "Words") == expected
        load(store, "Words", {"word": words[::-1], "count": list(range(400))})
        assert rows(store, "Words") == sorted((word, number) for number, word in enumerate(words[::-1]))

    def test_key_too_long_refuses_the_whole_batch(self, store: Store) -> None:
        store.create_table(WORDS)
        with pytest.raises(KeyTooLong):
            load(store, "Words", {"word": ["a", "k" * 40_000]})
        assert rows(store, "Words") == []

    def test_slice_of_a_larger_batch_is_loaded_as_the_slice(self, store: Store) -> None:
        store.create_table(ITEMS)
        codec = codec_of(store, "Items")
        data = pa.record_batch(
            {
                "id": pa.array(range(100), pa.int64()),
                "name": pa.array([None if n % 3 else f"n{n}" for n in range(100)]),
                "stock": pa.array([None if n % 2 else n for n in range(100)], pa.int32()),
            }
        )
        start = store.head()
        store.load(codec, data.slice(13, 70))
        expected = [(n, None if n % 3 else f"n{n}", None if n % 2 else n) for n in range(13, 83)]
        assert rows(store, "Items") == expected
        assert [pair[1] for pair in store.blocks(start)[0].sections[0].pairs(codec)] == expected

    def test_batch_made_for_the_columns_of_before_conflicts(self, store: Store) -> None:
        store.create_table(ITEMS)
        codec = codec_of(store, "Items")
        data = pa.record_batch({"id": pa.array([1], pa.int64())})
        store.add_column("Items", column("price", INT))
        with pytest.raises(Conflict):
            store.load(codec, data)
        store.drop_table("Items")
        with pytest.raises(UnknownTable):
            store.load(codec, data)

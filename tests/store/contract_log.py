"""The log: a block a transaction, read back as it was written."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from tests.store.shapes import ITEMS, TAGS, codec_of, column, delete, encoded, fill, put, table
from tests.strategies import EVERY_TYPE, edge_cells, same_cells
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import BIGINT, INT, STRING, Row, decimal
from viewkeeper.store.interface import Block, Section, Store, WriteSet

FEW, MANY = 5, 300
"""Changes of a section that is kept row by row, and of one that is kept by column."""


def pairs(block: Block, codec: RowCodec) -> list[tuple[Row | None, Row | None]]:
    return [pair for section in block.sections for pair in section.pairs(codec)]


class TestLog:
    def test_each_transaction_is_one_block(self, store: Store) -> None:
        store.create_table(ITEMS)
        started = datetime.now(UTC).timestamp() * 1e6
        positions = [store.head(), put(store, "Items", id=1), fill(store, "Items", [{"id": n} for n in range(2, 9)])]
        positions.append(delete(store, "Items", 1))
        blocks = store.blocks(positions[0])
        assert [store.position(block.start) for block in blocks] == positions[:-1]
        assert [store.position(block.end) for block in blocks] == positions[1:]
        assert [block.changes for block in blocks] == [1, 7, 1]
        assert len({block.transaction for block in blocks}) == 3
        times = [block.committed_at for block in blocks]
        assert times == sorted(times)
        assert started - 1 <= times[0] <= times[-1] <= datetime.now(UTC).timestamp() * 1e6 + 1

    def test_change_has_the_row_before_and_the_row_after(self, store: Store) -> None:
        store.create_table(ITEMS)
        start = store.head()
        put(store, "Items", id=1, name="a")
        put(store, "Items", id=1, stock=2)
        delete(store, "Items", 1)
        codec = codec_of(store, "Items")
        assert [pairs(block, codec) for block in store.blocks(start)] == [
            [(None, (1, "a", None))],
            [((1, "a", None), (1, "a", 2))],
            [((1, "a", 2), None)],
        ]

    def test_blocks_are_those_with_a_change_at_lower_or_behind_and_before_upper(self, store: Store) -> None:
        store.create_table(ITEMS)
        edges = [0]
        for size in (1, 3, 1, 2, 4):
            fill(store, "Items", [{"id": random.getrandbits(60)} for _ in range(size)])
            edges.append(edges[-1] + size)
        spans = list(pairwise(edges))
        for lower in range(edges[-1] + 1):
            for upper in [None, *range(edges[-1] + 1)]:
                end = edges[-1] if upper is None else upper
                wanted = [span for span in spans if lower < end and span[1] > lower and span[0] < end]
                limit = None if upper is None else store.position(upper)
                found = store.blocks(store.position(lower), limit)
                assert [(block.start, block.end) for block in found] == wanted, (lower, upper)

    def test_most_is_the_number_of_blocks(self, store: Store) -> None:
        store.create_table(ITEMS)
        start = store.head()
        for number in range(10):
            put(store, "Items", id=number)
        assert len(store.blocks(start, most=4)) == 4
        assert len(store.blocks(start, most=1)) == 1
        assert len(store.blocks(start)) == 10
        assert [block.start for block in store.blocks(store.position(7), most=2)] == [7, 8]

    def test_sections_of_other_tables_are_left_out_on_demand(self, store: Store) -> None:
        store.create_table(ITEMS)
        store.create_table(TAGS)
        items, tags = codec_of(store, "Items"), codec_of(store, "Tags")
        start = store.head()
        writes = WriteSet()
        for number in range(FEW):
            writes.put(items, encoded(items, number), {0: number})
        for number in range(MANY):
            writes.put(tags, encoded(tags, number, "t"), {0: number, 1: "t"})
        store.commit(writes)
        put(store, "Items", id=99)
        both, only_items = store.blocks(start)
        assert [(s.table, s.first, s.changes) for s in both.sections] == [
            (items.table.id, 0, FEW),
            (tags.table.id, FEW, MANY),
        ]
        first, second = store.blocks(start, tables=frozenset([tags.table.id]))
        assert [(s.table, s.first, s.changes) for s in first.sections] == [(tags.table.id, FEW, MANY)]
        assert (first.start, first.end) == (both.start, both.end)
        assert (second.sections, second.end) == ((), only_items.end)
        assert pairs(first, tags) == [(None, (number, "t", None)) for number in range(MANY)]

    def test_log_size_counts_changes(self, store: Store) -> None:
        store.create_table(ITEMS)
        assert store.log_size()[0] == 0
        fill(store, "Items", [{"id": number} for number in range(250)])
        put(store, "Items", id=1, name="x")
        changes, size = store.log_size()
        assert changes == 251
        assert size > 250 * 8


class TestSections:
    @pytest.mark.parametrize("changes", [1, 15, 16, 63, 64, MANY])
    def test_section_of_any_size_decodes_to_what_was_written(self, store: Store, changes: int) -> None:
        """Inserts, updates and deletes in one section, with a column of every type at its edges."""
        columns = [column(f"c{number}", type) for number, type in enumerate(EVERY_TYPE)]
        store.create_table(table("Types", ("id",), column("id", BIGINT), *columns))
        codec = codec_of(store, "Types")
        chosen = random.Random(changes)

        def any_row(number: int) -> Row:
            return (number, *(chosen.choice([None, *edge_cells(type)]) for type in EVERY_TYPE))

        def write(new: dict[int, Row | None]) -> None:
            writes = WriteSet()
            for number, row in new.items():
                if row is None:
                    writes.remove(codec, encoded(codec, number))
                else:
                    writes.put(codec, encoded(codec, number), dict(enumerate(row)))
            store.commit(writes)

        old: dict[int, Row | None] = {number: any_row(number) for number in range(changes) if number % 3}
        write(old)
        start = store.head()
        new = {number: None if number % 3 == 1 else any_row(number) for number in range(changes)}
        write(new)
        (block,) = store.blocks(start)
        found = pairs(block, codec)
        wanted = [(old.get(number), new[number]) for number in range(changes)]
        wanted = [pair for pair in wanted if pair != (None, None)]
        assert len(found) == len(wanted)
        for (before, after), (expected_before, expected_after) in zip(found, wanted, strict=True):
            assert same_cells(before or (), expected_before or ())
            assert same_cells(after or (), expected_after or ())

    def test_few_changes_are_kept_by_row_and_many_by_column(self, store: Store) -> None:
        store.create_table(ITEMS)
        sizes = [1, FEW, 63, 64, MANY]
        for size in sizes:
            fill(store, "Items", [{"id": size * 1_000 + number} for number in range(size)])
        sections = [block.sections[0] for block in store.blocks(store.position(0))]
        assert [section.changes for section in sections] == sizes
        assert [is_columnar(section) for section in sections] == [False, False, False, True, True]
        codec = codec_of(store, "Items")
        ops, before, after = sections[-1].batches(codec)
        assert ops == bytes([1]) * MANY
        assert before is None
        assert after is not None
        assert after.schema.names == ["id", "name", "stock"]
        assert after.column("id").to_pylist() == [MANY * 1_000 + number for number in range(MANY)]

    @pytest.mark.parametrize("changes", [FEW, MANY], ids=["by row", "by column"])
    def test_rows_logged_before_a_column_was_added_have_null_in_it(self, store: Store, changes: int) -> None:
        store.create_table(ITEMS)
        start = store.head()
        fill(store, "Items", [{"id": number, "name": "n"} for number in range(changes)])
        store.add_column("Items", column("price", decimal(30, 2)))
        store.add_column("Items", column("note", STRING))
        fill(store, "Items", [{"id": number, "price": 5} for number in range(changes)])
        fill(store, "Items", [{"id": number, "note": "x"} for number in range(changes)])
        codec = codec_of(store, "Items")
        first, second, third = (pairs(block, codec) for block in store.blocks(start))
        plain = [(number, "n", None, None, None) for number in range(changes)]
        priced = [(number, "n", None, 500, None) for number in range(changes)]
        noted = [(number, "n", None, 500, "x") for number in range(changes)]
        assert first == [(None, row) for row in plain]
        assert second == list(zip(plain, priced, strict=True))
        assert third == list(zip(priced, noted, strict=True))

    @pytest.mark.parametrize("changes", [FEW, MANY], ids=["by row", "by column"])
    def test_deletes_of_rows_from_before_a_column_was_added_are_whole(self, store: Store, changes: int) -> None:
        store.create_table(ITEMS)
        fill(store, "Items", [{"id": number} for number in range(changes)])
        store.add_column("Items", column("price", INT))
        start = store.head()
        codec = codec_of(store, "Items")
        writes = WriteSet()
        for number in range(changes):
            writes.remove(codec, encoded(codec, number))
        store.commit(writes)
        (block,) = store.blocks(start)
        assert pairs(block, codec) == [((number, None, None, None), None) for number in range(changes)]

    @pytest.mark.parametrize("changes", [FEW, MANY], ids=["by row", "by column"])
    def test_wide_decimals_are_exact(self, store: Store, changes: int) -> None:
        wide = decimal(38, 3)
        columns = (column("id", wide), column("low", decimal(18, 0)), column("sum", wide))
        store.create_table(table("Sums", ("id",), *columns))
        codec = codec_of(store, "Sums")
        most = 10**38 - 1
        cells = [(number - most, -(10**18) + 1 + number, most - number) for number in range(changes - 1)]
        cells.append((0, None, None))  # type: ignore[arg-type]
        writes = WriteSet()
        for row in cells:
            writes.put(codec, codec.key.encode(row), dict(enumerate(row)))
        start = store.head()
        store.commit(writes)
        (block,) = store.blocks(start)
        assert pairs(block, codec) == [(None, row) for row in cells]
        assert is_columnar(block.sections[0]) == (changes == MANY)


def is_columnar(section: Section) -> bool:
    return section.kind == 2

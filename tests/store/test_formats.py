"""Bytes on disk: what an older viewkeeper wrote must stay readable, so these may not change in silence."""

from __future__ import annotations

import struct
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from tests.store.shapes import ITEMS, delete, fill, put
from viewkeeper.errors import StoreDamaged
from viewkeeper.model.arrow import table_schema
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Cardinality, Table
from viewkeeper.store.blocks import RawChange, decode_block, encode_block, encode_section
from viewkeeper.store.keyspace import slot_database, stored_key
from viewkeeper.store.registry import close_store, open_store

ITEMS_7 = Table(name="Items", columns=ITEMS.columns, primary_key=("id",), id=7)
CODEC = RowCodec(ITEMS_7)
BLOCK = bytes.fromhex(
    # version 1, 1 section, transaction 0x0102…08
    "01 0000000000 0001 0102030405060708"
    # kind 1 by row, 3 columns, table 7, 3 changes, 25 bytes of body
    "0100 0003 00000007 00000003 00000019"
    # [[nil, [1, "a", nil]], [[1, "a", nil], [1, "b", 5]], [[2, nil, -1], nil]], then padding to 32
    "93 92c0 9301a161c0 92 9301a161c0 9301a16205 92 9302c0ff c0 00000000000000"
)


def three_changes() -> bytes:
    encode = CODEC.encode
    changes: list[RawChange] = [
        (None, encode((1, "a", None))),
        (encode((1, "a", None)), encode((1, "b", 5))),
        (encode((2, None, -1)), None),
    ]
    return encode_section(CODEC, changes)


def test_block_of_rows_is_laid_out_as_the_grammar_says() -> None:
    assert encode_block(0x0102030405060708, [three_changes()]).hex(" ") == BLOCK.hex(" ")


def test_block_of_rows_is_read_back() -> None:
    block = decode_block(100, 3, 1_000_000, BLOCK)
    assert (block.start, block.end, block.transaction, block.committed_at) == (100, 103, 0x0102030405060708, 1_000_000)
    (section,) = block.sections
    assert section.pairs(CODEC) == [
        (None, (1, "a", None)),
        ((1, "a", None), (1, "b", 5)),
        ((2, None, -1), None),
    ]


def test_columnar_section_is_laid_out_as_the_grammar_says() -> None:
    encode = CODEC.encode
    changes: list[RawChange] = [(None, encode((n, "i", n))) for n in range(30)]
    changes += [(encode((100 + n, "u", 0)), encode((100 + n, "v", 1))) for n in range(30)]
    changes += [(encode((200 + n, "d", None)), None) for n in range(9)]
    data = encode_section(CODEC, changes)
    assert struct.unpack_from(">BBHII", data) == (2, 0, 3, 7, 69)
    (length,) = struct.unpack_from(">I", data, 12)
    assert len(data) == 16 + length + (-length % 8)
    body = data[16 : 16 + length]
    old, new = struct.unpack_from(">II", body)
    assert body[8:77] == bytes([1] * 30 + [3] * 30 + [2] * 9)
    assert body[77:80] == bytes(3)
    at = 80
    before = pa.ipc.read_record_batch(pa.py_buffer(body[at : at + old]), table_schema(ITEMS_7))
    at += old + (-old % 8)
    after = pa.ipc.read_record_batch(pa.py_buffer(body[at : at + new]), table_schema(ITEMS_7))
    assert at + new + (-new % 8) == length
    assert before.column("name").to_pylist() == ["u"] * 30 + ["d"] * 9
    assert after.column("id").to_pylist() == [*range(30), *range(100, 130)]


def test_several_sections_follow_one_another() -> None:
    data = encode_block(1, [three_changes(), three_changes()])
    sections = decode_block(0, 6, 0, data).sections
    assert [section.first for section in sections] == [0, 3]
    assert [len(section.pairs(CODEC)) for section in sections] == [3, 3]
    assert decode_block(0, 6, 0, data, lambda table: table != 7).sections == ()


def test_block_of_another_version_is_refused() -> None:
    with pytest.raises(StoreDamaged, match="version 2"):
        decode_block(0, 3, 0, b"\x02" + BLOCK[1:])


def test_key_of_a_block_says_where_it_is_how_long_and_of_when(folder: Path) -> None:
    store = open_store(folder, durability="os")
    store.create_table(ITEMS)
    fill(store, "Items", [{"id": number} for number in range(70)])
    put(store, "Items", id=1, stock=1)
    delete(store, "Items", 2)
    times = [block.committed_at for block in store.blocks(store.position(0))]
    with store.base.begin() as txn:
        keys = list(txn.cursor(db=store.log_db).iternext(values=False))
    close_store(store)
    expected = zip((0, 70, 71), (70, 1, 1), times, strict=True)
    assert keys == [struct.pack(">QIq", start, changes, time) for start, changes, time in expected]


def test_stored_keys_are_whole_up_to_494_bytes_and_digested_from_495() -> None:
    assert stored_key(b"k" * 494) == b"k" * 494
    assert stored_key(b"k" * 495) == b"k" * 495 + bytes.fromhex("f45896bde735614d347162e8dd817d29")
    assert len(stored_key(b"k" * 32_768)) == 511


def test_name_of_a_slot() -> None:
    assert slot_database(26) == b"t0000001a"


def test_a_table_of_an_older_catalog_has_limits_without_words() -> None:
    written = msgspec.msgpack.encode({"columns": ["title"], "limit": 3})
    assert msgspec.msgpack.decode(written, type=Cardinality) == Cardinality(columns=("title",), limit=3, words=False)
    limit = Cardinality(columns=("title",), limit=3, words=True)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(limit), type=Cardinality) == limit

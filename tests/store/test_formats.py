"""Bytes on disk: what an older viewkeeper wrote must stay readable, so these may not change in silence."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from tests.store.shapes import ITEMS
from viewkeeper.errors import StoreDamaged
from viewkeeper.model.arrow import table_schema
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Table
from viewkeeper.store.blocks import decode_block, encode_block, encode_section
from viewkeeper.store.keyspace import slot_database, stored_key

ITEMS_7 = Table(name="Items", columns=ITEMS.columns, primary_key=("id",), id=7)
CODEC = RowCodec(ITEMS_7)
BLOCK = bytes.fromhex(
    # version 1, changes 3, sections 1, transaction 0x0102…08, committed at 1,000,000 µs
    "0100 00000003 0001 0102030405060708 00000000000f4240"
    # kind 1 by row, 3 columns, table 7, 3 changes, 25 bytes of body
    "0100 0003 00000007 00000003 00000019"
    # [[nil, [1, "a", nil]], [[1, "a", nil], [1, "b", 5]], [[2, nil, -1], nil]], then padding
    "93 92c0 9301a161c0 92 9301a161c0 9301a16205 92 9302c0ff c0"
)


def rows_of_three() -> bytes:
    encode = CODEC.encode
    changes = [
        (None, encode((1, "a", None))),
        (encode((1, "a", None)), encode((1, "b", 5))),
        (encode((2, None, -1)), None),
    ]
    return encode_section(CODEC, changes)


def test_block_of_rows_is_laid_out_as_the_grammar_says() -> None:
    body = BLOCK[40:]
    padded = BLOCK + bytes(-len(body) % 8)
    assert encode_block(0x0102030405060708, 1_000_000, 3, [rows_of_three()]).hex(" ") == padded.hex(" ")


def test_block_of_rows_is_read_back() -> None:
    block = decode_block(100, BLOCK + bytes(-len(BLOCK[40:]) % 8))
    assert (block.start, block.end, block.transaction, block.committed_at) == (100, 103, 0x0102030405060708, 1_000_000)
    (section,) = block.sections
    assert section.pairs(CODEC) == [
        (None, (1, "a", None)),
        ((1, "a", None), (1, "b", 5)),
        ((2, None, -1), None),
    ]


def test_columnar_section_is_laid_out_as_the_grammar_says() -> None:
    encode = CODEC.encode
    changes = [(None, encode((n, "i", n))) for n in range(30)]
    changes += [(encode((100 + n, "u", 0)), encode((100 + n, "v", 1))) for n in range(30)]  # type: ignore[list-item]
    changes += [(encode((200 + n, "d", None)), None) for n in range(9)]  # type: ignore[list-item, misc]
    data = encode_section(CODEC, changes)
    assert struct.unpack_from(">BBHIII", data)[:5] == (2, 0, 3, 7, 69)
    length = struct.unpack_from(">I", data, 12)[0]
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
    data = encode_block(1, 2, 6, [rows_of_three(), rows_of_three()])
    assert [section.first for section in decode_block(0, data).sections] == [0, 3]
    (second,) = (section for section in decode_block(0, data).sections if section.first == 3)
    assert len(second.pairs(CODEC)) == 3


def test_block_of_a_later_version_is_refused() -> None:
    with pytest.raises(StoreDamaged, match="version 2"):
        decode_block(0, b"\x02" + BLOCK[1:])


def test_stored_keys_are_whole_up_to_494_bytes_and_digested_from_495() -> None:
    assert stored_key(b"k" * 494) == b"k" * 494
    digested = stored_key(b"k" * 495)
    assert digested == b"k" * 495 + bytes.fromhex("f45896bde735614d347162e8dd817d29")
    assert len(stored_key(b"k" * 32_768)) == 511


def test_name_of_a_slot() -> None:
    assert slot_database(26) == b"t0000001a"

"""Tuples of cells as bytes whose order is the order of the SQL values.

    key        := column*
    column     := ascending | the same bytes, each inverted, for a descending column
    ascending  := 0x01                                NULL: before every value, hence last when descending
                | 0x02 payload
    payload    := BOOLEAN     1 byte, 0 or 1
                | INT, DATE   4 bytes, big-endian, sign bit flipped
                | BIGINT, TIMESTAMP, DECIMAL with p <= 18    8 bytes, big-endian, sign bit flipped
                | DECIMAL with p > 18                        16 bytes, big-endian, sign bit flipped
                | DOUBLE      8 bytes, big-endian IEEE 754: all bits flipped if negative, else the sign bit;
                              -0.0 as 0.0 and every NaN as the one quiet NaN, above infinity
                | STRING, BINARY   the bytes, 0x00 as 0x00 0xFF, then 0x00 0x01

The code of a tuple begins with the code of each of its prefixes. The terminator of texts is two bytes so that "a"
sorts before "a\\0" ascending and behind it descending.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, assert_never

from viewkeeper.model.types import Cell, Kind, Row, Type

_INVERT = bytes(255 - byte for byte in range(256))
_NULL = b"\x01"
_NULL_DESCENDING = b"\xfe"
_DOUBLE = struct.Struct(">d").pack
_BITS = struct.Struct(">Q")
_NAN = 0x7FF8_0000_0000_0000
_SIGN = 1 << 63
_WORD = (1 << 64) - 1


def sortable_double(value: float) -> int:
    """The unsigned word whose order is that of doubles."""
    if math.isnan(value):
        return _NAN | _SIGN
    bits: int = _BITS.unpack(_DOUBLE(value + 0.0))[0]
    return bits ^ _WORD if bits & _SIGN else bits | _SIGN


def _text(value: str) -> bytes:
    return b"\x02" + value.encode().replace(b"\0", b"\0\xff") + b"\0\x01"


def _bytes(value: bytes) -> bytes:
    return b"\x02" + value.replace(b"\0", b"\0\xff") + b"\0\x01"


def _fixed(kind: Kind, wide: bool) -> tuple[str, str] | None:
    """struct format and expression of a payload of constant width; None for texts and wide decimals."""
    match kind:
        case Kind.BOOLEAN:
            return "B", "({})"
        case Kind.INT | Kind.DATE:
            return "I", "({} + 0x80000000)"
        case Kind.BIGINT | Kind.TIMESTAMP:
            return "Q", "({} + 0x8000000000000000)"
        case Kind.DOUBLE:
            return "Q", "double({})"
        case Kind.DECIMAL:
            return None if wide else ("Q", "({} + 0x8000000000000000)")
        case Kind.STRING | Kind.BINARY:
            return None
    assert_never(kind)


_FULL = {"B": 0xFF, "I": 0xFFFF_FFFF, "Q": _WORD}


class KeyCodec:
    """Encodes keys of one shape: the given columns of a row, each ascending or descending.

    The encoders are compiled to one expression per shape, since every read and write passes through them.
    """

    __slots__ = ("_prefix", "columns", "descending", "encode", "types")

    def __init__(self, columns: Sequence[int], types: Sequence[Type], descending: Sequence[bool] | None = None) -> None:
        self.columns = tuple(columns)
        self.types = tuple(types)
        self.descending = tuple(descending) if descending is not None else (False,) * len(self.columns)
        if not len(self.columns) == len(self.types) == len(self.descending):
            raise ValueError("columns, types and directions of a key differ in number")
        self.encode: Callable[[Row], bytes] = _compile(self.columns, self.types, self.descending)
        self._prefix = [
            _compile(range(size), self.types[:size], self.descending[:size]) for size in range(len(self.columns) + 1)
        ]

    def encode_key(self, key: Sequence[Cell]) -> bytes:
        """The code of a key, or of a prefix of one, given as cells in key order."""
        return self._prefix[len(key)](tuple(key))

    def key_of(self, row: Row) -> Row:
        """The key columns of a row, in key order."""
        return tuple(row[column] for column in self.columns)


def _compile(columns: Sequence[int], types: Sequence[Type], descending: Sequence[bool]) -> Callable[[Row], bytes]:
    """A function from a row to its key.

    Columns of constant width are packed by one struct call each run, without looking for NULL: packing None fails, and
    only then does the slower expression, which knows NULL, run.
    """
    if not columns:
        return lambda _: b""
    names: dict[str, Any] = {
        "double": sortable_double,
        "text": _text,
        "raw": _bytes,
        "invert": _INVERT,
        "unpackable": struct.error,
    }
    fast: list[str] = []
    careful: list[str] = []
    run_format, run_arguments = "", ""
    for column, type, reverse in zip(columns, types, descending, strict=True):
        cell = f"row[{column}]"
        fixed = _fixed(type.kind, type.is_wide)
        if fixed is None:
            if run_format:
                fast.append(_packed(names, run_format, run_arguments))
                run_format, run_arguments = "", ""
            value = _variable(cell, type)
            if reverse:
                value = f"{value}.translate(invert)"
            fast.append(value)
        else:
            code, expression = fixed
            payload = expression.format(cell)
            if reverse:
                payload = f"({_FULL[code]} - {payload})"
            tag = 0xFD if reverse else 0x02
            value = _packed(names, "B" + code, f"{tag}, {payload}")
            run_format += "B" + code
            run_arguments += f"{tag}, {payload}, "
        null = _NULL_DESCENDING if reverse else _NULL
        careful.append(f"({null!r} if {cell} is None else {value})")
    if run_format:
        fast.append(_packed(names, run_format, run_arguments))
    source = (
        f"def encode(row):\n"
        f"    try:\n        return {' + '.join(fast)}\n"
        f"    except (TypeError, AttributeError, unpackable):\n        return {' + '.join(careful)}\n"
    )
    exec(compile(source, "<key codec>", "exec"), names)
    encode: Callable[[Row], bytes] = names["encode"]
    return encode


def _packed(names: dict[str, Any], format: str, arguments: str) -> str:
    names[f"pack_{format}"] = struct.Struct(">" + format).pack
    return f"pack_{format}({arguments})"


def _variable(cell: str, type: Type) -> str:
    match type.kind:
        case Kind.STRING:
            return f"text({cell})"
        case Kind.BINARY:
            return f"raw({cell})"
        case _:
            return f"(b'\\x02' + ({cell} + {1 << 127}).to_bytes(16, 'big'))"


def prefix_end(prefix: bytes) -> bytes | None:
    """The least key above every key that begins with `prefix`; None if there is none.

    >>> prefix_end(b"a\\xff"), prefix_end(b"")
    (b'b', None)
    """
    stripped = prefix.rstrip(b"\xff")
    if not stripped:
        return None
    return stripped[:-1] + bytes([stripped[-1] + 1])

"""Dicts that name every column, straight to bytes.

Most rows that are put are whole, and their values are of just the Python type that the column has. One function per
table takes these; whatever is unusual is left to the row codec, which knows how to say what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from viewkeeper.errors import ViewkeeperError
from viewkeeper.model.schema import Column
from viewkeeper.model.types import BIGINT_MAX, BIGINT_MIN, INT_MAX, INT_MIN, Kind, Row
from viewkeeper.model.values import accept, short_decimal

SMALL_ROW = 1 << 16
"""Bytes up to which nobody has to look at the limit of a row."""

ReadyRow = tuple[bytes, bytes]
"""The encoded key and the encoded row."""
_PLAIN = {
    Kind.BOOLEAN: "{0} is True or {0} is False",
    Kind.INT: f"type({{0}}) is int and {INT_MIN} <= {{0}} <= {INT_MAX}",
    Kind.BIGINT: f"type({{0}}) is int and {BIGINT_MIN} <= {{0}} <= {BIGINT_MAX}",
    Kind.DOUBLE: "type({0}) is float",
    Kind.STRING: "type({0}) is str and {0}.isascii()",
    Kind.BINARY: "type({0}) is bytes",
}
"""When a value is its own cell."""


def compile_ready(
    columns: Sequence[Column], key: Sequence[int], encode_key: Callable[[Row], bytes], encode: Callable[[Row], bytes]
) -> Callable[[Any], ReadyRow | None]:
    """A function from a row, as a user gives it, to key and bytes; None if that takes a closer look.

    It never raises: the same row, taken by `RowCodec.merge` and `whole`, has the same bytes or the error to be raised.
    """
    names: dict[str, Any] = {"accept": accept, "key_of": encode_key, "encode": encode, "Refused": ViewkeeperError}
    lines = [f"if type(row) is not dict or len(row) != {len(columns)}:", "    return None", "try:"]
    for number, column in enumerate(columns):
        value = f"v{number}"
        names[f"t{number}"] = column.type
        lines.append(f"    {value} = row[{column.name!r}]")
        given = f"{value} = accept({value}, t{number}, {column.name!r})"
        plain = _PLAIN.get(column.type.kind)
        short = short_decimal(value, column.type)
        if plain is not None:
            lines.append(f"    if not ({plain.format(value)}): {given}")
        elif short is not None:
            lines += [f"    if {short}: {value} = cell", f"    else: {given}"]
        else:
            lines.append(f"    {given}")
        if number in key or not column.nullable:
            lines.append(f"    if {value} is None: return None")
    cells = "".join(f"v{number}, " for number in range(len(columns)))
    lines += [
        f"    cells = ({cells})",
        "    data = encode(cells)",
        "except (KeyError, Refused):",
        "    return None",
        f"return (key_of(cells), data) if len(data) <= {SMALL_ROW} else None",
    ]
    source = "def ready(row):\n" + "".join(f"    {line}\n" for line in lines)
    exec(compile(source, "<whole row>", "exec"), names)
    ready: Callable[[Any], ReadyRow | None] = names["ready"]
    return ready

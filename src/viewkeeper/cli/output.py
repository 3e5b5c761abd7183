"""Rows for people and for programs: a table, JSON lines, CSV."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import StrEnum
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

PAGE = 1000
"""Rows a table: the widths of its columns come from these, and no more are held."""


class Format(StrEnum):
    table = "table"
    json = "json"
    csv = "csv"


def print_rows(columns: Sequence[str], rows: Iterable[dict[str, Any]], format: Format) -> int:
    """Prints rows on standard output as they come; how many."""
    match format:
        case Format.table:
            return _table(columns, rows)
        case Format.json:
            return _lines(json_line(row) for row in rows)
        case Format.csv:
            names = ",".join(map(csv_field, columns))
            return _lines(_with_names(names, (",".join(map(csv_field, row.values())) for row in rows))) - 1


def _lines(lines: Iterable[str]) -> int:
    count = 0
    for line in lines:
        sys.stdout.write(line + "\n")
        count += 1
    return count


def _with_names(names: str, lines: Iterator[str]) -> Iterator[str]:
    yield names
    yield from lines


def as_text(value: Any) -> str:
    """A value as every format writes it: decimals with all digits, moments in UTC, bytes in hexadecimal."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return repr(value)
        case Decimal():
            return f"{value:f}"
        case datetime():
            return value.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
        case date():
            return value.isoformat()
        case bytes():
            return value.hex()
        case _:
            return str(value)


def json_value(value: Any) -> Any:
    """What JSON has no form for becomes a text that `load` reads back; no DECIMAL passes through a float."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return as_text(value)


def json_line(row: dict[str, Any]) -> str:
    return json.dumps({name: json_value(value) for name, value in row.items()}, ensure_ascii=False)


def csv_field(value: Any) -> str:
    """A value as `load` reads it back: NULL empty, an empty text in quotes."""
    if value is None:
        return ""
    text = as_text(value)
    if text and not any(mark in text for mark in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def console(stream: IO[str] | None = None) -> Console:
    """A console on standard output; where that is no terminal, lines are as long as they need to be."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            # Rich would end the program here, with another exit code than the rest of it does.
            raise BrokenPipeError

    out = stream if stream is not None else sys.stdout
    width = None if out.isatty() else 100_000
    return Plain(file=out, width=width, highlight=False, emoji=False, markup=False, soft_wrap=False)


def _table(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> int:
    out = console()
    taken = iter(rows)
    count = 0
    while page := list(islice(taken, PAGE)):
        out.print(table_of(columns, page))
        count += len(page)
    if not count:
        out.print(table_of(columns, []))
    out.print(f"({count:,} {'row' if count == 1 else 'rows'})", style="dim")
    return count


def table_of(columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> Any:
    """A rich table; numbers to the right, NULL told from a text."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        numeric = any(_is_number(row[name]) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text("NULL", "dim") if row[name] is None else Text(as_text(row[name])) for name in columns))
    return table


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)

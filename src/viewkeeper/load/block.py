"""A stretch of a source with its columns converted; settling it leaves out, or refuses, what does not fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from viewkeeper.load.bad import BadLine, Fault, OnBad, refusal
from viewkeeper.load.batch import LoadBatch, Origin
from viewkeeper.model.schema import Column, Table

Converted = tuple[pa.Array, dict[int, Fault]]
"""A column in its table's Arrow type, and the rows of which no value could be made; those are NULL in it."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A row that never became cells: a line that cannot be taken apart."""

    number: int
    fault: Fault
    raw: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Rows of a source by column. `raw` gives a row as the source has it, for the report of a bad one."""

    columns: tuple[Column, ...]
    converted: list[Converted]
    origin: Origin
    raw: Callable[[int], str]
    lost: list[Lost] = field(default_factory=list)


def settle(block: Block, table: Table, on_bad: OnBad | None) -> LoadBatch | None:
    """The rows that fit; None if there are none.

    Each other row goes to `on_bad`, in the order of the source; without it the first of them is raised.
    """
    faults = _faults(block, table)
    if faults or block.lost:
        _report(block, faults, on_bad)
    arrays = [array for array, _ in block.converted]
    origin = block.origin
    if faults:
        kept = [row for row in range(len(arrays[0])) if row not in faults]
        picked = pa.array(kept, pa.int64())
        arrays = [array.take(picked) for array in arrays]
        origin = origin.pick(kept)
    if not arrays or not len(arrays[0]):
        return None
    return LoadBatch(pa.RecordBatch.from_arrays(arrays, [column.name for column in block.columns]), origin)


def _faults(block: Block, table: Table) -> dict[int, Fault]:
    """The bad rows, each with the fault of its leftmost bad column."""
    keys = {table.columns[id].name for id in table.key_ids}
    faults: dict[int, Fault] = {}
    for column, (array, own) in zip(block.columns, block.converted, strict=True):
        for row, fault in own.items():
            faults.setdefault(row, fault)
        is_key = column.name in keys
        if array.null_count and (is_key or not column.nullable):
            what = "NULL in a column of the primary key" if is_key else "NULL in a column that is NOT NULL"
            for row in pc.indices_nonzero(array.is_null()).to_pylist():
                if row not in own:
                    faults.setdefault(row, Fault(reason=what, column=column.name))
    return faults


def _report(block: Block, faults: dict[int, Fault], on_bad: OnBad | None) -> None:
    origin = block.origin
    found = [(origin.number(row), fault, row) for row, fault in faults.items()]
    found += [(lost.number, lost.fault, -1 - place) for place, lost in enumerate(block.lost)]
    found.sort(key=lambda item: item[0])
    for number, fault, row in found:
        place = origin.place_of(number)
        if on_bad is None:
            raise refusal(place, fault)
        raw = block.raw(row) if row >= 0 else block.lost[-1 - row].raw
        on_bad(
            BadLine(
                file=origin.name, line_no=number, place=place, column=fault.column, reason=fault.reason, raw_text=raw
            )
        )

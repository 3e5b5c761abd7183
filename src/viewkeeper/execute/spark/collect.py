"""The parts that tasks handed out, added up and given to each view as its first stage would have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from viewkeeper.delta.deltaplan import AggregateSink, MeasureKind
from viewkeeper.execute.changetable import ChangeTable, GroupChange, new_change_table, normal_double
from viewkeeper.execute.encodedrows import EncodedRows
from viewkeeper.execute.spark.pieces import piece_count, whole
from viewkeeper.execute.spark.sharing import GroupShare
from viewkeeper.execute.spark.sinks import merged
from viewkeeper.model.arrow import to_cells
from viewkeeper.model.types import BIGINT, DOUBLE, Cell, Kind, Row, Type


class Collected:
    """What the tasks gave, by sink."""

    def __init__(self, parts: pa.Table) -> None:
        """`parts`: a row a part, with columns sink and part. Their order matters to `parts` alone."""
        self._parts: dict[int, list[pa.Table]] = {}
        for sink, part in zip(parts["sink"].to_pylist(), parts["part"], strict=True):
            self._parts.setdefault(sink, []).append(pa.ipc.open_stream(part.as_buffer()).read_all())
        self._merged: dict[int, pa.Table] = {}
        self._values: dict[int, dict[tuple[Row, Cell], int]] = {}

    def _table(self, sink: int) -> pa.Table | None:
        """All parts of a sink added up; None if there is none."""
        if sink in self._parts and sink not in self._merged:
            self._merged[sink] = merged(self._parts[sink]).combine_chunks()
        return self._merged.get(sink)

    def parts(self, sink: int) -> list[EncodedRows]:
        """Signed rows part by part, as they came; each is netted by itself."""
        return [
            EncodedRows(table["k0"].to_pylist(), table["k1"].to_pylist(), _ints(table, "m0"))
            for table in self._parts.get(sink, [])
        ]

    def errors(self, sink: int) -> dict[int, int]:
        """By number of a view the weight of the rows on which it failed."""
        table = self._table(sink)
        return {} if table is None else dict(zip(_ints(table, "k0"), _ints(table, "m0"), strict=True))

    def rows(self, sink: int) -> EncodedRows:
        """Signed rows in the order of their keys, which is how a store is best read and written."""
        table = self._table(sink)
        if table is None:
            return EncodedRows([], [], [])
        table = table.filter(pc.not_equal(table["m0"], 0)).sort_by("k0")
        return EncodedRows(table["k0"].to_pylist(), table["k1"].to_pylist(), _ints(table, "m0"))

    def change_table(self, sink: AggregateSink, share: GroupShare) -> ChangeTable:
        found = new_change_table(sink)
        table = self._table(share.groups)
        if table is not None:
            keys = _keys(table, sink.group)
            weights = _ints(table, "m0")
            sums = [
                _whole(table, place, measure.kind, measure.type)
                for place, measure in zip(share.measures, sink.measures, strict=True)
            ]
            rows: Any = zip(*sums, strict=True) if sums else [()] * len(keys)
            changes = map(GroupChange, weights, map(list, rows))
            found.groups.update(zip(keys, changes, strict=True))
        found.values = [
            self._value_weights(number, sink, kept.type)
            for number, kept in zip(share.values, sink.preaggregations, strict=True)
        ]
        return found

    def _value_weights(self, number: int, sink: AggregateSink, type: Type) -> dict[tuple[Row, Cell], int]:
        """A dict for each view that keeps these values: it may take some out."""
        known = self._values.get(number)
        if known is not None:
            return dict(known)
        table = self._table(number)
        if table is None:
            return {}
        groups = _keys(table, sink.group)
        values = _cells(table, f"k{len(sink.group)}", type)
        found = dict(zip(zip(groups, values, strict=True), _ints(table, "m0"), strict=True))
        self._values[number] = found
        return found


def _keys(table: pa.Table, types: Sequence[Type]) -> list[Row]:
    if not types:
        return [()] * len(table)
    return list(zip(*(_cells(table, f"k{place}", type) for place, type in enumerate(types)), strict=True))


def _cells(table: pa.Table, name: str, type: Type) -> list[Cell]:
    """The cells of a column; the NaN that equal keys share, where there is one."""
    column = table[name].combine_chunks()
    cells = to_cells(column, type)
    return [normal_double(cell) for cell in cells] if type.kind is Kind.DOUBLE else cells


def _ints(table: pa.Table, name: str) -> list[int]:
    cells: list[int] = to_cells(table[name].combine_chunks().cast(pa.int64()), BIGINT)  # type: ignore[assignment]
    return cells


def _whole(table: pa.Table, place: int, kind: MeasureKind, type: Type) -> list[Any]:
    """A measure of each group, put together from its pieces."""
    pieces = []
    for number in range(place, place + piece_count(kind, type)):
        column = table[f"m{number}"].combine_chunks()
        pieces.append(to_cells(column, DOUBLE if pa.types.is_floating(column.type) else BIGINT))
    return [whole(kind, type, sums) for sums in zip(*pieces, strict=True)]

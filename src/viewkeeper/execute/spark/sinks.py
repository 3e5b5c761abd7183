"""What tasks make of a chunk: partial tables of keys and sums, which add up by key.

    groups   group columns                        weight, and the pieces of each measure
    values   group columns, value                 weight
    rows     encoded key, encoded row             weight
    index    encoded key, encoded row             weight        of a join index
    errors   number of a view                     weight

The columns are k0, k1, … for the keys and m0, m1, … for the sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import compress, repeat

import pyarrow as pa
import pyarrow.compute as pc

from viewkeeper.delta.deltaplan import MeasureKind
from viewkeeper.delta.program import Program
from viewkeeper.delta.tables import IndexTable
from viewkeeper.execute.encodedrows import RowEncoder
from viewkeeper.execute.spark.chunk import Chunk, Ref
from viewkeeper.model.arrow import to_cells
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Cell, Kind, Row, Type

_AT_LEAST_ZERO = pc.ScalarAggregateOptions(min_count=0)


@dataclass(frozen=True, slots=True)
class SinkMeasure:
    """A measure of a sink, and where each branch has its column."""

    kind: MeasureKind
    type: Type
    columns: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class GroupSink:
    """Sums by key over all branches. A branch is where to find whether it keeps a row, and its keys.

    With `is_value` the last key is a value of a pre-aggregation: rows in which it is NULL do not count.
    """

    pipe: int | None
    branches: tuple[tuple[Ref | None, tuple[Ref, ...]], ...]
    types: tuple[Type, ...]
    measures: tuple[SinkMeasure, ...] = ()
    is_value: bool = False

    def handed(self, table: pa.Table) -> pa.Table:
        return table

    def reduce(self, chunk: Chunk) -> pa.Table:
        chunk = chunk.through(self.pipe)
        return merged([self._branch(chunk, number) for number in range(len(self.branches))])

    def _branch(self, chunk: Chunk, number: int) -> pa.Table:
        keep, refs = self.branches[number]
        keys = [chunk.key(ref, type) for ref, type in zip(refs, self.types, strict=True)]
        sums = [chunk.weights]
        for measure in self.measures:
            sums += chunk.pieces(measure.kind, measure.columns[number], measure.type)
        table = _table(keys, sums)
        mask = None if keep is None else chunk.column(keep)
        if self.is_value and keys[-1].null_count:
            known = pc.is_valid(keys[-1])
            mask = known if mask is None else pc.and_(mask, known)
        return summed(table if mask is None else table.filter(mask))


@dataclass(frozen=True, slots=True)
class RowsSink:
    """Rows as the view stores them."""

    pipe: int | None
    branches: tuple[tuple[Ref | None, tuple[Ref, ...]], ...]
    types: tuple[Type, ...]
    program: Program

    def handed(self, table: pa.Table) -> pa.Table:
        return table

    def reduce(self, chunk: Chunk) -> pa.Table:
        chunk = chunk.through(self.pipe)
        encoder = RowEncoder(self.program)
        return merged([self._branch(chunk, encoder, *branch) for branch in self.branches])

    def _branch(self, chunk: Chunk, encoder: RowEncoder, keep: Ref | None, refs: tuple[Ref, ...]) -> pa.Table:
        mask = None if keep is None else chunk.column(keep)
        columns = [chunk.with_one_nan(ref, type) for ref, type in zip(refs, self.types, strict=True)]
        weights = chunk.weights
        if mask is not None:
            columns = [column.filter(mask) for column in columns]
            weights = weights.filter(mask)
        cells = [to_cells(column, type) for column, type in zip(columns, self.types, strict=True)]
        rows: Iterable[Row] = zip(*cells, strict=True)
        keys, encoded = encoder.encode(rows)
        return summed(_table([pa.array(keys, pa.binary()), pa.array(encoded, pa.binary())], [weights]))


@dataclass(frozen=True, slots=True)
class IndexSink:
    """Rows of a side as a join index stores them. `keys` are what they are looked up by, `columns` those of the row."""

    keys: tuple[Ref, ...]
    key_types: tuple[Type, ...]
    columns: tuple[Ref, ...]
    types: tuple[Type, ...]
    table: IndexTable

    def reduce(self, chunk: Chunk) -> pa.Table:
        """The columns as they are: they are netted, and encoded, when the task has seen all it can hold."""
        refs, types = self._distinct()
        arrays = [_bits(chunk.with_one_nan(ref, type)) for ref, type in zip(refs, types, strict=True)]
        weights = chunk.weights
        looked_up = [arrays[refs.index(ref)] for ref in self.keys]
        known = [pc.is_valid(array) for array in looked_up if array.null_count]
        if known:
            mask = reduce(pc.and_, known)
            arrays = [array.filter(mask) for array in arrays]
            weights = weights.filter(mask)
        return _table(arrays, [weights])

    def _distinct(self) -> tuple[list[Ref], list[Type]]:
        """Where the columns are, each once: what a row is looked up by is mostly one of its columns."""
        found = dict(zip((*self.keys, *self.columns), (*self.key_types, *self.types), strict=True))
        return list(found), list(found.values())

    def handed(self, table: pa.Table) -> pa.Table:
        """Encoded keys and rows; what goes before what comes, so that the last word on a key is the last one.

        Each in the order of keys."""
        sides = [table.filter(pc.less(table["m0"], 0)), table.filter(pc.greater(table["m0"], 0))]
        return pa.concat_tables([self._encoded(side).sort_by("k0") for side in sides])

    def _encoded(self, table: pa.Table) -> pa.Table:
        refs, types = self._distinct()
        cells: dict[Ref, list[Cell]] = {}
        for number, (ref, type) in enumerate(zip(refs, types, strict=True)):
            column = table[f"k{number}"].combine_chunks()
            cells[ref] = to_cells(column.view(pa.float64()) if type.kind is Kind.DOUBLE else column, type)
        stored: list[Iterable[Cell]] = [repeat(None, len(table)) for _ in self.table.layout.columns]
        for place, ref in zip((*range(len(self.keys)), *self.table.places), (*self.keys, *self.columns), strict=True):
            stored[place] = cells[ref]
        codec = RowCodec(self.table.layout)
        if self.table.is_weighted:
            stored[-1] = repeat(0, len(table))
        rows = list(zip(*stored, strict=True))
        encoded = list(map(codec.encode, rows))
        if self.table.is_weighted:
            # The weight, being 0, takes one byte.
            encoded = [row[:-1] for row in encoded]
        keys = list(map(codec.key.encode, rows))
        return _table([pa.array(keys, pa.binary()), pa.array(encoded, pa.binary())], [table["m0"]])


def _bits(array: pa.Array) -> pa.Array:
    """Doubles by their bits, so that 0.0 and -0.0 stay apart."""
    return array.view(pa.int64()) if pa.types.is_floating(array.type) else array


@dataclass(frozen=True, slots=True)
class ErrorsSink:
    """For each view that can fail: its number, and the column, or the pipe, that says on which rows it did."""

    failures: tuple[tuple[int, str | int], ...]

    def handed(self, table: pa.Table) -> pa.Table:
        return table

    def reduce(self, chunk: Chunk) -> pa.Table:
        weights = [self._weight(chunk, failure) for _, failure in self.failures]
        numbers = [number for number, _ in self.failures]
        return _table([pa.array(compress(numbers, weights), pa.int32())], [pa.array(filter(None, weights), pa.int64())])

    def _weight(self, chunk: Chunk, failure: str | int) -> int:
        if isinstance(failure, int):
            return chunk.failed(failure)
        return pc.sum(chunk.weights.filter(chunk.column(failure))).as_py() or 0


Sink = GroupSink | RowsSink | IndexSink | ErrorsSink


def _table(keys: Sequence[pa.Array], sums: Sequence[pa.Array]) -> pa.Table:
    names = [*(f"k{place}" for place in range(len(keys))), *(f"m{place}" for place in range(len(sums)))]
    return pa.Table.from_arrays([*keys, *sums], names)


def summed(table: pa.Table) -> pa.Table:
    """A table with one row for each key: the sums of its m columns. Without key columns there is always one."""
    keys = [name for name in table.column_names if name.startswith("k")]
    sums = [name for name in table.column_names if name.startswith("m")]
    found = table.group_by(keys, use_threads=False).aggregate([(name, "sum", _AT_LEAST_ZERO) for name in sums])
    return pa.Table.from_arrays(
        [*(found[name] for name in keys), *(found[f"{name}_sum"] for name in sums)], [*keys, *sums]
    )


def merged(tables: Sequence[pa.Table]) -> pa.Table:
    """Partial tables of one sink added up."""
    return tables[0] if len(tables) == 1 else summed(pa.concat_tables(tables))

"""A stretch of the rows that a task is given, as Arrow columns; what several sinks need of it is computed once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from viewkeeper.delta.deltaplan import Linear, MeasureKind
from viewkeeper.execute.rows.linear import Pipe
from viewkeeper.execute.spark.pieces import pieces
from viewkeeper.model.arrow import from_cells, to_cells
from viewkeeper.model.types import Cell, Kind, Row, Type


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that is the same for all rows, and therefore does not travel."""

    value: Cell
    type: Type


Ref = str | Constant
"""The name of a column of a chunk, or what it would hold."""


@dataclass(frozen=True, slots=True)
class Piped:
    """Linear steps that a task runs by the row executor, row by row: those that no Spark column expresses.

    `columns` are those of the chunk that they read, `types` those of the rows that they give.
    """

    linear: tuple[Linear, ...]
    columns: tuple[tuple[str, Type], ...]
    types: tuple[Type, ...]


def piped_column(place: int) -> str:
    """The name of a column of what a pipe gives."""
    return f"p{place}"


class Chunk:
    """Columns of like length, and the weight of each row."""

    def __init__(self, columns: Mapping[str, pa.Array], weights: pa.Array, pipes: Sequence[tuple[Piped, Pipe]]) -> None:
        self._columns = columns
        self.weights = weights
        self._pipes = pipes
        ends = pc.min_max(weights)
        self.all_ones = ends["min"].as_py() == 1 == ends["max"].as_py()
        self._pieces: dict[tuple[MeasureKind, Ref, Type], list[pa.Array]] = {}
        self._given: dict[int, tuple[Chunk, int]] = {}

    def __len__(self) -> int:
        return len(self.weights)

    def column(self, ref: Ref) -> pa.Array:
        if isinstance(ref, str):
            return self._columns[ref]
        return pa.repeat(from_cells([ref.value], ref.type)[0], len(self))

    def with_one_nan(self, ref: Ref, type: Type) -> pa.Array:
        """A column in which every NaN has the same bits."""
        column = self.column(ref)
        return pc.if_else(pc.is_nan(column), math.nan, column) if type.kind is Kind.DOUBLE else column

    def key(self, ref: Ref, type: Type) -> pa.Array:
        """A column in which what is equal has equal bits: one NaN, and -0.0 as 0.0."""
        column = self.with_one_nan(ref, type)
        return pc.add(column, 0.0) if type.kind is Kind.DOUBLE else column

    def pieces(self, kind: MeasureKind, ref: Ref, type: Type) -> list[pa.Array]:
        known = self._pieces.get((kind, ref, type))
        if known is None:
            known = pieces(kind, type, self.column(ref), self.weights, all_ones=self.all_ones)
            self._pieces[kind, ref, type] = known
        return known

    def through(self, number: int | None) -> Chunk:
        """What a pipe makes of this chunk; None is no pipe."""
        return self if number is None else self._run(number)[0]

    def failed(self, number: int) -> int:
        """The weight of the rows on which something failed in a pipe."""
        return self._run(number)[1]

    def _run(self, number: int) -> tuple[Chunk, int]:
        if number not in self._given:
            piped, pipe = self._pipes[number]
            cells = [to_cells(self._columns[name], type) for name, type in piped.columns]
            rows: Sequence[Row] = list(zip(*cells, strict=True)) if cells else [()] * len(self)
            made, errors = pipe.run(zip(rows, self.weights.to_pylist(), strict=True))
            columns = {
                piped_column(place): from_cells([row[place] for row, _ in made], type)
                for place, type in enumerate(piped.types)
            }
            weights = pa.array([weight for _, weight in made], pa.int64())
            self._given[number] = Chunk(columns, weights, ()), errors
        return self._given[number]

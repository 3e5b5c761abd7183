"""What a Spark task does: takes its rows in chunks, adds up the partial tables of every sink, and hands them out.

It runs as a scalar Arrow function over an iterator, which gives a value for each row: NULL for all but a few rows, and
there the parts. So there is one pass and no shuffle, whatever the number of views.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from viewkeeper.execute.rows.linear import Pipe
from viewkeeper.execute.spark.chunk import Chunk, Piped
from viewkeeper.execute.spark.sinks import IndexSink, Sink, merged, summed

CHUNK_ROWS = 1 << 18
"""Rows that are reduced at once. Fewer cost more per row, more do not cost less."""
MERGE_ROWS = 1 << 18
"""Rows of partial tables that a task holds of a sink before it adds them up again."""
HOLD_ROWS = 1 << 19
"""Rows of one sink that a task holds after that; what is above goes out, and the driver adds it up."""
PART_ROWS = 1 << 17
"""Rows of one part as it travels."""

PARTS = "array<struct<sink int, part binary>>"
"""What a task gives with a row, as Spark spells it: partial tables as Arrow streams, with the number of their sink."""
_PARTS = pa.list_(pa.struct([("sink", pa.int32()), ("part", pa.binary())]))


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """`names` are those of the columns that a task is given; the weight comes behind them."""

    names: tuple[str, ...]
    pipes: tuple[Piped, ...]
    sinks: tuple[Sink, ...]


def task_function(plan: TaskPlan) -> Callable[[Iterator[Any]], Iterator[pa.Array]]:
    """The function of a task: from tuples of Arrow arrays to arrays of parts, of the same lengths."""

    def run(batches: Iterator[Any]) -> Iterator[pa.Array]:
        task = Task(plan)
        waiting = 0
        for batch in batches:
            if waiting:
                yield _rows(waiting, task.ready())
            # The weight alone: one column is not handed over as a tuple.
            arrays = [batch] if isinstance(batch, pa.Array) else list(batch)
            waiting = len(arrays[0])
            task.add(arrays)
        if waiting:
            task.finish()
            yield _rows(waiting, task.ready())

    return run


def _rows(count: int, parts: list[tuple[int, bytes]]) -> pa.Array:
    if not parts:
        return pa.nulls(count, _PARTS)
    last = pa.array([[{"sink": sink, "part": part} for sink, part in parts]], _PARTS)
    return pa.concat_arrays([pa.nulls(count - 1, _PARTS), last])


class Task:
    """The state of a task between batches."""

    def __init__(self, plan: TaskPlan) -> None:
        self._plan = plan
        self._pipes = [(piped, Pipe(piped.linear)) for piped in plan.pipes]
        self._pending: list[list[pa.Array]] = []
        self._size = 0
        self._tables: list[list[pa.Table]] = [[] for _ in plan.sinks]
        self._ready: list[tuple[int, pa.Table]] = []

    def add(self, arrays: list[pa.Array]) -> None:
        self._pending.append(arrays)
        self._size += len(arrays[0])
        if self._size >= CHUNK_ROWS:
            self._reduce()

    def finish(self) -> None:
        if self._size:
            self._reduce()
        for number, tables in enumerate(self._tables):
            if tables:
                self._ready.append((number, self._whole(number, tables)))
            self._tables[number] = []

    def _whole(self, number: int, tables: list[pa.Table]) -> pa.Table:
        # Rows of an index hardly ever meet: adding them up chunk by chunk would be in vain.
        return summed(pa.concat_tables(tables)) if isinstance(self._plan.sinks[number], IndexSink) else merged(tables)

    def ready(self) -> list[tuple[int, bytes]]:
        """The parts that are to go out now."""
        handed = [(number, self._plan.sinks[number].handed(table)) for number, table in self._ready]
        parts = [
            (number, _stream(table.slice(start, PART_ROWS)))
            for number, table in handed
            for start in range(0, len(table), PART_ROWS)
        ]
        self._ready = []
        return parts

    def _reduce(self) -> None:
        arrays = [pa.concat_arrays(column) for column in zip(*self._pending, strict=True)]
        self._pending, self._size = [], 0
        *columns, weights = arrays
        chunk = Chunk(dict(zip(self._plan.names, columns, strict=True)), weights, self._pipes)
        for number, sink in enumerate(self._plan.sinks):
            self._keep(number, sink.reduce(chunk))

    def _keep(self, number: int, table: pa.Table) -> None:
        tables = self._tables[number]
        if len(table):
            tables.append(table)
        most = HOLD_ROWS if isinstance(self._plan.sinks[number], IndexSink) else MERGE_ROWS
        if len(tables) > 1 and sum(map(len, tables)) > most:
            tables[:] = [summed(pa.concat_tables(tables))]
        if tables and len(tables[0]) > HOLD_ROWS:
            self._ready += ((number, held) for held in tables)
            tables.clear()


def _stream(table: pa.Table) -> bytes:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    data: bytes = out.getvalue().to_pybytes()
    return data

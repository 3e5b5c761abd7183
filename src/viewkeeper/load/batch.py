"""What loading gives: Arrow batches of even size that remember where their rows came from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import pyarrow as pa

BATCH_BYTES = 64 << 20
"""A batch is cut here even if it has fewer rows than asked for, so that wide rows do not fill the memory."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the rows of a batch came from; `number` is asked only when an error has to name a row.

    `name` is the file as it was given, empty for rows that are in no file. Lines and rows are counted from 1.
    """

    name: str
    unit: str
    number: Callable[[int], int]

    def place(self, row: int) -> str:
        """Such as `orders.csv line 17`, `orders.parquet row 1,203` or `row 5`."""
        return self.place_of(self.number(row))

    def place_of(self, number: int) -> str:
        # A line is something to jump to in an editor, which reads no separators.
        text = f"{self.unit} {number}" if self.unit == "line" else f"{self.unit} {number:,}"
        return f"{self.name} {text}" if self.name else text

    def skip(self, rows: int) -> Origin:
        """The origin of what follows the first `rows`."""
        number = self.number
        return Origin(self.name, self.unit, lambda row: number(row + rows)) if rows else self

    def pick(self, kept: Sequence[int]) -> Origin:
        """The origin of just these rows."""
        number = self.number
        return Origin(self.name, self.unit, lambda row: number(kept[row]))


@dataclass(frozen=True, slots=True)
class LoadBatch:
    """Rows that fit their table, and where they came from. Not empty."""

    data: pa.RecordBatch
    origin: Origin


def even(batches: Iterable[LoadBatch], rows: int, most_bytes: int = BATCH_BYTES) -> Iterator[LoadBatch]:
    """The same rows in the same order, `rows` a batch.

    Fewer only in the last one, where the columns change, and where a batch would exceed `most_bytes`.
    """
    waiting: list[LoadBatch] = []
    held_rows = held_bytes = 0
    for batch in batches:
        if waiting and waiting[0].data.schema != batch.data.schema:
            yield _joined(waiting)
            waiting, held_rows, held_bytes = [], 0, 0
        start, total = 0, batch.data.num_rows
        while start < total:
            take = min(rows - held_rows, total - start)
            data = batch.data.slice(start, take)
            waiting.append(LoadBatch(data, batch.origin.skip(start)))
            start += take
            held_rows += take
            held_bytes += data.nbytes
            if held_rows == rows or held_bytes >= most_bytes:
                yield _joined(waiting)
                waiting, held_rows, held_bytes = [], 0, 0
    if waiting:
        yield _joined(waiting)


def _joined(batches: list[LoadBatch]) -> LoadBatch:
    if len(batches) == 1:
        return batches[0]
    ends = list(accumulate(batch.data.num_rows for batch in batches))
    numbers = [batch.origin.number for batch in batches]

    def number(row: int) -> int:
        part = bisect_right(ends, row)
        return numbers[part](row - ends[part - 1] if part else row)

    first = batches[0].origin
    return LoadBatch(pa.concat_batches([batch.data for batch in batches]), Origin(first.name, first.unit, number))

"""Bulk loads: the batches of a source, each one transaction; bad rows found and named."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from viewkeeper.errors import BadRow, DataError, UnknownTable
from viewkeeper.model.position import Position
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import PartitionKind
from viewkeeper.store.interface import Store
from viewkeeper.write.statements import retrying

if TYPE_CHECKING:
    import pyarrow as pa

    from viewkeeper.load.bad import OnBad
    from viewkeeper.load.batch import LoadBatch
    from viewkeeper.load.progress import LoadProgress

ROWS_A_PARTITION = 1024
"""A RANGE table without bounds gets them once a load has left this many rows for each of its partitions."""


def load(
    store: Store,
    table: str,
    source: Any,
    *,
    progress: LoadProgress,
    on_bad: OnBad | None,
    batch_rows: int,
    ignore_unknown: bool,
) -> Position:
    """Put every row of a source; the position behind the last batch.

    The batches before a failing one stay: loading the same source again puts what is missing and changes nothing else.
    """
    from viewkeeper.load.source import open_source

    definition = store.catalog().table(table)
    opened = open_source(source, definition, batch_rows=batch_rows, on_bad=on_bad, ignore_unknown=ignore_unknown)
    with closing(opened):
        position = store.head()
        for batch in progress.watch(opened):
            position = _load_batch(store, table, definition.id, batch, on_bad, progress)
    _set_bounds(store, table)
    return position


def _load_batch(
    store: Store, table: str, number: int, batch: LoadBatch, on_bad: OnBad | None, progress: LoadProgress
) -> Position:
    try:
        return _put(store, table, number, batch.data)
    except DataError as error:
        if on_bad is None:
            raise _first_bad(store, table, number, batch, error) from error
        return _load_halves(store, table, number, batch, on_bad, progress)


def _load_halves(
    store: Store, table: str, number: int, batch: LoadBatch, on_bad: OnBad, progress: LoadProgress
) -> Position:
    """Load a batch that has bad rows in it: by halves, and halves of those that fail, down to the rows to leave out."""
    from viewkeeper.load.bad import BadLine
    from viewkeeper.load.batch import LoadBatch

    try:
        return _put(store, table, number, batch.data)
    except DataError as error:
        size = len(batch.data)
        if size == 1:
            origin = batch.origin
            on_bad(
                BadLine(
                    file=origin.name,
                    line_no=origin.number(0),
                    place=origin.place(0),
                    column=None,
                    reason=error.message,
                    raw_text=str(batch.data.to_pylist()[0]),
                )
            )
            progress.refuse()
            return store.head()
    middle = size // 2
    left = LoadBatch(batch.data.slice(0, middle), batch.origin)
    right = LoadBatch(batch.data.slice(middle), batch.origin.skip(middle))
    _load_halves(store, table, number, left, on_bad, progress)
    return _load_halves(store, table, number, right, on_bad, progress)


def _first_bad(store: Store, table: str, number: int, batch: LoadBatch, error: DataError) -> BadRow:
    """The error for the first row that cannot be put, found by rehearsing ever shorter beginnings of the batch."""
    good, bad = 0, len(batch.data)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            _put(store, table, number, batch.data.slice(0, middle), rehearse=True)
            good = middle
        except DataError as found:
            bad, error = middle, found
    return BadRow(f"{batch.origin.place(good)}: {error.message}", detail=error.detail, hint=error.hint)


def _put(store: Store, table: str, number: int, data: pa.RecordBatch, *, rehearse: bool = False) -> Position:
    return retrying(lambda: store.load(_codec(store, table, number), data, rehearse=rehearse))


def _codec(store: Store, table: str, number: int) -> RowCodec:
    codec = store.catalog().codecs.get(number)
    if codec is None:
        raise UnknownTable(f'table "{table}" was dropped during the load')
    return codec


def _set_bounds(store: Store, table: str) -> None:
    codec = store.catalog().codec(table)
    partitioning = codec.table.partitioning
    if partitioning is None or partitioning.kind is not PartitionKind.RANGE or partitioning.bounds:
        return
    if store.row_count(codec) >= ROWS_A_PARTITION * partitioning.count:
        store.repartition(table)

"""Bulk loads: the batches of a source, each one transaction; bad rows found and named."""

from __future__ import annotations

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
    position = store.head()
    for batch in progress.watch(opened):
        position = _load_batch(store, table, definition.id, batch, on_bad)
    _set_bounds(store, table)
    return position


def _load_batch(store: Store, table: str, number: int, batch: LoadBatch, on_bad: OnBad | None) -> Position:
    from viewkeeper.load.bad import BadLine

    data = batch.data
    start = 0
    while True:
        rest = data.slice(start)
        try:
            return _put(store, table, number, rest)
        except DataError as error:
            bad = _first_bad(store, table, number, rest)
            place = batch.origin.place(start + bad)
            if on_bad is None:
                raise BadRow(f"{place}: {error.message}", detail=error.detail, hint=error.hint) from error
            if bad:
                _put(store, table, number, rest.slice(0, bad))
            on_bad(
                BadLine(
                    file=batch.origin.name,
                    line_no=batch.origin.number(start + bad),
                    place=place,
                    column=None,
                    reason=error.message,
                    raw_text=str(rest.slice(bad, 1).to_pylist()[0]),
                )
            )
            start += bad + 1


def _put(store: Store, table: str, number: int, data: pa.RecordBatch, *, rehearse: bool = False) -> Position:
    return retrying(lambda: store.load(_codec(store, table, number), data, rehearse=rehearse))


def _codec(store: Store, table: str, number: int) -> RowCodec:
    codec = store.catalog().codecs.get(number)
    if codec is None:
        raise UnknownTable(f'table "{table}" was dropped during the load')
    return codec


def _first_bad(store: Store, table: str, number: int, data: pa.RecordBatch) -> int:
    """The place of the first row that cannot be put, found by rehearsing ever shorter beginnings of the batch."""
    good, bad = 0, len(data)
    while bad - good > 1:
        middle = (good + bad) // 2
        try:
            _put(store, table, number, data.slice(0, middle), rehearse=True)
            good = middle
        except DataError:
            bad = middle
    return good


def _set_bounds(store: Store, table: str) -> None:
    codec = store.catalog().codec(table)
    partitioning = codec.table.partitioning
    if partitioning is None or partitioning.kind is not PartitionKind.RANGE or partitioning.bounds:
        return
    if store.row_count(codec) >= ROWS_A_PARTITION * partitioning.count:
        store.repartition(table)

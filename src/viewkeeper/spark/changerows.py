"""Changes as Arrow batches of the change feed's schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from viewkeeper.model.arrow import arrow_type
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Column
from viewkeeper.model.types import Row
from viewkeeper.pipeline.columns import row_columns
from viewkeeper.read.viewfeed import view_changes
from viewkeeper.spark.target import Target, key_columns
from viewkeeper.store.blocks import Block
from viewkeeper.store.embedded import EmbeddedStore

BLOCKS = 1000
BATCH = 8192
_OPERATIONS = {(True, False): "insert", (False, False): "update", (False, True): "delete"}


def change_fields(columns: Sequence[Column], key: Sequence[Column]) -> pa.Schema:
    """The schema of changes in Arrow; without keys, the field of that name is left out."""
    row = _struct(columns)
    fields = {"position": pa.string(), "committed_at": pa.timestamp("us", tz="UTC"), "operation": pa.string()}
    if key:
        fields["key"] = _struct(key)
    fields |= {"before": row, "after": row}
    return pa.schema([pa.field(name, type) for name, type in fields.items()])


def _struct(columns: Sequence[Column]) -> pa.DataType:
    return pa.struct([pa.field(column.name, arrow_type(column.type)) for column in columns])


def table_changes(
    store: EmbeddedStore, codec: RowCodec, width: int, lower: int, upper: int
) -> Iterator[pa.RecordBatch]:
    """The changes of a base table at lower <= position < upper, both of which may be inside a transaction.

    Only the first `width` columns: those that there were when the query began.
    """
    at = lower
    while at < upper:
        blocks = store.blocks(store.position(at), store.position(upper), frozenset([codec.table.id]), BLOCKS)
        if not blocks:
            return
        # A column that came with one of these blocks is in the catalog by now.
        codec = store.catalog().codecs.get(codec.table.id, codec)
        yield from _batches(store, codec, width, blocks, lower, upper)
        at = blocks[-1].end


def _batches(
    store: EmbeddedStore, codec: RowCodec, width: int, blocks: Sequence[Block], lower: int, upper: int
) -> Iterator[pa.RecordBatch]:
    positions: list[int] = []
    times: list[int] = []
    befores: list[Row | None] = []
    afters: list[Row | None] = []
    for block in blocks:
        for section in block.sections:
            start = block.start + section.first
            pairs = section.pairs(codec)
            first, last = max(lower - start, 0), min(upper - start, len(pairs))
            for place in range(first, last):
                positions.append(start + place + 1)
                times.append(block.committed_at)
                befores.append(pairs[place][0])
                afters.append(pairs[place][1])
    for at in range(0, len(positions), BATCH):
        part = slice(at, at + BATCH)
        yield _batch(store, codec, width, positions[part], times[part], befores[part], afters[part])


def _batch(
    store: EmbeddedStore,
    codec: RowCodec,
    width: int,
    positions: list[int],
    times: list[int],
    befores: list[Row | None],
    afters: list[Row | None],
) -> pa.RecordBatch:
    columns = codec.table.columns[:width]
    keys = [codec.table.columns[number] for number in codec.key.columns]
    rows = [old if new is None else new for old, new in zip(befores, afters, strict=True)]
    prefix = f"{store.database}@"
    arrays = [
        pa.array([f"{prefix}{position}" for position in positions]),
        pa.array(times, pa.int64()).cast(pa.timestamp("us", tz="UTC")),
        pa.array([_OPERATIONS[old is None, new is None] for old, new in zip(befores, afters, strict=True)]),
        _structs(rows, codec.key.columns, keys),
        _structs(befores, range(len(columns)), columns),
        _structs(afters, range(len(columns)), columns),
    ]
    return pa.record_batch(arrays, schema=change_fields(columns, keys))


def _structs(rows: Sequence[Row | None], ids: Sequence[int], columns: Sequence[Column]) -> pa.StructArray:
    """Rows as structs; None as NULL."""
    arrays = row_columns([() if row is None else row for row in rows], ids, [c.type for c in columns], widened=True)
    fields = list(_struct(columns))
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=pa.array([row is None for row in rows]))


def view_blocks(store: EmbeddedStore, target: Target, lower: int, upper: int) -> Iterator[tuple[int, Block]]:
    """What changed a view behind `lower` and not behind `upper`, each with where the view stood then."""
    if not target.in_log:
        yield from store.view_tables.feed_between(target.object, lower, upper)
        return
    at = lower
    while at < upper:
        blocks = store.blocks(store.position(at), store.position(upper), frozenset([target.object]), BLOCKS)
        if not blocks:
            return
        yield from ((block.end, block) for block in blocks)
        at = blocks[-1].end


def view_batches(store: EmbeddedStore, target: Target, lower: int, upper: int) -> Iterator[pa.RecordBatch]:
    """The changes of a view by the applies, or writes that it follows, that ended in lower < position <= upper.

    TableDropped if the view goes, or is moved, before they are read.
    """
    assert target.view is not None
    view = target.view
    codec = target.codec(store)
    keys = key_columns(target, store.catalog(), codec)
    schema = change_fields(view.columns, keys)
    found: list[dict[str, Any]] = []
    for change in view_changes(store, view, store.position(lower)):
        if store.offset(change.position) > upper:
            break
        found.append(
            {
                "position": str(change.position),
                "committed_at": change.committed_at,
                "operation": _OPERATIONS[change.before is None, change.after is None],
                # Left out by the schema where there is none.
                "key": dict(zip((column.name for column in keys), change.key, strict=True)),
                "before": change.before,
                "after": change.after,
            }
        )
        if len(found) == BATCH:
            target.check(store)
            yield pa.RecordBatch.from_pylist(found, schema=schema)
            found = []
    target.check(store)
    if found:
        yield pa.RecordBatch.from_pylist(found, schema=schema)

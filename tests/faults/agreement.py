"""Whether the log and the tables of a store tell the same story.

`Replay` builds the tables from the log alone, block by block; `check_agreement` compares them with what is stored, and
with the counters and samples that the store keeps beside its rows. It looks at the stored bytes, not through the code
that wrote them.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterator

from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.store import catalog as catalogs
from viewkeeper.store import log
from viewkeeper.store.blocks import Block
from viewkeeper.store.cardinality import group_codec
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.environment import Database, Txn
from viewkeeper.store.keyspace import stored_key
from viewkeeper.store.samples import is_sampled
from viewkeeper.store.scan import ALL

_COUNT = struct.Struct(">Q")
_OBJECT = struct.Struct(">I")
_LIMIT = struct.Struct(">IB")

Rows = dict[bytes, Row]
Changed = tuple[RowCodec, Row | None, Row | None]
OnBlock = Callable[[Block, list[Changed]], None]


class Replay:
    """The tables as the log says they are, up to a position; advanced as the log grows.

    Rows are those of the catalog that was current when they were replayed: shorter than the table after ADD COLUMN.
    """

    def __init__(self) -> None:
        self.position = 0
        self.tables: dict[int, Rows] = {}

    def advance(self, store: EmbeddedStore, on_block: OnBlock | None = None) -> None:
        """Replay what was committed since, and forget the tables that are gone."""
        codecs = store.catalog().codecs
        with store.base.begin() as txn:
            blocks = list(log.read(txn, store.log_db, self.position))
        for block in blocks:
            assert block.start == self.position, f"the log has a gap: {self.position} to {block.start}"
            assert block.changes == sum(section.changes for section in block.sections) > 0
            changes = [
                (codec, before, after)
                for section in block.sections
                if (codec := codecs.get(section.table)) is not None
                for before, after in section.pairs(codec)
            ]
            for codec, before, after in changes:
                self._apply(codec, before, after)
            self.position = block.end
            if on_block is not None:
                on_block(block, changes)
        self.tables = {number: self.tables.get(number, {}) for number in codecs}

    def _apply(self, codec: RowCodec, before: Row | None, after: Row | None) -> None:
        rows = self.tables.setdefault(codec.table.id, {})
        name = codec.table.name
        assert before != after, f"table {name}: a change that changes nothing is logged: {before}"
        row = after if before is None else before
        assert row is not None
        key = codec.key.encode(row)
        known = rows.get(key)
        found = None if known is None else whole(known, codec)
        assert before == found, f"table {name}: the log has {before} before a change, and earlier left {found}"
        if after is None:
            del rows[key]
        else:
            assert codec.key.encode(after) == key, f"table {name}: a change moves a key"
            rows[key] = after

    def rows(self, codec: RowCodec) -> Rows:
        """The rows of a table as they read now."""
        return {key: whole(row, codec) for key, row in self.tables.get(codec.table.id, {}).items()}


def whole(row: Row, codec: RowCodec) -> Row:
    return row + (None,) * (len(codec.names) - len(row))


def check_agreement(store: EmbeddedStore, replay: Replay | None = None, on_block: OnBlock | None = None) -> Replay:
    """Fails unless log, tables, counters and samples agree; nobody may be writing. The replay, for the next time."""
    replay = Replay() if replay is None else replay
    replay.advance(store, on_block)
    catalog = store.catalog()
    with store.base.begin() as txn:
        assert log.head(txn, store.log_db) == replay.position
        for codec in catalog.codecs.values():
            check_table(txn, store, codec, replay.rows(codec))
        check_leftovers(txn, store)
    return replay


def check_table(txn: Txn, store: EmbeddedStore, codec: RowCodec, expected: Rows) -> None:
    name = codec.table.name
    stored = {
        key: codec.decode(value) for key, value in txn.cursor(db=store.catalog().databases.tables[codec.table.id])
    }
    by_stored_key = {stored_key(key): row for key, row in expected.items()}
    missing = by_stored_key.keys() - stored.keys()
    unexpected = stored.keys() - by_stored_key.keys()
    assert not missing, f"table {name}: {len(missing)} rows are in the log and not in the table"
    assert not unexpected, f"table {name}: {len(unexpected)} rows are in the table and not in the log"
    for key, row in stored.items():
        assert row == by_stored_key[key], f"table {name}: the table has {row}, the log {by_stored_key[key]}"
    prefix = _OBJECT.pack(codec.table.id)
    sampled = {prefix + stored_key(key)[:507] for key in expected if is_sampled(key)}
    assert set(_with_prefix(txn, store.samples_db, prefix)) == sampled, f"table {name}: samples and rows differ"
    counts = {key: _COUNT.unpack(value)[0] for key, value in _with_prefix(txn, store.counts_db, prefix).items()}
    assert counts == counted(codec, expected), f"table {name}: cardinality counters and rows differ"


def counted(codec: RowCodec, rows: Rows) -> dict[bytes, int]:
    """The counters that these rows call for, by their stored keys; only for groups with short keys."""
    found: Counter[bytes] = Counter()
    for number, limit in enumerate(codec.table.cardinalities):
        if limit.words:
            continue
        encode = group_codec(codec, number).encode
        prefix = _LIMIT.pack(codec.table.id, number)
        found.update(prefix + encode(row) for row in rows.values())
    return dict(found)


def check_leftovers(txn: Txn, store: EmbeddedStore) -> None:
    """Counters and samples belong to tables that are there, or that the janitor is still removing."""
    known = set(store.catalog().tables) | {table for _, table in catalogs.garbage(txn, store.catalog_db)}
    for db in (store.counts_db, store.samples_db):
        owners = {_OBJECT.unpack_from(key)[0] for key in txn.cursor(db=db).iternext(keys=True, values=False)}
        assert owners <= known, f"tables {owners - known} are gone and left something behind"


def check_as_of(store: EmbeddedStore, offset: int, expected: dict[int, Rows]) -> None:
    """Fails unless the tables read as of a position are these."""
    snapshot = store.snapshot(store.position(offset))
    assert snapshot.offset == offset, f"{offset} is not the end of a transaction"
    for number, codec in store.catalog().codecs.items():
        if number in expected:
            found = {key: row for items in snapshot.scan_keyed(codec, ALL) for key, row in items}
            wanted = {key: whole(row, codec) for key, row in expected[number].items()}
            assert found == wanted, f"table {codec.table.name} as of {offset} is not what it was"


def _with_prefix(txn: Txn, db: Database, prefix: bytes) -> dict[bytes, bytes]:
    def entries() -> Iterator[tuple[bytes, bytes]]:
        cursor = txn.cursor(db=db)
        if cursor.set_range(prefix):
            for key, value in cursor.iternext():
                if not key.startswith(prefix):
                    return
                yield key, value

    return dict(entries())

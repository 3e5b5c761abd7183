"""Rows of view tables put right without a batch: what is written, and what the feed says of it.

A repair stands at the group's watermark w and moves nothing but the generation. Its rows are given by *stored* keys:
of bytes that nobody can have written, no key could be told.

    feed block of a repair   lower = upper = w, committed when it was repaired; per key: the feed's last word → the row

Only where the feed has told of a key, and told something else than what is now stored, does it say so: then whoever
follows it comes to the repaired rows, and undoing it from before w gives what was told before w. Of a row that was
damaged in the store and never told of, the feed says nothing, and a view as of an earlier position has it repaired.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from viewkeeper.errors import Outrun
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.store.blocks import RawChange
from viewkeeper.store.environment import Database, Txn
from viewkeeper.store.groups import GroupState
from viewkeeper.store.keyspace import stored_view_key

if TYPE_CHECKING:
    from viewkeeper.store.applying import Counted
    from viewkeeper.store.viewstore import ViewStore

StoredRow = tuple[int, bytes, bytes | None]
"""An object, a stored key, and the encoded row that it shall have; None: none."""
PUTS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What is to be written to a group that its `holder` has claimed and that stands where it was compared.

    `rows` are read once, inside the transaction; those of one object come together and in the order of their keys.
    `told`: for each view, its changes as the feed has to tell them.
    """

    group: int
    generation: int
    watermark: int
    holder: str
    rows: Iterable[StoredRow]
    told: Mapping[int, tuple[RowCodec, Sequence[RawChange]]] = field(default_factory=dict)
    counted: Mapping[int, Counted] = field(default_factory=dict)

    def checked(self, state: GroupState | None) -> GroupState:
        """Outrun unless the group is as it was, and claimed by whoever repairs it."""
        if (
            state is None
            or (state.generation, state.watermark, state.filled) != (self.generation, self.watermark, None)
            or state.holder != self.holder
        ):
            raise Outrun("the group has moved since it was compared", hint="Compare it again.")
        return state


def write_rows(txn: Txn, db: Database, rows: Iterable[StoredRow]) -> None:
    """Put and remove rows of one object, which come in the order of their keys."""
    puts: list[tuple[bytes, bytes]] = []
    cursor = txn.cursor(db=db)
    for _, key, row in rows:
        if row is None:
            txn.delete(key, db=db)
            continue
        puts.append((key, row))
        if len(puts) == PUTS:
            cursor.putmulti(puts)
            puts = []
    cursor.putmulti(puts)


def by_object(rows: Iterable[StoredRow]) -> Iterator[tuple[int, Iterator[StoredRow]]]:
    return groupby(rows, key=itemgetter(0))


def last_told(views: ViewStore, number: int, codec: RowCodec, keys: Collection[bytes]) -> dict[bytes, bytes | None]:
    """What the feed of a view, as far as it is kept, says last of some stored keys; None: absent.

    Keys that it does not speak of are left out.
    """
    wanted = frozenset(keys)
    told: dict[bytes, bytes | None] = {}
    for _, block in views.feed_between(number, 0):
        for section in block.sections:
            for before, after in section.pairs(codec):
                row = before if after is None else after
                assert row is not None
                key = stored_view_key(codec.key.encode(row))
                if key in wanted:
                    told[key] = None if after is None else codec.encode(after)
    return told


def now() -> int:
    """In µs since 1970."""
    return time.time_ns() // 1000

"""View tables and auxiliary tables: read them, and apply change tables to them.

    "feed"   object id (4) upper (8) lower (8) committed at (8) → block of blocks.py, one section

An apply is one write transaction of the views environment, which no writer of base tables ever waits for. It compares
and sets the group's (generation, watermark): what was computed for another one is refused, so every change counts once.
The changes that it makes to a view are kept as a block: the view's feed, its undo, and the input of views above it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from viewkeeper.errors import Outrun, ViewNotReady
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.store import groups
from viewkeeper.store.blocks import Block, RawChange, decode_block, encode_block, encode_section
from viewkeeper.store.environment import Database, Txn, explained
from viewkeeper.store.groups import GroupState
from viewkeeper.store.keyspace import stored_key
from viewkeeper.store.scan import Interval, Item, read_slice

if TYPE_CHECKING:
    from viewkeeper.store.embedded import EmbeddedStore

FEED = b"feed"
NAMES = (groups.NAME, groups.OBJECTS, groups.SLOTS, FEED)
_feed = struct.Struct(">IQQq")
_object = struct.Struct(">I")


@dataclass(slots=True)
class ObjectChanges:
    """What an apply does to one object: by encoded key, the encoded row before and after (None: absent)."""

    codec: RowCodec
    changes: dict[bytes, RawChange] = field(default_factory=dict)
    has_feed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Apply:
    """A batch of one group: from `lower`, which must be its watermark, to `upper`, a transaction boundary."""

    group: int
    generation: int
    lower: int
    upper: int
    transaction: int
    committed_at: int
    objects: Mapping[int, ObjectChanges]


class ViewReading:
    """Reads of several objects in one transaction, hence all at their groups' watermarks of one moment."""

    def __init__(self, txn: Txn, groups_db: Database, places: dict[int, tuple[int, Database]]) -> None:
        self._txn = txn
        self._groups_db = groups_db
        self._places = places

    def group(self, number: int) -> GroupState:
        """The state of the group that an object belongs to."""
        state = groups.get_group(self._txn, self._groups_db, self._places[number][0])
        assert state is not None
        return state

    def get(self, number: int, key: bytes) -> bytes | None:
        return self._txn.get(stored_key(key), db=self._places[number][1])

    def get_many(self, number: int, keys: Sequence[bytes]) -> list[bytes | None]:
        db, get = self._places[number][1], self._txn.get
        return [get(stored_key(key), db=db) for key in keys]

    def slice(self, codec: RowCodec, interval: Interval, count: int, *, reverse: bool = False) -> list[Item]:
        return read_slice(self._txn, self._places[codec.table.id][1], codec, interval, count, reverse=reverse)

    def rows(self, number: int) -> int:
        return int(self._txn.stat(self._places[number][1])["entries"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._txn.abort()


class ViewStore:
    """The views environment of a store."""

    def __init__(self, store: EmbeddedStore) -> None:
        self._store = store
        self._env = store.views
        self.groups_db, self.objects_db, self.slots_db, self.feed_db = map(self._env.database, NAMES)

    def groups(self) -> dict[int, GroupState]:
        with self._env.begin() as txn:
            return groups.groups(txn, self.groups_db)

    def group_of(self, number: int) -> int | None:
        """The group of an object; None if it has not been filled yet."""
        with self._env.begin() as txn:
            found = groups.get_object(txn, self.objects_db, number)
        return None if found is None else found[0]

    @explained
    def reading(self, objects: Sequence[int]) -> ViewReading:
        """Open these objects for reading; ViewNotReady if one has not been filled yet."""
        while True:
            txn = self._env.begin()
            places: dict[int, tuple[int, Database]] = {}
            unopened: list[int] = []
            for number in objects:
                found = groups.get_object(txn, self.objects_db, number)
                if found is None:
                    txn.abort()
                    raise ViewNotReady(
                        "the view has not been filled yet",
                        hint="Run maintenance (db.maintain() or viewkeeper maintain), or read with wait=True.",
                    )
                handle = self._env.opened(_name(found[1]))
                if handle is None:
                    unopened.append(found[1])
                else:
                    places[number] = (found[0], handle)
            if not unopened:
                return ViewReading(txn, self.groups_db, places)
            # A transaction can only use handles that were opened before it began.
            txn.abort()
            with self._store.naming:
                for slot in unopened:
                    self._env.database(_name(slot))

    @explained
    def create_group(self, group: int, objects: Sequence[int], watermark: int, transaction: int) -> GroupState:
        """A new group of empty objects."""
        state = GroupState(1, watermark, transaction, tuple(objects))
        with self._store.naming, self._env.begin(write=True) as txn:
            for number in objects:
                slot = groups.take_slot(txn, self.slots_db)
                self._env.database(_name(slot), txn)
                groups.set_object(txn, self.objects_db, number, group, slot)
            groups.set_group(txn, self.groups_db, group, state)
        return state

    @explained
    def drop_objects(self, objects: Sequence[int]) -> None:
        """Forget objects; a group goes with its last one."""
        with self._store.naming, self._env.begin(write=True) as txn:
            for number in objects:
                found = groups.get_object(txn, self.objects_db, number)
                if found is None:
                    continue
                group, slot = found
                txn.drop(self._env.database(_name(slot), txn), delete=False)
                groups.free_slot(txn, self.slots_db, slot)
                groups.remove_object(txn, self.objects_db, number)
                _remove_feed(txn, self.feed_db, number)
                state = groups.get_group(txn, self.groups_db, group)
                if state is None:
                    continue
                left = tuple(other for other in state.objects if other != number)
                if left:
                    changed = replace(state, objects=left, generation=state.generation + 1)
                    groups.set_group(txn, self.groups_db, group, changed)
                else:
                    groups.remove_group(txn, self.groups_db, group)

    @explained
    def apply(self, batch: Apply) -> GroupState:
        """Fold a batch in and move the watermark; Outrun, with nothing done, if the group has moved meanwhile."""
        with self._env.begin(write=True) as txn:
            state = groups.get_group(txn, self.groups_db, batch.group)
            if state is None or (state.generation, state.watermark) != (batch.generation, batch.lower):
                raise Outrun(
                    "the group has moved since the batch was begun", hint="Compute it again from its watermark."
                )
            for number, changes in batch.objects.items():
                self._write(txn, number, changes, batch)
            moved = replace(state, watermark=batch.upper, transaction=batch.transaction)
            groups.set_group(txn, self.groups_db, batch.group, moved)
            return moved

    def _write(self, txn: Txn, number: int, changes: ObjectChanges, batch: Apply) -> None:
        found = groups.get_object(txn, self.objects_db, number)
        db = None if found is None else self._env.opened(_name(found[1]))
        assert db is not None
        puts: list[Item] = []
        for key, (_, after) in changes.changes.items():
            if after is None:
                txn.delete(stored_key(key), db=db)
            else:
                puts.append((stored_key(key), after))
        if puts:
            # Sorted keys go to neighbouring pages, which is what a B-tree likes.
            puts.sort()
            txn.cursor(db=db).putmulti(puts)
        if changes.has_feed and changes.changes:
            section = encode_section(changes.codec, list(changes.changes.values()))
            key = _feed.pack(number, batch.upper, batch.lower, batch.committed_at)
            txn.put(key, encode_block(batch.transaction, [section]), db=self.feed_db)

    def feed(self, number: int, since: int, upto: int | None = None) -> Iterator[tuple[int, Block]]:
        """The changes of a view that were applied behind `since` and not behind `upto`, with the upper end of each."""
        with self._env.begin() as txn:
            cursor = txn.cursor(db=self.feed_db)
            if not cursor.set_range(_feed.pack(number, since + 1, 0, -(1 << 63))[:12]):
                return
            for key in cursor.iternext(keys=True, values=False):
                owner, upper, lower, committed_at = _feed.unpack(key)
                if owner != number or (upto is not None and upper > upto):
                    return
                yield upper, decode_block(lower, upper - lower, committed_at, cursor.value())


def _name(slot: int) -> bytes:
    return b"v%08x" % slot


def _remove_feed(txn: Txn, db: Database, number: int) -> None:
    cursor = txn.cursor(db=db)
    found = cursor.set_range(_object.pack(number))
    while found and cursor.key().startswith(_object.pack(number)):
        found = cursor.delete() and bool(cursor.key())

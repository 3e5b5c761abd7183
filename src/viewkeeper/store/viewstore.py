"""View tables and auxiliary tables: read them, and apply change tables to them.

An apply is one write transaction of the views environment, which no writer of base tables ever waits for. It compares
and sets the group's (generation, watermark): what was computed for another one is refused, so every change counts once.
The changes that it makes to a view are kept as a block: the view's feed, its undo, and the input of views above it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from viewkeeper.errors import Outrun, ViewNotReady
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.store import groups, notes, requests
from viewkeeper.store.applying import Apply, Counted, ObjectChanges
from viewkeeper.store.blocks import encode_block, encode_section
from viewkeeper.store.environment import Database, Txn, explained
from viewkeeper.store.groups import GroupState, ObjectState
from viewkeeper.store.keyspace import stored_view_key
from viewkeeper.store.requests import Requests
from viewkeeper.store.scan import Item, may_be_long
from viewkeeper.store.viewfeeds import FEED, ViewFeeds, feed_key, remove_feed
from viewkeeper.store.viewnotes import ViewNotes
from viewkeeper.store.viewreading import ViewReading
from viewkeeper.store.viewrepair import Repair, by_object, now, write_rows

if TYPE_CHECKING:
    from viewkeeper.store.embedded import EmbeddedStore
    from viewkeeper.store.viewsnapshot import ViewSnapshot

_FIRST_NAMES = (groups.NAME, groups.OBJECTS, groups.SLOTS, FEED, notes.NAME)
NAMES = (*_FIRST_NAMES, *requests.NAMES)


class ViewStore(ViewFeeds, ViewNotes):
    """The views environment of a store."""

    def __init__(self, store: EmbeddedStore) -> None:
        self._store = store
        self._env = store.views
        self.groups_db, self.objects_db, self.slots_db, self.feed_db, self.notes_db = map(
            self._env.database, _FIRST_NAMES
        )
        self._requests = Requests(self._env, store.naming)

    @explained
    def groups(self) -> dict[int, GroupState]:
        with self._env.begin() as txn:
            return groups.groups(txn, self.groups_db)

    @explained
    def objects(self) -> tuple[dict[int, GroupState], dict[int, ObjectState]]:
        """All groups and all objects, at one moment."""
        with self._env.begin() as txn:
            return groups.groups(txn, self.groups_db), groups.objects(txn, self.objects_db)

    @explained
    def group_of(self, number: int) -> int | None:
        """The group of an object; None if it has not been made yet."""
        with self._env.begin() as txn:
            found = groups.get_object(txn, self.objects_db, number)
        return None if found is None else found.group

    @explained
    def standing(self, number: int) -> tuple[ObjectState, GroupState] | None:
        """An object and its group; None if it has not been made yet."""
        with self._env.begin() as txn:
            found = groups.get_object(txn, self.objects_db, number)
            state = None if found is None else groups.get_group(txn, self.groups_db, found.group)
        return None if found is None or state is None else (found, state)

    @explained
    def get_row(self, number: int, key: bytes) -> bytes | None:
        """The encoded row of a key as it is now; ViewNotReady if the object is not whole yet."""
        handles = self._env.handles
        with self._env.begin() as txn:
            slot = groups.whole_slot(txn, self.objects_db, self.groups_db, number)
            handle = None if slot is None else handles.get(view_database(slot))
            if handle is not None:
                return txn.get(stored_view_key(key), db=handle)
        with self.reading([number]) as reading:
            return reading.get(number, key)

    @explained
    def get_row_from(self, number: int, key: bytes, least: int) -> tuple[bytes | None] | None:
        """The encoded row of a key, if the object is whole and stands at `least` or behind it; None if it does not."""
        handles = self._env.handles
        with self._env.begin() as txn:
            found = groups.get_object(txn, self.objects_db, number)
            state = None if found is None else groups.get_group(txn, self.groups_db, found.group)
            handle = None if found is None else handles.get(view_database(found.slot))
            if state is None or handle is None or state.filled is not None or state.watermark < least:
                return None
            return (txn.get(stored_view_key(key), db=handle),)

    @explained
    def reading(self, objects: Sequence[int], *, filling: bool = False) -> ViewReading:
        """Open these objects for reading; ViewNotReady if one is not whole yet, unless `filling`."""
        while True:
            # A transaction can only use handles that were opened before it began.
            handles = self._env.handles
            txn = self._env.begin()
            places: dict[int, tuple[ObjectState, Database]] = {}
            unopened: list[int] = []
            try:
                for number in objects:
                    found = groups.get_object(txn, self.objects_db, number)
                    state = None if found is None else groups.get_group(txn, self.groups_db, found.group)
                    if found is None or state is None or (state.filled is not None and not filling):
                        raise ViewNotReady(
                            "the view has not been filled yet",
                            hint="Run maintenance (db.maintain() or viewkeeper maintain), or read with wait=True.",
                        )
                    handle = handles.get(view_database(found.slot))
                    if handle is None:
                        unopened.append(found.slot)
                    else:
                        places[number] = (found, handle)
            except BaseException:
                txn.abort()
                raise
            if not unopened:
                return ViewReading(txn, self.groups_db, places)
            txn.abort()
            with self._store.naming:
                for slot in unopened:
                    self._env.database(view_database(slot))

    @contextmanager
    def opening(self) -> Iterator[Txn]:
        """A write transaction that may open handles. Those of one that is given up are dead, and LMDB gives their
        numbers to others: they have to be forgotten."""
        with self._store.naming:
            known = self._env.handles
            try:
                with self._env.begin(write=True) as txn:
                    yield txn
            except BaseException:
                for name in self._env.handles.keys() - known.keys():
                    self._env.forget(name)
                raise

    def as_of(self, codec: RowCodec, offset: int) -> ViewSnapshot:
        """A view as it was at a watermark that its group has had."""
        from viewkeeper.store.viewsnapshot import ViewSnapshot

        return ViewSnapshot(self._store, codec.table.id, codec, offset)

    @explained
    def create_group(
        self,
        group: int,
        objects: Sequence[int],
        watermark: int,
        transaction: int,
        committed_at: int = 0,
        *,
        filled: bytes | None = None,
    ) -> GroupState:
        """A new group of empty objects; with `filled`, they are to be filled as of `watermark`.

        Outrun, with nothing done, if one of the objects is there already.
        """
        state = GroupState(1, watermark, transaction, tuple(objects), committed_at, filled)
        with self.opening() as txn:
            # A group may have the id of a view that has gone from it: who still knows that one must not begin it anew.
            taken = groups.get_group(txn, self.groups_db, group) is not None
            if taken or any(groups.get_object(txn, self.objects_db, number) is not None for number in objects):
                raise Outrun("the view is being filled by another process", hint="Wait for it.")
            for number in objects:
                slot = groups.take_slot(txn, self.slots_db)
                self._env.database(view_database(slot), txn)
                groups.set_object(txn, self.objects_db, number, ObjectState(group, slot, born=watermark))
            groups.set_group(txn, self.groups_db, group, state)
        return state

    @explained
    def empty(self, group: int, state: GroupState) -> GroupState:
        """Empty the objects of a group that is being filled, to be filled anew; Outrun if it has moved."""
        with self.opening() as txn:
            found = groups.get_group(txn, self.groups_db, group)
            if found is None or (found.generation, found.filled) != (state.generation, state.filled):
                raise Outrun("the group has moved meanwhile", hint="Wait for whoever fills it.")
            for number in found.objects:
                place = groups.get_object(txn, self.objects_db, number)
                assert place is not None
                txn.drop(self._env.database(view_database(place.slot), txn), delete=False)
                groups.set_object(txn, self.objects_db, number, replace(place, errors=0, late=0, extra=0))
            anew = replace(found, generation=found.generation + 1, filled=b"")
            groups.set_group(txn, self.groups_db, group, anew)
        return anew

    @explained
    def begin_feed(self, number: int, offset: int) -> None:
        """Say that the feed of a view begins here: what came before is not in it."""
        with self._env.begin(write=True) as txn:
            place = groups.get_object(txn, self.objects_db, number)
            assert place is not None
            groups.set_object(txn, self.objects_db, number, replace(place, born=offset))

    @explained
    def drop_objects(self, objects: Sequence[int]) -> None:
        """Forget objects; a group goes with its last one, and rows with the last object that shares them."""
        with self.opening() as txn:
            for number in objects:
                found = groups.get_object(txn, self.objects_db, number)
                if found is None:
                    continue
                groups.remove_object(txn, self.objects_db, number)
                self._free(txn, found.slot)
                remove_feed(txn, self.feed_db, number)
                notes.remove_note(txn, self.notes_db, number)
                state = groups.get_group(txn, self.groups_db, found.group)
                if state is None:
                    continue
                left = tuple(other for other in state.objects if other != number)
                if left:
                    changed = replace(state, objects=left, generation=state.generation + 1)
                    groups.set_group(txn, self.groups_db, found.group, changed)
                else:
                    groups.remove_group(txn, self.groups_db, found.group)

    def _free(self, txn: Txn, slot: int) -> None:
        """Empty a slot that no object has any more."""
        if all(state.slot != slot for state in groups.objects(txn, self.objects_db).values()):
            txn.drop(self._env.database(view_database(slot), txn), delete=False)
            groups.free_slot(txn, self.slots_db, slot)

    @explained
    def merge(self, known: Mapping[int, GroupState], shared: Mapping[int, int]) -> bool:
        """Make one group of several that stand at one watermark; False, with nothing done, if one moved or is claimed.

        The lowest id stays. `shared`: objects that from now on share the rows of another, with which theirs are equal.
        """
        kept = min(known)
        if any(state.holder and state.deadline > time.time_ns() // 1000 for state in known.values()):
            return False
        with self.opening() as txn:
            for group, state in known.items():
                if groups.get_group(txn, self.groups_db, group) != state:
                    return False
            if len({state.watermark for state in known.values()}) > 1:
                return False
            for number, other in shared.items():
                found = groups.get_object(txn, self.objects_db, number)
                target = groups.get_object(txn, self.objects_db, other)
                if found is None or target is None or found.slot == target.slot:
                    continue
                groups.set_object(txn, self.objects_db, number, replace(found, slot=target.slot))
                self._free(txn, found.slot)
            members = tuple(number for group in sorted(known) for number in known[group].objects)
            for number in members:
                found = groups.get_object(txn, self.objects_db, number)
                assert found is not None
                groups.set_object(txn, self.objects_db, number, replace(found, group=kept))
            for group in known:
                groups.remove_group(txn, self.groups_db, group)
            generation = max(state.generation for state in known.values()) + 1
            merged = replace(known[kept], generation=generation, objects=members, holder="", deadline=0)
            groups.set_group(txn, self.groups_db, kept, merged)
        return True

    @explained
    def claim(self, group: int, holder: str, seconds: float) -> bool:
        """Keep others from applying to a group for a while; False if another holds it."""
        now = time.time_ns() // 1000
        with self._env.begin(write=True) as txn:
            state = groups.get_group(txn, self.groups_db, group)
            if state is None or (state.holder not in ("", holder) and state.deadline > now):
                return False
            claimed = replace(state, holder=holder, deadline=now + int(seconds * 1e6))
            groups.set_group(txn, self.groups_db, group, claimed)
        return True

    @explained
    def release(self, group: int, holder: str) -> None:
        with self._env.begin(write=True) as txn:
            state = groups.get_group(txn, self.groups_db, group)
            if state is not None and state.holder == holder:
                groups.set_group(txn, self.groups_db, group, replace(state, holder="", deadline=0))

    @explained
    def apply(self, batch: Apply) -> GroupState:
        """Fold a batch in and move the watermark; Outrun, with nothing done, if the group has moved meanwhile."""
        with self._env.begin(write=True) as txn:
            return self._apply(txn, batch)

    @explained
    def apply_all(self, batches: Sequence[Apply]) -> list[GroupState | Outrun]:
        """Apply the batches of several groups in one transaction; those whose group has moved are left out."""
        done: list[GroupState | Outrun] = []
        with self._env.begin(write=True) as txn:
            for batch in batches:
                try:
                    done.append(self._apply(txn, batch))
                except Outrun as outrun:
                    done.append(outrun)
        return done

    def _apply(self, txn: Txn, batch: Apply) -> GroupState:
        # Whatever is refused is refused before anything is written.
        state = self._checked(groups.get_group(txn, self.groups_db, batch.group), batch)
        for number, changes in batch.objects.items():
            self._write(txn, number, changes, batch)
        for number, counted in batch.counted.items():
            self._count(txn, number, counted)
        moved = replace(state, watermark=batch.upper, transaction=batch.transaction, committed_at=batch.committed_at)
        if batch.fill is not None:
            moved = replace(moved, filled=batch.fill[1])
        if state.holder == batch.holder:
            moved = replace(moved, holder="", deadline=0)
        groups.set_group(txn, self.groups_db, batch.group, moved)
        return moved

    def _checked(self, state: GroupState | None, batch: Apply) -> GroupState:
        filled = None if batch.fill is None else batch.fill[0]
        if (
            state is None
            or (state.generation, state.watermark) != (batch.generation, batch.lower)
            or state.filled != filled
        ):
            raise Outrun("the group has moved since the batch was begun", hint="Compute it again from its watermark.")
        if state.holder not in ("", batch.holder) and state.deadline > time.time_ns() // 1000:
            raise Outrun("another maintainer has claimed the group", hint="Wait for it.")
        return state

    def _count(self, txn: Txn, number: int, counted: Counted) -> None:
        found = groups.get_object(txn, self.objects_db, number)
        assert found is not None
        changed = replace(
            found,
            errors=found.errors + counted.errors,
            late=found.late + counted.late,
            extra=found.extra + counted.extra,
        )
        if changed != found:
            groups.set_object(txn, self.objects_db, number, changed)

    def _write(self, txn: Txn, number: int, changes: ObjectChanges, batch: Apply) -> None:
        found = groups.get_object(txn, self.objects_db, number)
        db = None if found is None else self._env.opened(view_database(found.slot))
        assert db is not None
        puts: list[Item] = []
        for key, (_, after) in changes.changes.items():
            if after is None:
                txn.delete(stored_view_key(key), db=db)
            else:
                puts.append((stored_view_key(key), after))
        if changes.rows:
            stored = stored_view_key if may_be_long(changes.codec) else bytes
            for key in [key for key, row in changes.rows.items() if row is None]:
                txn.delete(stored(key), db=db)
            puts += [(stored(key), row) for key, row in changes.rows.items() if row is not None]
        if puts:
            # Sorted keys go to neighbouring pages, which is what a B-tree likes.
            puts.sort()
            txn.cursor(db=db).putmulti(puts)
        if changes.has_feed and changes.changes and batch.fill is None:
            section = encode_section(changes.codec, list(changes.changes.values()))
            key = feed_key.pack(number, batch.upper, batch.lower, batch.committed_at)
            txn.put(key, encode_block(batch.transaction, [section]), db=self.feed_db)

    @explained
    def repair(self, repair: Repair) -> GroupState:
        """Write what a comparison found, all or nothing; the claim stays. Outrun if the group has moved meanwhile."""
        with self._env.begin(write=True) as txn:
            state = repair.checked(groups.get_group(txn, self.groups_db, repair.group))
            for number, rows in by_object(repair.rows):
                found = groups.get_object(txn, self.objects_db, number)
                db = None if found is None else self._env.opened(view_database(found.slot))
                assert db is not None
                write_rows(txn, db, rows)
            for number, (codec, changes) in repair.told.items():
                key = feed_key.pack(number, state.watermark, state.watermark, now())
                txn.put(key, encode_block(state.transaction, [encode_section(codec, changes)]), db=self.feed_db)
            for number, counted in repair.counted.items():
                self._count(txn, number, counted)
            mended = replace(state, generation=state.generation + 1)
            groups.set_group(txn, self.groups_db, repair.group, mended)
        return mended


def view_database(slot: int) -> bytes:
    """The named database of a slot."""
    return b"v%08x" % slot

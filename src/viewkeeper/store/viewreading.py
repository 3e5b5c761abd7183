"""Reads of view tables and auxiliary tables, all of one moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.store import groups
from viewkeeper.store.environment import Database, Txn
from viewkeeper.store.groups import GroupState, ObjectState
from viewkeeper.store.keyspace import stored_view_key
from viewkeeper.store.scan import Interval, Item, read_slice


class ViewReading:
    """Reads of several objects in one transaction, hence all at their groups' watermarks of one moment."""

    def __init__(self, txn: Txn, groups_db: Database | None, places: dict[int, tuple[ObjectState, Database]]) -> None:
        self._txn = txn
        self._groups_db = groups_db
        self._places = places
        self.asked: dict[int, tuple[object, object]] = {}
        """What a reader of a slot asked for and got; for the next one that shares the slot."""
        self.found: dict[int, dict[bytes, list[tuple[bytes, Row]]]] = {}
        """The rows that were looked up in a slot, by the beginning of their keys."""
        self.written: set[int] = set()
        """The slots for which a batch has its changes already."""

    def group(self, number: int) -> GroupState:
        """The state of the group that an object belongs to."""
        assert self._groups_db is not None
        state = groups.get_group(self._txn, self._groups_db, self._places[number][0].group)
        assert state is not None
        return state

    def object(self, number: int) -> ObjectState:
        return self._places[number][0]

    def get(self, number: int, key: bytes) -> bytes | None:
        return self._txn.get(stored_view_key(key), db=self._places[number][1])

    def stored_row(self, number: int, stored: bytes) -> bytes | None:
        """The row of a key as it is stored."""
        return self._txn.get(stored, db=self._places[number][1])

    def get_many(self, number: int, keys: Sequence[bytes]) -> list[bytes | None]:
        db, get = self._places[number][1], self._txn.get
        return [get(stored_view_key(key), db=db) for key in keys]

    def slice(self, codec: RowCodec, interval: Interval, count: int, *, reverse: bool = False) -> list[Item]:
        return read_slice(self._txn, self._places[codec.table.id][1], codec, interval, count, reverse=reverse)

    def stored(self, number: int) -> Iterator[Item]:
        """All of an object by stored key, in the order of these, which is not quite that of the keys."""
        return self._txn.cursor(db=self._places[number][1]).iternext()

    def rows(self, number: int) -> int:
        """The rows of an object, each as often as it weighs."""
        place, db = self._places[number]
        return int(self._txn.stat(db)["entries"]) + place.extra

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._txn.abort()

"""What readers ask of maintainers, and which maintainers are alive; losing it loses no data.

    "requests"      view id (4) → msgpack [upto, priority, requester, asked at, deadline]
    "maintainers"   holder, UTF-8 → deadline (8)

Moments are in µs since 1970. What is past its deadline counts as absent, and goes with the next write. A store that an
older viewkeeper made lacks both databases: they are made when it is first opened for writing, and until then are empty.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, replace
from threading import RLock

import lmdb
import msgspec

from viewkeeper.store import groups, notes
from viewkeeper.store.environment import Database, Environment, Txn, explained
from viewkeeper.store.viewrepair import now

REQUESTS = b"requests"
MAINTAINERS = b"maintainers"
NAMES = (REQUESTS, MAINTAINERS)
_id = struct.Struct(">I")
_moment = struct.Struct(">q")
READ_WEIGHT = 4
"""The last interval between two reads counts for one part in so many of their mean."""


@dataclass(frozen=True, slots=True)
class Request:
    """A reader waits until a view reflects every change before `upto`; the greater its priority, the sooner.

    Requests for one view are one: the furthest position, the greatest priority with its requester, the latest deadline.
    """

    upto: int
    priority: int
    requester: str
    asked_at: int
    deadline: int

    def joined_by(self, other: Request) -> Request:
        first = max(self, other, key=lambda request: request.priority)
        return Request(
            max(self.upto, other.upto),
            first.priority,
            first.requester,
            min(self.asked_at, other.asked_at),
            max(self.deadline, other.deadline),
        )


class Requests:
    """The requests and the living maintainers of a views environment."""

    def __init__(self, env: Environment, naming: RLock) -> None:
        self._env = env
        self._naming = naming
        if not env.read_only and any(self._opened(name) is None for name in NAMES):
            with naming, env.begin(write=True) as txn:
                for name in NAMES:
                    env.database(name, txn)

    def _opened(self, name: bytes) -> Database | None:
        """A database; None if there is none, as an older viewkeeper left it."""
        found = self._env.opened(name)
        if found is None:
            try:
                with self._naming:
                    found = self._env.database(name)
            except lmdb.NotFoundError:
                return None
        return found

    def _made(self, name: bytes) -> Database:
        found = self._opened(name)
        assert found is not None, "made when the store was opened for writing"
        return found

    @explained
    def ask(self, number: int, request: Request) -> None:
        db = self._made(REQUESTS)
        with self._env.begin(write=True) as txn:
            _forget_late(txn, db, request.asked_at)
            value = txn.get(_id.pack(number), db=db)
            if value is not None:
                request = _decode(value).joined_by(request)
            txn.put(_id.pack(number), msgspec.msgpack.encode(astuple(request)), db=db)

    @explained
    def asked(self, at: int | None = None) -> dict[int, Request]:
        db = self._opened(REQUESTS)
        if db is None:
            return {}
        moment = now() if at is None else at
        with self._env.begin() as txn:
            found = {_id.unpack(key)[0]: _decode(value) for key, value in txn.cursor(db=db)}
        return {number: request for number, request in found.items() if request.deadline > moment}

    @explained
    def answered(self, numbers: Iterable[int], groups_db: Database, objects_db: Database) -> None:
        """Forget the requests for these views that are met; one that asks for more, made meanwhile, stays."""
        db = self._made(REQUESTS)
        with self._env.begin(write=True) as txn:
            _forget_late(txn, db, now())
            for number in numbers:
                value = txn.get(_id.pack(number), db=db)
                found = groups.get_object(txn, objects_db, number)
                state = None if found is None else groups.get_group(txn, groups_db, found.group)
                if value is None or (state is not None and state.filled is not None):
                    continue
                if state is None or state.watermark >= _decode(value).upto:
                    txn.delete(_id.pack(number), db=db)

    @explained
    def beat(self, holder: str, seconds: float) -> None:
        """Say that a maintainer is alive for so long; it is forgotten if that is 0."""
        db = self._made(MAINTAINERS)
        moment = now()
        with self._env.begin(write=True) as txn:
            for key, value in list(txn.cursor(db=db)):
                if _moment.unpack(value)[0] <= moment:
                    txn.delete(key, db=db)
            if seconds > 0:
                txn.put(holder.encode(), _moment.pack(moment + int(seconds * 1e6)), db=db)
            else:
                txn.delete(holder.encode(), db=db)

    @explained
    def maintainers(self) -> list[str]:
        db = self._opened(MAINTAINERS)
        if db is None:
            return []
        moment = now()
        with self._env.begin() as txn:
            return [key.decode() for key, value in txn.cursor(db=db) if _moment.unpack(value)[0] > moment]

    @explained
    def note_reads(self, reads: Mapping[int, int], notes_db: Database, objects_db: Database) -> None:
        """When views were last read (µs): kept with the mean of the intervals, of which older ones count for less.

        A view that is not there, perhaps any more, gets no note: nobody would ever remove it.
        """
        with self._env.begin(write=True) as txn:
            for number, at in reads.items():
                note = notes.get_note(txn, notes_db, number)
                if at > note.read_at and groups.get_object(txn, objects_db, number) is not None:
                    mean = _mean(note.read_interval, at - note.read_at) if note.read_at else 0
                    notes.set_note(txn, notes_db, number, replace(note, read_at=at, read_interval=mean))


def _mean(before: int, interval: int) -> int:
    return before + (interval - before) // READ_WEIGHT if before else interval


def _decode(value: bytes) -> Request:
    return Request(*msgspec.msgpack.decode(value))


def _forget_late(txn: Txn, db: Database, moment: int) -> None:
    for key, value in list(txn.cursor(db=db)):
        if _decode(value).deadline <= moment:
            txn.delete(key, db=db)

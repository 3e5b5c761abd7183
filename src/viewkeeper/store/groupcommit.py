"""Group commit: writers that wait together share one fsync.

The first writer to come leads: it takes the store's write lock, runs every waiting member, each in a nested
transaction, and commits them all at once. Whoever comes meanwhile waits for the next round. A member that fails is
rolled back alone; the members before and behind it are untouched.

Ctrl-C may come at any line, most likely right behind the commit, where the time goes. So whatever a member leaves
undone is done by `_retire`, which may run twice, and a commit that was reached counts, whatever came after it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from copy import copy
from typing import Any, TypeVar

import lmdb

from viewkeeper.errors import Conflict, StoreError
from viewkeeper.store.environment import Txn

MAX_MEMBERS = 256

T = TypeVar("T")
Work = Callable[[Txn], Any]
"""What one member does inside the transaction; its result is handed out once the commit is durable."""


class _Member:
    """One writer. `crew`: the members of the round that it leads, itself the first; `is_taken`: it is in some crew."""

    __slots__ = ("commits", "committed", "crew", "done", "error", "is_taken", "result", "turn", "work")

    def __init__(self, work: Work | None) -> None:
        self.work = work
        self.result: Any = None
        self.error: BaseException | None = None
        self.crew: list[_Member] = []
        self.is_taken = self.commits = self.committed = self.done = False
        self.turn = threading.Lock()
        self.turn.acquire()

    def wake(self) -> None:
        try:
            self.turn.release()
        except RuntimeError:
            # It was woken before, and has not noticed yet.
            return


class GroupCommit:
    """Runs members in order of arrival. `begin` starts a write transaction, `nest` one inside it, `explain` its errors.

    The leader is always the member at the front of the queue; it and its crew stay there until their round is over.
    """

    def __init__(
        self, begin: Callable[[], Txn], nest: Callable[[Txn], Txn], explain: Callable[[lmdb.Error], StoreError]
    ) -> None:
        self._begin = begin
        self._nest = nest
        self._explain = explain
        self._queue: deque[_Member] = deque()
        self._state = threading.Lock()
        self._leader: _Member | None = None

    def run(self, work: Work) -> Any:
        """The result of `work`, durable; or its error, with nothing of it kept."""
        member = _Member(work)
        try:
            self._wait(member)
            if not member.done:
                self._lead(member)
        except BaseException:
            self._retire(member)
            raise
        finally:
            # A leader is in its own crew: left so, what it wrote would stay in memory until cycles are looked for.
            member.crew = []
        if member.error is not None:
            raise member.error
        return member.result

    def alone(self, action: Callable[[], T]) -> T:
        """Keep every member out, for a transaction that cannot be shared. Waits for the round under way."""
        gate = _Member(None)
        try:
            self._wait(gate)
            result = action()
            self._retire(gate)
        except BaseException:
            self._retire(gate)
            raise
        return result

    def _wait(self, member: _Member) -> None:
        """Return when the member is done, or at the front and leading."""
        with self._state:
            self._queue.append(member)
            if self._leader is None:
                self._leader = member
                return
        member.turn.acquire()

    def _retire(self, member: _Member) -> None:
        """Let its crew go on, and the next leader. A member that another one's round has taken stays in that."""
        with self._state:
            for other in member.crew:
                if other.error is None and not member.committed:
                    other.error = _interrupted()
                other.done = True
                if other is not member:
                    other.wake()
            while self._queue and self._queue[0].done:
                self._queue.popleft()
            if not member.is_taken and member in self._queue:
                self._queue.remove(member)
            if self._leader is member:
                following = self._queue[0] if self._queue else None
                if following is not None:
                    following.wake()
                self._leader = following

    def _lead(self, leader: _Member) -> None:
        with self._state:
            for member in self._queue:
                if member.work is None or len(leader.crew) == MAX_MEMBERS:
                    break
                leader.crew.append(member)
                member.is_taken = True
        try:
            self._round(leader)
        except lmdb.Error as error:
            explained = self._explain(error)
            for member in leader.crew:
                member.error = member.error or copy(explained)
        except BaseException as error:  # noqa: BLE001 - `run` raises it
            leader.error = error
        finally:
            self._retire(leader)

    def _round(self, leader: _Member) -> None:
        txn = self._begin()
        try:
            if len(leader.crew) == 1:
                assert leader.work is not None
                leader.result = leader.work(txn)
            else:
                for member in leader.crew:
                    self._run_nested(txn, member)
            leader.commits = True
            txn.commit()
        except BaseException as error:
            # An interrupt is raised behind the call that it came in, and a transaction is open until it is committed.
            leader.committed = leader.commits and not isinstance(error, lmdb.Error) and not _is_open(txn)
            txn.abort()
            raise
        leader.committed = True

    def _run_nested(self, txn: Txn, member: _Member) -> None:
        assert member.work is not None
        nested = self._nest(txn)
        try:
            member.result = member.work(nested)
        except BaseException as error:
            nested.abort()
            if not isinstance(error, Exception):
                raise
            member.error = self._explain(error) if isinstance(error, lmdb.Error) else error
        else:
            nested.commit()


def _is_open(txn: Txn) -> bool:
    try:
        txn.id()
    except lmdb.Error:
        return False
    return True


def _interrupted() -> Conflict:
    return Conflict(
        "the commit was interrupted", detail="Nothing of this transaction was written.", hint="Run it again."
    )

"""Group commit: writers that wait together share one fsync.

The first writer to come leads: it takes the store's write lock, runs every waiting member, each in a nested
transaction, and commits them all at once. Whoever comes meanwhile waits for the next round. A member that fails is
rolled back alone; the members before and behind it are untouched.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import lmdb

from viewkeeper.errors import Conflict
from viewkeeper.store.environment import Txn, explain

MAX_MEMBERS = 256

Work = Callable[[Txn], Any]
"""What one member does inside the transaction; its result is handed out once the commit is durable."""


class _Member:
    __slots__ = ("done", "error", "leads", "result", "turn", "work")

    def __init__(self, work: Work | None) -> None:
        self.work = work
        self.result: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.leads = False
        self.turn = threading.Lock()
        self.turn.acquire()


class GroupCommit:
    """Runs members in order of arrival. `begin` starts a write transaction, `nest` one inside it.

    The leader is always the member at the front of the queue.
    """

    def __init__(self, begin: Callable[[], Txn], nest: Callable[[Txn], Txn]) -> None:
        self._begin = begin
        self._nest = nest
        self._queue: deque[_Member] = deque()
        self._state = threading.Lock()
        self._led = False

    def run(self, work: Work) -> Any:
        """The result of `work`, durable; or its error, with nothing of it kept."""
        member = _Member(work)
        self._wait(member)
        if not member.done:
            self._lead(member)
        if member.error is not None:
            raise member.error
        return member.result

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep every member out, for a transaction that cannot be shared. Waits for the round under way."""
        gate = _Member(None)
        self._wait(gate)
        with self._state:
            self._queue.popleft()
        try:
            yield
        finally:
            self._pass_on()

    def _wait(self, member: _Member) -> None:
        """Return when the member is done, or at the front and leading."""
        with self._state:
            self._queue.append(member)
            if not self._led:
                self._led = member.leads = True
                return
        try:
            member.turn.acquire()
        except BaseException:
            self._leave(member)
            raise

    def _leave(self, member: _Member) -> None:
        """An interrupted wait: do not hold up the queue. A round that has the member already still runs it."""
        with self._state:
            if member.done or member not in self._queue:
                return
            self._queue.remove(member)
        if member.leads:
            self._pass_on()

    def _pass_on(self) -> None:
        with self._state:
            if self._queue:
                self._queue[0].leads = True
                self._queue[0].turn.release()
            else:
                self._led = False

    def _lead(self, leader: _Member) -> None:
        members: list[_Member] = []
        with self._state:
            while self._queue and self._queue[0].work is not None and len(members) < MAX_MEMBERS:
                members.append(self._queue.popleft())
        try:
            self._round(members)
        except lmdb.Error as error:
            for member in members:
                member.error = explain(error)
        except BaseException as error:  # noqa: BLE001  it is handed to the members, whose threads raise it
            for member in members:
                member.error = error if member is leader else _interrupted()
        finally:
            for member in members:
                member.done = True
                if member is not leader:
                    member.turn.release()
            self._pass_on()

    def _round(self, members: list[_Member]) -> None:
        txn = self._begin()
        try:
            if len(members) == 1:
                work = members[0].work
                assert work is not None
                members[0].result = work(txn)
            else:
                for member in members:
                    self._run_nested(txn, member)
        except BaseException:
            txn.abort()
            raise
        txn.commit()

    def _run_nested(self, txn: Txn, member: _Member) -> None:
        assert member.work is not None
        nested = self._nest(txn)
        try:
            member.result = member.work(nested)
        except BaseException as error:
            nested.abort()
            if not isinstance(error, Exception):
                raise
            member.error = explain(error) if isinstance(error, lmdb.Error) else error
        else:
            nested.commit()


def _interrupted() -> Conflict:
    return Conflict(
        "the commit was interrupted", detail="Nothing of this transaction was written.", hint="Run it again."
    )

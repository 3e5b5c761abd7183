"""Group commit: writers that wait together share one fsync.

One writer leads: it takes the store's write lock, runs every waiting member, and commits them all at once. Whoever
comes meanwhile waits for the next round. A member that fails is rolled back alone; the members before and behind it
are untouched. That costs a nested transaction, which is dear; members that refuse before they write do without.

Writers that have just been served together come back one by one. So the first of them waits a moment for the others,
as long as they keep coming and no longer than that pays against the price of a commit, and the last one leads. A
writer that was alone in the round before never waits.

Those who were served wake one another, each the next, as they come out.

Ctrl-C may come at any line, most likely right behind the commit, where the time goes. So whatever a member leaves
undone is done by `_retire`, which may run twice, and a commit that was reached counts, whatever came after it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from copy import copy
from itertools import islice, pairwise
from time import perf_counter
from typing import Any, TypeVar

import lmdb

from viewkeeper.errors import Conflict, StoreError, ViewkeeperError
from viewkeeper.store.environment import Txn

MAX_MEMBERS = 256
DEAR_COMMIT = 100e-6
"""Seconds of a commit from which it pays to wait for company, and …"""
PATIENCE = 1 / 3
"""… the share of such a commit that is waited for the next one to come."""

T = TypeVar("T")
Work = Callable[[Txn], Any]
"""What one member does inside the transaction; its result is handed out once the commit is durable.

It may be run again, in another transaction, if the first one has to be given up.
"""


class _Spoiled(Exception):
    """A member failed and may have left something in the transaction of all."""


class _Member:
    """One writer. `crew`: the members of the round that it leads; `is_taken`: it is in some crew.

    `following`: whom it wakes when it has been woken itself; `has_left`: it waits no longer, and wakes nobody.
    """

    __slots__ = (
        "commits",
        "committed",
        "crew",
        "done",
        "error",
        "following",
        "has_left",
        "is_taken",
        "refuses_first",
        "result",
        "turn",
        "work",
    )

    def __init__(self, work: Work | None, refuses_first: bool = False) -> None:
        self.work = work
        self.refuses_first = refuses_first
        self.result: Any = None
        self.error: BaseException | None = None
        self.crew: list[_Member] = []
        self.following: _Member | None = None
        self.is_taken = self.commits = self.committed = self.done = self.has_left = False
        self.turn: threading.Lock | None = None

    def wake(self) -> None:
        if self.turn is None:
            # It was interrupted before it could wait.
            return
        try:
            self.turn.release()
        except RuntimeError:
            # It was woken before, and has not noticed yet.
            return

    def wake_following(self) -> None:
        if self.following is not None:
            self.following.wake()


class GroupCommit:
    """`begin` starts a write transaction, `nest` one inside it, `explain` tells the meaning of its errors.

    The leader is in the queue, and so is its crew, until their round is over: they are the front of it.
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
        self._gatherer: _Member | None = None
        self._expected = 1
        self._patience = 0.0

    def run(self, work: Work, refuses_first: bool = False) -> Any:
        """The result of `work`, durable; or its error, with nothing of it kept.

        With `refuses_first`, an error of ours (but for StoreError) means that `work` has written nothing.
        """
        member = _Member(work, refuses_first)
        try:
            self._wait(member)
            if not member.done:
                self._lead(member)
            member.wake_following()
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
        """Return when the member is done, or in the queue and leading."""
        with self._state:
            # An interrupt comes behind a call: then the member is leading and in the queue, or neither.
            if self._leader is None and (self._expected < 2 or not self._patience or member.work is None):
                self._leader = member
                if member.work is not None:
                    member.crew = [member]
                    member.is_taken = True
                self._queue.append(member)
                return
            if self._gatherer is not None and len(self._queue) + 1 >= self._expected and member.work is not None:
                self._leader = member
                self._gatherer = None
                self._queue.appendleft(member)
                return
            member.turn = turn = threading.Lock()
            turn.acquire()
            if self._leader is None:
                self._leader = self._gatherer = member
            self._queue.append(member)
        if self._gatherer is not member or not self._gather(member, turn):
            turn.acquire()

    def _gather(self, member: _Member, turn: threading.Lock) -> bool:
        """Wait for others while they come; False if one of them leads, who will say when the member is done."""
        size = 1
        while not turn.acquire(timeout=self._patience):
            with self._state:
                if self._leader is not member:
                    return False
                if len(self._queue) == size:
                    self._gatherer = None
                    return True
                size = len(self._queue)
        return True

    def _retire(self, member: _Member) -> None:
        """Let its crew go on, and the next leader. A member that another one's round has taken stays in that."""
        with self._state:
            member.has_left = True
            for other in member.crew:
                if other.error is None and not member.committed:
                    other.error = _interrupted()
                other.done = True
            # One by one: woken all at once, they would only wait again, for the interpreter. Who wakes whom is settled
            # before the first is woken.
            waiting = [other for other in member.crew if other is not member and not other.has_left]
            for other, following in pairwise(waiting):
                other.following = following
            if waiting:
                waiting[0].wake()
            while self._queue and self._queue[0].done:
                self._queue.popleft()
            if not member.is_taken and member in self._queue:
                self._queue.remove(member)
            if self._leader is member:
                self._gatherer = None
                self._expected = len(member.crew) + len(self._queue)
                leading = self._queue[0] if self._queue else None
                if leading is not None:
                    leading.wake()
                self._leader = leading
        member.wake_following()

    def _lead(self, leader: _Member) -> None:
        if not leader.crew:
            self._take(leader)
        try:
            try:
                self._round(leader)
            except _Spoiled:
                self._round(leader, nesting=True)
        except lmdb.Error as error:
            explained = self._explain(error)
            for member in {leader, *leader.crew}:
                member.error = member.error or copy(explained)
        except BaseException as error:  # noqa: BLE001 - `run` raises it
            leader.error = error
        finally:
            self._retire(leader)

    def _take(self, leader: _Member) -> None:
        with self._state:
            crew = leader.crew
            for member in islice(self._queue, len(crew), MAX_MEMBERS):
                if member.work is None:
                    break
                crew.append(member)
                member.is_taken = True

    def _round(self, leader: _Member, *, nesting: bool = False) -> None:
        crew = leader.crew
        txn = self._begin()
        try:
            if len(self._queue) > len(crew):
                self._take(leader)
            if len(crew) == 1:
                assert leader.work is not None
                leader.result = leader.work(txn)
            else:
                for member in crew:
                    if member.refuses_first and not nesting:
                        _run_flat(txn, member)
                    else:
                        self._run_nested(txn, member)
            started = perf_counter()
            leader.commits = True
            txn.commit()
        except BaseException as error:
            # An interrupt is raised behind the call that it came in, and a transaction is open until it is committed.
            leader.committed = leader.commits and not isinstance(error, lmdb.Error) and not _is_open(txn)
            txn.abort()
            raise
        leader.committed = True
        took = perf_counter() - started
        self._patience = took * PATIENCE if took > DEAR_COMMIT else 0.0

    def _run_nested(self, txn: Txn, member: _Member) -> None:
        assert member.work is not None
        member.error = None
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


def _run_flat(txn: Txn, member: _Member) -> None:
    assert member.work is not None
    try:
        member.result = member.work(txn)
    except ViewkeeperError as error:
        if isinstance(error, StoreError):
            raise _Spoiled from error
        member.error = error
    except Exception as error:
        raise _Spoiled from error


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

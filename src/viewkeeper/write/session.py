"""A session: reads and writes that never go back. What `with db.session() as s` gives.

Its position is the least that covers all that it has written and read. Every read of it, of a table or of a view,
covers that, besides what the read asks for: a session sees what it wrote, and what it has seen once it goes on seeing.
The position is a short text, so that it can go into a cookie; a later session starts from it, on whatever machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from types import TracebackType
from typing import Any, Literal, Protocol, Self, overload

from viewkeeper.errors import FuturePosition
from viewkeeper.model.position import Position
from viewkeeper.read.consistency import TIMEOUT, Asked, Consistency
from viewkeeper.read.handle import Handle
from viewkeeper.read.now import get_now, query_now, scan_now
from viewkeeper.read.rows import ReadMeta, Rows
from viewkeeper.read.snapshot import SnapshotReader, take_snapshot
from viewkeeper.write.statements import Outcome, retrying
from viewkeeper.write.transaction import Transaction

Params = Mapping[str, Any] | Sequence[Any] | None


class Writes(Protocol):
    """What a session writes through: a database."""

    def insert(self, table: str, row: Mapping[str, Any]) -> Position: ...

    def put(self, table: str, row: Mapping[str, Any]) -> Position: ...

    def delete(self, table: str, /, *key: Any) -> Position: ...

    @property
    def load(self) -> Callable[..., Position]: ...

    def begin(self, told: Callable[[Position], object]) -> Transaction: ...

    def run(
        self, sql: str, params: Params, asked: Callable[[], Asked], told: Callable[[Outcome | Rows], object]
    ) -> Outcome | Rows | None: ...


def start_of(handle: Handle, position: Position | str | None) -> Position:
    """Where a session starts; BadPosition, ForeignPosition or FuturePosition if that is no place of this database."""
    store = handle.store
    if position is None:
        return store.position(0)
    found = position if isinstance(position, Position) else Position.parse(position)
    if store.offset(found) > store.offset(store.head()):
        raise FuturePosition(
            f"position {found} is in the future",
            detail=f"The head is {store.head()}.",
            hint="The database may have been restored from a backup: start a session without a position.",
        )
    return found


class Session:
    """Reads and writes that never go back. Thread-safe; holds nothing open."""

    def __init__(self, handle: Handle, writes: Writes, position: Position) -> None:
        self._handle = handle
        self._writes = writes
        self._position = position
        self._lock = Lock()

    @property
    def position(self) -> Position:
        """The least position that covers all that was written and read; `str()` of it can start another session."""
        return self._position

    def _saw(self, position: Position) -> Position:
        with self._lock:
            self._position |= position
        return position

    def _asked(self, consistency: Consistency, wait: bool | float, timeout: float, bring_up: bool) -> Asked:
        floor = self._handle.store.offset(self._position)
        return Asked(consistency=consistency, wait=wait, timeout=timeout, bring_up=bring_up, floor=floor)

    # Reads

    @overload
    def get(
        self,
        name: str,
        /,
        *key: Any,
        consistency: Consistency = None,
        wait: bool | float = False,
        timeout: float = TIMEOUT,
        bring_up: bool = False,
        with_meta: Literal[False] = False,
    ) -> dict[str, Any] | None: ...

    @overload
    def get(
        self,
        name: str,
        /,
        *key: Any,
        consistency: Consistency = None,
        wait: bool | float = False,
        timeout: float = TIMEOUT,
        bring_up: bool = False,
        with_meta: Literal[True],
    ) -> tuple[dict[str, Any] | None, ReadMeta]: ...

    def get(
        self,
        name: str,
        /,
        *key: Any,
        consistency: Consistency = None,
        wait: bool | float = False,
        timeout: float = TIMEOUT,
        bring_up: bool = False,
        with_meta: bool = False,
    ) -> dict[str, Any] | tuple[dict[str, Any] | None, ReadMeta] | None:
        """The row of a key of a table or view; None if there is none. As `db.get`."""
        asked = self._asked(consistency, wait, timeout, bring_up)
        row, meta = retrying(lambda: get_now(self._handle, name, key, asked))
        self._saw(meta.position)
        return (row, meta) if with_meta else row

    def scan(
        self,
        name: str,
        /,
        *,
        prefix: Any = (),
        lower: Any = None,
        upper: Any = None,
        limit: int | None = None,
        reverse: bool = False,
        base_rows: bool = False,
        consistency: Consistency = None,
        wait: bool | float = False,
        timeout: float = TIMEOUT,
        bring_up: bool = False,
    ) -> Rows:
        """The rows in stored order. As `db.scan`."""
        asked = self._asked(consistency, wait, timeout, bring_up)
        bounds: dict[str, Any] = {"prefix": prefix, "lower": lower, "upper": upper, "limit": limit, "reverse": reverse}
        rows = retrying(lambda: scan_now(self._handle, name, base_rows=base_rows, asked=asked, **bounds).begun())
        self._saw(rows.meta.position)
        return rows

    def query(
        self,
        sql: str,
        /,
        *,
        consistency: Consistency = None,
        allow_scan: bool = False,
        wait: bool | float = False,
        timeout: float = TIMEOUT,
        bring_up: bool = False,
        **params: Any,
    ) -> Rows:
        """The rows of one SELECT. As `db.query`."""
        asked = self._asked(consistency, wait, timeout, bring_up)
        rows = retrying(lambda: query_now(self._handle, sql, params, asked, allow_scan=allow_scan).begun())
        self._saw(rows.meta.position)
        return rows

    def snapshot(self) -> SnapshotReader:
        """Several reads at one moment, which is now; no view is read from before what the session has seen."""
        floor = self._handle.store.offset(self._position)
        snapshot = take_snapshot(self._handle, floor=floor)
        self._saw(snapshot.position)
        return snapshot

    # Writes

    def insert(self, table: str, row: Mapping[str, Any]) -> Position:
        """Add a row; KeyExists if there is one with its key."""
        return self._saw(self._writes.insert(table, row))

    def put(self, table: str, row: Mapping[str, Any]) -> Position:
        """Add a row, or change the given columns of the row that is there."""
        return self._saw(self._writes.put(table, row))

    def delete(self, table: str, /, *key: Any) -> Position:
        """Remove a row; no error, and no change, if there is none."""
        return self._saw(self._writes.delete(table, *key))

    def load(self, table: str, source: Any, **options: Any) -> Position:
        """Put many rows. As `db.load`."""
        try:
            return self._saw(self._writes.load(table, source, **options))
        except BaseException:
            # Some of them may have been committed.
            self._saw(self._handle.store.head())
            raise

    def transaction(self) -> Transaction:
        """Several writes and reads, all or nothing; the session has seen what it reads, and what it commits."""
        begun = self._writes.begin(self._saw)
        self._saw(begun.snapshot_position)
        return begun

    def execute(self, sql: str, params: Params = None) -> Outcome | Rows | None:
        """Run one or several statements; the last one's result, None if there was none."""

        def told(result: Outcome | Rows) -> None:
            self._saw(result.meta.position if isinstance(result, Rows) else result.position)

        # Each statement sees what those before it did; one that fails leaves them done.
        return self._writes.run(sql, params, lambda: self._asked(None, False, TIMEOUT, False), told)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def __repr__(self) -> str:
        return f"<Session at {self.position}>"

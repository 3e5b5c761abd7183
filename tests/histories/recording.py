"""A client that writes down what it does and sees; and the log, read when all is over."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import viewkeeper as vk
from tests.histories.history import Commit, Event, Opened, Operation, Read, Row, Write

Record = Callable[[Event], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """What a read asks for; `asked` are positions, for "at_least"."""

    name: str = ""
    asked: tuple[vk.Position, ...] = ()
    lag_ms: int = 0

    def consistency(self) -> Any:
        match self.name:
            case "":
                return None
            case "at_least":
                return vk.at_least(*self.asked)
            case "max_lag":
                return vk.max_lag(f"{self.lag_ms}ms")
            case _:
                return self.name


DEFAULT = Level()


def at_least(*positions: vk.Position) -> Level:
    return Level(name="at_least", asked=positions)


def offset(position: vk.Position) -> int:
    """The place in the one log that there is here."""
    (place,) = position.offsets
    return place


class Client:
    """Reads and writes through a handle, a session or a snapshot of it, and records each. Thread-safe as that is."""

    def __init__(
        self,
        db: vk.Database,
        record: Record,
        stream: str,
        *,
        through: Any = None,
        snapshot: str = "",
        timeout: float = 5.0,
    ) -> None:
        self.db = db
        self.record = record
        self.stream = stream
        self.timeout = timeout
        self._through: Any = db if through is None else through
        self._snapshot = snapshot

    def position(self) -> vk.Position:
        """Where a session is."""
        found: vk.Position = self._through.position
        return found

    def write(self, *operations: Operation) -> vk.Position:
        """One transaction, tried again until it commits; of a single put or delete without one."""
        started = time.monotonic_ns()
        position = self._write(operations)
        self.record(
            Write(
                stream=self.stream,
                operations=operations,
                position=offset(position),
                started=started,
                ended=time.monotonic_ns(),
            )
        )
        return position

    def _write(self, operations: Sequence[Operation]) -> vk.Position:
        if len(operations) == 1:
            ((table, key, row),) = operations
            position: vk.Position = self._through.delete(table, *key) if row is None else self._through.put(table, row)
            return position
        while True:
            try:
                with self._through.transaction() as tx:
                    for table, key, row in operations:
                        if row is None:
                            tx.delete(table, *key)
                        else:
                            tx.put(table, row)
            except vk.Conflict:
                continue
            found: vk.Position = tx.position
            return found

    def get(self, name: str, *key: Any, level: Level = DEFAULT, with_meta: bool = False) -> Row | None:
        def answer(options: dict[str, Any]) -> tuple[list[Row], vk.Position | None]:
            if with_meta:
                row, meta = self._through.get(name, *key, with_meta=True, **options)
                return ([] if row is None else [row]), meta.position
            row = self._through.get(name, *key, **options)
            return ([] if row is None else [row]), None

        found = self._read("get", name, level, answer, key=key)
        return found[0] if found else None

    def scan(self, name: str, *, level: Level = DEFAULT, **where: Any) -> list[Row]:
        """`where` as for db.scan, with bounds as tuples."""

        def answer(options: dict[str, Any]) -> tuple[list[Row], vk.Position | None]:
            rows = self._through.scan(name, **where, **options)
            return rows.all(), rows.meta.position

        return self._read("scan", name, level, answer, **where)

    def query(self, name: str, column: str, value: Any, *, level: Level = DEFAULT) -> list[Row]:
        """A SELECT of the rows with this value in the first column of the key."""

        def answer(options: dict[str, Any]) -> tuple[list[Row], vk.Position | None]:
            text = f"SELECT * FROM {name} WHERE {column} = :value"
            rows = self._through.query(text, value=value, allow_scan=True, **options)
            return rows.all(), rows.meta.position

        return self._read("query", name, level, answer, prefix=(value,))

    def _read(
        self,
        kind: str,
        name: str,
        level: Level,
        answer: Callable[[dict[str, Any]], tuple[list[Row], vk.Position | None]],
        **where: Any,
    ) -> list[Row]:
        options: dict[str, Any] = {} if self._snapshot else {"timeout": self.timeout}
        if level.name:
            options["consistency"] = level.consistency()
        before, clock, started = offset(self.db.head()), time.time_ns() // 1000, time.monotonic_ns()
        rows: list[Row] = []
        position: vk.Position | None = None
        error = detail = ""
        try:
            rows, position = answer(options)
        except vk.ViewkeeperError as failed:
            error, detail = failed.code, str(failed)
        ended = time.monotonic_ns()
        self.record(
            Read(
                stream=self.stream,
                kind=kind,
                name=name,
                started=started,
                ended=ended,
                before=before,
                after=offset(self.db.head()),
                level=level.name,
                asked=tuple(map(offset, level.asked)),
                lag_ms=level.lag_ms,
                clock=clock,
                snapshot=self._snapshot,
                rows=tuple(rows),
                position=None if position is None else offset(position),
                error=error,
                detail=detail,
                **where,
            )
        )
        return rows

    @contextmanager
    def snapshot(self) -> Iterator[Client]:
        """A client of a snapshot, made now."""
        with self._opened("snapshot", self.db.snapshot) as (name, inner):
            yield Client(self.db, self.record, self.stream, through=inner, snapshot=name)

    @contextmanager
    def session(self, position: vk.Position | None = None) -> Iterator[Client]:
        """A client of a session, which begins at a position if it is given one."""
        with self._opened("session", lambda: self.db.session(position), position) as (name, inner):
            yield Client(self.db, self.record, name, through=inner, timeout=self.timeout)

    @contextmanager
    def _opened(
        self, kind: str, make: Callable[[], Any], position: vk.Position | None = None
    ) -> Iterator[tuple[str, Any]]:
        before, started = offset(self.db.head()), time.monotonic_ns()
        name = f"{self.stream}/{kind}-{started}"
        with make() as inner:
            ended = time.monotonic_ns()
            begun = inner.position if kind == "snapshot" else position
            self.record(
                Opened(
                    kind=kind,
                    name=name,
                    stream=self.stream,
                    position=0 if begun is None else offset(begun),
                    before=before,
                    after=offset(self.db.head()),
                    started=started,
                    ended=ended,
                )
            )
            yield name, inner


def committed(db: vk.Database, tables: Sequence[str]) -> list[Commit]:
    """All transactions of the log with what they did to these tables; it must reach back to the beginning."""
    start = db.oldest()
    assert offset(start) == 0, "the beginning of the log is gone"
    changes = [(offset(one.position), name, one) for name in tables for one in db.changes(name, since=start)]
    changes.sort(key=lambda change: change[0])
    commits: list[Commit] = []
    place = start
    while blocks := db._shared.blocks(place):
        for block in blocks:
            first, last = (bisect_right(changes, at, key=lambda change: change[0]) for at in (block.start, block.end))
            mine = [(name, one.key, one.after) for _, name, one in changes[first:last]]
            commits.append(Commit(end=block.end, committed_at=block.committed_at, changes=tuple(mine)))
        place = db._shared.position(blocks[-1].end)
    return commits

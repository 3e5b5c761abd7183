"""A history: what clients of several processes and threads did and saw, and what the log says was committed.

Each event is a line of JSON, written at once and whole, so that a process that is killed leaves all that it had. Places
are offsets of the log, moments are nanoseconds of the clock that all processes of a machine share. A moment of an event
is taken outside of the call, so that one that ended before another began really came before it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

Cells = tuple[Any, ...]
Row = dict[str, Any]
Operation = tuple[str, Cells, Row | None]
"""Table, key, the row after; None if it was removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One transaction of the log, read when all is over: its end, when (µs since 1970), and its net changes."""

    end: int
    committed_at: int = 0
    changes: tuple[tuple[str, Cells, Row | None], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A transaction that was acknowledged; `stream` is the handle or session that wrote it."""

    stream: str
    operations: tuple[Operation, ...]
    position: int
    started: int
    ended: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A session (from a position on) or a snapshot (at a position) was opened through a handle."""

    kind: str
    name: str
    stream: str
    position: int
    before: int
    after: int
    started: int
    ended: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """One read: what was asked of which view or table, and what came back.

    `stream` is the handle or session; `snapshot` the snapshot that it belongs to, if any. `level` is "any", "at_least",
    "latest", "max_lag", or "" where nothing was asked. `before` and `after` are the head just before and just after,
    `clock` the microseconds since 1970 when it began. `position` is what the answer says of itself; `error` the code of
    what was raised instead, `detail` its words.
    """

    stream: str
    kind: str
    name: str
    started: int
    ended: int
    before: int
    after: int
    level: str = ""
    asked: tuple[int, ...] = ()
    lag_ms: int = 0
    clock: int = 0
    key: Cells | None = None
    prefix: Cells = ()
    lower: Cells | None = None
    upper: Cells | None = None
    limit: int | None = None
    reverse: bool = False
    snapshot: str = ""
    rows: tuple[Row, ...] = ()
    position: int | None = None
    error: str = ""
    detail: str = ""


Event = Commit | Write | Opened | Read
KINDS: Mapping[str, type[Any]] = {kind.__name__: kind for kind in (Commit, Write, Opened, Read)}


@dataclass(slots=True)
class History:
    """All events, by kind, in the order in which they began."""

    commits: list[Commit] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    opened: list[Opened] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)

    @classmethod
    def of(cls, events: Iterable[Event]) -> History:
        history = cls()
        for event in events:
            match event:
                case Commit():
                    history.commits.append(event)
                case Write():
                    history.writes.append(event)
                case Opened():
                    history.opened.append(event)
                case Read():
                    history.reads.append(event)
        history.commits.sort(key=lambda commit: commit.end)
        for began in (history.writes, history.opened, history.reads):
            began.sort(key=lambda event: event.started)
        return history


def to_line(event: Event) -> bytes:
    """
    >>> event = Commit(end=3, changes=(("T", (1,), {"id": 1}), ("T", (2,), None)))
    >>> from_line(to_line(event)) == event
    True
    """
    values = {part.name: getattr(event, part.name) for part in fields(event)}
    return json.dumps([type(event).__name__, values]).encode() + b"\n"


def from_line(line: bytes) -> Event:
    name, values = json.loads(line)
    event: Event = KINDS[name](**{name: _frozen(value) for name, value in values.items()})
    return event


def _frozen(value: Any) -> Any:
    """Lists of JSON as the tuples that they were; rows stay dicts."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


class Recorder:
    """Appends events to a file; many threads may share one. One write a line: whole lines are left, or none."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def __call__(self, event: Event) -> None:
        os.write(self._file, to_line(event))

    def close(self) -> None:
        os.close(self._file)


def read_events(paths: Sequence[Path]) -> list[Event]:
    """The events that processes have left, each in a file of its own."""
    return [from_line(line) for path in paths for line in path.read_bytes().splitlines(keepends=True)]

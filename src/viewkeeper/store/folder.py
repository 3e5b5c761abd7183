"""A database as a folder: its marker file, how it is made, and what is refused.

    viewkeeper.json   {"viewkeeper": format, "database": id, "durability": "sync" | "os"}, written last
    base/             LMDB: tables, log, catalog
    views/            LMDB: everything that maintenance writes
    create.lock       held while the folder is being made

A folder with only these names and no marker is one whose making was interrupted. Making it again is safe, and keeps
what base/ holds already, under the id that it has.
"""

from __future__ import annotations

import errno
import fcntl
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, cast

import msgspec

from viewkeeper.errors import DiskError, DurabilityMismatch, NewerFormat, NotADatabase, ReadOnly, StoreDamaged

FORMAT = 1
Durability = Literal["sync", "os"]
_MARKER = "viewkeeper.json"
_OURS = {"base", "views", "create.lock", _MARKER, _MARKER + ".new"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """An existing database folder."""

    path: Path
    database: str
    durability: Durability
    format: int

    @property
    def base(self) -> Path:
        return self.path / "base"

    @property
    def views(self) -> Path:
        return self.path / "views"


class _Marker(msgspec.Struct):
    viewkeeper: Annotated[int, msgspec.Meta(ge=1)]
    database: Annotated[str, msgspec.Meta(pattern="^[0-9a-z]{8,40}$")]
    durability: Durability


Fill = Callable[[Folder], str]
"""Fills base/ and views/ of a folder that is being made; the id of the database."""


def open_folder(path: str | os.PathLike[str], *, durability: str | None, read_only: bool, fill: Fill) -> Folder:
    """The database at `path`; made there if the place is free, unless `read_only`.

    NotADatabase, NewerFormat, DurabilityMismatch or ReadOnly; nothing is written when one is raised.
    """
    if durability not in (None, "sync", "os"):
        raise DurabilityMismatch(
            f"durability {durability!r} is unknown",
            detail='"sync" survives power loss; "os" survives kill -9, and may need a restore after power loss.',
            hint='Write durability="sync" or durability="os".',
        )
    place = Path(path).expanduser()
    marker = place / _MARKER
    try:
        if not marker.exists():
            _check_free(place, read_only)
            _make(place, cast(Durability, durability or "sync"), fill)
        return _read(place, durability)
    except PermissionError as error:
        raise ReadOnly(
            f'folder "{place}" is not writable',
            detail=f"{error.strerror}.",
            hint="Open an existing database with read_only=True, or change the rights of the folder.",
        ) from error
    except OSError as error:
        if error.errno == errno.EROFS:
            raise ReadOnly(
                f'folder "{place}" is on a read-only disk', hint="Open an existing database with read_only=True."
            ) from error
        if isinstance(error, NotADirectoryError):
            raise NotADatabase(
                f'"{place}" is below a file, not in a folder', hint="Name a folder, or a new path."
            ) from error
        raise DiskError(
            f'folder "{place}" cannot be used',
            detail=f"{error.strerror or error}.",
            hint="Check the path and its disk.",
        ) from error


def _check_free(place: Path, read_only: bool) -> None:
    if place.exists() and not place.is_dir():
        raise NotADatabase(f'"{place}" is a file, not a database folder', hint="Name a folder, or a new path.")
    strangers = sorted(entry.name for entry in place.iterdir() if entry.name not in _OURS) if place.exists() else []
    if strangers:
        shown = ", ".join(strangers[:3]) + (", …" if len(strangers) > 3 else "")
        raise NotADatabase(
            f'folder "{place}" is not a viewkeeper database',
            detail=f"It holds other things ({shown}) and no {_MARKER}.",
            hint="Name an empty or a new folder.",
        )
    if read_only:
        raise NotADatabase(
            f'there is no database at "{place}"', hint="Check the path; without read_only, open makes a new one."
        )


def _make(place: Path, durability: Durability, fill: Fill) -> None:
    """Make the folder; of several processes at once, one does and the others find it made."""
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "create.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (place / _MARKER).exists():
            return
        (place / "base").mkdir(exist_ok=True)
        (place / "views").mkdir(exist_ok=True)
        made = Folder(path=place.resolve(), database=uuid.uuid4().hex[:12], durability=durability, format=FORMAT)
        marker = {"viewkeeper": FORMAT, "database": fill(made), "durability": durability}
        staged = place / (_MARKER + ".new")
        with open(staged, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(marker)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        for folder in (place / "base", place / "views"):
            _sync_folder(folder)
        os.replace(staged, place / _MARKER)
        for folder in (place, place.parent):
            _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read(place: Path, durability: str | None) -> Folder:
    raw = (place / _MARKER).read_bytes()
    try:
        found = msgspec.json.decode(raw)
        number = found["viewkeeper"]
    except (msgspec.DecodeError, TypeError, KeyError):
        raise StoreDamaged(f'{_MARKER} in "{place}" is not readable', hint="Restore it from a backup.") from None
    if isinstance(number, int) and number > FORMAT:
        raise NewerFormat(
            f'database "{place}" has format {number}, this viewkeeper reads up to {FORMAT}',
            hint="Upgrade viewkeeper to open it.",
        )
    try:
        marker = msgspec.convert(found, _Marker)
    except msgspec.ValidationError as error:
        raise StoreDamaged(
            f'{_MARKER} in "{place}" is not readable', detail=f"{error}.", hint="Restore it from a backup."
        ) from None
    if durability is not None and durability != marker.durability:
        raise DurabilityMismatch(
            f'database "{place}" has durability "{marker.durability}", not "{durability}"',
            detail="Durability belongs to the database and is chosen when it is made.",
            hint="Open it without durability=…",
        )
    return Folder(
        path=place.resolve(), database=marker.database, durability=marker.durability, format=marker.viewkeeper
    )

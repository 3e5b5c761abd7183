"""One LMDB environment, and LMDB's errors as ours."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar, cast

import lmdb
import msgspec

from viewkeeper.errors import (
    Closed,
    DiskError,
    ForkedHandle,
    LocksLost,
    ReadOnly,
    StoreDamaged,
    StoreError,
    StoreFull,
    TooManyReaders,
)
from viewkeeper.store.pages import lost_pages

MAP_SIZE = 1 << 40
"""Address space reserved for each environment; the file grows only as far as it is filled."""
MAX_DATABASES = 1024
"""Named databases, hence tables or generations of views, at once."""
MAX_READERS = 2048
_READER = 64
"""Bytes that LMDB takes for each, in a table with a head of two."""
_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
SPARE_READERS = 16
"""Read transactions kept for reuse; without them each begin allocates and clears room for MAX_DATABASES handles."""

if TYPE_CHECKING:
    # Generic in the stubs only.
    Txn = lmdb.Transaction[bytes]
    Cursor = lmdb.Cursor[bytes]
else:
    Txn = lmdb.Transaction
    Cursor = lmdb.Cursor
Database = lmdb._Database
P = ParamSpec("P")
R = TypeVar("R")


def _file_keys_by_process() -> None:
    """Let a forked child open what its parent has open: LMDB's locks belong to a process, py-lmdb's guard does not."""
    from lmdb import _envid

    file_keys = _envid.env_keys

    def env_keys(path: str, subdir: bool) -> tuple[object, ...]:
        return tuple((os.getpid(), key) for key in file_keys(path, subdir))  # type: ignore[no-untyped-call]

    _envid.env_keys = env_keys


_file_keys_by_process()


class Environment:
    """One LMDB environment: begin transactions, open named databases."""

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool,
        sync: bool,
        metasync: bool,
        map_size: int,
        short_writes: bool,
        make: bool = False,
    ) -> None:
        if not make:
            _check_whole(path / "data.mdb")
        if not read_only:
            _reserve_readers(path / "lock.mdb")
        self.path = path
        self.read_only = read_only
        # Spare read transactions save a µs a read. Handles can then only be opened by a write transaction, which is
        # no wait worth mentioning where writes are short.
        self._writable = not read_only
        with translated():
            self._lmdb = lmdb.Environment(
                str(path),
                map_size=map_size,
                max_dbs=MAX_DATABASES,
                max_readers=MAX_READERS,
                max_spare_txns=SPARE_READERS if short_writes and not read_only else 0,
                sync=sync,
                metasync=metasync,
                readonly=read_only,
                # Reads are by key far more often than whole-table; read-ahead would evict what is warm.
                readahead=False,
                # Zeroed pages only keep freed memory off the disk; skipping it saves a pass over every new page.
                meminit=False,
            )
            self._lmdb.reader_check()
        self.begin = self._lmdb.begin
        self._names: dict[bytes, Database] = {}

    def database(self, name: bytes, txn: Txn | None = None) -> Database:
        """The named database; made if absent, given a write transaction.

        A transaction can use only handles that were opened before it began, and LMDB allows one transaction at a time
        to open them: callers hold the store's naming lock, and commit `txn` before they let go.
        """
        found = self._names.get(name)
        if found is None:
            if txn is not None:
                found = self._lmdb.open_db(name, txn=txn, create=True)
            elif self._writable:
                # A handle lives on only if the transaction that opened it commits, which a read transaction of ours
                # does not. And the one that py-lmdb would begin by itself waits for the write lock without letting
                # other threads run, also the one that has it.
                with self.begin(write=True) as opener:
                    found = self._lmdb.open_db(name, txn=opener, create=False)
            else:
                # py-lmdb ends a read transaction of ours by aborting it; the one that it begins itself commits.
                found = self._lmdb.open_db(name, create=False)
            # A new mapping each time: whoever has the one before knows that its handles are older than what it begins.
            self._names = {**self._names, name: found}
        return found

    @property
    def handles(self) -> Mapping[bytes, Database]:
        """The handles that this process has open, by name; never changed, only replaced."""
        return self._names

    def opened(self, name: bytes) -> Database | None:
        """The handle of a named database that this process has open already."""
        return self._names.get(name)

    def forget(self, name: bytes) -> None:
        """Drop a handle that an aborted transaction made, or whose database is gone."""
        self._names = {known: handle for known, handle in self._names.items() if known != name}

    def sync(self) -> None:
        with translated():
            self._lmdb.sync(True)

    def check_readers(self) -> int:
        """Free the slots of readers that died; how many there were."""
        return self._lmdb.reader_check()

    def size(self) -> int:
        """Bytes of the data file that are in use."""
        return int(self._lmdb.info()["last_pgno"] + 1) * int(self._lmdb.stat()["psize"])

    def reader_count(self) -> int:
        # One line a reader, "pid thread transaction"; a reader kept for reuse has "-" for its transaction.
        lines = self._lmdb.readers().splitlines()
        return sum(line.split()[-1].isdigit() for line in lines if line.strip())

    def close(self) -> None:
        opened = self._lmdb
        self._refuse(_closed)
        opened.close()

    def abandon(self) -> None:
        """In a forked child, which may not even close it: never touch it again."""
        _inherited.append(self._lmdb)
        self._refuse(_forked)

    def _refuse(self, refusal: Callable[..., NoReturn]) -> None:
        self.begin = refusal
        self._lmdb = cast(Any, _Unusable(refusal))


def _check_whole(file: Path) -> None:
    """StoreDamaged if a data file is gone or cut off: LMDB would begin a new one, or crash when it comes to the cut."""
    if not file.exists() or file.stat().st_size == 0:
        raise StoreDamaged(f'"{file}" is missing or empty', hint="Restore the folder from a backup.")
    lost = lost_pages(file)
    if lost:
        raise StoreDamaged(
            f'"{file}" is cut off', detail=f"It lacks {lost:,} pages.", hint="Restore the folder from a backup."
        )


def _reserve_readers(file: Path) -> None:
    """Give the table of readers its room on the disk now; on a full disk a reader in a new page of it is a bus error.

    Before LMDB opens the file, not later: its locks would go with the first handle that this process closes.
    """
    size = (MAX_READERS + 2) * _READER
    if hasattr(os, "posix_fallocate"):
        try:
            handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                os.posix_fallocate(handle, 0, size)
            finally:
                os.close(handle)
        except OSError as error:
            raise explain(lmdb.Error(f"{file}: {error.strerror}")) from error


_inherited: list[object] = []
"""Kept to the end of the process: freed, they would give up reader slots that are the parent's."""


class _Unusable:
    """Stands in for an environment that may not be used any more."""

    __slots__ = ("_refusal",)

    def __init__(self, refusal: Callable[..., NoReturn]) -> None:
        self._refusal = refusal

    def __getattr__(self, name: str) -> NoReturn:
        self._refusal()


def _closed(*_: Any, **__: Any) -> NoReturn:
    raise Closed("the database is closed", hint="Open it again with vk.open(path).")


def _forked(*_: Any, **__: Any) -> NoReturn:
    raise ForkedHandle(
        "the database was opened before this process was forked",
        detail="LMDB keeps locks per process, and using them from a child would damage the store.",
        hint="Call vk.open(path) in the child.",
    )


@contextmanager
def translated(folder: Path | None = None) -> Iterator[None]:
    """LMDB's errors as ours."""
    try:
        yield
    except lmdb.Error as error:
        raise explain(error, folder) from error


def explained(method: Callable[P, R]) -> Callable[P, R]:
    """A method with LMDB's errors as ours, and with StoreDamaged for bytes that nobody can have written."""

    @wraps(method)
    def wrapper(*arguments: P.args, **options: P.kwargs) -> R:
        try:
            return method(*arguments, **options)
        except lmdb.Error as error:
            raise explain(error) from error
        except (msgspec.DecodeError, UnicodeDecodeError, struct.error) as error:
            raise damaged(error) from error

    return wrapper


def damaged(error: Exception) -> StoreDamaged:
    return StoreDamaged("the store is damaged", detail=f"{error}.", hint="Restore the folder from a backup.")


def explain(error: lmdb.Error, folder: Path | None = None) -> StoreError:
    """What an LMDB error means for the user. `folder`: where the environment is, if it was being written."""
    match error:
        case lmdb.MapFullError():
            return StoreFull("the store has used up its address space", hint="Drop tables or views, or split the data.")
        case lmdb.DbsFullError():
            return StoreFull(
                f"there is no room for more than {MAX_DATABASES} tables and views",
                hint="Drop some that are not needed.",
            )
        case lmdb.ReadersFullError():
            return TooManyReaders(
                f"more than {MAX_READERS} reads are open at once", hint="Close iterators and snapshots that are done."
            )
        case lmdb.BadRslotError():
            return LocksLost(
                "this process has lost its locks on the store",
                detail="Something in it has opened and closed lock.mdb, as who copies the folder does, and the system "
                "then drops all locks of a process on a file.",
                hint="Close every handle of this process and open the database again; copy folders from another one.",
            )
        case lmdb.CorruptedError() | lmdb.PageNotFoundError() | lmdb.InvalidError():
            return damaged(error)
        case lmdb.VersionMismatchError():
            return StoreDamaged(
                "the store was written by an incompatible LMDB",
                detail=f"{error}.",
                hint="Restore the folder from a backup.",
            )
        case lmdb.PanicError():
            return DiskError(
                "the disk failed in the middle of a commit",
                detail="The store stands as before it.",
                hint="Close every handle of this process and open the database again.",
            )
    if _says(error, *_FULL) or (folder is not None and _says(error, errno.EIO) and _is_full(folder)):
        return StoreFull(
            "the disk is full", detail="Nothing of this write was kept.", hint="Free space and run it again."
        )
    if _says(error, errno.EROFS):
        return ReadOnly("the store is on a read-only disk", detail=f"{error}.", hint="Open it with read_only=True.")
    if _says(error, errno.EACCES, errno.EPERM):
        return ReadOnly(
            "the store's files may not be written",
            detail=f"{error}. Readers write, too: they enter themselves in lock.mdb.",
            hint="Change the rights of the folder and all that is in it.",
        )
    if "closed/deleted/dropped" in str(error):
        # Another thread closed the last handle while this one was using it.
        return Closed("the database is closed", hint="Open it again with vk.open(path).")
    return DiskError("the store cannot be used", detail=f"{error}.", hint="Check the disk and its rights.")


def _is_full(folder: Path) -> bool:
    """Whether the disk, or a limit on the size of files, keeps a data file from growing.

    LMDB calls a page that could only be written in part an I/O error.
    """
    probe = folder / "data.probe"
    try:
        with open(probe, "wb", buffering=0) as file:
            file.seek((folder / "data.mdb").stat().st_size)
            for _ in range(2):
                file.write(bytes(1 << 16))
    except OSError as error:
        return error.errno in _FULL
    finally:
        probe.unlink(missing_ok=True)
    return False


def _says(error: lmdb.Error, *numbers: int) -> bool:
    """Whether an error is one of the system's; py-lmdb keeps the text of the number and not the number."""
    return any(os.strerror(number) in str(error) for number in numbers)

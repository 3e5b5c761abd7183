"""Rows that cannot be loaded: why, where, and what becomes of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from viewkeeper.errors import BadRow, BadText, DataError, DiskError, MissingColumn, OutOfRange, UnknownColumn
from viewkeeper.model.types import Type

Failure = type[BadRow] | type[BadText] | type[MissingColumn] | type[UnknownColumn]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Why a row cannot be loaded; `column` is None if the row as a whole is at fault."""

    reason: str
    column: str | None = None
    detail: str = ""
    hint: str = ""
    failure: Failure = BadRow


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A row that was left out. `line_no` counts from 1: lines of a text file, else rows."""

    file: str
    line_no: int
    place: str
    column: str | None
    reason: str
    raw_text: str


OnBad = Callable[[BadLine], object]


def refusal(place: str, fault: Fault) -> DataError | UnknownColumn:
    """The error for a row that is at fault when bad rows are not skipped."""
    where = place if fault.column is None else f'{place}, column "{fault.column}"'
    skip = "Correct it, or leave bad rows out: --skip-bad FILE, in Python skip_bad=FILE."
    hint = f"{fault.hint} {skip}" if fault.hint else skip
    return fault.failure(f"{where}: {fault.reason}", detail=fault.detail, hint=hint)


def misfit(value: Any, type: Type, column: str, error: DataError | None = None) -> Fault:
    """The fault of a value that is none of its column's type; `error` is what `model.values` said."""
    if isinstance(error, BadText):
        return not_text(column, error.detail)
    verb = "does not fit" if isinstance(error, OutOfRange) else "is not"
    detail = error.detail if error is not None else ""
    return Fault(reason=f"{short(value)} {verb} {type}", column=column, detail=detail)


def not_text(column: str | None, detail: str) -> Fault:
    return Fault(
        reason="the text is not valid UTF-8",
        column=column,
        detail=detail,
        hint="Convert it to UTF-8, or make the column BINARY.",
        failure=BadText,
    )


def short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001  a repr is foreign code, and the message must come out
        text = f"<{value.__class__.__name__}>"
    return text if len(text) <= 60 else text[:57] + "..."


class BadRowWriter:
    """Writes each bad row as a JSON line: file, line, column, reason, raw.

    The file is made when the first bad row comes, so that none is left behind by a clean load; one that is there is
    replaced then. Call it, or pass it as `on_bad`; `count` says how many it wrote.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.count = 0
        self._file: IO[str] | None = None

    def __call__(self, line: BadLine) -> None:
        record = {
            "file": line.file or None,
            "line": line.line_no,
            "column": line.column,
            "reason": line.reason,
            "raw": line.raw_text,
        }
        try:
            if self._file is None:
                self._file = self.path.open("w", encoding="utf-8", errors="backslashreplace")
            self._file.write(json.dumps(record, ensure_ascii=False) + "\n")
        except OSError as error:
            raise DiskError(f'cannot write bad rows to "{self.path}": {error.strerror}') from error
        self.count += 1

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

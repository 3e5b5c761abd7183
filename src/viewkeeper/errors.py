"""Every error that viewkeeper raises on purpose.

    ViewkeeperError
    ├── DefinitionError      a name or a definition does not fit the catalog
    │   ├── UnknownTable
    │   │   └── TableDropped
    │   ├── UnknownColumn, TableExists, BadDefinition, ViewsDepend
    ├── DataError            a value or a row does not fit its table
    │   ├── WrongType, OutOfRange, NullKey, BadText, KeyTooLong, RowTooLarge, MissingColumn
    │   ├── KeyExists, CardinalityExceeded, BadRow
    ├── SqlError             a text does not say what can be done
    │   ├── Unsupported
    │   │   └── Unbounded
    │   ├── SqlSyntax, BadParameter, TooManyRows
    ├── TransactionError
    │   ├── Conflict, TransactionOver
    ├── ReadError
    │   ├── RowsConsumed, ViewNotReady, ViewBehind, NotUnique
    ├── MaintenanceError
    │   ├── Outrun, SparkMissing, BatchFailed
    ├── PositionError
    │   ├── BadPosition, ForeignPosition, FuturePosition, NotRetained
    └── StoreError           the folder, the disk or the handle
        ├── NotADatabase, NewerFormat, DurabilityMismatch, ReadOnly, StoreFull, StoreDamaged
        └── ForkedHandle, Closed, DiskError, TooManyReaders, LocksLost

`str(error)` is the primary line, then `detail:` and `hint:` where there is something to say. `error.code` is stable:
programs match on it or on the class, never on the text.
"""

from __future__ import annotations

from typing import ClassVar


class ViewkeeperError(Exception):
    """The root. `code` is stable, `detail` says why, `hint` says what to do."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, detail: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.message]
        if self.detail:
            lines.append(f"  detail: {self.detail}")
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class DefinitionError(ViewkeeperError):
    code = "definition"


class UnknownTable(DefinitionError):
    code = "definition.unknown_table"


class TableDropped(UnknownTable):
    """A table that was there when an operation began, and is gone, or another, at its end."""

    code = "definition.unknown_table.dropped"


class UnknownColumn(DefinitionError):
    code = "definition.unknown_column"


class TableExists(DefinitionError):
    code = "definition.table_exists"


class ViewsDepend(DefinitionError):
    """Something cannot be dropped or changed, because views read it."""

    code = "definition.views_depend"


class BadDefinition(DefinitionError):
    code = "definition.bad"


class DataError(ViewkeeperError):
    code = "data"


class WrongType(DataError):
    code = "data.wrong_type"


class OutOfRange(DataError):
    code = "data.out_of_range"


class NullKey(DataError):
    code = "data.null_key"


class BadText(DataError):
    code = "data.bad_text"


class KeyTooLong(DataError):
    code = "data.key_too_long"


class RowTooLarge(DataError):
    code = "data.row_too_large"


class MissingColumn(DataError):
    code = "data.missing_column"


class KeyExists(DataError):
    code = "data.key_exists"


class CardinalityExceeded(DataError):
    code = "data.cardinality_exceeded"


class BadRow(DataError):
    """A row of a file that cannot be loaded; the message names file, line and column."""

    code = "data.bad_row"


class SqlError(ViewkeeperError):
    code = "sql"


class SqlSyntax(SqlError):
    code = "sql.syntax"


class Unsupported(SqlError):
    code = "sql.unsupported"


class Unbounded(Unsupported):
    """A query or view whose work grows with the data. `verdict` is what the analysis says of it."""

    code = "sql.unsupported.unbounded"
    verdict: object = None


class BadParameter(SqlError):
    code = "sql.bad_parameter"


class TooManyRows(SqlError):
    code = "sql.too_many_rows"


class TransactionError(ViewkeeperError):
    code = "transaction"


class Conflict(TransactionError):
    """What the transaction read has changed since; nothing was written, run it again."""

    code = "transaction.conflict"


class TransactionOver(TransactionError):
    code = "transaction.over"


class ReadError(ViewkeeperError):
    code = "read"


class RowsConsumed(ReadError):
    """Rows come once; the second time there would be nothing to give."""

    code = "read.rows_consumed"


class ViewNotReady(ReadError):
    """A view that is still being filled for the first time."""

    code = "read.view_not_ready"


class ViewBehind(ReadError):
    """A view that did not come as far as a read asked for in the time that it gave."""

    code = "read.view_behind"


class NotUnique(ReadError):
    """A row of a view was asked for by key, and no visible columns tell its rows apart."""

    code = "read.not_unique"


class MaintenanceError(ViewkeeperError):
    code = "maintenance"


class Outrun(MaintenanceError):
    """A batch that another maintainer, or a change of its group, has made void; nothing of it was applied."""

    code = "maintenance.outrun"


class SparkMissing(MaintenanceError):
    """Spark is needed and cannot be started."""

    code = "maintenance.spark_missing"


class BatchFailed(MaintenanceError):
    """A batch that Spark could not compute."""

    code = "maintenance.batch_failed"


class PositionError(ViewkeeperError):
    code = "position"


class BadPosition(PositionError):
    code = "position.bad"


class ForeignPosition(PositionError):
    code = "position.foreign"


class FuturePosition(PositionError):
    code = "position.future"


class NotRetained(PositionError):
    code = "position.not_retained"


class StoreError(ViewkeeperError):
    code = "store"


class NotADatabase(StoreError):
    code = "store.not_a_database"


class NewerFormat(StoreError):
    code = "store.newer_format"


class DurabilityMismatch(StoreError):
    code = "store.durability_mismatch"


class ReadOnly(StoreError):
    code = "store.read_only"


class StoreFull(StoreError):
    code = "store.full"


class StoreDamaged(StoreError):
    code = "store.damaged"


class ForkedHandle(StoreError):
    code = "store.forked_handle"


class Closed(StoreError):
    code = "store.closed"


class DiskError(StoreError):
    code = "store.disk"


class TooManyReaders(StoreError):
    code = "store.too_many_readers"


class LocksLost(StoreError):
    """Other processes have taken this one for dead, since something in it gave its locks up."""

    code = "store.locks_lost"

"""What a base table is made of: columns, primary key, partitions, cardinality limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from viewkeeper.errors import BadDefinition, UnknownColumn
from viewkeeper.model.types import Kind, Type

MAX_COLUMNS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column; its id is its place in `Table.columns` and never changes.

    `temporal` marks a column whose values grow with time, so that an index led by it would be written at one end.
    """

    name: str
    type: Type
    nullable: bool = True
    temporal: bool = False

    def __str__(self) -> str:
        words = [self.name, str(self.type)]
        if self.temporal:
            words.append("TEMPORAL")
        if not self.nullable:
            words.append("NOT NULL")
        return " ".join(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cardinality:
    """At most `limit` combinations of `columns` for any value of the other key columns.

    With `words`, at most so many different words in a text of the one column, which need not be of the key.
    """

    columns: tuple[str, ...]
    limit: int
    words: bool = False

    def __str__(self) -> str:
        counted = ", ".join(self.columns)
        return f"CARDINALITY ({f'TOKENS({counted})' if self.words else counted}, {self.limit})"


class PartitionKind(StrEnum):
    HASH = "HASH"
    RANGE = "RANGE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioning:
    """How the keys fall into `count` partitions.

    HASH: by a stable hash of `columns`, a subset of the primary key. RANGE: by `bounds`, the encoded keys at which
    partitions 1, 2, … begin, over a prefix of the primary key; until bounds are known every key is in partition 0.
    """

    kind: PartitionKind
    columns: tuple[str, ...]
    count: int
    bounds: tuple[bytes, ...] = ()

    def __str__(self) -> str:
        return f"PARTITIONED BY {self.kind} ({', '.join(self.columns)}) INTO {self.count}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A base table. Refuses to be built invalid.

    `id` is given by the catalog and never reused; 0 means not yet created.
    """

    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    partitioning: Partitioning | None = None
    cardinalities: tuple[Cardinality, ...] = ()
    id: int = 0

    def __post_init__(self) -> None:
        _check_columns(self)
        _check_key(self)
        for limit in self.cardinalities:
            _check_cardinality(self, limit)
        if self.partitioning is not None:
            _check_partitioning(self, self.partitioning)

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def key_ids(self) -> tuple[int, ...]:
        """The column ids of the primary key, in key order."""
        return tuple(self.column_id(name) for name in self.primary_key)

    @property
    def descending(self) -> tuple[bool, ...]:
        """The direction of each key column: always ascending."""
        return (False,) * len(self.primary_key)

    @property
    def has_null_keys(self) -> bool:
        return False

    @property
    def visible(self) -> int:
        """How many of its columns users see: all."""
        return len(self.columns)

    def column_id(self, name: str) -> int:
        """The id of a column by exact name, else by name without case; UnknownColumn if there is none."""
        lowered = name.lower()
        for number, column in enumerate(self.columns):
            if column.name == name or column.name.lower() == lowered:
                return number
        raise UnknownColumn(
            f'column "{name}" is not in table "{self.name}"',
            detail=f"Its columns are {', '.join(self.column_names)}.",
        )

    def column(self, name: str) -> Column:
        return self.columns[self.column_id(name)]

    def with_column(self, column: Column) -> Table:
        """The table after ADD COLUMN: same ids for the old columns, the next id for the new one."""
        if not column.nullable:
            raise BadDefinition(
                f'column "{column.name}" cannot be added NOT NULL',
                detail="Rows that are there already have NULL in it.",
                hint="Add it without NOT NULL.",
            )
        return replace(self, columns=(*self.columns, column))

    def __str__(self) -> str:
        """The CREATE TABLE statement."""
        parts = [str(column) for column in self.columns]
        parts.append(f"PRIMARY KEY ({', '.join(self.primary_key)})")
        text = f"CREATE TABLE {self.name} (\n  " + ",\n  ".join(parts) + "\n)"
        if self.partitioning is not None:
            text += f" {self.partitioning}"
        if self.cardinalities:
            text += " WITH " + ", ".join(map(str, self.cardinalities))
        return text


def _check_columns(table: Table) -> None:
    if not table.columns:
        raise BadDefinition(f'table "{table.name}" has no columns')
    if len(table.columns) > MAX_COLUMNS:
        raise BadDefinition(f'table "{table.name}" has {len(table.columns)} columns, more than {MAX_COLUMNS}')
    seen: set[str] = set()
    for column in table.columns:
        lowered = column.name.lower()
        if lowered in seen:
            raise BadDefinition(
                f'column "{column.name}" appears twice in table "{table.name}"',
                detail="Column names are compared without case.",
            )
        seen.add(lowered)
        if column.temporal and column.type.kind not in (Kind.TIMESTAMP, Kind.DATE, Kind.BIGINT, Kind.INT):
            raise BadDefinition(
                f'column "{column.name}" of type {column.type} cannot be TEMPORAL',
                hint="TEMPORAL columns are TIMESTAMP, DATE, BIGINT or INT.",
            )


def _check_key(table: Table) -> None:
    if not table.primary_key:
        raise BadDefinition(
            f'table "{table.name}" has no primary key',
            hint="Write PRIMARY KEY behind a column, or PRIMARY KEY (col, …) at the end.",
        )
    ids = [table.column_id(name) for name in table.primary_key]
    if len(set(ids)) < len(ids):
        raise BadDefinition(f'a column appears twice in the primary key of table "{table.name}"')


def _check_key_columns(table: Table, columns: tuple[str, ...], what: str) -> None:
    keys = set(table.key_ids)
    for name in columns:
        if table.column_id(name) not in keys:
            raise BadDefinition(
                f'{what} names column "{name}", which is not in the primary key of table "{table.name}"',
                detail=f"The primary key is ({', '.join(table.primary_key)}).",
            )
    if len({table.column_id(name) for name in columns}) < len(columns) or not columns:
        raise BadDefinition(f'{what} of table "{table.name}" needs different columns')


def _check_cardinality(table: Table, limit: Cardinality) -> None:
    if limit.words:
        _check_text(table, limit)
    else:
        _check_key_columns(table, limit.columns, "CARDINALITY")
    if limit.limit < 1:
        raise BadDefinition(f'CARDINALITY of table "{table.name}" is {limit.limit}, which is below 1')


def _check_text(table: Table, limit: Cardinality) -> None:
    (name,) = limit.columns
    column = table.column(name)
    if column.type.kind is not Kind.STRING:
        raise BadDefinition(
            f'CARDINALITY counts the words of column "{column.name}" of table "{table.name}", which is {column.type}',
            hint="Only a STRING has words.",
        )


def _check_partitioning(table: Table, partitioning: Partitioning) -> None:
    _check_key_columns(table, partitioning.columns, "PARTITIONED BY")
    if not 1 <= partitioning.count <= 4096:
        raise BadDefinition(f'table "{table.name}" is cut INTO {partitioning.count}, which is outside 1 to 4096')
    if partitioning.kind is PartitionKind.RANGE:
        prefix = table.key_ids[: len(partitioning.columns)]
        if tuple(table.column_id(name) for name in partitioning.columns) != prefix:
            raise BadDefinition(
                f'PARTITIONED BY RANGE of table "{table.name}" needs the first columns of the primary key',
                detail=f"The primary key is ({', '.join(table.primary_key)}).",
            )
        if len(partitioning.bounds) not in (0, partitioning.count - 1):
            raise BadDefinition(
                f'table "{table.name}" is cut INTO {partitioning.count} by {len(partitioning.bounds)} bounds',
                detail="n partitions need n - 1 bounds.",
            )
        if list(partitioning.bounds) != sorted(set(partitioning.bounds)):
            raise BadDefinition(f'the range bounds of table "{table.name}" do not grow')

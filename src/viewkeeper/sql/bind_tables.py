"""CREATE TABLE, ALTER TABLE … ADD COLUMN, DROP TABLE."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from viewkeeper.errors import BadDefinition
from viewkeeper.model.keycodec import KeyCodec
from viewkeeper.model.schema import Cardinality, Column, Partitioning, PartitionKind, Table
from viewkeeper.sql.constants import constant, is_value
from viewkeeper.sql.constructs import bare, construct
from viewkeeper.sql.parse import Parsed
from viewkeeper.sql.scope import Scope
from viewkeeper.sql.statements import AddColumn, CreateTable
from viewkeeper.sql.tree import AddColumnTree, ColumnTree, CreateTableTree, Name, PartitionTree


def bind_create(parsed: Parsed, tree: CreateTableTree) -> CreateTable:
    """The table; key columns are NOT NULL. BadDefinition or UnknownColumn if its parts do not fit."""
    columns = tuple(_column(column) for column in tree.columns)
    declared = {column.name.lower(): column.name for column in columns}
    key = _key(tree)
    table = Table(
        name=tree.name.text,
        columns=columns,
        primary_key=_as_declared(key, declared),
        cardinalities=tuple(
            Cardinality(columns=_as_declared(limit.columns, declared), limit=limit.limit, words=limit.words)
            for limit in tree.cardinalities
        ),
        partitioning=_partitioning(tree.partitioning, declared),
    )
    keys = set(table.key_ids)
    strict = tuple(
        replace(column, nullable=False) if number in keys else column for number, column in enumerate(columns)
    )
    table = replace(table, columns=strict)
    if tree.partitioning is not None and tree.partitioning.splits:
        table = _split(table, tree.partitioning, parsed)
    return CreateTable(table=table, if_not_exists=tree.if_not_exists)


def bind_add_column(tree: AddColumnTree, table: Table) -> AddColumn:
    """The new column; BadDefinition if the table cannot have it."""
    column = _column(tree.column)
    if tree.column.primary_key:
        raise BadDefinition(
            f'column "{column.name}" cannot be added to the primary key of table "{table.name}"',
            detail="Rows that are there already would have no value in it.",
            hint="Create a new table and copy the rows.",
        )
    table.with_column(column)
    return AddColumn(table=table.name, column=column)


def _column(tree: ColumnTree) -> Column:
    return Column(name=tree.name.text, type=tree.type, nullable=not tree.not_null, temporal=tree.temporal)


def _key(tree: CreateTableTree) -> tuple[Name, ...]:
    keys = [*tree.keys, *((column.name,) for column in tree.columns if column.primary_key)]
    if len(keys) > 1:
        raise BadDefinition(
            f'table "{tree.name.text}" has {len(keys)} primary keys',
            hint="Write PRIMARY KEY behind one column, or PRIMARY KEY (col, …) once at the end.",
        )
    return keys[0] if keys else ()


def _as_declared(names: Iterable[Name], declared: dict[str, str]) -> tuple[str, ...]:
    """Column names in the case in which the columns were declared; unknown ones as they are, for Table to refuse."""
    return tuple(declared.get(name.text.lower(), name.text) for name in names)


def _partitioning(tree: PartitionTree | None, declared: dict[str, str]) -> Partitioning | None:
    if tree is None:
        return None
    return Partitioning(kind=tree.kind, columns=_as_declared(tree.columns, declared), count=tree.count)


def _split(table: Table, tree: PartitionTree, parsed: Parsed) -> Table:
    """The table with its partitions cut at the values of SPLIT AT."""
    partitioning = table.partitioning
    assert partitioning is not None
    if partitioning.kind is not PartitionKind.RANGE:
        raise BadDefinition(
            f'SPLIT AT of table "{table.name}" is for PARTITIONED BY RANGE',
            detail="HASH spreads the keys by itself.",
            hint="Leave out SPLIT AT, or write RANGE.",
        )
    scope = Scope(parsed=parsed, table=table, qualifier=table.name)
    columns = [table.column(name) for name in partitioning.columns]
    codec = KeyCodec(table.key_ids, [table.columns[number].type for number in table.key_ids])
    bounds = []
    for split in tree.splits:
        if len(split) > len(columns):
            raise BadDefinition(
                f'SPLIT AT of table "{table.name}" has {len(split)} values in one bound, '
                f"more than the {len(columns)} of RANGE ({', '.join(partitioning.columns)})"
            )
        for value in map(bare, split):
            if isinstance(value, exp.Placeholder) or not is_value(value):
                raise scope.refuse(
                    value,
                    f"{construct(value)} in SPLIT AT",
                    detail="The bounds of partitions are part of the table's definition.",
                    hint="Write the value itself.",
                )
        cells = [constant(value, column, scope) for value, column in zip(split, columns, strict=False)]
        if None in cells:
            raise BadDefinition(f'SPLIT AT of table "{table.name}" has a NULL', detail="Keys are never NULL.")
        bounds.append(codec.encode_key(cells))
    if len(bounds) != partitioning.count - 1:
        raise BadDefinition(
            f'table "{table.name}" is cut INTO {partitioning.count} by {len(bounds)} values of SPLIT AT',
            detail="n partitions need n - 1 values.",
        )
    return replace(table, partitioning=replace(partitioning, bounds=tuple(bounds)))

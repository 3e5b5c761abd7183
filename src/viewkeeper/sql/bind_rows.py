"""INSERT, UPDATE and DELETE."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import assert_never

from viewkeeper.errors import MissingColumn, NullKey, WrongType
from viewkeeper.model.schema import Table
from viewkeeper.model.types import Cell
from viewkeeper.sql.constants import compile_value, is_value
from viewkeeper.sql.constructs import bare, construct
from viewkeeper.sql.key_tests import Operand
from viewkeeper.sql.keys import compile_where
from viewkeeper.sql.params import Values
from viewkeeper.sql.parse import Parsed
from viewkeeper.sql.place import syntax_error, unsupported
from viewkeeper.sql.scope import Scope
from viewkeeper.sql.statements import Delete, Insert, Update
from viewkeeper.sql.tree import DeleteTree, InsertTree, Name, UpdateTree


def compile_write(
    parsed: Parsed, tree: InsertTree | UpdateTree | DeleteTree, table: Table
) -> Callable[[Values], Insert | Update | Delete]:
    """What fills the parameters of a write into its statement."""
    scope = Scope(parsed=parsed, table=table, qualifier=tree.table.text)
    match tree:
        case InsertTree():
            return _insert(tree, scope, table)
        case UpdateTree():
            return _update(tree, scope, table)
        case DeleteTree():
            condition = compile_where(tree.where, scope)
            return lambda values: Delete(table=table.name, where=condition.ranges(values))
    assert_never(tree)


def _insert(tree: InsertTree, scope: Scope, table: Table) -> Callable[[Values], Insert]:
    numbers = list(range(len(table.columns))) if tree.columns is None else _distinct(tree.columns, scope)
    for number, column in enumerate(table.columns):
        if not column.nullable and number not in numbers:
            raise _not_given(number, table)
    rows: list[list[tuple[int, Operand]]] = []
    for row in tree.rows:
        if len(row.values) != len(numbers):
            expected = f"{len(numbers)} value{'s' * (len(numbers) != 1)}"
            raise syntax_error(
                scope.parsed.source,
                row.start,
                f"expected {expected}, found {len(row.values)}",
                hint=f"The columns are {', '.join(table.columns[number].name for number in numbers)}.",
            )
        rows.append(
            [
                (number, compile_value(value, table.columns[number], scope))
                for number, value in zip(numbers, row.values, strict=True)
            ]
        )
    required = [number for number in numbers if not table.columns[number].nullable]

    def fill(values: Values) -> Insert:
        return Insert(table=table.name, rows=tuple(_cells(row, required, values, table) for row in rows))

    return fill


def _update(tree: UpdateTree, scope: Scope, table: Table) -> Callable[[Values], Update]:
    numbers = _distinct([name for name, _ in tree.assignments], scope)
    operands: list[tuple[int, Operand]] = []
    for number, (name, value) in zip(numbers, tree.assignments, strict=True):
        column = table.columns[number]
        if number in table.key_ids:
            raise unsupported(
                scope.parsed.source,
                name.start,
                f'SET of key column "{column.name}"',
                detail=f'The key of table "{table.name}" is {scope.key}; a row with another key is another row.',
                hint="DELETE the row and INSERT it with its new key, in one transaction.",
            )
        if not is_value(value):
            raise scope.refuse(
                value,
                f'{construct(bare(value))} in SET of column "{column.name}"',
                detail="SET takes a constant or a parameter.",
                hint="Read the row, compute the value and write it, in one db.transaction().",
            )
        operands.append((number, compile_value(value, column, scope)))
    required = [number for number in numbers if not table.columns[number].nullable]
    condition = compile_where(tree.where, scope)

    def fill(values: Values) -> Update:
        where = condition.ranges(values)
        return Update(table=table.name, where=where, cells=_cells(operands, required, values, table))

    return fill


def _distinct(names: Iterable[Name], scope: Scope) -> list[int]:
    numbers: list[int] = []
    for name in names:
        number = scope.table.column_id(name.text)
        if number in numbers:
            raise syntax_error(scope.parsed.source, name.start, f'column "{name.text}" is given twice')
        numbers.append(number)
    return numbers


def _cells(row: list[tuple[int, Operand]], required: list[int], values: Values, table: Table) -> dict[int, Cell]:
    """The cells of one row; NullKey or WrongType if one of the `required` columns is NULL."""
    cells = {number: operand(values) for number, operand in row}
    for number in required:
        if cells[number] is None:
            name = table.columns[number].name
            if number in table.key_ids:
                raise NullKey(f'key column "{name}" of table "{table.name}" is NULL')
            raise WrongType(f'column "{name}" of table "{table.name}" is NOT NULL, found NULL')
    return cells


def _not_given(number: int, table: Table) -> NullKey | MissingColumn:
    name = table.columns[number].name
    if number in table.key_ids:
        return NullKey(
            f'key column "{name}" of table "{table.name}" is not given',
            hint=f"Every write names the whole key: {', '.join(table.primary_key)}.",
        )
    return MissingColumn(f'column "{name}" of table "{table.name}" is NOT NULL and not given')

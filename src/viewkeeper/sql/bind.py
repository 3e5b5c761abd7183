"""A parsed statement and its parameters to a bound statement.

Binding is on the way of every query, so a statement is compiled once for its table and then only filled in. sqlglot is
looked at only to compile; importing this module does not import it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from viewkeeper.model.schema import Table
from viewkeeper.sql.params import Params, Values, check_params, values_for
from viewkeeper.sql.parse import Parsed
from viewkeeper.sql.statements import DropTable, Statement
from viewkeeper.sql.tree import (
    AddColumnTree,
    CreateTableTree,
    DeleteTree,
    DropTableTree,
    InsertTree,
    SelectTree,
    UpdateTree,
)

__all__ = ["bind", "check_params"]


def bind(parsed: Parsed, find: Callable[[str], Table], params: Params) -> Statement:
    """The statement with its columns and values looked up.

    `find` gives a table by name and raises UnknownTable. The statements of a text are bound one by one, each after the
    one before it was run, so that it sees the tables that were made; `params` are those of the whole text.
    """
    values = values_for(parsed, params)
    memo = parsed.memo
    if memo.target is None:
        tree = parsed.tree
        if isinstance(tree, DropTableTree):
            return DropTable(name=tree.name.text, if_exists=tree.if_exists)
        if isinstance(tree, CreateTableTree):
            from viewkeeper.sql.bind_tables import bind_create

            return bind_create(parsed, tree)
        memo.target = _target(parsed, tree)
    table = find(memo.target)
    compiled = memo.compiled
    if compiled is None or (compiled[0] is not table and compiled[0] != table):
        compiled = memo.compiled = (table, _compile(parsed, table))
    return compiled[1](values)


def _target(parsed: Parsed, tree: AddColumnTree | InsertTree | UpdateTree | DeleteTree | SelectTree) -> str:
    """The name of the table that a statement is about."""
    if isinstance(tree, SelectTree):
        from viewkeeper.sql.select_source import select_target

        return select_target(parsed, tree)
    return tree.table.text


def _compile(parsed: Parsed, table: Table) -> Callable[[Values], Statement]:
    tree = parsed.tree
    match tree:
        case SelectTree():
            from viewkeeper.sql.bind_select import compile_select

            return compile_select(parsed, tree, table)
        case InsertTree() | UpdateTree() | DeleteTree():
            from viewkeeper.sql.bind_rows import compile_write

            return compile_write(parsed, tree, table)
        case AddColumnTree():
            from viewkeeper.sql.bind_tables import bind_add_column

            statement = bind_add_column(tree, table)
            return lambda _: statement
        case CreateTableTree() | DropTableTree():
            raise AssertionError("these are bound without a table")
    assert_never(tree)

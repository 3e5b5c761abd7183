"""A parsed statement and its parameters to a bound statement.

Binding is on the way of every query, so a statement is compiled once for its table and then only filled in. sqlglot is
looked at only to compile; importing this module does not import it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from viewkeeper.errors import Unsupported
from viewkeeper.model.schema import Table
from viewkeeper.sql.params import Params, Values, check_params, values_for
from viewkeeper.sql.parse import Parsed
from viewkeeper.sql.place import unsupported
from viewkeeper.sql.sources import Source
from viewkeeper.sql.statements import AlterView, DropTable, DropView, Query, Statement
from viewkeeper.sql.tree import (
    AddColumnTree,
    AlterViewTree,
    CreateIndexTree,
    CreateJoinIndexTree,
    CreateTableTree,
    CreateViewTree,
    DeleteTree,
    DropTableTree,
    DropViewTree,
    InsertTree,
    SelectTree,
    SetTree,
    TableTree,
    UpdateTree,
    ViewTree,
)

__all__ = ["bind", "check_params", "query_of"]


def bind(parsed: Parsed, find: Callable[[str], Table | Source], params: Params) -> Statement:
    """The statement with its columns and values looked up.

    `find` gives a table or view by name and raises UnknownTable. The statements of a text are bound one by one, each
    after the one before it was run, so that it sees the tables that were made; `params` are those of the whole text.
    """
    values = values_for(parsed, params)
    memo = parsed.memo
    if memo.target is None:
        tree = parsed.tree
        if not isinstance(tree, TableTree):
            return _bind_object(parsed, tree, find)
        if isinstance(tree, SelectTree):
            from viewkeeper.sql.bind_joins import bind_joins, is_joined

            if is_joined(tree):
                return bind_joins(parsed, tree, find, values)
        memo.target = _target(parsed, tree)
    table = find(memo.target)
    compiled = memo.compiled
    if compiled is None or (compiled[0] is not table and compiled[0] != table):
        compiled = memo.compiled = (table, _compile(parsed, table))
    return compiled[1](values)


def query_of(parsed: Parsed, find: Callable[[str], Table | Source]) -> Query:
    """A SELECT with its columns looked up and its parameters still open; Unsupported if it is another statement.

    Nothing is kept: whoever asks for the same text again keeps the plan that was made of it.
    """
    if not isinstance(parsed.tree, SelectTree):
        raise unsupported(
            parsed.source,
            parsed.start,
            "a statement other than SELECT as a query",
            detail="A query reads and changes nothing.",
            hint="Call db.execute(sql).",
        )
    from viewkeeper.sql.bind_query import bind_query

    return bind_query(parsed, parsed.tree, find)


def _bind_object(
    parsed: Parsed,
    tree: CreateTableTree | DropTableTree | ViewTree | SetTree,
    find: Callable[[str], Table | Source],
) -> Statement:
    """A statement that makes, changes, drops or sets something by its own name."""
    match tree:
        case DropTableTree():
            return DropTable(name=tree.name.text, if_exists=tree.if_exists)
        case DropViewTree():
            return DropView(name=tree.name.text, kind=tree.kind, if_exists=tree.if_exists, cascade=tree.cascade)
        case AlterViewTree():
            return AlterView(name=tree.name.text, kind=tree.kind, maintain=tree.maintain)
        case CreateTableTree():
            from viewkeeper.sql.bind_tables import bind_create

            return bind_create(parsed, tree)
        case CreateViewTree():
            from viewkeeper.sql.bind_views import bind_view

            return bind_view(parsed, tree, find)
        case CreateIndexTree():
            from viewkeeper.sql.bind_views import bind_index

            return bind_index(parsed, tree, find)
        case CreateJoinIndexTree():
            from viewkeeper.sql.bind_views import bind_join_index

            return bind_join_index(parsed, tree, find)
        case SetTree():
            from viewkeeper.sql.bind_options import bind_option

            return bind_option(parsed, tree)
    assert_never(tree)


def _target(parsed: Parsed, tree: TableTree) -> str:
    """The name of the table that a statement is about."""
    if isinstance(tree, SelectTree):
        from viewkeeper.sql.select_source import select_target

        return select_target(parsed, tree)
    return tree.table.text


def _refuse_write(
    parsed: Parsed, tree: InsertTree | UpdateTree | DeleteTree | AddColumnTree, source: Source
) -> Unsupported:
    words = {
        InsertTree: "INSERT into",
        UpdateTree: "UPDATE of",
        DeleteTree: "DELETE from",
        AddColumnTree: "ALTER TABLE of",
    }
    what = f'{words[type(tree)]} {source.kind} "{source.name}"'
    return unsupported(
        parsed.source,
        tree.table.start,
        what,
        detail="A view is kept equal to its definition: it follows what is written to its sources.",
        hint="Write to the tables that it reads, or CREATE OR REPLACE the view.",
    )


def _compile(parsed: Parsed, table: Table | Source) -> Callable[[Values], Statement]:
    tree = parsed.tree
    assert isinstance(tree, TableTree)
    if isinstance(tree, SelectTree):
        from viewkeeper.sql.bind_select import compile_select

        return compile_select(parsed, tree, table)
    if isinstance(table, Source):
        raise _refuse_write(parsed, tree, table)
    match tree:
        case InsertTree() | UpdateTree() | DeleteTree():
            from viewkeeper.sql.bind_rows import compile_write

            return compile_write(parsed, tree, table)
        case AddColumnTree():
            from viewkeeper.sql.bind_tables import bind_add_column

            statement = bind_add_column(tree, table)
            return lambda _: statement
    assert_never(tree)

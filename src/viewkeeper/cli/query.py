"""`viewkeeper query`: the rows of one SELECT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from viewkeeper.cli.opening import DatabasePath, open_existing
from viewkeeper.cli.output import Format, print_rows
from viewkeeper.cli.params import read_params
from viewkeeper.errors import BadParameter

if TYPE_CHECKING:
    from viewkeeper.database import Database
    from viewkeeper.read.rows import Rows

_OPTIONS = frozenset({"consistency", "allow_scan", "wait", "timeout", "bring_up"})
"""Options of db.query that a parameter could be taken for."""


def query(
    path: DatabasePath,
    select: Annotated[str, typer.Argument(metavar="SELECT", help="One SELECT.", show_default=False)],
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="NAME=VALUE", help="The value of :NAME. Can be repeated."),
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="How the rows are printed.")] = Format.table,
    allow_scan: Annotated[
        bool, typer.Option("--allow-scan", help="Run it also if it may read any number of rows.")
    ] = False,
) -> None:
    """Print the rows of one SELECT.

    It may read one table or view in full, as it is stored. Anything else that may read any number of rows is refused.
    """
    params = read_params(param or [])
    with open_existing(path) as db:
        if allow_scan:
            taken = sorted(_OPTIONS & params.keys())
            if taken:
                raise BadParameter(
                    f"with --allow-scan, no parameter is called :{taken[0]}", hint="Give it another name."
                )
            rows = db.query(select, allow_scan=True, **params)
        else:
            rows = _rows(db, select, params)
        print_rows(rows.columns, rows, format)


def _rows(db: Database, select: str, params: dict[str, Any]) -> Rows:
    """The rows of one SELECT; what is none is refused, as where only queries are taken."""
    from viewkeeper.read.query import parse_query
    from viewkeeper.read.rows import Rows
    from viewkeeper.sql.tree import SelectTree

    if isinstance(parse_query(select, params).tree, SelectTree):
        rows = db.execute(select, params)
        assert isinstance(rows, Rows)
        return rows
    return db.snapshot().query(select, **params)

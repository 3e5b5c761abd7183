"""`viewkeeper query`: the rows of one SELECT."""

from __future__ import annotations

from typing import Annotated

import typer

from viewkeeper.cli.opening import DatabasePath, open_existing
from viewkeeper.cli.output import Format, print_rows
from viewkeeper.cli.params import read_params


def query(
    path: DatabasePath,
    select: Annotated[str, typer.Argument(metavar="SELECT", help="One SELECT.", show_default=False)],
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="NAME=VALUE", help="The value of :NAME. Can be repeated."),
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="How the rows are printed.")] = Format.table,
) -> None:
    """Print the rows of one SELECT."""
    with open_existing(path) as db:
        # A snapshot's query has no options of its own that a parameter could be taken for.
        rows = db.snapshot().query(select, **read_params(param or []))
        print_rows(rows.columns, rows, format)

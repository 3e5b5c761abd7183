"""`viewkeeper query`: the rows of one SELECT."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from viewkeeper.cli.opening import open_existing
from viewkeeper.cli.output import Format, print_rows
from viewkeeper.cli.params import read_params


def query(
    path: Annotated[Path, typer.Argument(help="The folder of the database.", show_default=False)],
    select: Annotated[str, typer.Argument(metavar="SELECT", help="One SELECT.", show_default=False)],
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="NAME=VALUE", help="The value of :NAME. Can be repeated."),
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="How the rows are printed.")] = Format.table,
) -> None:
    """Print the rows of one SELECT."""
    with open_existing(path) as db:
        rows = db.query(select, **read_params(param or []))
        print_rows(rows.columns, rows, format)

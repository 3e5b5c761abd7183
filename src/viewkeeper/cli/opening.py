"""Databases by path, as the commands want them: there already, or made and said so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from viewkeeper.errors import NotADatabase

if TYPE_CHECKING:
    from viewkeeper.database import Database

DatabasePath = Annotated[Path, typer.Argument(metavar="PATH", help="The folder of the database.", show_default=False)]


def open_existing(path: Path, *, read_only: bool = True) -> Database:
    """The database at a path. NotADatabase if there is none; it is never made here."""
    from viewkeeper import database

    try:
        found = database.open(path, read_only=True)
    except NotADatabase as error:
        hint = f'Check the path, or make one: viewkeeper sql {path} -c "CREATE TABLE …".'
        raise NotADatabase(error.message, detail=error.detail, hint=hint) from None
    if read_only:
        return found
    with found:
        return database.open(path)


def open_or_make(path: Path) -> Database:
    """The database at a path; one that had to be made is announced on standard error."""
    from viewkeeper import database

    try:
        database.open(path, read_only=True).close()
        return database.open(path)
    except NotADatabase:
        made = database.open(path)
        typer.echo(f'made a new database at "{path}"', err=True)
        return made

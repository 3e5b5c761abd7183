"""`viewkeeper sql`: statements from an option, a file, standard input or a prompt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from viewkeeper.cli.failing import print_error
from viewkeeper.cli.opening import DatabasePath, open_or_make
from viewkeeper.cli.output import Format, print_rows
from viewkeeper.cli.params import read_params
from viewkeeper.cli.statements import Statement, split_all
from viewkeeper.errors import BadParameter, BadText, DiskError, ViewkeeperError

if TYPE_CHECKING:
    from viewkeeper.database import Database


def sql(
    path: DatabasePath,
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="A file of statements; - is standard input.", show_default=False),
    ] = None,
    command: Annotated[
        str | None, typer.Option("--command", "-c", metavar="SQL", help="Run these statements.", show_default=False)
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="NAME=VALUE", help="The value of :NAME. Can be repeated."),
    ] = None,
    format: Annotated[Format, typer.Option("--format", "-f", help="How rows are printed.")] = Format.table,
) -> None:
    """Run statements, or prompt for them on a terminal.

    Each statement is a transaction. A script ends at its first error, with exit code 1; what ran before it stays.
    """
    if command is not None and file is not None:
        raise typer.BadParameter("give either FILE or --command, not both")
    params = read_params(param or [])
    if command is None and file is None and sys.stdin.isatty():
        from viewkeeper.cli.prompt import Prompt

        with open_or_make(path) as db:
            Prompt(db, format, params).run()
        return
    script = command if command is not None else text_of(file)
    statements = split_all(script)
    unused = sorted(set(params).difference(*(statement.names for statement in statements)))
    if unused:
        raise BadParameter(f"--param {unused[0]} is given, but no statement has :{unused[0]}")
    with open_or_make(path) as db:
        _run_script(db, statements, params, format)


def text_of(file: str | None) -> str:
    """The text of a file; None and - are standard input."""
    name = "standard input" if file in (None, "-") else f'"{file}"'
    try:
        data = sys.stdin.buffer.read() if file is None or file == "-" else Path(file).read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BadText(f"{name} line {line}: the text is not valid UTF-8") from None
    except OSError as error:
        raise DiskError(f"{name} cannot be read: {error.strerror}") from None


def _run_script(db: Database, statements: list[Statement], params: dict[str, Any], format: Format) -> None:
    for number, statement in enumerate(statements, 1):
        try:
            run_statement(db, statement, params, format)
        except ViewkeeperError as error:
            where = f"statement {number} (line {statement.line}): " if len(statements) > 1 else ""
            print_error(error, where=where)
            raise typer.Exit(1) from None


def run_statement(db: Database, statement: Statement, params: dict[str, Any], format: Format) -> None:
    """Runs one statement and prints its rows, or what it did."""
    from viewkeeper.read.rows import Rows

    own = {name: params[name] for name in statement.names if name in params}
    result = db.execute(statement.text, own)
    if isinstance(result, Rows):
        print_rows(result.columns, result, format)
    elif result is not None:
        verb = statement.text.split(None, 1)[0].upper()
        done = f"{result.rows:,} {'row' if result.rows == 1 else 'rows'}" if verb in _WRITES else "done"
        # Standard output is for rows alone where a program reads it.
        typer.echo(f"{verb}: {done}, position {result.position}", err=format is not Format.table)
        for warning in result.warnings:
            typer.echo(f"warning: {warning}", err=True)


_WRITES = {"INSERT", "UPDATE", "DELETE"}

"""The prompt of `viewkeeper sql`: statements over several lines, history, tables at a glance."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from viewkeeper.cli.failing import print_error
from viewkeeper.cli.output import Format, print_rows
from viewkeeper.cli.sql import run_statement
from viewkeeper.cli.statements import split
from viewkeeper.errors import UnknownTable, ViewkeeperError

if TYPE_CHECKING:
    from viewkeeper.database import Database

HELP = """\
statements end with ;
  \\dt        the tables
  \\d NAME    the definition of a table
  \\q         quit, as does Ctrl-D; Ctrl-C drops the line
"""
HISTORY = 1000


class Prompt:
    """Reads statements until the end of input. Errors are printed and the prompt goes on.

    `read` is given the prompt and returns a line; EOFError ends, KeyboardInterrupt drops what was typed so far.
    """

    def __init__(
        self, db: Database, format: Format, params: dict[str, Any] | None = None, read: Callable[[str], str] = input
    ) -> None:
        self._db = db
        self._format = format
        self._params = params or {}
        self._read = read

    def run(self) -> None:
        history = _history() if self._read is input else None
        typer.echo("viewkeeper. \\? for help, \\q to quit.", err=True)
        try:
            self._loop()
        finally:
            _keep(history)

    def _loop(self) -> None:
        text = ""
        while True:
            try:
                line = self._read("        -> " if text else "viewkeeper> ")
            except KeyboardInterrupt:
                typer.echo("", err=True)
                text = ""
                continue
            except EOFError:
                typer.echo("", err=True)
                return
            if not text and line.strip().startswith("\\"):
                if line.strip() == "\\q":
                    return
                self._guarded(partial(self._meta, line.split()))
                continue
            text = self._run(f"{text}{line}\n")

    def _run(self, text: str) -> str:
        """Runs the statements that are complete; what is not, for the next line to go on with."""
        statements, rest = split(text)
        for statement in statements:
            if not self._guarded(partial(run_statement, self._db, statement, self._params, self._format)):
                return ""
        return rest

    def _guarded(self, action: Callable[[], Any]) -> bool:
        try:
            action()
        except ViewkeeperError as error:
            print_error(error)
            return False
        except KeyboardInterrupt:
            typer.echo("stopped", err=True)
            return False
        return True

    def _meta(self, words: list[str]) -> None:
        if words[0] in ("\\d", "\\dt") and len(words) == 1:
            rows = [
                {
                    "table": table.name,
                    "columns": ", ".join(f"{column.name} {column.type}" for column in table.columns),
                    "key": ", ".join(table.primary_key),
                }
                for table in self._db.tables()
            ]
            print_rows(["table", "columns", "key"], rows, Format.table)
        elif words[0] == "\\d":
            for table in self._db.tables():
                if table.name.lower() == words[1].lower():
                    typer.echo(f"{table};")
                    return
            known = ", ".join(table.name for table in self._db.tables()) or "none"
            raise UnknownTable(f'table "{words[1]}" does not exist', detail=f"The tables are: {known}.")
        else:
            typer.echo(HELP, nl=False)


def _history() -> Path | None:
    """Reads the history of earlier prompts; where it is kept, or None if lines cannot be edited here."""
    try:
        import readline
    except ImportError:
        return None
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    path = home / "viewkeeper" / "history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        readline.set_history_length(HISTORY)
        if path.exists():
            readline.read_history_file(path)
    except OSError:
        return None
    return path


def _keep(history: Path | None) -> None:
    if history is None:
        return
    import readline

    try:
        readline.write_history_file(history)
    except OSError:
        typer.echo(f'the history could not be kept in "{history}"', err=True)

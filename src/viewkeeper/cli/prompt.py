"""The prompt of `viewkeeper sql`: statements over several lines, history, tables and views at a glance."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
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
    from viewkeeper.model.schema import Table
    from viewkeeper.model.view import View

HELP = """\
statements end with ;
  \\dt        the tables
  \\dv        the views
  \\d NAME    the definition of a table or view
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
        match words:
            case ["\\d" | "\\dt"]:
                self._list("table", self._db.tables())
            case ["\\dv"]:
                self._list("view", self._db.views())
            case ["\\d", name, *_]:
                self._describe(name)
            case _:
                typer.echo(HELP, nl=False)

    def _list(self, kind: str, found: Sequence[Table | View]) -> None:
        rows = [
            {
                kind: one.name,
                "columns": ", ".join(f"{column.name} {column.type}" for column in one.columns),
                "key": ", ".join(one.primary_key),
            }
            for one in found
        ]
        print_rows([kind, "columns", "key"], rows, Format.table)

    def _describe(self, name: str) -> None:
        found: list[Table | View] = [*self._db.tables(), *self._db.views()]
        for one in found:
            if one.name.lower() == name.lower():
                typer.echo(f"{one};")
                return
        known = ", ".join(one.name for one in found) or "none"
        raise UnknownTable(f'table "{name}" does not exist', detail=f"The tables and views are: {known}.")


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

"""How a command ends that cannot go on."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any

import typer

from viewkeeper.errors import BadParameter, Unbounded, ViewkeeperError, WrongType

INTERRUPTED = 130
PIPE_CLOSED = 141
"""As the shell has it for a program that a signal ended."""
INTERNAL = "internal"
"""The code of what is a mistake of ours."""
_WRITTEN = {"TIMESTAMP": "TIMESTAMP '2026-01-31 10:00:00'", "DATE": "DATE '2026-01-31'", "BINARY": "X'00ff'"}
"""Constants of the types that a text is not taken for."""
_TYPES = "|".join(_WRITTEN)
_WANTED = re.compile(rf" is str .*, expected ({_TYPES})$| is ({_TYPES}), found str ")


class Failing:
    """Whether `--traceback` was given; set anew by each run of the program."""

    traceback = False


def reported(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with its errors printed and turned into exit codes."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> None:
        try:
            command(*args, **options)
            sys.stdout.flush()
        except typer.Exit:
            raise
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _discard_output()
            raise typer.Exit(PIPE_CLOSED) from None
        except ViewkeeperError as error:
            print_error(error)
            raise typer.Exit(1) from None
        except Exception as error:
            if Failing.traceback or type(error).__module__.startswith(("click", "typer")):
                raise
            print_error(internal(error), code=INTERNAL)
            raise typer.Exit(1) from None

    return run


def internal(error: Exception) -> ViewkeeperError:
    """A mistake of ours as it is told."""
    hint = "This is a mistake in viewkeeper. Run it with --traceback, and report what it prints."
    return ViewkeeperError(f"{type(error).__name__}: {error}", hint=hint)


def print_error(error: ViewkeeperError, *, where: str = "", code: str = "") -> None:
    """`error[code]: message` with its detail and hint, on standard error."""
    if isinstance(error, Unbounded):
        error = _in_commands(error)
    elif isinstance(error, BadParameter | WrongType):
        error = _as_written(error)
    print_traceback(error)
    label = typer.style(f"error[{code or error.code}]:", fg=typer.colors.RED, bold=True)
    typer.echo(f"{label} {where}{error}", err=True)


def print_traceback(error: Exception) -> None:
    """On standard error, if it was asked for."""
    if Failing.traceback:
        import traceback

        traceback.print_exception(error)


def _in_commands(error: Unbounded) -> Unbounded:
    """The refusal of a query with what to run in place of what to call."""
    from viewkeeper.analysis.suggestions import SCAN
    from viewkeeper.analysis.verdict import UNBOUNDED, Verdict

    scan, verdict = "viewkeeper query --allow-scan reads all rows.", error.verdict
    if isinstance(verdict, Verdict) and verdict.needs and verdict.level != UNBOUNDED:
        hint = f"Run these statements, or viewkeeper advise DB FILE --apply with the query in FILE; {scan}"
    else:
        hint = error.hint.replace(SCAN, scan)
    found = Unbounded(error.message, detail=error.detail, hint=hint)
    return found.with_traceback(error.__traceback__)


def _as_written(error: ViewkeeperError) -> ViewkeeperError:
    """A text that is no value of its type, with how one is written behind --param."""
    wanted = _WANTED.search(error.message)
    if wanted is None:
        return error
    hint = f'Write --param "name={_WRITTEN[wanted[1] or wanted[2]]}".'
    return type(error)(error.message, detail=error.detail, hint=hint).with_traceback(error.__traceback__)


def _discard_output() -> None:
    """What is still buffered would fail once more when the interpreter ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

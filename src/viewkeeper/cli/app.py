"""The program: its commands and what holds for all of them."""

from __future__ import annotations

from typing import Annotated

import typer

from viewkeeper.cli import advise, changes, demo, explain, load, maintain, query, repair, sql, status, verify
from viewkeeper.cli.failing import Failing, reported

app = typer.Typer(
    name="viewkeeper",
    help="Incremental materialized views for key-value stores, maintained on Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"viewkeeper {version('viewkeeper')}")
        except PackageNotFoundError:
            typer.echo("viewkeeper, run from its source without being installed")
        raise typer.Exit


@app.callback()
def _all(
    traceback: Annotated[
        bool, typer.Option("--traceback", envvar="VIEWKEEPER_TRACEBACK", help="Print the traceback of an error.")
    ] = False,
    version: Annotated[  # noqa: ARG001  the callback does it
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    Failing.traceback = traceback


for _command in (
    demo.demo,
    sql.sql,
    load.load,
    query.query,
    explain.explain,
    advise.advise,
    changes.changes,
    maintain.maintain,
    status.status,
    verify.verify,
    repair.repair,
):
    app.command()(reported(_command))


def main() -> None:
    """What the `viewkeeper` program runs."""
    app(prog_name="viewkeeper")

"""`viewkeeper demo`: a database from its first table to a killed writer, in some seconds."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from viewkeeper.cli.opening import open_existing
from viewkeeper.errors import NotADatabase, TableExists


def demo(
    path: Annotated[
        Path | None,
        typer.Option(
            "--path",
            metavar="DIR",
            help="Make the database in this new folder, and leave it there.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the temporary folder there.")] = False,
) -> None:
    """Show what there is: tables, transactions, reads of the past, views that follow live writes, kill -9."""
    from viewkeeper.cli.demo_stage import Stage
    from viewkeeper.cli.demo_story import tell

    if path is not None:
        _check_new(path)
    folder = Path(tempfile.mkdtemp(prefix="viewkeeper-demo-")) if path is None else path
    stage = Stage()
    try:
        ended_well = tell(stage, folder / "shop" if path is None else folder)
    finally:
        if path is None and not keep:
            shutil.rmtree(folder, ignore_errors=True)
    if path is not None or keep:
        kept = folder / "shop" if path is None else folder
        stage.say(f"\nThe database is in {kept}. Look around: viewkeeper sql {kept}")
    if not ended_well:
        raise typer.Exit(1)


def _check_new(path: Path) -> None:
    try:
        open_existing(path).close()
    except NotADatabase:
        return
    raise TableExists(f'there is a database at "{path}" already', hint="Name a new folder.")

"""`viewkeeper load`: files into a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from viewkeeper.cli.opening import DatabasePath, open_existing


def load(
    path: DatabasePath,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table to put the rows into.", show_default=False)],
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Files: .csv, .jsonl, .parquet.", show_default=False)
    ],
    skip_bad: Annotated[
        Path | None,
        typer.Option("--skip-bad", metavar="FILE", help="Go on behind bad rows, and write them here as JSON lines."),
    ] = None,
    batch: Annotated[int, typer.Option("--batch", metavar="N", min=1, help="Rows a transaction.")] = 10_000,
    ignore_unknown: Annotated[
        bool, typer.Option("--ignore-unknown", help="Leave out columns that the table does not have.")
    ] = False,
) -> None:
    """Put the rows of files into a table, with a progress bar.

    A row whose key is there already changes the columns that the file gives. Each batch is one transaction.
    """
    from viewkeeper.load import BadRowWriter, LoadProgress
    from viewkeeper.load.progress import summary

    progress = LoadProgress(last_line=len(files) > 1)
    writer = None if skip_bad is None else BadRowWriter(skip_bad)
    with open_existing(path, read_only=False) as db:
        position = db.head()
        try:
            for file in files:
                position = db.load(
                    table, file, progress=progress, skip_bad=writer, batch_rows=batch, ignore_unknown=ignore_unknown
                )
        finally:
            if writer is not None:
                writer.close()
    if writer is not None and writer.count:
        rows = "row" if writer.count == 1 else "rows"
        typer.echo(f'{writer.count:,} bad {rows} left out and written to "{writer.path}"', err=True)
    typer.echo(f"{summary(progress.rows, progress.seconds)}, position {position}")

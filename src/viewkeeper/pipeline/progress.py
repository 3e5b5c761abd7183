"""How far a fill is, shown on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from viewkeeper.pipeline.backfill import Filled, Progress


@contextmanager
def shown(progress: bool | Progress) -> Iterator[Progress | None]:
    """What shows how far fills are: a bar on a terminal, a line a view elsewhere; the caller's own; or nothing."""
    if not isinstance(progress, bool):
        yield progress
    elif not progress:
        yield None
    elif not sys.stderr.isatty():
        yield _line
    else:
        with _bars() as told:
            yield told


def _line(filled: Filled) -> None:
    if filled.rows >= filled.total:
        print(
            f"filled {filled.view} from {filled.total:,} rows in {filled.seconds:.1f} s, {filled.rate:,.0f} rows/s",
            file=sys.stderr,
        )


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    tasks: dict[str, TaskID] = {}
    columns = (
        TextColumn("filling {task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} rows"),
        TextColumn("{task.fields[rate]:,.0f} rows/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:

        def told(filled: Filled) -> None:
            if filled.view not in tasks:
                tasks[filled.view] = bars.add_task(filled.view, total=max(1, filled.total), rate=0.0)
            bars.update(tasks[filled.view], completed=filled.rows, rate=filled.rate)

        yield told

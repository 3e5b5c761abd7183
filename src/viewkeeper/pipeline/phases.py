"""How far a comparison is, shown on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from viewkeeper.pipeline.comparing import Progress


@contextmanager
def shown_phases(progress: bool | Progress, what: str) -> Iterator[Progress | None]:
    """What is told how far a comparison is: a bar, if standard error is a terminal; the caller's own; or nothing."""
    if not isinstance(progress, bool):
        yield progress
    elif not progress or not sys.stderr.isatty():
        yield None
    else:
        with _bar(what) as told:
            yield told


@contextmanager
def _bar(what: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn(f"{what}: {{task.description}}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} rows"),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("copying", total=1)

        def told(phase: str, done: int, total: int) -> None:
            bars.update(task, description=phase, completed=done, total=max(total, done, 1))

        yield told

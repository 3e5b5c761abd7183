"""How a load is going: a bar on a terminal, one line at the end anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import PurePath
from time import perf_counter
from typing import IO, TYPE_CHECKING, Any

from viewkeeper.load.batch import LoadBatch

if TYPE_CHECKING:
    from viewkeeper.load.source import Source


class LoadProgress:
    """Counts the rows of the sources that it watches and shows them.

    `rows` and `seconds` are sums over all of them; a batch counts when the next one is asked for, that is, when it
    has been written.

    Args:
        shown: False counts only.
        last_line: whether a line with rows, seconds and rows/s is printed behind each source.
        stream: where to; standard error if None. The bar appears only if it is a terminal.
    """

    def __init__(self, *, shown: bool = True, last_line: bool = True, stream: IO[str] | None = None) -> None:
        self.rows = 0
        self.seconds = 0.0
        self._refused = 0
        self._shown = shown
        self._last_line = last_line
        self._stream = stream

    def watch(self, source: Source) -> Iterator[LoadBatch]:
        """The batches of the source, counted and shown as they are taken."""
        stream = self._stream if self._stream is not None else sys.stderr
        started = perf_counter()
        rows = 0
        with self._bar(source, stream) as show:
            try:
                for batch in source:
                    self._refused = 0
                    yield batch
                    rows += batch.data.num_rows - self._refused
                    if show is not None:
                        show(rows, perf_counter() - started)
            finally:
                seconds = perf_counter() - started
                self.rows += rows
                self.seconds += seconds
        if self._shown and self._last_line:
            print(f"{source.name or 'rows'}: {summary(rows, seconds)}", file=stream)

    def refuse(self, rows: int = 1) -> None:
        """Some rows of the batch at hand were left out by whoever took it; they do not count."""
        self._refused += rows

    def _bar(self, source: Source, stream: IO[str]) -> AbstractContextManager[Any]:
        return _Bar(source, stream) if self._shown and stream.isatty() else nullcontext(None)


def summary(rows: int, seconds: float) -> str:
    """Such as `100,000 rows in 0.42 s, 238,095 rows/s`."""
    rate = f"{rows / seconds:,.0f} rows/s" if seconds > 0 else "- rows/s"
    return f"{rows:,} {'row' if rows == 1 else 'rows'} in {seconds:.2f} s, {rate}"


class _Bar:
    """A rich progress bar; rich is imported only where one is drawn."""

    def __init__(self, source: Source, stream: IO[str]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

        self._source = source
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TaskProgressColumn(show_speed=False),
            TextColumn("{task.fields[rows]:,} rows"),
            TextColumn("{task.fields[rate]:,.0f} rows/s"),
            TimeElapsedColumn(),
            console=Console(file=stream),
            transient=True,
        )
        total = None if source.fraction() is None and not source.name else 1.0
        name = PurePath(source.name).name or "rows"
        self._task = self._progress.add_task(name, total=total, rows=0, rate=0.0)

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, rows: int, seconds: float) -> None:
        fraction = self._source.fraction()
        if fraction is not None:
            self._progress.update(self._task, total=1.0, completed=fraction)
        self._progress.update(self._task, rows=rows, rate=rows / max(seconds, 1e-9))

"""`viewkeeper maintain`: keep views up to date, once or until it is stopped."""

from __future__ import annotations

import signal
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from viewkeeper.cli.opening import DatabasePath, open_existing
from viewkeeper.errors import BatchFailed

if TYPE_CHECKING:
    from viewkeeper.pipeline.maintainer import Round
    from viewkeeper.read.status import ViewStatus

LINE_SECONDS = 5.0
"""Seconds between two lines about how it goes."""
LOOK_SECONDS = 0.2
"""Seconds between two looks at whether it is to end."""


def maintain(
    path: DatabasePath,
    once: Annotated[bool, typer.Option("--once", help="Bring the views up to date, then end.")] = False,
    view: Annotated[
        list[str] | None,
        typer.Option("--view", metavar="VIEW", help="With --once: only this view and what moves with it; repeatable."),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="Where Spark runs; local[*] if it is not given."),
    ] = None,
    trigger: Annotated[
        str, typer.Option("--trigger", metavar="INTERVAL", help="How often to look for changes.")
    ] = "100 milliseconds",
    batch: Annotated[
        int, typer.Option("--batch", metavar="N", min=1, help="Changes that one batch takes in at most.")
    ] = 1_000_000,
    share: Annotated[
        float, typer.Option("--share", metavar="PART", help="The part of time that it may take, above 0 and up to 1.")
    ] = 1.0,
    verify_every: Annotated[
        str | None,
        typer.Option("--verify-every", metavar="TIME", help='Compare each view with its definition this often: "1h".'),
    ] = None,
    repair: Annotated[bool, typer.Option("--repair", help="With --verify-every: mend what differs.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")] = False,
) -> None:
    """Keep the views of a database up to date.

    Any number of maintainers may run at once, and any may be killed: each change counts once all the same.
    """
    from viewkeeper.model.duration import milliseconds
    from viewkeeper.pipeline.progress import shown
    from viewkeeper.pipeline.session import SparkSource

    if view and not once:
        raise typer.BadParameter("it goes with --once; without it, all views are kept.", param_hint="--view")
    if share != 1 and once:
        raise typer.BadParameter("it goes without --once, which ends when it is done.", param_hint="--share")
    if repair and verify_every is None:
        raise typer.BadParameter("it goes with --verify-every; viewkeeper repair mends once.", param_hint="--repair")
    seconds = None if verify_every is None else milliseconds(verify_every) / 1000
    spark, ending = SparkSource(master=master), _Ending()
    # As for Ctrl-C, also while Spark starts: the round under way is ended, and temporary folders are removed.
    signal.signal(signal.SIGTERM, _interrupt)
    with open_existing(path, read_only=False) as db, shown(not quiet) as progress:
        try:
            if once:
                report = db.maintain(views=view or None, progress=progress or False, spark=spark)
                _say_failed(report.failed)
                if not quiet:
                    typer.echo(str(report))
                if report.failed:
                    raise typer.Exit(1)
                return
            told = _Lines(quiet, share)
            ending.listen()
            with db.start_maintenance(
                trigger=trigger,
                spark=spark,
                batch_changes=batch,
                share=share,
                progress=progress or False,
                told=told.round,
                verify_every=seconds,
                repair=repair,
            ) as running:
                if not quiet:
                    typer.echo(f"maintaining {path}; stop it with Ctrl-C", err=True)
                # Spark has put a handler of its own in its place.
                ending.listen()
                due = time.monotonic() + LINE_SECONDS
                while running.is_running and not ending.asked:
                    time.sleep(LOOK_SECONDS)
                    if time.monotonic() > due:
                        told.line(db.status())
                        due = time.monotonic() + LINE_SECONDS
            if ending.asked:
                raise KeyboardInterrupt
        except BatchFailed:
            # Spark may have heard the same signal, and have gone first.
            if not ending.asked:
                raise
            raise KeyboardInterrupt from None
        finally:
            spark.stop()
            ending.restore()


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


class _Ending:
    """Notes Ctrl-C and SIGTERM: raised at once, they would break off what is just being said to Spark.

    Either may come twice at once, where a whole group of processes is told to end. A later Ctrl-C is raised.
    """

    def __init__(self) -> None:
        self.asked = 0.0
        self._before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def listen(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._note)

    def _note(self, number: int, _: object) -> None:
        if not self.asked:
            self.asked = time.monotonic()
        elif number == signal.SIGINT and time.monotonic() - self.asked > 1:
            raise KeyboardInterrupt


def _say_failed(failed: dict[str, str]) -> None:
    for name, error in failed.items():
        label = typer.style(f"view {name}:", fg=typer.colors.RED, bold=True)
        typer.echo(f"{label} {error}", err=True)


class _Lines:
    """A line now and then: what was taken in since the last one, and how far behind the views are."""

    def __init__(self, quiet: bool, share: float) -> None:
        self._quiet = quiet
        self._share = "" if share == 1 else f"; it takes {share:.0%} of the time at most"
        self._changes = 0
        self._since = time.monotonic()
        self._shown: dict[str, str] = {}

    def round(self, done: Round) -> None:
        self._changes += done.changes
        fresh = {name: error for name, error in done.failed.items() if self._shown.get(name) != error}
        self._shown.update(fresh)
        _say_failed(fresh)

    def line(self, views: list[ViewStatus]) -> None:
        if self._quiet or not self._changes:
            return
        seconds = time.monotonic() - self._since
        lag = max((view.lag_ms for view in views if view.state == "live" and view.mode != "LAZY"), default=0)
        print(
            f"{self._changes:,} changes in {seconds:.0f} s, {self._changes / seconds:,.0f}/s;"
            f" {len(views)} views, the last one {lag:,.0f} ms behind{self._share}",
            file=sys.stderr,
        )
        self._changes, self._since = 0, time.monotonic()

"""Maintenance once: bring views up to date, then return."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from viewkeeper.model.position import Position
from viewkeeper.pipeline.backfill import Progress
from viewkeeper.pipeline.maintainer import Maintainer
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.store.embedded import EmbeddedStore

WAIT = 0.02
"""Seconds between two attempts at what another maintainer holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a call of `maintain` did.

    `position`: every view that did not fail reflects all changes before it. `failed`: the error of each view that did.
    """

    position: Position
    changes: int
    rounds: int
    seconds: float
    engine: str
    filled: tuple[str, ...] = ()
    failed: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        by = {"rows": ", in this process", "spark": ", on Spark"}.get(self.engine, "")
        what = "change" if self.changes == 1 else "changes"
        lines = [f"{self.changes:,} {what} in {self.seconds:.2f} s{by}; views are at {self.position}"]
        if self.filled:
            lines.append(f"filled: {', '.join(self.filled)}")
        lines += [f"failed: {name}: {error.splitlines()[0]}" for name, error in self.failed.items()]
        return "\n".join(lines)


def maintain_once(
    store: EmbeddedStore,
    spark: SparkSource,
    *,
    until: int | None = None,
    views: Collection[int] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Bring views to `until`, or to the head as it is now; returns when they are there, whoever brought them.

    With `views`, these and all that they read. A view that fails is left behind, with those above it, and told of.
    FuturePosition if there is no such position yet; one inside a transaction is rounded up to its end.
    """
    began = time.monotonic()
    target = _boundary(store, until)
    wanted = None if views is None else _with_sources(store, views)
    maintainer = Maintainer(store, spark, views=wanted, progress=progress)
    changes = rounds = 0
    engine = ""
    filled: list[str] = []
    try:
        while True:
            done = maintainer.round(target)
            rounds += 1
            changes += done.changes
            engine = done.engine or engine
            filled += done.filled
            if not done.left:
                break
            if not done.groups and not done.filled:
                time.sleep(WAIT)
    finally:
        maintainer.let_go()
    return Report(
        position=store.position(target),
        changes=changes,
        rounds=rounds,
        seconds=time.monotonic() - began,
        engine=engine,
        filled=tuple(filled),
        failed=_left_behind(store, target, wanted),
    )


def _boundary(store: EmbeddedStore, until: int | None) -> int:
    """Where a transaction ends, at or behind `until`; the head if that is None."""
    if until is None:
        return store.offset(store.head())
    if until < store.offset(store.oldest()):
        return until
    return store.offset(store.snapshot(store.position(until)).position)


def _with_sources(store: EmbeddedStore, views: Collection[int]) -> frozenset[int]:
    """Views and all that they read; and what is being filled to replace any of these, which is swapped together."""
    catalog = store.catalog()

    def read_by(numbers: Iterable[int]) -> set[int]:
        found = set(numbers)
        # A view is always made after what it reads.
        for number in sorted(catalog.views, reverse=True):
            if number in found:
                found.update(catalog.views[number].sources)
        return found

    found = read_by(views)
    replacing = {view.id for view in catalog.views.values() if view.replaces in found}
    above = {view.id for view in catalog.dependents(replacing) if view.replaces is not None}
    return frozenset(read_by(found | replacing | above))


def _left_behind(store: EmbeddedStore, target: int, wanted: frozenset[int] | None) -> dict[str, str]:
    """Why views are not at `target`: the error of each that failed; those above it wait for it."""
    states, objects = store.view_tables.objects()
    notes = store.view_tables.notes()
    failed: dict[str, str] = {}
    behind: dict[int, str] = {}
    for number, view in sorted(store.catalog().views.items()):
        state = states[objects[number].group] if number in objects else None
        if (state is not None and state.filled is None and state.watermark >= target) or (
            wanted is not None and number not in wanted
        ):
            continue
        waits = [behind[source] for source in view.sources if source in behind]
        if number in notes and notes[number].failures:
            behind[number], failed[view.name] = view.name, notes[number].error
        elif waits:
            behind[number], failed[view.name] = view.name, f"waits for {', '.join(waits)}"
    return failed

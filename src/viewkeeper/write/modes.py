"""Which mode a view may have over what it reads, and below what reads it."""

from __future__ import annotations

from collections.abc import Sequence

from viewkeeper.errors import Unsupported
from viewkeeper.model.view import View
from viewkeeper.sql.maintain import Maintain, Mode
from viewkeeper.sql.names import written
from viewkeeper.sql.statements import CreateView
from viewkeeper.store.interface import Catalog
from viewkeeper.views.bound import program_of
from viewkeeper.views.local import partitions_of


def check_sources(catalog: Catalog, name: str, kind: str, maintain: Maintain, sources: tuple[int, ...]) -> None:
    """Unsupported if a view of a mode has no meaning over one that it reads."""
    for number in sources:
        below = catalog.views.get(number)
        if below is not None:
            _check(name, kind, maintain.mode, below)


def check_above(catalog: Catalog, view: View, maintain: Maintain) -> None:
    """Unsupported if a view that reads this one could not go on once it has another mode."""
    for above in catalog.views.values():
        if view.id in above.sources:
            _check(above.name, above.kind, Mode(above.mode), view, maintain.mode)


def check_made(catalog: Catalog, made: Sequence[View]) -> None:
    """The same for views that are about to be made over one another."""
    views = {**catalog.views, **{view.id: view for view in made}}
    for view in made:
        for number in view.sources:
            if number in views:
                _check(view.name, view.kind, Mode(view.mode), views[number])


def check_same_rows(catalog: Catalog, view: View, again: CreateView) -> None:
    """Unsupported if a view would be stored otherwise in another mode: then its rows cannot be taken over."""
    made = program_of(again, catalog, id=view.id)
    parts = partitions_of(again, catalog, made)
    if parts > 1:
        raise Unsupported(
            f'{view.kind} "{view.name}" cannot be made {again.maintain} as it is',
            detail="A LOCAL view of a table in partitions is kept apart for each of them, and rows that are kept "
            "together do not say which one they come from.",
            hint="Write CREATE OR REPLACE … MAINTAIN LOCAL …, which fills it anew.",
        )
    if made.layout != view.layout or len(list(made.auxiliary())) != len(view.auxiliary):
        raise Unsupported(
            f'{view.kind} "{view.name}" would be stored otherwise if it were {again.maintain}',
            hint="Write CREATE OR REPLACE …, which fills it anew.",
        )


def _check(name: str, kind: str, mode: Mode, below: View, below_mode: Mode | None = None) -> None:
    lower = below_mode or Mode(below.mode)
    if lower is Mode.LOCAL:
        raise Unsupported(
            f'{kind} "{name}" cannot read {below.kind} "{below.name}", which is LOCAL',
            detail="Its rows are parts, one a partition, and are put together when it is read: nothing says by what "
            "the whole changes.",
            hint=f"Read the table that {written(below.name)} reads, or make that SYNC.",
        )
    if mode is Mode.SYNC and lower not in (Mode.SYNC, Mode.LOCAL):
        raise Unsupported(
            f'{kind} "{name}" cannot be SYNC over {below.kind} "{below.name}", which is {lower}',
            detail="It would follow in the transaction of each write, and what it reads comes later.",
            hint=f"Make {written(name)} DEFERRED."
            if lower is Mode.PERIODIC
            else f"Make {written(below.name)} SYNC, too, or {written(name)} DEFERRED.",
        )

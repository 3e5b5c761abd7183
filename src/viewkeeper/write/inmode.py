"""The statements that queries need in a mode, each if it can be in it: found out before any of them is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from viewkeeper.analysis.advice import Advice
from viewkeeper.analysis.ddl import is_periodic, maintained
from viewkeeper.errors import Unsupported
from viewkeeper.model.view import View
from viewkeeper.sql.bind import bind
from viewkeeper.sql.parse import parse
from viewkeeper.sql.sources import finder
from viewkeeper.sql.statements import CreateView
from viewkeeper.store.interface import Catalog
from viewkeeper.views.bound import new_view
from viewkeeper.write.modes import check_sources


def in_mode(catalog: Catalog, advice: Advice, mode: str) -> Advice:
    """The advice with its statements in a mode; those that cannot be stay as they are, with a note on each.

    Unsupported if one of them cannot be made in any mode.
    """
    kept: dict[int, str] = {}
    while others := _misfits(catalog, advice.ddl, mode, kept):
        kept |= others
    ddl = tuple(maintained(text, None if number in kept else mode) for number, text in enumerate(advice.ddl))
    return replace(advice, ddl=ddl, notes=tuple(kept[number] for number in sorted(kept)))


def _misfits(catalog: Catalog, ddl: Sequence[str], mode: str, kept: Mapping[int, str]) -> dict[int, str]:
    """Statements that cannot be in a mode while only those that are `kept` are not, with the reasons; empty if all can.

    Where one can be in no mode over what it reads, such as over a LOCAL view, it is what it reads that cannot.
    """
    found: dict[int, str] = {}
    numbers: dict[int, int] = {}
    for number, text in enumerate(ddl):
        if number not in kept and is_periodic(text):
            found[number] = f'view "{_statement(catalog, text).name}" can only be PERIODIC'
        wanted = None if number in kept or number in found else mode
        try:
            view = _made(catalog, maintained(text, wanted))
        except Unsupported as error:
            try:
                view = _made(catalog, text)
            except Unsupported:
                below = [numbers[one] for one in _statement(catalog, text).sources if one in numbers]
                changed = dict.fromkeys((one for one in below if one not in kept and one not in found), error.message)
                if not changed:
                    raise
                return changed
            found[number] = error.message
        numbers[view.id] = number
        catalog = _with_view(catalog, view)
    return found


def _made(catalog: Catalog, text: str) -> View:
    """The view that a statement would make. Unsupported if its mode is none for it, or over what it reads."""
    statement = _statement(catalog, text)
    check_sources(catalog, statement.name, statement.kind, statement.maintain, statement.sources)
    taken = (*catalog.tables, *(number for view in catalog.views.values() for number in view.objects))
    return new_view(statement, catalog, lambda _: max(taken, default=0) + 1, replaces=None)


def _statement(catalog: Catalog, text: str) -> CreateView:
    (parsed,) = parse(text)
    statement = bind(parsed, finder(catalog), None)
    assert isinstance(statement, CreateView)
    return statement


def _with_view(catalog: Catalog, view: View) -> Catalog:
    """The catalog as if a view had been made."""
    return replace(
        catalog,
        views={**catalog.views, view.id: view},
        view_names={**catalog.view_names, view.name.lower(): view},
    )

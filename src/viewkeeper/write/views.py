"""Statements about views: made, replaced, dropped.

A new view is in the catalog at once. If its input is small it is filled at once too, here and in plain Python; a large
one is filled by the next maintainer, and cannot be read before.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import assert_never

from viewkeeper.errors import (
    BadDefinition,
    NotRetained,
    Outrun,
    TableExists,
    UnknownTable,
    Unsupported,
    ViewkeeperError,
    ViewsDepend,
)
from viewkeeper.model.view import View, with_article
from viewkeeper.sql.maintain import Mode
from viewkeeper.sql.names import written
from viewkeeper.sql.sources import finder
from viewkeeper.sql.statements import AlterView, CreateView, DropView, ViewStatement
from viewkeeper.store.interface import Catalog, Store
from viewkeeper.views.bound import (
    BoundView,
    above_replaced,
    bind_text,
    bound_views,
    new_view,
    rebound,
    replacements,
)
from viewkeeper.views.fill import SMALL, begin_fill, fill_by_rows, input_rows
from viewkeeper.views.settle import settle_views

KEPT = (Mode.DEFERRED,)
"""The modes that there are so far."""


def run_view_statement(store: Store, catalog: Catalog, statement: ViewStatement) -> None:
    """Run one statement that was bound to this catalog; Conflict if it is no longer the catalog."""
    match statement:
        case CreateView():
            create_view(store, catalog, statement)
        case DropView():
            drop_view(store, catalog, statement)
        case AlterView():
            alter_view(catalog, statement)
        case _:
            assert_never(statement)


def create_view(store: Store, catalog: Catalog, statement: CreateView) -> None:
    """Make a view, or build its replacement beside it. TableExists, Unsupported, BadDefinition, ViewsDepend."""
    _check_mode(statement)
    existing = catalog.view(statement.name)
    if existing is not None and statement.if_not_exists:
        return
    replaced = existing if statement.or_replace else None
    if replaced is not None:
        _check_kind(replaced, statement)
    statement = _over_newest(catalog, statement)

    def take(count: int) -> int:
        return store.view_catalog.new_ids(count)

    made = [new_view(statement, catalog, take, replaces=None if replaced is None else replaced.id)]
    gone: list[View] = []
    if replaced is not None:
        again, gone = above_replaced(catalog, replaced)
        _check_cycle(catalog, statement, [replaced, *(definition for definition, _ in again), *gone])
        made += rebound(catalog, again, made[0], take)
    store.view_catalog.create(catalog, made, gone)
    try:
        fill_small(store, made)
    except ViewkeeperError:
        if replaced is None:
            _undo(store, made[0])
        raise
    if replaced is not None:
        settle_views(store)


def _undo(store: Store, view: View) -> None:
    """Forget a view that could not be filled: who is told of an error does not expect it to be there."""
    with suppress(ViewkeeperError):
        store.view_catalog.drop(store.catalog(), view, cascade=False)


def _over_newest(catalog: Catalog, statement: CreateView) -> CreateView:
    """The statement, bound over what is about to replace its sources: they go when that is whole."""
    pending = replacements(catalog)
    if pending.keys().isdisjoint(statement.sources):
        return statement
    sources = [pending[number].id if number in pending else number for number in statement.sources]
    again = bind_text(statement.text, finder(catalog, sources))
    return replace(again, or_replace=statement.or_replace, if_not_exists=statement.if_not_exists)


def _check_mode(statement: CreateView) -> None:
    mode, kind = statement.maintain.mode, statement.kind
    if mode not in KEPT:
        raise Unsupported(
            f"MAINTAIN {statement.maintain} is not kept yet",
            detail=f'{kind.capitalize()} "{statement.name}" asks for it, and views follow through a maintainer so far.',
            hint=f"Write MAINTAIN DEFERRED, or leave it out: a maintainer then keeps the {kind} within its trigger.",
        )


def _check_kind(replaced: View, statement: CreateView) -> None:
    if replaced.kind != str(statement.kind):
        raise TableExists(
            f'"{replaced.name}" is {with_article(replaced.kind)}, not {with_article(statement.kind)}',
            detail="OR REPLACE puts something of the same kind in its place.",
            hint=f"Write {_statement('DROP', replaced)} first, or choose another name.",
        )


def _check_cycle(catalog: Catalog, statement: CreateView, replaced: list[View]) -> None:
    numbers = {view.id for view in replaced}
    inside = sorted(catalog.views[number].name for number in statement.sources if number in numbers)
    if inside:
        raise BadDefinition(
            f'{statement.kind} "{statement.name}" would read itself',
            detail=f"It reads {', '.join(inside)}, which stands on it.",
            hint=f"Give the new {statement.kind} another name.",
        )


def fill_small(store: Store, views: list[View]) -> None:
    """Fill views whose input is small, lower ones first; leave the others to a maintainer."""
    bound = bound_views(store)
    for view in views:
        one = bound.views.get(view.id)
        if one is None or not _fill_small(store, one):
            return


def _fill_small(store: Store, one: BoundView) -> bool:
    bound = bound_views(store)
    try:
        if input_rows(store, bound, one) > SMALL or begin_fill(store, bound, one) is None:
            return False
        return fill_by_rows(store, bound, one).filled is None
    except (Outrun, NotRetained):
        # Another process has taken it over, or will.
        return False


def drop_view(store: Store, catalog: Catalog, statement: DropView) -> None:
    """Forget a view and what is stored for it. UnknownTable unless IF EXISTS, ViewsDepend unless CASCADE."""
    found = catalog.view(statement.name)
    if found is None or not _is_a(found, statement):
        if statement.if_exists and found is None:
            return
        raise _not_there(catalog, statement, found)
    try:
        store.view_catalog.drop(catalog, found, cascade=statement.cascade)
    except ViewsDepend as error:
        hint = f"Drop them first, or write {_statement('DROP', found)} CASCADE."
        raise ViewsDepend(error.message, detail=error.detail, hint=hint) from None


def _statement(verb: str, view: View) -> str:
    """The beginning of a statement about a view of any kind; a join index is an index there."""
    return f"{verb} {'VIEW' if view.kind == 'view' else 'INDEX'} {written(view.name)}"


def _is_a(found: View, statement: DropView | AlterView) -> bool:
    """Whether a view is of the kind that a statement names; a join index is an index."""
    return found.kind.removeprefix("join ") == str(statement.kind)


def _not_there(catalog: Catalog, statement: DropView | AlterView, found: View | None) -> UnknownTable:
    if found is not None:
        if isinstance(statement, DropView):
            instead = _statement("DROP", found) + " CASCADE" * statement.cascade
        else:
            instead = f"{_statement('ALTER', found)} SET MAINTAIN {statement.maintain}"
        return UnknownTable(
            f'"{found.name}" is {with_article(found.kind)}, not {with_article(statement.kind)}',
            hint=f"Write {instead}.",
        )
    table = catalog.names.get(statement.name.lower())
    if table is not None:
        hint = f"Write DROP TABLE {written(table.name)}." if isinstance(statement, DropView) else "Tables have no mode."
        return UnknownTable(f'"{table.name}" is a table, not {with_article(statement.kind)}', hint=hint)
    known = sorted({view.name for view in catalog.view_names.values() if _is_a(view, statement)})
    detail = f"There {'is' if len(known) == 1 else 'are'} {', '.join(known)}." if known else "There is none."
    return UnknownTable(f'{statement.kind} "{statement.name}" does not exist', detail=detail)


def alter_view(catalog: Catalog, statement: AlterView) -> None:
    """Change the mode of a view; so far there is one, so it is only checked."""
    found = catalog.view(statement.name)
    if found is None or not _is_a(found, statement):
        raise _not_there(catalog, statement, found)
    if statement.maintain.mode not in KEPT:
        raise Unsupported(
            f"MAINTAIN {statement.maintain} is not kept yet",
            hint=f"MAINTAIN DEFERRED is: a maintainer keeps the {found.kind} within its trigger.",
        )

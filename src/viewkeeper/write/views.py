"""Statements about views: made, replaced, dropped.

A new view is in the catalog at once. If its input is small it is filled at once too, here and in plain Python; a large
one is filled by the next maintainer, and cannot be read before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import assert_never

from viewkeeper.analysis.verdict import UNBOUNDED
from viewkeeper.errors import (
    NotRetained,
    Outrun,
    TableExists,
    Unbounded,
    UnknownTable,
    Unsupported,
    ViewkeeperError,
    ViewsDepend,
)
from viewkeeper.model.view import View, with_article
from viewkeeper.sql.maintain import Maintain, Mode
from viewkeeper.sql.names import written
from viewkeeper.sql.sources import finder
from viewkeeper.sql.statements import AlterView, CreateView, DropView, ViewStatement
from viewkeeper.sql.view_text import with_maintain
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.interface import Catalog
from viewkeeper.store.modes import belongs_beside
from viewkeeper.views.bound import (
    BoundView,
    above_replaced,
    bind_text,
    bound_in,
    bound_views,
    new_view,
    rebound,
    replacements,
)
from viewkeeper.views.cycles import check_cycle
from viewkeeper.views.fanout import unbounded_lookups
from viewkeeper.views.fill import SMALL, begin_fill, fill_by_rows, input_rows
from viewkeeper.views.scaling import verdict_on
from viewkeeper.views.settle import settle_views
from viewkeeper.write.modes import check_above, check_made, check_same_rows, check_sources

SETTLING = 20
"""Rounds of moving things to where they belong, one level of views on views each, that a statement waits for."""


def run_view_statement(store: EmbeddedStore, catalog: Catalog, statement: ViewStatement) -> tuple[str, ...]:
    """Run one statement that was bound to this catalog, and give warnings; Conflict if it is no longer the catalog."""
    match statement:
        case CreateView():
            warnings = scaling_warnings(store, catalog, statement)
            create_view(store, catalog, statement)
            return (*warnings_of(store, statement.name), *warnings)
        case DropView():
            drop_view(store, catalog, statement)
        case AlterView():
            alter_view(store, catalog, statement)
            return warnings_of(store, statement.name)
        case _:
            assert_never(statement)
    return ()


def warnings_of(store: EmbeddedStore, name: str) -> tuple[str, ...]:
    """What somebody who made a view, or changed its mode, should know."""
    bound = bound_views(store)
    view = bound.catalog.view(name)
    one = None if view is None else bound.get(view.id)
    if view is None or one is None:
        return ()
    return (*_left(store, bound.catalog, view), *(_fan_out(bound.catalog, one) if view.mode == Mode.SYNC else ()))


def scaling_warnings(store: EmbeddedStore, catalog: Catalog, statement: CreateView) -> tuple[str, ...]:
    """What to know of a view whose cost grows with the data; Unbounded if SET scale_independence = strict."""
    if statement.if_not_exists and catalog.view(statement.name) is not None:
        return ()
    verdict = verdict_on(bound_in(store, catalog), statement)
    if verdict.level != UNBOUNDED:
        return ()
    if catalog.options.get("scale_independence") == "strict":
        hint = " ".join(one.text for one in verdict.suggestions) or "SET scale_independence = warn makes it even so."
        error = Unbounded(f'{statement.kind} "{statement.name}" has no bound', detail=verdict.reason, hint=hint)
        error.verdict = verdict
        raise error
    told = " ".join((verdict.reason, *(one.text for one in verdict.suggestions)))
    return (f"its cost grows with the data: {told}",)


def _left(store: EmbeddedStore, catalog: Catalog, view: View) -> Iterator[str]:
    """What is left to a maintainer."""
    do = "run db.maintain() or viewkeeper maintain"
    newest = replacements(catalog).get(view.id, view)
    found = None if newest.in_base else store.view_tables.standing(newest.id)
    if not newest.in_base and (found is None or found[1].filled is not None):
        yield f'{view.kind} "{view.name}" is not filled yet, its input being large: {do}'
    elif newest.in_base != belongs_beside(catalog, newest):
        yield f'{view.kind} "{view.name}" is not {view.mode} yet, what it or its readers lack being much: {do}'


def _fan_out(catalog: Catalog, one: BoundView) -> Iterator[str]:
    for rows in unbounded_lookups(catalog, one.program):
        yield (
            f'{one.view.kind} "{one.view.name}" is SYNC, and a write may have to look up any number of {rows}; '
            "it is as slow as these are many"
        )


def create_view(store: EmbeddedStore, catalog: Catalog, statement: CreateView) -> None:
    """Make a view, or build its replacement beside it. TableExists, Unsupported, BadDefinition, ViewsDepend."""
    existing = catalog.view(statement.name)
    if existing is not None and statement.if_not_exists:
        return
    replaced = existing if statement.or_replace else None
    if replaced is not None:
        _check_kind(replaced, statement)
    statement = _over_newest(catalog, statement)
    check_sources(catalog, statement.name, statement.kind, statement.maintain, statement.sources)

    def take(count: int) -> int:
        return store.view_catalog.new_ids(count)

    made = [new_view(statement, catalog, take, replaces=None if replaced is None else replaced.id)]
    gone: list[View] = []
    if replaced is not None:
        again, gone = above_replaced(catalog, replaced)
        check_cycle(catalog, statement, {view.id for view in (replaced, *(view for view, _ in again), *gone)})
        made += rebound(catalog, again, made[0], take)
        check_made(catalog, made)
    store.view_catalog.create(catalog, made, gone)
    try:
        fill_small(store, made)
    except ViewkeeperError:
        if replaced is None:
            _undo(store, made[0])
        raise
    on_views = not catalog.views.keys().isdisjoint(statement.sources)
    if replaced is not None or on_views or statement.maintain.mode in (Mode.SYNC, Mode.LOCAL):
        # What reads another view moves with it from the beginning; what is whole goes where it belongs.
        for _ in range(SETTLING):
            if not settle_views(store):
                break
            # One that stands on a view beside the tables can be filled once that is there.
            fill_small(store, [view for view in made if store.view_tables.standing(view.id) is None])


def _undo(store: EmbeddedStore, view: View) -> None:
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


def _check_kind(replaced: View, statement: CreateView) -> None:
    if replaced.kind != str(statement.kind):
        raise TableExists(
            f'"{replaced.name}" is {with_article(replaced.kind)}, not {with_article(statement.kind)}',
            detail="OR REPLACE puts something of the same kind in its place.",
            hint=f"Write {_statement('DROP', replaced)} first, or choose another name.",
        )


def fill_small(store: EmbeddedStore, views: list[View]) -> None:
    """Fill views whose input is small, lower ones first; leave the others to a maintainer."""
    bound = bound_views(store)
    for view in views:
        one = bound.views.get(view.id)
        if one is not None and not _fill_small(store, one):
            return


def _fill_small(store: EmbeddedStore, one: BoundView) -> bool:
    bound = bound_views(store)
    try:
        if input_rows(store, bound, one) > SMALL or begin_fill(store, bound, one) is None:
            return False
        return fill_by_rows(store, bound, one).filled is None
    except (Outrun, NotRetained):
        # Another process has taken it over, or will.
        return False


def drop_view(store: EmbeddedStore, catalog: Catalog, statement: DropView) -> None:
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


def alter_view(store: EmbeddedStore, catalog: Catalog, statement: AlterView) -> None:
    """Change the mode of a view: its rows go where that mode keeps them, and nothing is computed again.

    They do at once if they can; else, where others that read it lag far behind, once a maintainer has brought those up.
    Unsupported if the view, or what reads it, has no meaning in that mode.
    """
    found = catalog.view(statement.name)
    if found is None or not _is_a(found, statement):
        raise _not_there(catalog, statement, found)
    wanted = statement.maintain
    # What is about to take its place has to have the mode, too.
    pending = replacements(catalog).get(found.id)
    views = [view for view in (found, pending) if view is not None]
    if all((view.mode, view.interval_ms) == (wanted.mode, wanted.interval_ms) for view in views):
        return
    store.view_catalog.alter(catalog, [_altered(catalog, view, wanted) for view in views])
    for _ in range(SETTLING):
        if not settle_views(store):
            break


def _altered(catalog: Catalog, view: View, wanted: Maintain) -> View:
    """A view in another mode; Unsupported if it has no meaning there."""
    again = _bound_in_mode(catalog, view, wanted)
    check_sources(catalog, view.name, view.kind, wanted, view.sources)
    check_above(catalog, view, wanted)
    check_same_rows(catalog, view, again)
    return replace(view, mode=str(wanted.mode), interval_ms=wanted.interval_ms, text=again.text)


def _bound_in_mode(catalog: Catalog, view: View, maintain: Maintain) -> CreateView:
    """The statement of a view in another mode; Unsupported if it has what only a PERIODIC view can have."""
    try:
        return bind_text(with_maintain(view.text, maintain), finder(catalog, view.sources))
    except Unsupported as error:
        if view.mode != Mode.PERIODIC:
            raise
        raise Unsupported(
            f'{view.kind} "{view.name}" can only be PERIODIC, not {maintain}',
            detail=f"It has what is computed anew as a whole: {error.message}.",
            hint="Make a view without that, which can be kept by changes, and a PERIODIC one over it.",
        ) from None

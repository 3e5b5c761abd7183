"""Views bound to their programs: the text of the catalog, compiled once for each version of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import TypeVar
from weakref import WeakKeyDictionary

from viewkeeper.delta.deltaplan import Changes
from viewkeeper.delta.joinplan import WholeSource
from viewkeeper.delta.keys import KeyOf
from viewkeeper.delta.program import Program, Storage, numbered, program
from viewkeeper.delta.widening import used_columns, widened
from viewkeeper.errors import BadDefinition, ViewkeeperError, ViewsDepend
from viewkeeper.execute.simplegroups import SimpleGroups, simple_groups
from viewkeeper.execute.viewchanges import ViewRunner
from viewkeeper.model.schema import Table
from viewkeeper.model.types import Row
from viewkeeper.model.view import View
from viewkeeper.plan.relation import Field, Scan
from viewkeeper.sql.sources import Source, finder, source_of
from viewkeeper.sql.statements import CreateView
from viewkeeper.store.insync import Places, places_of
from viewkeeper.store.interface import Catalog, Store
from viewkeeper.store.partition import partition_function
from viewkeeper.views.fillmark import MAX_LEAVES
from viewkeeper.views.local import partitions_of


@dataclass(frozen=True)
class BoundView:
    """A view, its program with the ids of its tables, and what runs it on rows.

    `bare` is the program without ids, and without columns that only other views use of a shared join index. Of a view
    that is kept once for each partition, this is one of them, and `whole` the view as the catalog has it.
    """

    view: View
    statement: CreateView
    bare: Program
    program: Program
    runner: ViewRunner
    whole: View
    partition: Partition | None = None

    def of_part(self, rows: Iterable[T], keyed: Callable[[T], Row]) -> Iterable[T]:
        """Those of some rows, or of what has rows, that are in its partition."""
        if self.partition is None:
            return rows
        place, of = self.partition
        return [row for row in rows if of(keyed(row)) == place]

    @cached_property
    def leaves(self) -> tuple[Changes, ...]:
        """What it reads, from left to right; a table that it reads twice is there twice."""
        return tuple(self.program.plan.leaves())

    @cached_property
    def sources(self) -> frozenset[int]:
        """The tables and views that it reads."""
        return frozenset(leaf.object for leaf in self.leaves)

    @cached_property
    def simple(self) -> SimpleGroups | None:
        """What follows the rows of one write, where that can be done in one go."""
        return simple_groups(self.program)

    @property
    def is_joined(self) -> bool:
        return self.program.plan.is_joined

    @property
    def is_whole(self) -> bool:
        """Whether it can only be computed whole: it has no auxiliary tables, and changes of its input no delta."""
        return isinstance(self.program.plan.source, WholeSource)

    @property
    def is_foldable(self) -> bool:
        """Whether pending changes can be added to what is stored: not to what is computed anew each time."""
        return self.view.mode != "PERIODIC"


@dataclass(frozen=True, slots=True)
class BoundViews:
    """All views of one version of the catalog, lower ones first.

    `views` are those that maintenance keeps, `in_base` those that follow in the transaction of a write; `failed` are
    those that cannot be bound any more.
    """

    catalog: Catalog
    views: dict[int, BoundView]
    in_base: dict[int, BoundView]
    failed: dict[int, ViewkeeperError]
    places: dict[int, Places] = field(default_factory=dict, compare=False)

    def places_of(self, one: BoundView) -> Places:
        """Where the tables of a view are that follows in the transaction of a write."""
        found = self.places.get(one.view.id)
        if found is None:
            found = self.places[one.view.id] = places_of(self.catalog, one.view.objects)
        return found

    def get(self, number: int) -> BoundView | None:
        """A view, however it is kept; None if it cannot be bound, or is not there."""
        return self.views.get(number) or self.in_base.get(number)

    def fed_by(self, source: int) -> BoundView | None:
        """The view whose feed an input is read from; None if its changes are in the log."""
        return None if source in self.catalog.codecs else self.views[source]

    def repeats(self, source: int) -> bool:
        """Whether the rows of an input are stored once each, with a weight."""
        view = self.catalog.views.get(source)
        return view is not None and view.repeats

    def of(self, objects: Iterable[int]) -> list[BoundView]:
        """The views among some objects, lower ones first."""
        wanted = set(objects)
        return [bound for number, bound in self.views.items() if number in wanted]


T = TypeVar("T")
Partition = tuple[int, Callable[[Row], int]]
"""The number of a partition, and the function that tells the one of a row."""

_cache: WeakKeyDictionary[Store, BoundViews] = WeakKeyDictionary()
_lock = Lock()


def bound_views(store: Store) -> BoundViews:
    """The views of the catalog as it is now; bound anew only where it has changed."""
    return bound_in(store, store.catalog())


def bound_in(store: Store, catalog: Catalog) -> BoundViews:
    """The views of a catalog of the store."""
    known = _cache.get(store)
    if known is not None and known.catalog.version == catalog.version:
        return known
    with _lock:
        known = _cache.get(store)
        if known is not None and known.catalog.version == catalog.version:
            return known
        views: dict[int, BoundView] = {}
        failed: dict[int, ViewkeeperError] = {}
        for number, view in sorted(catalog.views.items()):
            before = None if known is None else known.get(number)
            if (
                known is not None
                and before is not None
                and before.whole == view
                and _same_parts(known.catalog, catalog, view)
            ):
                views |= {part: one for part in view.tables if (one := known.get(part)) is not None}
                continue
            try:
                one = bind_again(catalog, view)
            except ViewkeeperError as error:
                failed[number] = error
                continue
            views |= {part.view.id: part for part in parts_of(catalog, one)}
        wide = _widened(views)
        kept = {number: one for number, one in wide.items() if not one.view.in_base}
        beside = {number: one for number, one in wide.items() if one.view.in_base}
        bound = _cache[store] = BoundViews(catalog, kept, beside, failed)
        return bound


def _widened(views: dict[int, BoundView]) -> dict[int, BoundView]:
    """The views, with join indexes that hold what any view of the catalog uses of them."""
    # Those beside the tables, too: they may come to share an index when their mode changes.
    joined = {number: one for number, one in views.items() if one.is_joined}
    used = used_columns(one.bare for one in joined.values())
    found = dict(views)
    for number, one in joined.items():
        wide = numbered(widened(one.bare, used), iter(one.view.auxiliary))
        if wide != one.program:
            found[number] = replace(one, program=wide, runner=ViewRunner(wide))
    return found


def bind_again(catalog: Catalog, view: View) -> BoundView:
    """A view of the catalog, from its text, over the very tables and views that it was made over."""
    statement = bind_text(view.text, finder(catalog, view.sources))
    made = program_of(statement, catalog, id=view.id)
    whole = numbered(made, iter(view.auxiliary))
    return BoundView(view, statement, made, whole, ViewRunner(whole), view)


def parts_of(catalog: Catalog, one: BoundView) -> Iterator[BoundView]:
    """A bound view; of one that is kept once for each partition, these."""
    if not one.view.parts:
        yield one
        return
    of = partition_function(catalog.codecs[one.view.sources[0]])
    for number in range(len(one.view.tables)):
        view = one.view.part(number)
        layout = replace(one.bare.layout, id=view.id)
        whole = numbered(replace(one.bare, layout=layout), iter(view.auxiliary))
        yield replace(one, view=view, program=whole, runner=ViewRunner(whole), partition=(number, of))


def _same_parts(known: Catalog, catalog: Catalog, view: View) -> bool:
    """Whether the partitions of what a view reads are still the same."""
    return not view.parts or known.tables.get(view.sources[0]) == catalog.tables.get(view.sources[0])


def bind_text(text: str, find: Callable[[str], Table | Source]) -> CreateView:
    """The statement of a view's text."""
    from viewkeeper.sql.bind import bind
    from viewkeeper.sql.parse import parse

    (parsed,) = parse(text)
    statement = bind(parsed, find, None)
    assert isinstance(statement, CreateView)
    return statement


def key_of(catalog: Catalog) -> KeyOf:
    """What identifies the rows of the tables and views of a catalog."""

    def key(scan: Scan) -> tuple[tuple[int, Field], ...] | None:
        view = catalog.views.get(scan.object)
        if view is None:
            table = source_of(catalog.tables[scan.object])
            columns, key = table.columns, table.key
        elif view.repeats:
            return None
        else:
            columns, key = view.layout.columns, view.layout.key
        return tuple((number, Field(columns[number].name, columns[number].type)) for number in key)

    return key


def program_of(statement: CreateView, catalog: Catalog, *, id: int) -> Program:
    """The program of a bound statement; its auxiliary tables have no ids yet."""
    retain = statement.retain
    return program(
        statement.plan,
        statement.visible,
        statement.key,
        id=id,
        name=statement.name,
        key_of=key_of(catalog),
        retain=None if retain is None else (retain.column, retain.retain_ms * 1000),
    )


def new_view(statement: CreateView, catalog: Catalog, take: Callable[[int], int], *, replaces: int | None) -> View:
    """The catalog's entry for a bound statement; `take` gives the first of some new ids."""
    made = program_of(statement, catalog, id=0)
    leaves = len(list(made.plan.leaves()))
    if leaves > MAX_LEAVES:
        raise BadDefinition(
            f'view "{statement.name}" reads {leaves} tables and views, more than {MAX_LEAVES}',
            hint="Make views of parts of it, and read those.",
        )
    count = 1 + len(list(made.auxiliary()))
    partitions = partitions_of(statement, catalog, made)
    number = take(count * partitions)
    layout = replace(made.layout, id=number)
    return View(
        id=number,
        name=statement.name,
        kind=str(statement.kind),
        text=statement.text,
        mode=str(statement.maintain.mode),
        interval_ms=statement.maintain.interval_ms,
        sources=statement.sources,
        layout=layout,
        key=_visible_key(made),
        repeats=made.storage is Storage.WEIGHTED,
        approximate=tuple(sorted(statement.approximate)),
        auxiliary=tuple(range(number + 1, number + count)),
        replaces=replaces,
        ages=made.epochs is not None,
        parts=tuple(tuple(range(number + count * part, number + count * (part + 1))) for part in range(1, partitions)),
    )


def _visible_key(made: Program) -> tuple[int, ...]:
    """The stored key, where all of it is visible and rows do not repeat."""
    if made.storage is Storage.WEIGHTED or any(number >= made.layout.visible for number in made.layout.key):
        return ()
    return made.layout.key


def replacements(catalog: Catalog) -> dict[int, View]:
    """By the id of a view, the one that is being filled to replace it."""
    return {view.replaces: view for view in catalog.views.values() if view.replaces is not None}


Again = tuple[View, int | None]
"""A definition to bind again, and the id of the view that it will replace; None if it only moves to another source."""


def above_replaced(catalog: Catalog, replaced: View) -> tuple[list[Again], list[View]]:
    """What has to be made again, lower ones first, when a view is replaced; and what then has no use any more.

    Each view above it, by its newest definition. Of no use are earlier replacements of all these that were never
    finished; what was made over such a one meanwhile, or is about to stand on the replaced view, is made again, too.
    """
    pending = replacements(catalog)
    standing = catalog.dependents([replaced.id])
    above = {view.id: view for view in standing if view.replaces is None}
    unfinished = [pending[number] for number in (replaced.id, *above) if number in pending]
    unfinished += [view for view in standing if view.replaces is not None]
    gone = {view.id: view for view in (*unfinished, *catalog.dependents([one.id for one in unfinished]))}
    again: list[Again] = [(pending.get(view.id, view), view.id) for view in above.values()]
    again += [
        (view, view.replaces)
        for view in gone.values()
        if view.id not in above and view.replaces not in above and view.replaces != replaced.id
    ]
    return sorted(again, key=lambda one: one[0].id), list(gone.values())


def rebound(catalog: Catalog, again: Sequence[Again], new: View, take: Callable[[int], int]) -> list[View]:
    """Views that stand on one that is to be replaced, bound over `new` and over each other.

    ViewsDepend, with the names of all that cannot be and of what stands on these, if one cannot.
    """
    moved = replacements(catalog)
    known = replace(catalog, views={**catalog.views, new.id: new})

    def move(definition: View | None, replaces: int | None, to: View) -> None:
        for number in (replaces, None if definition is None else definition.id):
            if number is not None:
                moved[number] = to

    move(moved.get(new.replaces) if new.replaces is not None else None, new.replaces, new)
    made: list[View] = []
    broken: list[str] = []
    lost: set[int | None] = set()
    reason = ""
    for definition, replaces in again:
        if not lost.isdisjoint(definition.sources):
            # It would bind over what is there now, which goes when its replacement cannot be.
            broken.append(definition.name)
            lost |= {definition.id, replaces}
            continue
        sources = tuple(moved[number].id if number in moved else number for number in definition.sources)
        try:
            statement = bind_text(definition.text, finder(known, sources))
            view = new_view(statement, known, take, replaces=replaces)
        except ViewkeeperError as error:
            broken.append(definition.name)
            lost |= {definition.id, replaces}
            reason = reason or f"{definition.name}: {error.message}."
            continue
        known = replace(known, views={**known.views, view.id: view})
        move(definition, replaces, view)
        made.append(view)
    if broken:
        raise ViewsDepend(
            f'{new.kind} "{new.name}" cannot be replaced: {", ".join(broken)} would no longer hold',
            detail=reason,
            hint="Keep the columns that they read, or drop them first.",
        )
    return made

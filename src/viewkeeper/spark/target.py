"""What the options of a read name: a database, a table or view of it, and where it is to be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from viewkeeper.errors import BadParameter, NotRetained, TableDropped
from viewkeeper.model.position import Position
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Column
from viewkeeper.model.view import View
from viewkeeper.pipeline.workerstore import worker_store
from viewkeeper.store.catalog import Catalog
from viewkeeper.store.embedded import EmbeddedStore

READ = ("path", "table", "asOf", "columns", "partitions")
STREAM = ("path", "changes", "startingPosition", "maxChangesPerTrigger")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A table or a view by id; picklable, since Spark carries it from planning to the tasks.

    `view` is a view as it was found, and `since` the position from which on it has been kept where it was then.
    """

    path: str
    database: str
    name: str
    object: int
    view: View | None = None
    since: int = 0

    @property
    def in_log(self) -> bool:
        """Whether its rows are beside those of tables, if it is not a table, and its changes are in the log."""
        return self.view is None or self.view.in_base

    @property
    def repeats(self) -> bool:
        return self.view is not None and self.view.repeats

    def store(self) -> EmbeddedStore:
        """In a process of Spark: the store."""
        return worker_store(self.path)

    def codec(self, store: EmbeddedStore) -> RowCodec:
        """The codec as it is now; TableDropped if the table or view is gone, or the view is kept elsewhere by now."""
        catalog = store.catalog()
        found = (catalog.codecs if self.view is None else catalog.view_codecs).get(self.object)
        if found is None:
            raise TableDropped(f'"{self.name}" was dropped or replaced', hint="Load it again.")
        if self.view is not None:
            self._check_home(store, self.view, catalog.views[self.object])
        return found

    def check(self, store: EmbeddedStore) -> None:
        """TableDropped as for `codec`. What was read before this is of the view that was found, and whole."""
        self.codec(store)

    def _check_home(self, store: EmbeddedStore, view: View, now: View) -> None:
        # One that left and came back has changed meanwhile, and neither log nor feed tells how.
        if (now.in_base, now.parts, _since(store, now)) != (view.in_base, view.parts, self.since):
            raise TableDropped(
                f'view "{self.name}" is kept elsewhere by now',
                detail="ALTER VIEW has moved it, or it was filled anew.",
                hint="Load it again; start a streaming query again, which goes on from its checkpoint if it can.",
            )


def _since(store: EmbeddedStore, view: View) -> int:
    """From where on a view has been kept where it is now; 0 if it is nowhere yet."""
    if view.in_base:
        return view.since
    found = store.view_tables.standing(view.id)
    return 0 if found is None else found[0].born


def find(options: Mapping[str, str], option: str, known: tuple[str, ...]) -> Target:
    """The table or view that `option` names; BadParameter if an option is missing or unknown."""
    _check(options, option, known)
    store = worker_store(options["path"])
    found = store.catalog().find(options[option])
    view = found if isinstance(found, View) else None
    return Target(
        path=str(store.folder.path),
        database=store.database,
        name=found.name,
        object=found.id,
        view=view,
        since=0 if view is None else _since(store, view),
    )


def _check(options: Mapping[str, str], option: str, known: tuple[str, ...]) -> None:
    shown = ", ".join(known)
    for name in ("path", option):
        if name not in options:
            raise BadParameter(f'option "{name}" is missing', detail=f"The options are {shown}.")
    lower = {name.lower() for name in known}
    for name in options:
        if name.lower() not in lower:
            raise BadParameter(f'option "{name}" is unknown', detail=f"The options are {shown}.")


def visible_columns(codec: RowCodec) -> tuple[Column, ...]:
    """What users see of a table or view."""
    return codec.table.columns[: codec.table.visible]


def key_columns(target: Target, catalog: Catalog, codec: RowCodec) -> tuple[Column, ...]:
    """The columns of a key: those of a table's primary key, or the visible ones by which a view is stored."""
    if target.view is None:
        return tuple(codec.table.columns[number] for number in codec.key.columns)
    view = catalog.views.get(target.object)
    return () if view is None else tuple(view.columns[number] for number, _ in view.order)


def standing(target: Target, store: EmbeddedStore, as_of: str | None) -> int:
    """The offset to read at: `as_of` if given, else where the table or view is now.

    NotRetained if a view was not kept there yet, or not where it is now.
    """
    if as_of is None:
        return reached(target, store)
    position = Position.parse(as_of)
    offset = store.snapshot(position).offset if target.in_log else store.offset(position)
    if offset < target.since:
        raise NotRetained(
            f'view "{target.name}" is not kept at position {position}',
            detail=f"It is kept where it is since {store.position(target.since)}.",
            hint="Read it as of a later position.",
        )
    return offset


def reached(target: Target, store: EmbeddedStore) -> int:
    """Where a table or view is now."""
    if target.in_log:
        return store.offset(store.head())
    with store.view_tables.reading([target.object]) as reading:
        return reading.group(target.object).watermark


def whole_number(options: Mapping[str, str], name: str) -> int | None:
    """An option that is a whole number from 1 on; None if it is not given."""
    text = options.get(name)
    if text is None:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise BadParameter(f'option "{name}" is {text!r}', hint="It is a whole number from 1 on.")
    return int(text)

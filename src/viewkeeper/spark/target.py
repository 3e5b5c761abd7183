"""What the options of a read name: a database, a table or view of it, and where it is to be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from viewkeeper.errors import BadParameter, TableDropped
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
    """A table or a view by id; picklable, since Spark carries it from planning to the tasks."""

    path: str
    database: str
    name: str
    object: int
    is_view: bool
    repeats: bool = False

    def store(self) -> EmbeddedStore:
        """In a process of Spark: the store."""
        return worker_store(self.path)

    def codec(self, store: EmbeddedStore) -> RowCodec:
        """The codec as it is now; TableDropped if the table or view is gone."""
        catalog = store.catalog()
        found = (catalog.view_codecs if self.is_view else catalog.codecs).get(self.object)
        if found is None:
            raise TableDropped(f'"{self.name}" was dropped or replaced', hint="Load it again.")
        return found


def find(options: Mapping[str, str], option: str, known: tuple[str, ...]) -> Target:
    """The table or view that `option` names; BadParameter if an option is missing or unknown."""
    _check(options, option, known)
    store = worker_store(options["path"])
    found = store.catalog().find(options[option])
    is_view = isinstance(found, View)
    return Target(
        path=str(store.folder.path),
        database=store.database,
        name=found.name,
        object=found.id,
        is_view=is_view,
        repeats=isinstance(found, View) and found.repeats,
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
    if not target.is_view:
        return tuple(codec.table.columns[number] for number in codec.key.columns)
    view = catalog.views.get(target.object)
    return () if view is None else tuple(view.columns[number] for number, _ in view.order)


def standing(target: Target, store: EmbeddedStore, as_of: str | None) -> int:
    """The offset to read at: `as_of` if given, else where the table or view is now."""
    if as_of is not None:
        offset = store.offset(Position.parse(as_of))
        return offset if target.is_view else store.snapshot(store.position(offset)).offset
    if not target.is_view:
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

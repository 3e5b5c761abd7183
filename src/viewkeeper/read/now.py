"""Reads by name as of now: a table as it is, a view as it is or as fresh as asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewkeeper.errors import Unsupported, ViewNotReady
from viewkeeper.model.view import View
from viewkeeper.read.beside import beside_at, get_beside, looks_of
from viewkeeper.read.bykey import Reader, check_limit, key_interval, select
from viewkeeper.read.consistency import ANY, Asked, MaxLag, covered
from viewkeeper.read.handle import Handle
from viewkeeper.read.query import parse_query
from viewkeeper.read.region import Region, regions_of
from viewkeeper.read.rows import ReadMeta, Rows
from viewkeeper.read.viewat import ViewAt
from viewkeeper.read.viewkeys import key_region, view_key, view_region
from viewkeeper.read.waiting import whole
from viewkeeper.sql.statements import JoinSelect, Select
from viewkeeper.store.interface import Catalog, Snapshot, Store

Served = tuple[Reader, ReadMeta]
Fresh = tuple[dict[str, Any] | None] | None
Found = tuple[dict[str, Any] | None, ReadMeta]


def get_fast(handle: Handle, view: View, key: tuple[Any, ...]) -> dict[str, Any] | None:
    """The row of a key of a view as it is; None if there is none. Nothing is told of how it was found."""
    store = handle.store
    catalog = store.catalog()
    codec = catalog.view_codecs[view.id]
    encoded = view_key(view, codec, key)
    if view.in_base:
        return get_beside(store, catalog, view, codec, encoded)
    try:
        value = store.view_tables.get_row(view.id, encoded)
    except ViewNotReady:
        # Whatever the reason is, it is told with the view's name.
        whole(store, view)
        value = store.view_tables.get_row(view.id, encoded)
    return None if value is None else codec.to_dict(codec.decode(value))


def get_fresh(handle: Handle, name: str, key: tuple[Any, ...], asked: Asked) -> Fresh:
    """The same of a view that is asked for more, if it stands far enough already; None if it is not so simple."""
    store = handle.store
    catalog, head = store.catalog_at_head()
    view = catalog.view(name)
    if view is None or view.in_base or isinstance(asked.consistency, MaxLag):
        return None
    is_latest = asked.consistency == "latest" or (asked.consistency is None and view.is_lazy)
    least = head if is_latest else max(covered(store, asked), handle.floor(view))
    codec = catalog.view_codecs[view.id]
    found = store.view_tables.get_row_from(view.id, view_key(view, codec, key), least)
    if found is None:
        return None
    if view.is_lazy:
        from viewkeeper.read.readnotes import note_read

        note_read(handle, view)
    return (None if found[0] is None else codec.to_dict(codec.decode(found[0])),)


def get_now(handle: Handle, name: str, key: tuple[Any, ...], asked: Asked = ANY) -> Found:
    """The row of a key of a table or view, None if there is none, and how it was found."""
    catalog = handle.store.catalog()
    found = catalog.find(name)
    if isinstance(found, View):
        codec = catalog.view_codecs[found.id]
        region = key_region(found, codec, key)
        reader, meta = view_now(handle, catalog, found, [region], asked)
        row = reader.get(codec, region.interval.lower)
    else:
        codec = catalog.codecs[found.id]
        encoded = codec.key.encode_key(codec.key_cells(key))
        snapshot, meta = table_now(handle.store, asked)
        row = snapshot.get(codec, encoded)
    meta.operations, meta.rows = looks_of(found), int(row is not None)
    return None if row is None else codec.to_dict(row), meta


def scan_now(
    handle: Handle,
    name: str,
    *,
    prefix: Any,
    lower: Any,
    upper: Any,
    limit: int | None,
    reverse: bool,
    base_rows: bool = False,
    asked: Asked = ANY,
) -> Rows:
    """The rows of a table or view in stored order; with `base_rows`, those of the table that an index is of."""
    catalog = handle.store.catalog()
    found = catalog.find(name)
    if isinstance(found, View):
        region = view_region(found, catalog.view_codecs[found.id], prefix, lower, upper)
        check_limit(limit)
        served = view_now(handle, catalog, found, [region], asked)
        if base_rows:
            return base_rows_of(handle.store, served, catalog, found, region, limit, reverse)
        return scan_of_view(served, catalog, found, region, limit, reverse)
    if base_rows:
        raise Unsupported(
            f'"{found.name}" is a table, and its rows are its own',
            hint="base_rows=True is for an index: it gives the rows of the table that its entries are of.",
        )
    codec = catalog.codecs[found.id]
    interval = key_interval(codec, prefix, lower, upper)
    check_limit(limit)
    snapshot, meta = table_now(handle.store, asked)
    meta.operations = 1
    chunks = snapshot.scan(codec, interval, limit=limit, reverse=reverse)
    return Rows(chunks, codec.table.columns, codec.to_dict, meta)


def scan_of_view(
    served: Served, catalog: Catalog, view: View, region: Region, limit: int | None, reverse: bool
) -> Rows:
    codec = catalog.view_codecs[view.id]
    reader, meta = served
    meta.operations = looks_of(view)
    chunks = reader.scan(codec, region.interval, limit=limit, reverse=reverse)
    return Rows(chunks, view.columns, codec.to_dict, meta)


def base_rows_of(
    store: Store, served: Served, catalog: Catalog, view: View, region: Region, limit: int | None, reverse: bool
) -> Rows:
    """The rows of the table that the entries of an index are of."""
    # What says which columns of an entry are the key takes as long to import as everything else together.
    from viewkeeper.read import baserows

    base = baserows.base_of(store, catalog, view)
    reader, meta = served
    meta.operations = looks_of(view)
    chunks = reader.scan(catalog.view_codecs[view.id], region.interval, limit=limit, reverse=reverse)
    return baserows.base_rows(store, base, chunks, meta)


def query_now(
    handle: Handle, sql: str, params: dict[str, Any], asked: Asked = ANY, *, allow_scan: bool = False
) -> Rows:
    """The rows of one SELECT."""
    # What analyses queries takes as long to import as everything else together.
    from viewkeeper.read.prepared import prepare, run

    parsed = parse_query(sql, params)
    prepared = prepare(handle.store, handle.store.catalog(), parsed, sql)
    return run(handle, prepared, params, asked, allow_scan=allow_scan)


def select_now(handle: Handle, catalog: Catalog, statement: Select | JoinSelect, asked: Asked = ANY) -> Rows:
    """The rows of a SELECT that was bound to this catalog."""
    if isinstance(statement, JoinSelect):
        # What joins rows in memory takes as long to import as everything else together.
        from viewkeeper.read.joined import select_joined

        return select_joined(
            handle.store, catalog, statement, lambda view, regions: view_now(handle, catalog, view, regions, asked)
        )
    found = catalog.find(statement.table)
    if isinstance(found, View):
        regions = regions_of(catalog.view_codecs[found.id], statement.where)
        return select_of_view(view_now(handle, catalog, found, regions, asked), catalog, found, statement)
    snapshot, meta = table_now(handle.store, asked)
    return select(snapshot, catalog.codecs[found.id], statement, meta)


def select_of_view(served: Served, catalog: Catalog, view: View, statement: Select) -> Rows:
    reader, meta = served
    codec = catalog.view_codecs[view.id]
    return select(reader, codec, statement, meta, repeats=view.repeats, looks=looks_of(view))


def table_now(store: Store, asked: Asked) -> tuple[Snapshot, ReadMeta]:
    """The tables as they are, which is as fresh as anything."""
    covered(store, asked)
    snapshot = store.snapshot()
    return snapshot, ReadMeta(path="table", position=snapshot.position)


def view_now(handle: Handle, catalog: Catalog, view: View, regions: Sequence[Region], asked: Asked) -> Served:
    """A view to read these regions of, as fresh as asked."""
    store = handle.store
    if view.in_base:
        snapshot, meta = table_now(store, asked)
        meta.path = "view"
        return beside_at(store, catalog, view, snapshot), meta
    if asked == ANY and not view.is_lazy and not handle.floors:
        at = ViewAt(store, view, catalog.view_codecs[view.id], whole(store, view).watermark)
        return at, ReadMeta(path="view", position=at.position)
    # What folds rows takes as long to import as everything else together.
    from viewkeeper.read.serving import serve

    return serve(handle, catalog, view, regions, asked)

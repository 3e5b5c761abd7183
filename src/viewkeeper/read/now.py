"""Reads by name as of now: a table as it is, a view as it is or as fresh as asked."""

from __future__ import annotations

from typing import Any

from viewkeeper.errors import ViewNotReady
from viewkeeper.model.view import View
from viewkeeper.read.bykey import check_limit, key_interval, select
from viewkeeper.read.consistency import ANY, Asked, dropped, needed, standing
from viewkeeper.read.query import bind_query, parse_query
from viewkeeper.read.rows import ReadMeta, Rows
from viewkeeper.read.viewat import ViewAt
from viewkeeper.read.viewkeys import view_interval, view_key
from viewkeeper.sql.statements import JoinSelect, Select
from viewkeeper.store.interface import Catalog, Store


def get_now(store: Store, name: str, key: tuple[Any, ...], asked: Asked = ANY) -> dict[str, Any] | None:
    """The row of a key of a table or view; None if there is none."""
    catalog = store.catalog()
    found = catalog.find(name)
    if not isinstance(found, View):
        needed(store, asked)
        row = store.get(name, key)
        if isinstance(row, View):
            raise dropped(row)
        return None if row[1] is None else row[0].to_dict(row[1])
    codec = catalog.view_codecs[found.id]
    encoded = view_key(found, codec, key)
    if asked is not ANY:
        standing(store, found, asked)
    try:
        value = store.view_tables.get_row(found.id, encoded)
    except ViewNotReady:
        # Whatever the reason is, it is told with the view's name.
        standing(store, found, asked)
        value = store.view_tables.get_row(found.id, encoded)
    return None if value is None else codec.to_dict(codec.decode(value))


def scan_now(
    store: Store,
    name: str,
    *,
    prefix: Any,
    lower: Any,
    upper: Any,
    limit: int | None,
    reverse: bool,
    asked: Asked = ANY,
) -> Rows:
    """The rows of a table or view in stored order."""
    catalog = store.catalog()
    found = catalog.find(name)
    if isinstance(found, View):
        interval = view_interval(found, catalog.view_codecs[found.id], prefix, lower, upper)
        check_limit(limit)
        return scan_of_view(_view_now(store, catalog, found, asked), catalog, found, interval, limit, reverse)
    codec = catalog.codecs[found.id]
    interval = key_interval(codec, prefix, lower, upper)
    check_limit(limit)
    needed(store, asked)
    snapshot = store.snapshot()
    chunks = snapshot.scan(codec, interval, limit=limit, reverse=reverse)
    meta = ReadMeta(path="table", position=snapshot.position, operations=1)
    return Rows(chunks, codec.table.columns, codec.to_dict, meta)


def scan_of_view(at: ViewAt, catalog: Catalog, view: View, interval: Any, limit: int | None, reverse: bool) -> Rows:
    codec = catalog.view_codecs[view.id]
    chunks = at.scan(codec, interval, limit=limit, reverse=reverse)
    meta = ReadMeta(path="view", position=at.position, operations=1)
    return Rows(chunks, view.columns, codec.to_dict, meta)


def query_now(store: Store, sql: str, params: dict[str, Any], asked: Asked = ANY) -> Rows:
    """The rows of one SELECT."""
    parsed = parse_query(sql, params)
    catalog = store.catalog()
    return select_now(store, catalog, bind_query(parsed, catalog, params), asked)


def select_now(store: Store, catalog: Catalog, statement: Select | JoinSelect, asked: Asked = ANY) -> Rows:
    """The rows of a SELECT that was bound to this catalog."""
    if isinstance(statement, JoinSelect):
        # What joins rows in memory takes as long to import as everything else together.
        from viewkeeper.read.joined import select_joined

        return select_joined(store, catalog, statement, lambda view: _view_now(store, catalog, view, asked))
    found = catalog.find(statement.table)
    if isinstance(found, View):
        return select_of_view(_view_now(store, catalog, found, asked), catalog, found, statement)
    needed(store, asked)
    snapshot = store.snapshot()
    meta = ReadMeta(path="table", position=snapshot.position)
    return select(snapshot, catalog.codecs[found.id], statement, meta)


def select_of_view(at: ViewAt, catalog: Catalog, view: View, statement: Select) -> Rows:
    meta = ReadMeta(path="view", position=at.position)
    return select(at, catalog.view_codecs[view.id], statement, meta, repeats=view.repeats)


def _view_now(store: Store, catalog: Catalog, view: View, asked: Asked) -> ViewAt:
    return ViewAt(store, view, catalog.view_codecs[view.id], standing(store, view, asked).watermark)

"""What a database holds, for people: sizes, tables, the reach of the log."""

from __future__ import annotations

from dataclasses import dataclass

from viewkeeper.model.position import Position
from viewkeeper.store.interface import Catalog, Settings, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInfo:
    """`change`: reads and writes of one changed row at most, over all indexes and views of the table.

    None if one of them has no bound.
    """

    name: str
    rows: int
    columns: int
    key: tuple[str, ...]
    partitions: int
    change: tuple[int, int] | None = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseInfo:
    """`oldest` is how far back as-of reads and change feeds can go; `maintainers` keep on and are alive, by holder."""

    path: str
    database: str
    durability: str
    format: int
    head: Position
    oldest: Position
    log_changes: int
    log_bytes: int
    base_bytes: int
    views_bytes: int
    readers: int
    settings: Settings
    tables: list[TableInfo]
    maintainers: tuple[str, ...] = ()


def describe(store: Store) -> DatabaseInfo:
    catalog = store.catalog()
    log_changes, log_bytes = store.log_size()
    sizes = store.sizes()
    costs = _costs(store, catalog)
    tables = [
        TableInfo(
            name=table.name,
            rows=store.row_count(catalog.codecs[number]),
            columns=len(table.columns),
            key=table.primary_key,
            partitions=table.partitioning.count if table.partitioning else 1,
            change=costs.get(number, (0, 0)),
        )
        for number, table in sorted(catalog.tables.items(), key=lambda item: item[1].name.lower())
    ]
    return DatabaseInfo(
        path=str(store.folder.path),
        database=store.database,
        durability=store.folder.durability,
        format=store.folder.format,
        head=store.head(),
        oldest=store.oldest(),
        log_changes=log_changes,
        log_bytes=log_bytes,
        base_bytes=sizes[0],
        views_bytes=sizes[1],
        readers=store.reader_count(),
        settings=catalog.settings,
        tables=tables,
        maintainers=tuple(store.view_tables.maintainers()),
    )


def _costs(store: Store, catalog: Catalog) -> dict[int, tuple[int, int] | None]:
    """What a changed row costs at most, by table; None where there is no bound."""
    if not catalog.views:
        return {}
    # What analyses takes as long to import as everything else together.
    from viewkeeper.analysis.maintenance import totals
    from viewkeeper.read.prepared import schema_now

    names = {table.name: number for number, table in catalog.tables.items()}
    return {names[name]: cost for name, cost in totals(schema_now(store, catalog)).costs.items()}

"""`viewkeeper status`: what a database holds and how large it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from viewkeeper.cli.opening import DatabasePath, open_existing
from viewkeeper.cli.output import console, table_of

if TYPE_CHECKING:
    from viewkeeper.read.info import DatabaseInfo


def status(
    path: DatabasePath,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print the database's tables, sizes and the reach of its log."""
    with open_existing(path) as db:
        info = db.info()
    if as_json:
        typer.echo(json.dumps(_as_json(info), indent=2, ensure_ascii=False))
    else:
        _print(info)


def _as_json(info: DatabaseInfo) -> dict[str, Any]:
    return {
        "path": info.path,
        "database": info.database,
        "format": info.format,
        "durability": info.durability,
        "head": str(info.head),
        "oldest": str(info.oldest),
        "log_changes": info.log_changes,
        "log_bytes": info.log_bytes,
        "log_retention_ms": info.settings.log_retention_ms,
        "base_bytes": info.base_bytes,
        "views_bytes": info.views_bytes,
        "readers": info.readers,
        "tables": [
            {
                "name": table.name,
                "rows": table.rows,
                "columns": table.columns,
                "key": list(table.key),
                "partitions": table.partitions,
            }
            for table in info.tables
        ],
    }


def _print(info: DatabaseInfo) -> None:
    facts = {
        "database": f"{info.database}, format {info.format}",
        "path": info.path,
        "durability": info.durability,
        "head": str(info.head),
        "log": f"{info.log_changes:,} changes since {info.oldest}, {size(info.log_bytes)}",
        "on disk": f"{size(info.base_bytes)} tables and log, {size(info.views_bytes)} views",
        "readers": str(info.readers),
    }
    out = console()
    for name, value in facts.items():
        out.print(f"{name:<12}{value}")
    out.print()
    rows = [
        {
            "table": table.name,
            "rows": table.rows,
            "columns": table.columns,
            "key": ", ".join(table.key),
            "partitions": table.partitions,
        }
        for table in info.tables
    ]
    if rows:
        out.print(table_of(list(rows[0]), rows))
    else:
        out.print("no tables yet")


def size(count: int) -> str:
    """
    >>> size(512), size(8_388_608)
    ('512 B', '8.0 MiB')
    """
    amount, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"

"""`viewkeeper status`: what a database holds, how large it is, and how its views are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from viewkeeper.cli.opening import DatabasePath, open_existing
from viewkeeper.cli.output import as_text, console, table_of

if TYPE_CHECKING:
    from rich.console import Console

    from viewkeeper.read.info import DatabaseInfo
    from viewkeeper.read.status import ViewStatus


def status(
    path: DatabasePath,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print the database's tables, views, sizes and the reach of its log."""
    with open_existing(path) as db:
        info = db.info()
        views = db.status()
    if as_json:
        typer.echo(json.dumps(_as_json(info, views), indent=2, ensure_ascii=False))
    else:
        _print(info, views)


def _as_json(info: DatabaseInfo, views: list[ViewStatus]) -> dict[str, Any]:
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
        "maintainers": list(info.maintainers),
        "tables": [
            {
                "name": table.name,
                "rows": table.rows,
                "columns": table.columns,
                "key": list(table.key),
                "partitions": table.partitions,
                "change": None if table.change is None else dict(zip(("reads", "writes"), table.change, strict=True)),
            }
            for table in info.tables
        ],
        "views": [_view_json(view) for view in views],
    }


def _view_json(view: ViewStatus) -> dict[str, Any]:
    plain = (int, float, str, dict, type(None))
    values = {name: getattr(view, name) for name in view.__dataclass_fields__}
    return {name: value if isinstance(value, plain) else as_text(value) for name, value in values.items()}


def _print(info: DatabaseInfo, views: list[ViewStatus]) -> None:
    facts = {
        "database": f"{info.database}, format {info.format}",
        "path": info.path,
        "durability": info.durability,
        "head": str(info.head),
        "log": f"{info.log_changes:,} changes since {info.oldest}, {size(info.log_bytes)}",
        "on disk": f"{size(info.base_bytes)} tables and log, {size(info.views_bytes)} views",
        "readers": str(info.readers),
        "maintained": f"by {', '.join(info.maintainers)}" if info.maintainers else "by nobody now",
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
            "a change costs": _cost(table.change),
        }
        for table in info.tables
    ]
    if rows:
        out.print(table_of(list(rows[0]), rows))
    else:
        out.print("no tables yet")
    if views:
        _print_views(out, views)


def _cost(change: tuple[int, int] | None) -> str:
    """What one changed row costs at most over all indexes and views."""
    return "unbounded" if change is None else f"{change[0]:,} reads, {change[1]:,} writes"


def _print_views(out: Console, views: list[ViewStatus]) -> None:
    rows = [
        {
            "view": view.view,
            "mode": view.mode,
            "level": view.level,
            "state": view.state,
            "lag": f"{view.lag_changes:,} changes",
            "for": age(view.lag_ms),
            "rows": view.rows,
            "errors": view.errors,
            "last batch": _batch(view),
            "verified": _verified(view),
        }
        for view in views
    ]
    out.print()
    out.print(table_of(list(rows[0]), rows))
    for view in views:
        if view.error:
            out.print(f"{view.view}: {view.error}")
        if view.batch_joins:
            out.print(f"{view.view}: join indexes met by {view.batch_joins}")
        if view.batch_rows:
            out.print(f"{view.view}: the last refresh read {view.batch_rows:,} rows of its input")
        if view.asked_upto is not None:
            out.print(
                f"{view.view}: asked for up to {view.asked_upto} by {view.asked_by}, priority {view.asked_priority}"
            )
        if view.mode == "LAZY":
            out.print(f"{view.view}: {_lazy(view)}")
        if view.folded_at is not None:
            out.print(f"{view.view}: {_folds(view)}")
        if view.late:
            out.print(f"{view.view}: {view.late:,} late changes to epochs that had left it")


def _batch(view: ViewStatus) -> str:
    """Such as `1,000 changes on spark in 0.20 s: read 0.05, compute 0.15`."""
    if view.batch_at is None:
        return ""
    what = "change" if view.batch_changes == 1 else "changes"
    total = sum(view.batch_seconds.values())
    if not view.batch_seconds:
        # It came along with a read, which tells what that cost itself.
        return f"{view.batch_changes:,} {what} by {view.batch_engine or 'another'}"
    where = f" on {view.batch_engine}" if view.batch_engine else ""
    phases = ", ".join(f"{phase} {seconds:.2g}" for phase, seconds in view.batch_seconds.items())
    return f"{view.batch_changes:,} {what}{where} in {total:.2g} s" + (f": {phases}" if phases else "")


def _lazy(view: ViewStatus) -> str:
    """Such as `pending for 61 s, last read at 2024-02-29T10:00:00Z, every 250 ms`."""
    pending = f"pending for {age(view.lag_ms)}" if view.lag_changes else "nothing pending"
    if view.read_at is None:
        return f"{pending}, not read yet"
    often = f", every {age(view.read_interval_ms)}" if view.read_interval_ms else ""
    return f"{pending}, last read at {as_text(view.read_at.replace(microsecond=0))}{often}"


def _folds(view: ViewStatus) -> str:
    assert view.folded_at is not None
    last = as_text(view.folded_at.replace(microsecond=0))
    return f"{view.folds:,} reads added what was pending, the last one at {last} in {view.fold_ms:.2g} ms"


def _verified(view: ViewStatus) -> str:
    if view.verified_at is None:
        return ""
    found = f"{view.verified_differences:,} differences" if view.verified_differences else "ok"
    return f"{found}, {as_text(view.verified_at.replace(microsecond=0))}"


def age(milliseconds: float) -> str:
    """
    >>> age(0), age(250.4), age(61_000), age(7_200_000)
    ('', '250 ms', '61 s', '120 min')
    """
    if not milliseconds:
        return ""
    for unit, length, most in (("ms", 1, 10_000), ("s", 1_000, 600_000)):
        if milliseconds < most:
            return f"{milliseconds / length:.0f} {unit}"
    return f"{milliseconds / 60_000:,.0f} min"


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

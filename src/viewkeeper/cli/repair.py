"""`viewkeeper repair`: put views right, row by row."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from viewkeeper.cli.opening import DatabasePath, open_existing
from viewkeeper.cli.verify import Master, Views, as_object, names_of

if TYPE_CHECKING:
    from viewkeeper.pipeline.repair import RepairReport


def repair(
    path: DatabasePath,
    views: Views = None,
    master: Master = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a view.")] = False,
) -> None:
    """Compare views with their definitions and rewrite only the rows that differ, of views above them too.

    Writes go on meanwhile; maintenance of the view waits.
    """
    from viewkeeper.pipeline.session import SparkSource

    spark = SparkSource(master=master)
    try:
        with open_existing(path, read_only=False) as db:
            for name in views or names_of(db):
                report = db.repair(name, spark=spark, progress=True)
                typer.echo(json.dumps(_as_object(report), ensure_ascii=False) if as_json else _text(report))
    finally:
        spark.stop()


def _text(report: RepairReport) -> str:
    """What was done; and what was wrong, where something was."""
    return str(report) if report.before.ok else f"{report.before}\n{report}"


def _as_object(report: RepairReport) -> dict[str, Any]:
    return {
        "view": report.view,
        "position": str(report.position),
        "rewritten": report.rewritten,
        "removed": report.removed,
        "added": report.added,
        "before": as_object(report.before),
        "above": [_as_object(one) for one in report.above],
    }

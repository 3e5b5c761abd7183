"""`viewkeeper verify`: whether views are what their definitions say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from viewkeeper.cli.opening import DatabasePath, open_existing
from viewkeeper.cli.output import json_value

if TYPE_CHECKING:
    from viewkeeper.database import Database
    from viewkeeper.pipeline.report import VerifyReport

Views = Annotated[
    list[str] | None, typer.Argument(metavar="[VIEW]…", help="The views; all of them unless given.", show_default=False)
]
Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="Where Spark runs for large inputs; local[*] unless given."),
]


def verify(
    path: DatabasePath,
    views: Views = None,
    master: Master = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a view.")] = False,
) -> None:
    """Compare views with their definitions, while writes and maintenance go on.

    The exit code is 1 if one is not equal to its definition.
    """
    from viewkeeper.pipeline.session import SparkSource

    spark = SparkSource(master=master)
    all_ok = True
    try:
        with open_existing(path, read_only=False) as db:
            for name in views or names_of(db):
                report = db.verify(name, spark=spark, progress=True)
                all_ok = all_ok and report.ok
                typer.echo(json.dumps(as_object(report), ensure_ascii=False) if as_json else str(report))
    finally:
        spark.stop()
    if not all_ok:
        raise typer.Exit(1)


def names_of(db: Database) -> list[str]:
    """All views that can be named, those below first."""
    return [view.name for view in sorted(db.views(), key=lambda view: view.id)]


def as_object(report: VerifyReport) -> dict[str, Any]:
    return {
        "view": report.view,
        "ok": report.ok,
        "position": str(report.position),
        "rows": report.rows,
        "missing": report.missing,
        "unexpected": report.unexpected,
        "different": report.different,
        "auxiliary": dict(report.auxiliary),
        "errors_counted": report.errors[0],
        "errors": report.errors[1],
        "seconds": round(report.seconds, 3),
        "examples": [
            {
                "table": example.table,
                "kind": example.kind,
                "key": _row(example.key),
                "stored": _row(example.stored),
                "expected": _row(example.expected),
            }
            for example in report.examples
        ],
    }


def _row(row: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if row is None else {name: json_value(value) for name, value in row.items()}

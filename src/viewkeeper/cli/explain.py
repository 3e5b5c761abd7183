"""`viewkeeper explain`: whether a query or view stays fast, and how a view is maintained."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from viewkeeper.cli.opening import DatabasePath, open_existing

if TYPE_CHECKING:
    from viewkeeper.database import Database
    from viewkeeper.views.explained import ExplainedView

Slo = Annotated[
    str | None,
    typer.Option("--slo", metavar="TIME", help="How long an execution may take, such as 10ms.", show_default=False),
]


def explain(
    path: DatabasePath,
    what: Annotated[
        str,
        typer.Argument(
            metavar="SQL|VIEW", help="A SELECT, a CREATE of a view, or the name of a view.", show_default=False
        ),
    ],
    slo: Slo = None,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="What views that it needs are called after.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show whether a query stays fast as the data grows: its level, bounds, plan, and what it needs.

    Of a view or index that is there, show the same, and how it is maintained. With --slo the exit code is 1 if it is
    predicted to take longer.
    """
    with open_existing(path, read_only=True) as db:
        if _is_name(db, what):
            if slo is not None or name:
                raise typer.BadParameter("--slo and --name are for a query, not for a view")
            view = db.explain_view(what)
            typer.echo(json.dumps(_view_json(view), ensure_ascii=False) if as_json else str(view))
            return
        verdict = db.explain(what, slo=slo, name=name)
    if as_json:
        from viewkeeper.analysis.report import as_json as verdict_json

        typer.echo(json.dumps(verdict_json(verdict), ensure_ascii=False))
    else:
        typer.echo(str(verdict))
    if verdict.meets_slo is False:
        raise typer.Exit(1)


def _view_json(view: ExplainedView) -> dict[str, Any]:
    from viewkeeper.analysis.report import as_json

    costs = {
        table: dict(zip(("reads", "writes"), cost or (None, None), strict=True)) for table, cost in view.costs.items()
    }
    return {**asdict(view), "verdict": as_json(view.verdict), "costs": costs}


def _is_name(db: Database, what: str) -> bool:
    """Whether it names a view; a statement has several words."""
    return len(what.split()) < 2 or any(view.name.lower() == what.lower() for view in db.views())

"""`viewkeeper explain`: how a view is maintained."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from viewkeeper.cli.opening import DatabasePath, open_existing


def explain(
    path: DatabasePath,
    view: Annotated[str, typer.Argument(help="The view or index.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show how a view is maintained: its plan, the join indexes that it keeps, and how changed rows find partners."""
    with open_existing(path, read_only=True) as db:
        found = db.explain_view(view)
        typer.echo(json.dumps(asdict(found), ensure_ascii=False) if as_json else str(found))

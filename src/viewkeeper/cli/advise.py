"""`viewkeeper advise`: what a file of queries needs, whether each stays fast, and what it costs to write."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from viewkeeper.cli.explain import Slo
from viewkeeper.cli.failing import INTERNAL, internal, print_error, print_traceback
from viewkeeper.cli.opening import open_existing
from viewkeeper.cli.queryfile import Placed, Queries, read_queries, shown
from viewkeeper.errors import BadParameter, TableExists, ViewkeeperError

if TYPE_CHECKING:
    from viewkeeper.analysis.advice import Advice, Advised, TableCost
    from viewkeeper.database import Database


def advise(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="[PATH] FILE",
            help="The folder of a database, if there is one; then files of queries, - for standard input.",
            show_default=False,
        ),
    ],
    slo: Slo = None,
    apply: Annotated[bool, typer.Option("--apply", help="Create what is needed in the database.")] = False,
    maintain: Annotated[
        str | None,
        typer.Option("--maintain", metavar="MODE", help="The mode of what is created.", show_default=False),
    ] = None,
    levels: Annotated[bool, typer.Option("--levels", help="Print what each level guarantees here.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show which queries stay fast as the data grows, what they need, and what that costs each write.

    The files may have CREATE statements, too: they are analysed as if they had been run. The exit code is 1 if a query
    has no bound or cannot be read, or with --slo is predicted to be too slow.
    """
    path = Path(files[0]) if Path(files[0]).is_dir() else None
    names = files if path is None else files[1:]
    if not names:
        raise typer.BadParameter("name at least one file of queries")
    if levels and as_json:
        raise typer.BadParameter("--levels is in what --json prints")
    if apply and path is None:
        raise typer.BadParameter("--apply needs the folder of a database in front of the files")
    mode = _mode(maintain)
    found = read_queries(names)
    if not found.queries:
        raise typer.BadParameter(f"no query was found in {', '.join(map(shown, names))}")
    if apply and found.definitions:
        raise typer.BadParameter("--apply creates what queries need; run CREATE statements with viewkeeper sql first")
    advice = _advice(path, found, slo, mode)
    _print(advice, levels=levels, as_json=as_json)
    if apply and path is not None:
        _apply(path, advice.ddl)
    if not advice.is_good:
        raise typer.Exit(1)


def _mode(maintain: str | None) -> str | None:
    from viewkeeper.analysis.ddl import mode_of

    try:
        return None if maintain is None else mode_of(maintain)
    except BadParameter as error:
        raise typer.BadParameter(f"--maintain: {' '.join([error.message + '.', error.detail, error.hint])}") from None


def _advice(path: Path | None, found: Queries, slo: str | None, mode: str | None) -> Advice:
    with ExitStack() as stack:
        if path is not None:
            db = stack.enter_context(open_existing(path))
            if not found.definitions:
                return _advised(db, found, slo, mode)
        else:
            db = None
        empty = stack.enter_context(_like(db, stack.enter_context(TemporaryDirectory(prefix="viewkeeper-"))))
        _define(empty, found.definitions)
        return _advised(empty, found, slo, mode)


def _advised(db: Database, found: Queries, slo: str | None, mode: str | None) -> Advice:
    """The advice on the queries, with where they stand; other statements are refused among them."""
    from dataclasses import replace

    from viewkeeper.analysis.advice import Advised

    asked = {name: one.in_place for name, one in found.queries.items() if not one.refusal}
    advice = db.advise(asked, slo=slo, maintain=mode)
    by_name = {one.name: one for one in advice.queries}
    queries = [
        replace(by_name.get(name) or Advised(name=name, sql="", error=one.refusal), sql=one.text, where=one.where)
        for name, one in found.queries.items()
    ]
    return replace(advice, queries=tuple(map(_told, queries)))


def _told(one: Advised) -> Advised:
    """A query that a mistake of ours kept from being analysed, told as the program tells of one."""
    from dataclasses import replace

    if one.cause is None:
        return one
    print_traceback(one.cause)
    return replace(one, error=f"error[{INTERNAL}]: {internal(one.cause)}")


def _define(db: Database, definitions: list[Placed]) -> None:
    """Run CREATE statements; the first error, with its file and line, ends the program."""
    before: dict[str, Placed] = {}
    for one in definitions:
        try:
            db.execute(one.in_place)
        except TableExists as error:
            print_error(_twice(error, before.get(_created(one))), where=f"{one.where}: ")
            raise typer.Exit(1) from None
        except ViewkeeperError as error:
            print_error(error, where=f"{one.where}: ")
            raise typer.Exit(1) from None
        before[_created(one)] = one


def _created(one: Placed) -> str:
    """The name of what a statement makes, as names are compared."""
    from viewkeeper.sql.parse import parse
    from viewkeeper.sql.tree import Name

    name = getattr(parse(one.in_place)[0].tree, "name", None)
    return name.text.lower() if isinstance(name, Name) else ""


def _twice(error: TableExists, before: Placed | None) -> TableExists:
    if before is None:
        detail, hint = "The database has it, and the files define it, too.", "Leave it out of the files."
    else:
        detail, hint = f"It is defined twice in the files, first at {before.where}.", "Leave one of them out."
    return TableExists(error.message, detail=detail, hint=hint)


def _like(db: Database | None, folder: str) -> Database:
    """A database with the tables and views of another one, and no rows."""
    from viewkeeper import database

    made = database.open(folder, durability="os")
    if db is not None:
        views = sorted(db.views(), key=lambda view: view.id)
        for one in (*db.tables(), *views):
            made.execute(str(one))
    return made


def _print(advice: Advice, *, levels: bool, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(_as_json(advice), indent=2, ensure_ascii=False))
    elif levels:
        from viewkeeper.analysis.advicetext import levels_text

        typer.echo(levels_text(advice))
    else:
        typer.echo(str(advice))


def _apply(path: Path, ddl: Sequence[str]) -> None:
    from viewkeeper import database

    with database.open(path) as db:
        for number, text in enumerate(ddl, 1):
            typer.echo(f"{number}/{len(ddl)}  {text}", err=True)
            db.execute(text)


def _as_json(advice: Advice) -> dict[str, Any]:
    """Names are never taken away from it; new ones may come."""
    from viewkeeper.analysis.advice import table_one

    return {
        "good": advice.is_good,
        "slo_ms": advice.slo,
        "queries": [_query_json(one) for one in advice.queries],
        "tables": _costs_json(advice.tables),
        "ddl": advice.ddl,
        "notes": advice.notes,
        "levels": table_one(advice),
    }


def _costs_json(costs: Mapping[str, TableCost]) -> dict[str, dict[str, int | None]]:
    from viewkeeper.analysis.report import costs_json

    return costs_json({table: (*(cost.total or (None, None)), *cost.new) for table, cost in costs.items()})


def _query_json(one: Advised) -> dict[str, Any]:
    from viewkeeper.analysis.report import as_json

    return {
        "name": one.name,
        "sql": one.sql,
        "where": one.where,
        "good": one.is_good,
        "level": one.level,
        "error": one.error,
        "costs": _costs_json(one.costs),
        "verdict": None if one.verdict is None else as_json(one.verdict),
    }

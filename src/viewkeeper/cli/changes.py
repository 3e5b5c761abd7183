"""`viewkeeper changes`: what happened to a table or view, in order."""

from __future__ import annotations

import json
import select
import sys
import time
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from viewkeeper.cli.opening import DatabasePath, open_existing
from viewkeeper.cli.output import as_text, json_value

if TYPE_CHECKING:
    from viewkeeper.database import Database
    from viewkeeper.model.change import Change
    from viewkeeper.model.position import Position


POLL = 0.02
"""Seconds between two looks at the head."""


class ChangeFormat(StrEnum):
    text = "text"
    json = "json"


def changes(
    path: DatabasePath,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The table or view.", show_default=False)],
    since: Annotated[
        str, typer.Option("--since", metavar="POSITION", help="A position, start (as far back as it goes) or now.")
    ] = "start",
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more, until Ctrl-C.")] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=0, help="End behind so many changes.")
    ] = None,
    format: Annotated[ChangeFormat, typer.Option("--format", "-f", help="How they are printed.")] = ChangeFormat.text,
) -> None:
    """Print the changes of a table or view in the order of their commits."""
    shown = _line if format is ChangeFormat.text else _json
    with open_existing(path) as db:
        position = _position(db, name, since)
        feed = following(db, name, position) if follow else db.changes(name, since=position)
        for change in islice(feed, limit):
            sys.stdout.write(shown(change) + "\n")
            if follow:
                sys.stdout.flush()


def following(db: Database, name: str, since: Position) -> Iterator[Change]:
    """The feed with all that is still to come, until nobody reads standard output any more."""
    position = since
    while not _is_abandoned():
        reached = _reached(db, name)
        for change in db.changes(name, since=position):
            position = change.position
            yield change
        if not position.covers(reached):
            position = reached
        while position.covers(_reached(db, name)) and not _is_abandoned():
            time.sleep(POLL)


def _reached(db: Database, name: str) -> Position:
    """How far a table or view is: what has happened to it before that will not change any more."""
    return db.scan(name, limit=0).meta.position


def _is_abandoned() -> bool:
    """Whether standard output is a pipe whose reader has gone, which otherwise the next change would show."""
    try:
        out = select.poll()
        out.register(sys.stdout.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLNVAL) for _, event in out.poll(0))
    except (OSError, ValueError):
        return False


def _position(db: Database, name: str, text: str) -> Position:
    from viewkeeper.model.position import Position

    if text == "start":
        return db.oldest(name)
    return db.head() if text == "now" else Position.parse(text)


def _json(change: Change) -> str:
    def row(values: dict[str, Any] | None) -> dict[str, Any] | None:
        return None if values is None else {name: json_value(value) for name, value in values.items()}

    return json.dumps(
        {
            "table": change.table,
            "key": [json_value(value) for value in change.key],
            "before": row(change.before),
            "after": row(change.after),
            "position": str(change.position),
            "committed_at": as_text(change.committed_at),
        },
        ensure_ascii=False,
    )


def _line(change: Change) -> str:
    """Such as `…@7  2024-01-01T10:00:00Z  UPDATE Items (5)  Price: 9.99 → 8.50`."""
    key = ", ".join(map(_shown, change.key))
    if change.before is None:
        verb, what = "INSERT", _values(change.after or {})
    elif change.after is None:
        verb, what = "DELETE", _values(change.before)
    else:
        before = change.before
        verb = "UPDATE"
        what = ", ".join(
            f"{name}: {_shown(before.get(name))} → {_shown(value)}"
            for name, value in change.after.items()
            if not _is_same(before.get(name), value)
        )
    return f"{change.position}  {as_text(change.committed_at)}  {verb} {change.table} ({key})  {what}"


def _is_same(left: Any, right: Any) -> bool:
    """Whether nothing changed; NaN is the same as NaN."""
    return bool(left == right) or (left != left and right != right)


def _values(row: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {_shown(value)}" for name, value in row.items() if value is not None)


def _shown(value: Any) -> str:
    if value is None:
        return "NULL"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else as_text(value)

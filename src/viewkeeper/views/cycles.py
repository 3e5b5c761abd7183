"""A view that would read itself: only one that is replaced can."""

from __future__ import annotations

from collections.abc import Iterable

from viewkeeper.errors import BadDefinition
from viewkeeper.sql.statements import CreateView
from viewkeeper.store.interface import Catalog


def check_cycle(catalog: Catalog, statement: CreateView, replaced: Iterable[int]) -> None:
    """BadDefinition if a view reads one of those that are made again over it."""
    inside = sorted(catalog.views[number].name for number in set(statement.sources).intersection(replaced))
    if inside:
        raise BadDefinition(
            f'{statement.kind} "{statement.name}" would read itself',
            detail=f"It reads {', '.join(inside)}, which stands on it.",
            hint=f"Give the new {statement.kind} another name.",
        )

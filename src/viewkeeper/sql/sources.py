"""What a statement may read: a base table, or a view by its shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

from viewkeeper.errors import UnknownColumn, UnknownTable
from viewkeeper.model.schema import Column, Table
from viewkeeper.model.view import View
from viewkeeper.store.catalog import Catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A table or view as queries see it. Speaks the words of `Table` that reading needs.

    `key` are the ids of the columns that make a row unique, in order; empty if the visible columns do not. `order` is
    how the rows are stored, as far as visible columns say it: column ids and whether they descend. A view may be
    ordered by columns that are not unique, or may be NULL; without `order`, it is `key`, ascending. `approximate` are
    the columns that depend on the order of additions: sums of DOUBLE. `kind` is "table", or that of a view.
    """

    id: int
    name: str
    columns: tuple[Column, ...]
    key: tuple[int, ...]
    kind: str
    order: tuple[tuple[int, bool], ...] | None = None
    approximate: frozenset[int] = frozenset()

    @property
    def stored_order(self) -> tuple[tuple[int, bool], ...]:
        return self.order if self.order is not None else tuple((number, False) for number in self.key)

    @property
    def key_ids(self) -> tuple[int, ...]:
        """The columns that conditions can be on, in stored order."""
        return tuple(number for number, _ in self.stored_order)

    @property
    def primary_key(self) -> tuple[str, ...]:
        return tuple(self.columns[number].name for number in self.key_ids)

    @property
    def is_view(self) -> bool:
        return self.kind != "table"

    def column_id(self, name: str) -> int:
        """The id of a column, compared without case; UnknownColumn if there is none."""
        lowered = name.lower()
        for number, column in enumerate(self.columns):
            if column.name.lower() == lowered:
                return number
        raise UnknownColumn(
            f'column "{name}" is not in {self.kind} "{self.name}"',
            detail=f"Its columns are {', '.join(column.name for column in self.columns)}.",
        )


def source_of(found: Table | View | Source) -> Source:
    """A table or a view as queries see it."""
    match found:
        case Source():
            return found
        case Table():
            return Source(id=found.id, name=found.name, columns=found.columns, key=found.key_ids, kind="table")
        case View():
            return Source(
                id=found.id,
                name=found.name,
                columns=found.columns,
                key=found.key,
                kind=found.kind,
                order=found.order,
                approximate=frozenset(found.approximate),
            )
    assert_never(found)


def finder(catalog: Catalog, numbers: Sequence[int] | None = None) -> Callable[[str], Table | Source]:
    """Looks up tables and views by name: those of these ids, or all that have a name now. UnknownTable."""
    if numbers is None:
        return lambda name: _shown(catalog.find(name))
    objects: dict[int, Table | View] = {**catalog.tables, **catalog.views}
    by_name = {objects[number].name.lower(): objects[number] for number in numbers if number in objects}

    def find(name: str) -> Table | Source:
        found = by_name.get(name.lower())
        if found is None:
            raise UnknownTable(f'"{name}" does not exist any more')
        return _shown(found)

    return find


def _shown(found: Table | View) -> Table | Source:
    return found if isinstance(found, Table) else source_of(found)

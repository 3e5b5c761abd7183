"""What a statement may read: a base table, or a view by its shape."""

from __future__ import annotations

from dataclasses import dataclass

from viewkeeper.errors import UnknownColumn
from viewkeeper.model.schema import Column, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A table or view as queries see it. Speaks the words of `Table` that reading needs.

    `key` are the ids of the columns that make a row unique, in order; empty if the visible columns do not. `order` is
    how the rows are stored, as far as visible columns say it: column ids and whether they descend. A view may be
    ordered by columns that are not unique, or may be NULL; without `order`, it is `key`, ascending. `approximate` are
    the columns that depend on the order of additions: sums of DOUBLE.
    """

    id: int
    name: str
    columns: tuple[Column, ...]
    key: tuple[int, ...]
    is_view: bool
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
    def kind(self) -> str:
        return "view" if self.is_view else "table"

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


def source_of(found: Table | Source) -> Source:
    """The source that a table, or a source itself, is."""
    if isinstance(found, Source):
        return found
    return Source(id=found.id, name=found.name, columns=found.columns, key=found.key_ids, is_view=False)

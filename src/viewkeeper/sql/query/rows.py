"""What a query reads and what it shows: a relation, and its columns."""

from __future__ import annotations

from dataclasses import dataclass

from viewkeeper.plan.relation import Relation
from viewkeeper.sql.query.columns import Columns, RowColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A bound query: its visible columns are the first fields of `relation`, in their order."""

    relation: Relation
    columns: tuple[RowColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """FROM and WHERE: `columns` has one for each field of `relation`."""

    relation: Relation
    columns: Columns

    @property
    def width(self) -> int:
        return len(self.relation.fields)

"""What a query reads: a relation, and the names of its columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from viewkeeper.errors import UnknownColumn
from viewkeeper.model.types import Type
from viewkeeper.plan.expr import Input
from viewkeeper.plan.relation import Relation
from viewkeeper.sql.query.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class RowColumn:
    """A column that a query can name. `approximate`: its value depends on the order of additions."""

    name: str
    type: Type
    nullable: bool = True
    temporal: bool = False
    approximate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A bound query: its visible columns are the first fields of `relation`, in their order."""

    relation: Relation
    columns: tuple[RowColumn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """FROM: the columns are the fields of `relation`, each with what may stand before its dot; None if nothing."""

    relation: Relation
    columns: tuple[tuple[str | None, RowColumn], ...]

    @property
    def width(self) -> int:
        return len(self.relation.fields)

    def input(self, place: int) -> Input:
        return Input(place, self.relation.fields[place].type)

    def over(self, relation: Relation) -> Rows:
        """The same columns over a relation that begins with them."""
        return replace(self, relation=relation)

    def place(self, node: exp.Column, context: Context, *, hint: str = "") -> int:
        """The place of the column that a node names; UnknownColumn if there is none, with `hint`."""
        if not isinstance(node.this, exp.Identifier) or node.args.get("db") or node.args.get("join_mark"):
            raise context.refuse(
                node, f'the column "{node.sql()}"', detail="Columns are top-level.", hint="Write its name."
            )
        found = list(self._named(node.name, node.table))
        if len(found) == 1:
            return found[0]
        shown = f"{node.table}.{node.name}" if node.table else node.name
        if found:
            raise context.bad(
                node, f'column "{shown}" is in several sources', hint="Write the source and a dot in front of it."
            )
        if node.table and not any(_same(qualifier, node.table) for qualifier, _ in self.columns):
            raise context.refuse(
                node,
                f'the qualifier "{node.table}"',
                detail=f"The query reads {self._sources()}, and a sub-query sees nothing outside of it.",
                hint="Write the name of the column alone.",
            )
        raise UnknownColumn(
            f'column "{shown}" is not in {self._sources()}, {context.at(node)}',
            detail=f"The columns are {', '.join(column.name for _, column in self.columns)}.",
            hint=hint,
        )

    def places(self, qualifier: str = "") -> list[int]:
        """The places that * or qualifier.* stands for; none if there is no such qualifier."""
        return [place for place, (found, _) in enumerate(self.columns) if not qualifier or _same(found, qualifier)]

    def has(self, name: str) -> bool:
        return any(True for _ in self._named(name, ""))

    def _named(self, name: str, qualifier: str) -> Iterable[int]:
        for place, (found, column) in enumerate(self.columns):
            if _same(column.name, name) and (not qualifier or _same(found, qualifier)):
                yield place

    def _sources(self) -> str:
        names = dict.fromkeys(qualifier for qualifier, _ in self.columns if qualifier)
        return " and ".join(f'"{name}"' for name in names) or "the sub-query"


def _same(one: str | None, other: str) -> bool:
    return one is not None and one.lower() == other.lower()

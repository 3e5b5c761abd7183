"""What the names of one statement mean."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.errors import Unsupported
from viewkeeper.model.schema import Table
from viewkeeper.sql.constructs import start_of
from viewkeeper.sql.names import written
from viewkeeper.sql.parse import Parsed
from viewkeeper.sql.place import unsupported
from viewkeeper.sql.sources import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A statement and its one table or view; `qualifier` is what may stand before the dot of a column."""

    parsed: Parsed
    table: Table | Source
    qualifier: str

    def column_id(self, node: exp.Column) -> int:
        """The id of the column that a node names; UnknownColumn if the table has none of that name."""
        if not isinstance(node.this, exp.Identifier) or node.args.get("db") or node.args.get("join_mark"):
            raise self.refuse(
                node, f'the column "{node.sql()}"', detail="Columns are top-level.", hint="Write its name."
            )
        if node.table and node.table.lower() != self.qualifier.lower():
            raise self.refuse(
                node,
                f'the qualifier "{node.table}"',
                detail=f'The statement is about "{self.qualifier}" alone.',
                hint=f"Write {written(self.qualifier)}.{written(node.name)} or {written(node.name)}.",
            )
        return self.table.column_id(node.name)

    def refuse(self, node: exp.Expr, construct: str, *, detail: str, hint: str) -> Unsupported:
        start = start_of(node, self.parsed.start)
        return unsupported(self.parsed.source, start, construct, detail=detail, hint=hint)

    @property
    def key(self) -> str:
        """The key, with directions, as an error shows it."""
        return f"({', '.join(name + ' DESC' * down for name, down in self.order)})"

    @property
    def kind(self) -> str:
        return self.table.kind if isinstance(self.table, Source) else "table"

    @property
    def order(self) -> list[tuple[str, bool]]:
        """The columns by which rows are stored, and whether they descend."""
        downs = self.descending
        return [(self.table.columns[number].name, number in downs) for number in self.table.key_ids]

    @property
    def descending(self) -> frozenset[int]:
        """The columns of the key that are stored from the highest value down."""
        if not isinstance(self.table, Source):
            return frozenset()
        return frozenset(number for number, descending in self.table.stored_order if descending)

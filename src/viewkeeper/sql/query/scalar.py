"""A sub-query as a value: what to write instead.

Where one table is looked up, LEFT JOIN is written out:

    (SELECT Name FROM Products AS p WHERE p.ID = ProdID)    LEFT JOIN Products AS p ON p.ID = Events.ProdID
    (SELECT MAX(x) FROM t WHERE t.k = a.k)                  LEFT JOIN (SELECT k, MAX(x) AS m FROM t GROUP BY k) AS t …

An aggregate is computed for each value that is compared; a row may be found for none.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.errors import UnknownTable
from viewkeeper.sql.constructs import bare
from viewkeeper.sql.names import written
from viewkeeper.sql.query import refused
from viewkeeper.sql.query.columns import Columns
from viewkeeper.sql.query.conjuncts import split
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.spellings import AGGREGATES
from viewkeeper.sql.sources import source_of

_ONE_TABLE = {"expressions", "from_", "where"}
"""The clauses of a sub-query that a join can be written for."""


def scalar(node: exp.Expr, columns: Columns, context: Context) -> Exception:
    """The refusal of a sub-query as a value; `columns` are those of the query around it."""
    names = _Names.of(node, columns, context)
    if not any(map(names.is_outer, node.find_all(exp.Column))):
        return context.refusal(node, refused.SUBQUERY)
    query = _query(node)
    aggregated = isinstance(query, exp.Select) and any(map(_is_aggregate, query.find_all(exp.Anonymous)))
    known = refused.CORRELATED if aggregated else refused.CORRELATED_ROW
    hint = _Lookup(query, names).hint() if _is_of_one_table(query) else None
    return context.refuse(node, known.name, detail=known.detail, hint=hint or known.hint)


def _query(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Subquery) and [name for name, value in node.args.items() if value] == ["this"]:
        node = node.this
    return node


def _is_of_one_table(query: exp.Expr) -> bool:
    clauses = {name for name, value in query.args.items() if value}
    if not isinstance(query, exp.Select) or clauses != _ONE_TABLE or len(query.expressions) != 1:
        return False
    table = query.args["from_"].this
    return (
        isinstance(table, exp.Table)
        and isinstance(table.this, exp.Identifier)
        and {name for name, value in table.args.items() if value} <= {"this", "alias"}
    )


def _is_aggregate(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() in AGGREGATES


@dataclass(frozen=True, slots=True)
class _Names:
    """The columns of the query around it, and the names that a sub-query has, lowered; `sources` by their SELECT.

    `columns` is None where a source of the sub-query is not known: a name alone is then taken for one of its columns.
    """

    around: Columns
    sources: frozenset[tuple[int, str]]
    columns: frozenset[str] | None

    @classmethod
    def of(cls, node: exp.Expr, around: Columns, context: Context) -> _Names:
        made = {part.alias.lower() for part in node.find_all(exp.CTE)}
        tables = list(node.find_all(exp.Table))
        named = (*tables, *node.find_all(exp.Subquery))
        sources = {(id(source.find_ancestor(exp.Select)), source.alias_or_name.lower()) for source in named}
        top = _query(node)
        selects = (select for select in node.find_all(exp.Select) if select is not top)
        columns = {item.alias_or_name.lower() for select in selects for item in select.expressions}
        for table in tables:
            if table.name.lower() in made:
                continue
            try:
                columns |= {column.name.lower() for column in source_of(context.find(table.name)).columns}
            except UnknownTable:
                return cls(around, frozenset(sources), None)
        return cls(around, frozenset(sources), frozenset(columns))

    def is_outer(self, column: exp.Column) -> bool:
        if column.table:
            return self.around.has_source(column.table) and not self._is_source(column)
        return self.columns is not None and column.name.lower() not in self.columns and self.around.has(column.name)

    def _is_source(self, column: exp.Column) -> bool:
        """Whether a SELECT that the column is in, and that is in the sub-query, has the source."""
        select = column.find_ancestor(exp.Select)
        while select is not None and (id(select), column.table.lower()) not in self.sources:
            select = select.find_ancestor(exp.Select)
        return select is not None

    def outer(self, node: exp.Expr) -> str | None:
        """A column of the query around with its source; None if the node is anything else."""
        if not isinstance(node, exp.Column) or not self.is_outer(node):
            return None
        if node.table:
            return f"{written(node.table)}.{written(node.name)}"
        found = self.around.alone_as(node.name)
        return found[0].text if len(found) == 1 else None


class _Lookup:
    """A sub-query of one table and one value, of whose conditions some are equalities with the query around it."""

    def __init__(self, query: exp.Expr, names: _Names) -> None:
        table = query.args["from_"].this
        self._names = names
        self._source = table.alias_or_name
        self._name = written(self._source)
        self._table = written(table.name) + (f" AS {self._name}" if table.alias else "")
        self._value = bare(query.expressions[0].unalias())
        conditions = split(query.args["where"].this)
        pairs = {number: pair for number, one in enumerate(conditions) if (pair := self._equality(one)) is not None}
        self._pairs = list(pairs.values())
        self._others = [one for number, one in enumerate(conditions) if number not in pairs]

    def hint(self) -> str | None:
        """What to write; None if it is not plain how."""
        if not self._pairs or self._names.around.has_source(self._source):
            return None
        if isinstance(self._value, exp.Column):
            return None if self._names.is_outer(self._value) else self._row(self._value)
        return self._group(self._value) if _is_aggregate(self._value) else None

    def _equality(self, condition: exp.Expr) -> tuple[exp.Column, str] | None:
        """A column of the table, and the one of the query around that it equals."""
        if not isinstance(condition, exp.EQ):
            return None
        sides = bare(condition.this), bare(condition.expression)
        for own, other in (sides, sides[::-1]):
            outer = self._names.outer(other)
            if outer is not None and isinstance(own, exp.Column) and not self._names.is_outer(own):
                return own, outer
        return None

    @property
    def _on(self) -> str:
        return " AND ".join(f"{self._name}.{written(own.name)} = {outer}" for own, outer in self._pairs)

    def _row(self, value: exp.Column) -> str:
        also = " AND …" if self._others else ""
        shown = f"{self._name}.{written(value.name)}"
        return f"Write LEFT JOIN {self._table} ON {self._on}{also} in FROM, and {shown} here."

    def _group(self, value: exp.Expr) -> str | None:
        read = (column for one in (value, *self._others) for column in one.find_all(exp.Column))
        if any(map(self._names.is_outer, read)):
            return None
        compared = list(dict.fromkeys(written(own.name) for own, _ in self._pairs))
        name = "m" if "m" not in compared else "aggregate"
        where = " WHERE …" if self._others else ""
        grouped = ", ".join(compared)
        inner = f"SELECT {grouped}, {_called(value)} AS {name} FROM {self._table}{where} GROUP BY {grouped}"
        shown = f"{self._name}.{name}"
        if value.name.upper().startswith("COUNT"):
            # Where nothing is found there is no group, and its count is not 0 but NULL.
            shown = f"COALESCE({shown}, 0)"
        return f"Write LEFT JOIN ({inner}) AS {self._name} ON {self._on} in FROM, and {shown} here."


def _called(value: exp.Expr) -> str:
    """An aggregate of a column as it is written; what is not a column is left out."""
    arguments = value.expressions
    if len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        return f"{value.name.upper()}(*)"
    column = bare(arguments[0]) if len(arguments) == 1 else None
    return f"{value.name.upper()}({written(column.name) if isinstance(column, exp.Column) else '…'})"

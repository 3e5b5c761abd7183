"""CREATE INDEX: its columns, as a view would show them."""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.model.types import STRING
from viewkeeper.plan.expr import Expr, Input
from viewkeeper.plan.relation import Project, Relation, Tokens
from viewkeeper.sql.constructs import bare, construct
from viewkeeper.sql.query import exact
from viewkeeper.sql.query.columns import RowColumn
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.expressions import Expressions
from viewkeeper.sql.query.from_clause import of_source
from viewkeeper.sql.query.rows import Bound, Rows
from viewkeeper.sql.sources import source_of
from viewkeeper.sql.tree import CreateIndexTree, IndexItemTree, Name

TOKEN = "token"
"""What TOKENS(…) is called without AS."""


def bind_index_columns(tree: CreateIndexTree, context: Context) -> Bound:
    """Project(Tokens?(source)): the indexed expressions, then the included columns."""
    rows = of_source(source_of(context.find(tree.source.text)), tree.source.text)
    index = _Index(rows, context)
    for item in tree.items:
        index.add(item)
    for name in tree.include:
        index.include(name)
    project = Project(index.relation, tuple(index.exprs), tuple(column.name for column in index.columns))
    return Bound(relation=project, columns=tuple(index.columns))


class _Index:
    def __init__(self, rows: Rows, context: Context) -> None:
        self.relation: Relation = rows.relation
        self.exprs: list[Expr] = []
        self.columns: list[RowColumn] = []
        self._rows = rows
        self._context = context
        self._binder = Expressions(context, rows.columns, "CREATE INDEX")

    def add(self, item: IndexItemTree) -> None:
        node = bare(item.value)
        alias = item.alias.text if item.alias is not None else None
        if isinstance(node, exp.Anonymous) and node.name.upper() == "TOKENS":
            self._tokens(node, alias or TOKEN)
            return
        expr = self._binder.bind(node)
        name = alias or _default_name(node, self._context)
        if self._binder.check_exact(expr, node):
            raise self._context.refuse(node, "an index of a sum of DOUBLE", detail=exact.DETAIL, hint=exact.HINT)
        self._show(name, expr, node)

    def include(self, name: Name) -> None:
        node = exp.Column(this=exp.Identifier(this=name.text))
        node.meta["start"] = name.start
        self._show(name.text, self._binder.bind(node), node)

    def _tokens(self, node: exp.Anonymous, name: str) -> None:
        if isinstance(self.relation, Tokens):
            raise self._context.refuse(
                node,
                "a second TOKENS",
                detail="There would be an entry for each pair of words.",
                hint="Create an index for each text.",
            )
        if len(node.expressions) != 1:
            raise self._context.wrong_type(
                node, f"function TOKENS takes one STRING, found {len(node.expressions)} arguments"
            )
        text = self._binder.bind(node.expressions[0])
        if text.type != STRING:
            raise self._context.wrong_type(node, f"function TOKENS takes a STRING, found {text.type}")
        self.relation = Tokens(self.relation, text, name)
        self._show(name, Input(self._rows.width, STRING), node)

    def _show(self, name: str, expr: Expr, node: exp.Expr) -> None:
        if name.lower() in [column.name.lower() for column in self.columns]:
            raise self._context.refuse(
                node,
                f'the column "{name}" twice in an index',
                detail="Rows have one value a name.",
                hint="Name each column once, or give an expression another name with AS.",
            )
        approximate = self._binder.check_exact(expr, node)
        nullable, temporal = not isinstance(self.relation, Tokens) or expr != Input(self._rows.width, STRING), False
        if isinstance(expr, Input) and expr.index < self._rows.width:
            found = self._rows.columns.column(expr.index)
            nullable, temporal = found.nullable, found.temporal
        self.exprs.append(expr)
        self.columns.append(
            RowColumn(name=name, type=expr.type, nullable=nullable, temporal=temporal, approximate=approximate)
        )


def _default_name(node: exp.Expr, context: Context) -> str:
    """A column's own name; lower_name for LOWER(Name)."""
    if isinstance(node, exp.Column):
        return str(node.name)
    if isinstance(node, exp.Anonymous):
        arguments = [bare(argument) for argument in node.expressions]
        if len(arguments) == 1 and isinstance(arguments[0], exp.Column):
            return f"{node.name}_{arguments[0].name}".lower()
    raise context.refuse(
        node,
        f"{construct(node)} without a name",
        detail="Columns of an index are read by name; only columns and functions of one column have one already.",
        hint="Write AS and a name behind it.",
    )

"""SELECT of one table or view by key."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from viewkeeper.model.schema import Table
from viewkeeper.sql.constructs import bare, construct, start_of
from viewkeeper.sql.keys import compile_where
from viewkeeper.sql.params import Values, row_count, shown
from viewkeeper.sql.parse import Parsed
from viewkeeper.sql.place import syntax_error
from viewkeeper.sql.query_syntax import MAX
from viewkeeper.sql.scope import Scope
from viewkeeper.sql.select_order import is_descending
from viewkeeper.sql.select_source import ONE_TABLE
from viewkeeper.sql.sources import Source
from viewkeeper.sql.statements import Select
from viewkeeper.sql.tree import SelectTree


def compile_select(parsed: Parsed, tree: SelectTree, table: Table | Source) -> Callable[[Values], Select]:
    """What fills the parameters of a query, whose `select_target` is `table`, into a Select."""
    query = tree.query
    scope = Scope(parsed=parsed, table=table, qualifier=query.args["from_"].this.alias_or_name)
    columns = _columns(query, scope)
    where = query.args.get("where")
    condition = compile_where(where.this if where is not None else None, scope)
    descending = is_descending(query.args.get("order"), columns, condition.fixed, scope)
    limit = compile_limit(query.args.get("limit"), parsed)
    name, ranges = table.name, condition.ranges

    def fill(values: Values) -> Select:
        return Select(
            table=name, columns=columns, where=ranges(values), descending=descending, limit=limit and limit(values)
        )

    return fill


def _columns(query: exp.Expr, scope: Scope) -> tuple[tuple[str, int], ...]:
    columns: list[tuple[str, int]] = []
    for item in query.expressions:
        alias = item.args.get("alias") if isinstance(item, exp.Alias) else None
        node = bare(item.this) if isinstance(item, exp.Alias) else bare(item)
        if alias is not None and not isinstance(alias, exp.Identifier):
            raise scope.refuse(item, "a parameter as a name", detail="Parameters are values.", hint="Write the name.")
        if _is_star(node, scope):
            if alias is not None:
                raise scope.refuse(node, "* with a name", detail=ONE_TABLE, hint="Name the columns one by one.")
            found = [(column.name, number) for number, column in enumerate(scope.table.columns)]
        elif isinstance(node, exp.Column):
            found = [(alias.name if alias is not None else node.name, scope.column_id(node))]
        else:
            hint = "Read the columns and compute it in your program."
            raise scope.refuse(node, f"{construct(node)} in the list of SELECT", detail=ONE_TABLE, hint=hint)
        seen = {name.lower() for name, _ in columns}
        for name, _ in found:
            if name.lower() in seen:
                hint = "Name each column once, or give one of them another name with AS."
                raise scope.refuse(
                    item, f'the output name "{name}" for two columns', detail="Rows have one value a name.", hint=hint
                )
            seen.add(name.lower())
        columns += found
    return tuple(columns)


def _is_star(node: exp.Expr, scope: Scope) -> bool:
    star = node.this if isinstance(node, exp.Column) else node
    if not isinstance(star, exp.Star):
        return False
    if any(star.args.values()):
        raise scope.refuse(node, "* with EXCEPT or REPLACE", detail=ONE_TABLE, hint="Name the columns one by one.")
    if isinstance(node, exp.Column) and node.table.lower() != scope.qualifier.lower():
        detail = f'The statement is about "{scope.qualifier}" alone.'
        raise scope.refuse(
            node, f'the qualifier "{node.table}"', detail=detail, hint=f"Write {scope.qualifier}.* or *."
        )
    return True


def compile_limit(node: exp.Expr | None, parsed: Parsed) -> Callable[[Values], int] | None:
    """What gives the number of LIMIT, a constant or a parameter; None if there is no LIMIT."""
    if node is None:
        return None
    count = bare(node.expression)
    if isinstance(count, exp.Placeholder):
        return _limit_parameter(parsed.parameters[count.meta["start"]], node.meta.get(MAX))
    if not (isinstance(count, exp.Literal) and not count.is_string and count.this.isdigit() and len(count.this) < 19):
        start = start_of(count, start_of(node, parsed.start))
        raise syntax_error(parsed.source, start, "expected a whole number or a parameter behind LIMIT")
    number = int(count.this)
    return lambda _: number


def _limit_parameter(key: str | int, most: int | None) -> Callable[[Values], int]:
    return lambda values: row_count(values[key], most, shown(key))

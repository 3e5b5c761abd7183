"""A SELECT of any sources to a plan whose parameters are still open.

It is bound as that of a PERIODIC view would be, which may have everything. The ORDER BY, LIMIT and OFFSET of the query
itself are bound as part of it and then taken off the top: whoever reads decides how the first rows are found.
"""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.errors import ViewkeeperError
from viewkeeper.model.schema import Column
from viewkeeper.model.types import BIGINT
from viewkeeper.plan.expr import Parameter
from viewkeeper.plan.relation import Project, Relation, scans
from viewkeeper.plan.whole import Sort, TopN
from viewkeeper.sql.bind_select import compile_limit
from viewkeeper.sql.constructs import bare
from viewkeeper.sql.parse import Parsed
from viewkeeper.sql.place import syntax_error
from viewkeeper.sql.query.columns import RowColumn
from viewkeeper.sql.query.context import Context, Find
from viewkeeper.sql.query.parameters import Parameters
from viewkeeper.sql.query.prune import prune
from viewkeeper.sql.query.rows import Bound
from viewkeeper.sql.query.select import bind_top
from viewkeeper.sql.query_syntax import MAX
from viewkeeper.sql.select_source import check_limit
from viewkeeper.sql.statements import Query
from viewkeeper.sql.tree import SelectTree

_CLAUSES = ("order", "limit", "offset")


def bind_query(parsed: Parsed, tree: SelectTree, find: Find) -> Query:
    """What a query asks for; WrongType if nothing says the type of one of its parameters."""
    first = Parameters(parsed=parsed)
    try:
        query = _bind(parsed, tree, find, first)
    except ViewkeeperError:
        # It may be the guessed type of a parameter that is wrong.
        if not first.unknown:
            raise
    else:
        if first.missed() is None and not first.unknown:
            return query
    missed = first.missed()
    if missed is not None and not first.unknown.keys() & first.types.keys():
        raise missed
    parameters = Parameters(parsed=parsed, known=first.types)
    query = _bind(parsed, tree, find, parameters)
    missed = parameters.missed()
    if missed is not None:
        raise missed
    return query


def _bind(parsed: Parsed, tree: SelectTree, find: Find, parameters: Parameters) -> Query:
    context = Context(parsed=parsed, find=find, periodic=True, parameters=parameters)
    limit = tree.query.args.get("limit")
    check_limit(parsed, tree, limit)
    node, other_nulls = _prepared(tree.query)
    try:
        bound, retained = bind_top(node, context, {})
        top = _without_cut(bound, any(node.args.get(clause) for clause in _CLAUSES))
        plan = prune(top.input)
    except RecursionError:
        raise syntax_error(parsed.source, parsed.start, "the statement is nested too deeply") from None
    if retained is not None:
        raise context.refuse(
            retained.node,
            "RETAIN in a query",
            detail="It is the epochs of a view that grow old.",
            hint="Write a condition on the time in WHERE.",
        )
    _check_nulls(other_nulls, top.order, bound.columns, context)
    count, most = _limit(limit, context, parameters)
    return Query(
        plan=plan,
        columns=tuple(map(_column, bound.columns)),
        order=top.order,
        limit=count,
        limit_max=most,
        offset=top.offset,
        parameters=parameters.used(),
        lists=dict(parameters.lists),
        sources=tuple(dict.fromkeys(scan.object for scan in scans(bound.relation))),
    )


def _prepared(query: exp.Expr) -> tuple[exp.Expr, dict[int, exp.Expr]]:
    """A copy that is cut at some number wherever it is sorted or cut, and whose order has NULL below every value.

    Then the items of ORDER BY, by their place, that had it otherwise.
    """
    copy = query.copy()
    if not any(copy.args.get(clause) for clause in _CLAUSES):
        return copy, {}
    # The number is not looked at again; one has to be there for the order to be kept.
    copy.set("limit", exp.Limit(expression=exp.Literal.number(1)))
    others: dict[int, exp.Expr] = {}
    order = copy.args.get("order")
    for place, item in enumerate([] if order is None else order.expressions):
        if bool(item.args.get("nulls_first")) is bool(item.args.get("desc")):
            others[place] = item
            item.set("nulls_first", not item.args.get("desc"))
    return copy, others


def _without_cut(bound: Bound, is_cut: bool) -> TopN:
    """The cut on top of a relation; behind the fields of its input may come some that are only sorted by."""
    relation: Relation = bound.relation
    if not is_cut:
        return TopN(relation, (), None)
    if isinstance(relation, Project):
        relation = relation.input
    assert isinstance(relation, TopN)
    return relation


def _check_nulls(
    others: dict[int, exp.Expr], order: tuple[Sort, ...], columns: tuple[RowColumn, ...], context: Context
) -> None:
    """Unsupported for NULLS FIRST or LAST where it is not what a plain order means."""
    for place, item in others.items():
        column = order[place].column
        if column < len(columns) and not columns[column].nullable:
            continue
        descending = order[place].descending
        raise context.refuse(
            item,
            f"NULLS {'FIRST' if descending else 'LAST'} in ORDER BY … {'DESC' if descending else 'ASC'}",
            detail="NULL is below every value: it comes first ascending and last descending.",
            hint=f"Leave it out, or write WHERE … IS NOT NULL{'' if descending else ', or DESC'}.",
        )


def _limit(
    node: exp.Expr | None, context: Context, parameters: Parameters
) -> tuple[int | Parameter | None, int | None]:
    """The number of LIMIT, or its parameter, and the most that it can be."""
    if node is None:
        return None, None
    count = bare(node.expression)
    if isinstance(count, exp.Placeholder):
        return parameters.use(parameters.key(count), None, BIGINT, count), node.meta.get(MAX)
    number = compile_limit(node, context.parsed)
    assert number is not None
    return number(None), number(None)


def _column(column: RowColumn) -> Column:
    return Column(name=column.name, type=column.type, nullable=column.nullable, temporal=column.temporal)

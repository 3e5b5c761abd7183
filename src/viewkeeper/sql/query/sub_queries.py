"""WHERE: conditions, and the sub-queries in which a row needs a partner, or may not have one.

EXISTS (…), NOT EXISTS (…) and x IN (SELECT …) are semi- and anti-joins where they stand by themselves, joined with
other conditions by AND. The sub-query sees the query around it: an equality between the two finds the partners.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlglot import exp

from viewkeeper.plan.expr import Expr, Input, inputs
from viewkeeper.plan.failing import can_fail
from viewkeeper.plan.join import PartnerKind
from viewkeeper.plan.relation import Project, Relation
from viewkeeper.sql.constructs import bare
from viewkeeper.sql.query import refused, refused_joins
from viewkeeper.sql.query.cluster import Cluster, Partner
from viewkeeper.sql.query.columns import Columns, moved
from viewkeeper.sql.query.conjuncts import Conjunct, split
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.expressions import Expressions
from viewkeeper.sql.query.fitting import Operand, fit
from viewkeeper.sql.query.from_clause import SubQueries, bind_from, check_clauses
from viewkeeper.sql.query.matching import Matching
from viewkeeper.sql.query.misplaced import is_exists, is_in_query, query_of
from viewkeeper.sql.query.outputs import is_star, need_no_names, spread
from viewkeeper.sql.query.refused import Refusal
from viewkeeper.sql.query.spellings import AGGREGATES
from viewkeeper.sql.query.with_clause import bind_with

_PLAIN = {"with_", "expressions", "from_", "joins", "where", "distinct"}
_NOT_PLAIN = {"group": "GROUP BY", "having": "HAVING", "order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET"}


def bind_where(query: exp.Select, cluster: Cluster, inner: SubQueries) -> Cluster:
    """The cluster with the conditions of WHERE."""
    return _where(query, cluster, cluster.columns, inner)[0]


def _where(query: exp.Select, cluster: Cluster, columns: Columns, inner: SubQueries) -> tuple[Cluster, list[Conjunct]]:
    """The cluster with the conditions that read it alone, and those that read the query around it.

    `columns` are those of the cluster, inside of that query if there is one; the conditions returned are over both.
    """
    where = query.args.get("where")
    correlated: list[Conjunct] = []
    outside = columns.width - cluster.width
    binder = Expressions(inner.context, columns, "WHERE")
    for node in [] if where is None else split(where.this):
        asked = _asked(node)
        if asked is not None:
            cluster = cluster.with_partner(_partner(*asked, cluster, inner))
            continue
        one = Conjunct(expr=binder.condition(node), node=node)
        if any(place < outside for place in inputs(one.expr)):
            correlated.append(one)
        else:
            cluster = cluster.where([one.moved(-outside)])
    return cluster, correlated


def _asked(node: exp.Expr) -> tuple[exp.Expr, PartnerKind] | None:
    """EXISTS or IN with a sub-query, and whether a partner is wanted or not; None for any other condition."""
    if is_exists(node) or is_in_query(node):
        return node, PartnerKind.SEMI
    if isinstance(node, exp.Not) and is_exists(bare(node.this)):
        return bare(node.this), PartnerKind.ANTI
    return None


def _partner(node: exp.Expr, kind: PartnerKind, around: Cluster, inner: SubQueries) -> Partner:
    query = query_of(node)
    if is_exists(node):
        _check_plain(query, inner.context)
    if isinstance(query, exp.Select) and _why_not_plain(query) is None:
        relation, conjuncts = _correlated(node, query, around, inner)
    else:
        relation, conjuncts = _by_itself(node, query, around, inner)
    if not Matching.of(conjuncts, around.width).equalities:
        failing = [one for one in conjuncts if one.sides is not None and not one.never_fails]
        refusal = refused_joins.FAILING_EQUALITY if failing else refused_joins.NO_EQUALITY_INSIDE
        word = "NOT EXISTS" if kind is PartnerKind.ANTI else "EXISTS" if is_exists(node) else "IN (sub-query)"
        raise inner.context.refusal(failing[0].node if failing else node, refusal, f"{word} without an equality")
    return Partner(kind=kind, right=relation, conjuncts=tuple(conjuncts), width=around.width)


def _correlated(
    node: exp.Expr, query: exp.Select, around: Cluster, inner: SubQueries
) -> tuple[Relation, list[Conjunct]]:
    """A plain sub-query that sees the query around it: its rows, and the conditions between the two."""
    context = inner.context
    check_clauses(query, _PLAIN, context)
    with _hiding(around.columns, refused_joins.OUTSIDE_FROM, context):
        inner = bind_with(query, inner)
        cluster = bind_from(query, inner)
    columns = cluster.columns.inside(around.columns)
    with _hiding(around.columns, refused_joins.TWO_LEVELS, context):
        cluster, conjuncts = _where(query, cluster, columns, inner)
    values = _values(query, cluster.columns, columns, context)
    relation = cluster.build(context).relation
    if isinstance(node, exp.In):
        for number, value in enumerate(values):
            if value.expr is not None and _needs_a_column(value.expr, around.width):
                relation, column = _computed(relation, value.expr, around.width)
                values[number] = Operand(value.node, column)
        conjuncts = [*_compared(node, values, columns, around, context), *conjuncts]
    return relation, conjuncts


def _by_itself(node: exp.Expr, query: exp.Expr, around: Cluster, inner: SubQueries) -> tuple[Relation, list[Conjunct]]:
    """A sub-query of IN that sees nothing of the query around it: groups, a union."""
    assert isinstance(node, exp.In)
    why = "UNION" if isinstance(query, exp.SetOperation) else _why_not_plain(query) or "more than SELECT"
    refusal = Refusal(
        name=f"a correlated sub-query with {why}",
        detail=refused.CORRELATED.detail,
        hint=refused.CORRELATED.hint,
    )
    need_no_names(query)
    with _hiding(around.columns, refusal, inner.context):
        bound = inner.bind(query)
    columns = Columns.of(None, bound.columns).inside(around.columns)
    values = [Operand(node, columns.input(place)) for place in range(around.width, columns.width)]
    return bound.relation, _compared(node, values, columns, around, inner.context)


def _compared(
    node: exp.In, values: Sequence[Operand], columns: Columns, around: Cluster, context: Context
) -> list[Conjunct]:
    """What IN compares: each expression on its left with a column of the sub-query."""
    left = bare(node.this)
    nodes = left.expressions if isinstance(left, exp.Tuple) else [left]
    if len(nodes) != len(values):
        count = f"{len(values)} column{'s' * (len(values) != 1)}"
        raise context.bad(
            node,
            f"IN compares {len(nodes)} expression{'s' * (len(nodes) != 1)} with a sub-query of {count}",
            hint="Select one column for each expression, as in (a, b) IN (SELECT x, y FROM t).",
        )
    outside = Expressions(context, around.columns, "WHERE")
    exact = Expressions(context, columns, "IN")
    found: list[Conjunct] = []
    for one, value in zip(nodes, values, strict=True):
        equality = fit("=", [outside.operand(one), value], "IN", one, context)
        exact.check_exact(equality, one)
        found.append(Conjunct(expr=equality, node=one))
    return found


def _values(query: exp.Select, own: Columns, columns: Columns, context: Context) -> list[Operand]:
    """What the list of SELECT gives, over the columns of both queries."""
    binder = Expressions(context, columns, "SELECT")
    outside = columns.width - own.width
    found: list[Operand] = []
    for item in query.expressions:
        value = bare(item.unalias())
        if is_star(value):
            found += [Operand(value, moved(one.expr, outside)) for one in spread(value, own, context)]
        else:
            found.append(binder.operand(value))
    return found


def _needs_a_column(expr: Expr, outside: int) -> bool:
    """Whether a value of the sub-query alone is no side of an equality as it is: it can fail, or reads no column."""
    read = list(inputs(expr))
    return all(place >= outside for place in read) and (not read or can_fail(expr))


def _computed(relation: Relation, value: Expr, outside: int) -> tuple[Relation, Expr]:
    """A value as a column of the relation, computed once for each of its rows."""
    fields = relation.fields
    exprs = (*(Input(place, field.type) for place, field in enumerate(fields)), moved(value, -outside))
    names = (*(field.name for field in fields), "value")
    return Project(relation, exprs, names), Input(outside + len(fields), value.type)


def _check_plain(query: exp.Expr, context: Context) -> None:
    """Unsupported for a sub-query of EXISTS that is more than FROM and WHERE."""
    why = "UNION" if isinstance(query, exp.SetOperation) else _why_not_plain(query)
    if why is not None:
        clause = next((query.args[name] for name, word in _NOT_PLAIN.items() if word == why), query)
        raise context.refusal(
            clause, refused_joins.NOT_PLAIN.get(why, refused_joins.NOT_PLAIN["GROUP BY"]), f"{why} in EXISTS"
        )


def _why_not_plain(query: exp.Expr) -> str | None:
    """What makes a sub-query more than rows that meet conditions; None if nothing does."""
    if not isinstance(query, exp.Select):
        return "more than SELECT"
    for clause, word in _NOT_PLAIN.items():
        if query.args.get(clause):
            return word
    for item in query.expressions:
        for part in item.walk(prune=lambda found: isinstance(found, exp.Query)):
            if isinstance(part, exp.Anonymous) and part.name.upper() in AGGREGATES:
                return "an aggregate"
    return None


@contextmanager
def _hiding(columns: Columns, refusal: Refusal, context: Context) -> Iterator[None]:
    """While a part is bound that may not read these columns."""
    context.around.append((columns, refusal))
    try:
        yield
    finally:
        context.around.pop()

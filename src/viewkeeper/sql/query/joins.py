"""One JOIN of FROM: what stands on its left, a source or a join on its right, and ON or USING."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from viewkeeper.plan.expr import Expr, Input, rewrite
from viewkeeper.plan.join import PartnerKind
from viewkeeper.plan.relation import Project, Relation
from viewkeeper.sql.names import written
from viewkeeper.sql.query import refused, refused_joins
from viewkeeper.sql.query.cluster import Cluster, Partner
from viewkeeper.sql.query.columns import Columns
from viewkeeper.sql.query.conjuncts import Conjunct, bind_conjuncts
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.expressions import Expressions
from viewkeeper.sql.query.matching import Matching, partner_join
from viewkeeper.sql.query.using import Using, bind_using, using_columns

_OUTER = {"LEFT": PartnerKind.LEFT, "RIGHT": PartnerKind.LEFT, "FULL": PartnerKind.FULL}
_SHOWS_LEFT = {"SEMI": PartnerKind.SEMI, "ANTI": PartnerKind.ANTI}
_PARTS = frozenset({"this", "side", "kind", "on", "using"})


def check_kind(node: exp.Join, context: Context) -> None:
    """Unsupported for a join of a kind that views do not have."""
    if node.args.get("method") == "NATURAL":
        raise context.refusal(node, refused_joins.NATURAL)
    if isinstance(node.this, exp.Lateral | exp.Unnest):
        raise lateral(node.this, context, node)
    side, kind = node.side, node.kind
    known = kind in ("", "OUTER") if side in _OUTER else kind in ("", "INNER", "CROSS", *_SHOWS_LEFT)
    known = known or (side == "LEFT" and kind in _SHOWS_LEFT)
    others = [name for name, value in node.args.items() if value and name not in _PARTS]
    if not known or others or (side and side not in _OUTER):
        words = [node.method, side, kind, "JOIN"]
        raise context.refusal(node, refused_joins.OTHER_JOIN, " ".join(word for word in words if word))


def lateral(node: exp.Expr, context: Context, place: exp.Expr | None = None) -> Exception:
    """The refusal of LATERAL, which has a query or a function, and of UNNEST."""
    has_query = isinstance(node, exp.Lateral) and isinstance(node.this, exp.Query)
    return context.refusal(place or node, refused.LATERAL_QUERY if has_query else refused.CLAUSES["laterals"])


def beside(left: Cluster, right: Cluster, context: Context) -> Cluster:
    """All combinations of two sides, of which conditions will take some."""
    _check_names(left.columns, right.columns, right.nodes[0], context)
    return left.beside(right, left.columns.beside(right.columns))


def join(left: Cluster, right: Cluster, node: exp.Join, context: Context) -> Cluster:
    """Two sides and the conditions between them. Unsupported if an outer, semi- or anti-join has no equality."""
    both = beside(left, right, context)
    using = bind_using(node, left.columns, right.columns, context)
    conjuncts = _conditions(node, using, both.columns, context)
    side = node.side or "INNER"
    if node.kind in _SHOWS_LEFT:
        _check_equality(conjuncts, left, right, node, context)
        rows = right.build(context)
        kind = _SHOWS_LEFT[node.kind]
        partner = Partner(kind=kind, right=rows.relation, conjuncts=tuple(conjuncts), width=left.width)
        return left.with_partner(partner)
    columns = using_columns(both.columns, using, side, context)
    if side == "INNER":
        return replace(both.where(conjuncts), columns=columns)
    _check_equality(conjuncts, left, right, node, context)
    relation = _outer(side, left.build(context).relation, right.build(context).relation, conjuncts)
    missing = range(left.width if side == "LEFT" else 0, left.width if side == "RIGHT" else both.width)
    return Cluster.of(relation, columns.as_nullable(missing), left.nodes[0])


def _outer(side: str, left: Relation, right: Relation, conjuncts: Sequence[Conjunct]) -> Relation:
    """RIGHT is LEFT with the sides exchanged, and the columns put back into their order."""
    if side != "RIGHT":
        return partner_join(_OUTER[side], left, right, conjuncts)
    width, others = len(left.fields), len(right.fields)

    def exchanged(column: Input) -> Expr:
        place = column.index + others if column.index < width else column.index - width
        return Input(place, column.type)

    swapped = [replace(one, expr=rewrite(one.expr, exchanged)) for one in conjuncts]
    found = partner_join(PartnerKind.LEFT, right, left, swapped)
    order = [*range(others, others + width), *range(others)]
    exprs = tuple(Input(place, found.fields[place].type) for place in order)
    return Project(found, exprs, tuple(found.fields[place].name for place in order))


def _conditions(node: exp.Join, using: Sequence[Using], columns: Columns, context: Context) -> list[Conjunct]:
    on = node.args.get("on")
    if on is not None:
        return bind_conjuncts(on, Expressions(context, columns, "ON"))
    return [one.conjunct(columns, context) for one in using]


def _check_equality(
    conjuncts: Sequence[Conjunct], left: Cluster, right: Cluster, node: exp.Join, context: Context
) -> None:
    if Matching.of(conjuncts, left.width).equalities:
        return
    word = " ".join(word for word in (node.side, node.kind) if word and word != "OUTER")
    names = " and ".join(f'"{one.columns.sources[0]}"' for one in (left, right))
    what = f"a {word} JOIN of {names} without an equality"
    failing = [one.node for one in conjuncts if one.sides is not None and not one.never_fails]
    refusal = refused_joins.FAILING_EQUALITY if failing else refused_joins.NO_EQUALITY
    raise context.refusal(failing[0] if failing else node, refusal, what)


def _check_names(left: Columns, right: Columns, node: exp.Expr, context: Context) -> None:
    for name in right.sources:
        if left.has_source(name):
            raise context.bad(
                node,
                f'two sources are called "{name}"',
                detail="A column is read by the name of its source.",
                hint=f"Write AS and another name behind one of them, as in {written(name)} AS other.",
            )

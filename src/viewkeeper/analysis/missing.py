"""Rows without partners, asked for by LEFT JOIN and IS NULL: the same as NOT EXISTS.

    posts LEFT JOIN comments WHERE comments.id IS NULL  =  posts WHERE NOT EXISTS comments

where comments.id is NULL only if there is no comment. A view can keep what NOT EXISTS asks.
"""

from __future__ import annotations

from viewkeeper.analysis.block import conjuncts_of
from viewkeeper.analysis.build import all_of
from viewkeeper.analysis.schema import Schema
from viewkeeper.plan.expr import Call, Expr, Input, Literal, rewrite
from viewkeeper.plan.join import PartnerJoin, PartnerKind
from viewkeeper.plan.relation import Filter, Project, Relation, Scan, below, with_below


def partners_missing(relation: Relation, schema: Schema) -> Relation:
    """The relation with NOT EXISTS wherever rows without partners are asked for."""
    made = with_below(relation, [partners_missing(part, schema) for part in below(relation)])
    if not isinstance(made, Filter) or not isinstance(made.input, PartnerJoin):
        return made
    join = made.input
    width = len(join.left.fields)
    conjuncts = list(conjuncts_of(made.condition))
    asked = [one for one in conjuncts if _is_missing(one, join, schema)]
    if join.kind is not PartnerKind.LEFT or not asked:
        return made

    def alone(column: Input) -> Expr:
        return column if column.index < width else Literal(None, column.type)

    rows: Relation = PartnerJoin(PartnerKind.ANTI, join.left, join.right, join.equalities, join.condition)
    rest = [rewrite(one, alone) for one in conjuncts if one not in asked]
    if rest:
        rows = Filter(rows, all_of(rest))
    shown = tuple(alone(Input(place, field.type)) for place, field in enumerate(join.fields))
    return Project(rows, shown, tuple(field.name for field in join.fields))


def _is_missing(conjunct: Expr, join: PartnerJoin, schema: Schema) -> bool:
    """Whether a condition is that a column of the right side is NULL that is so only without a partner."""
    width = len(join.left.fields)
    match conjunct:
        case Call("is_null", (Input(index=place),), _) if place >= width:
            return _is_never_null(join.right, place - width, schema)
    return False


def _is_never_null(relation: Relation, place: int, schema: Schema) -> bool:
    match relation:
        case Filter(input=under):
            return _is_never_null(under, place, schema)
        case Project(input=under, exprs=exprs):
            expr = exprs[place]
            return isinstance(expr, Input) and _is_never_null(under, expr.index, schema)
        case Scan(object=number, columns=columns):
            return not schema[number].columns[columns[place]].nullable
    return False

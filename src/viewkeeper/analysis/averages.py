"""AVG as what it follows from: a sum, divided by a count. Unlike an average, both add up over the parts of a group.

    AVG(x)  =  SUM(x) / COUNT(x)

So an average over a join is computed from a view of the groups of one side, too.
"""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.model.types import BIGINT, DOUBLE, Kind, Type
from viewkeeper.plan.aggregate import AggregateCall, AggregateKind, result_type
from viewkeeper.plan.expr import Call, Cast, Expr, Input, substitute
from viewkeeper.plan.numbers import arithmetic, as_decimal, sum_type
from viewkeeper.plan.relation import Aggregate, Filter, Project, Relation, below, with_below

MORE_DIGITS = 9
"""Digits that a quotient has behind those of the average: though rounded twice, it is the same for up to 10⁹ rows."""


def averages_divided(relation: Relation) -> Relation:
    """The relation with a sum and a count for each AVG that is their quotient to its last digit."""
    made, shown = _divided(relation)
    return made if shown is None else Project(made, shown, tuple(field.name for field in relation.fields))


def _divided(relation: Relation) -> tuple[Relation, tuple[Expr, ...] | None]:
    """The relation, and what its fields were over the new ones; None if they are the same."""
    match relation:
        case Aggregate():
            node = replace(relation, input=averages_divided(relation.input))
            return _sums(node) if any(_is_divided(node, call) for call in node.calls) else (node, None)
        case Filter(input, condition):
            made, shown = _divided(input)
            return Filter(made, condition if shown is None else substitute(condition, shown)), shown
        case Project(input, exprs, names):
            made, shown = _divided(input)
            return Project(made, tuple(one if shown is None else substitute(one, shown) for one in exprs), names), None
    return with_below(relation, [averages_divided(part) for part in below(relation)]), None


def _is_divided(node: Aggregate, call: AggregateCall) -> bool:
    if call.kind is not AggregateKind.AVG or call.argument is None:
        return False
    type = node.input.fields[call.argument].type
    if type.kind is not Kind.DECIMAL:
        return True
    return arithmetic("/", sum_type(type), BIGINT)[2].scale >= call.type.scale + MORE_DIGITS


def _sums(node: Aggregate) -> tuple[Relation, tuple[Expr, ...]]:
    """The groups with sums and counts, and what their fields were."""
    fields, width = node.input.fields, len(node.group)
    columns: list[Expr] = [Input(place, field.type) for place, field in enumerate(fields)]
    calls: list[AggregateCall] = []
    names: list[str] = []

    def kept(call: AggregateCall, name: str) -> Expr:
        if call not in calls:
            calls.append(call)
            names.append(name)
        return Input(width + calls.index(call), call.type)

    shown: list[Expr] = [Input(place, fields[column].type) for place, column in enumerate(node.group)]
    for call, name in zip(node.calls, node.names[width:], strict=True):
        if call.argument is None or not _is_divided(node, call):
            shown.append(kept(call, name))
            continue
        type, summed = fields[call.argument].type, call.argument
        if type == BIGINT:
            # The sum may be more than a BIGINT holds, where the average is not.
            exact = Cast(columns[summed], as_decimal(type))
            if exact not in columns:
                columns.append(exact)
            type, summed = exact.type, columns.index(exact)
        total = result_type(AggregateKind.SUM, type)
        assert total is not None
        added = kept(AggregateCall(AggregateKind.SUM, summed, total), f"{name}_sum")
        count = kept(AggregateCall(AggregateKind.COUNT, call.argument, BIGINT), f"{name}_count")
        shown.append(_quotient(added, count, call.type))
    below = node.input
    if len(columns) > len(fields):
        more = (f"exact_{place}" for place in range(len(fields), len(columns)))
        below = Project(below, tuple(columns), (*(field.name for field in fields), *more))
    return Aggregate(below, node.group, tuple(calls), (*node.names[:width], *names)), tuple(shown)


def _quotient(total: Expr, count: Expr, type: Type) -> Expr:
    """Of a group without a value the sum is NULL, and so is this."""
    if type == DOUBLE:
        return Call("/", (_as(total, DOUBLE), _as(count, DOUBLE)), DOUBLE)
    left, right, found = arithmetic("/", total.type, count.type)
    return _as(Call("/", (_as(total, left), _as(count, right)), found), type)


def _as(expr: Expr, type: Type) -> Expr:
    return expr if expr.type == type else Cast(expr, type)

"""What needs all rows at once, and so only a PERIODIC view may have: percentiles, ORDER BY and LIMIT; see over.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from viewkeeper.model.types import DOUBLE, Kind
from viewkeeper.plan.expr import Cast, Expr, Literal
from viewkeeper.plan.numbers import is_number
from viewkeeper.sql.query.context import Context

if TYPE_CHECKING:
    from viewkeeper.sql.query.expressions import Expressions

PERCENTILES = frozenset({"MEDIAN", "PERCENTILE", "PERCENTILE_CONT"})

_ALL_VALUES = "It needs every value of the group in order, and one change can move it anywhere."
_FIRST_ROWS = "A change can bring in any other row, and which one is known only by sorting them all."


def percentile(node: exp.Expr, call: exp.Anonymous, binder: Expressions) -> tuple[Expr, float]:
    """The values of MEDIAN and its like, as DOUBLE, and the fraction; `node` may be what stands around the call."""
    name, context = call.name.upper(), binder.context
    context.only_whole(
        node,
        f"function {name}",
        detail=_ALL_VALUES,
        hint="Write AVG, MIN or MAX, or COUNT(*) by value and add the counts up when they are read",
    )
    order = node.expression.expressions if isinstance(node, exp.WithinGroup) else []
    values = [item.this for item in order] or call.expressions[:1]
    fractions = call.expressions[0 if order else len(values) :]
    bound = [binder.bind(value) for value in (*values, *fractions)]
    if not bound or not all(is_number(one.type) for one in bound):
        shown = ", ".join(str(one.type) for one in bound) or "nothing"
        raise context.wrong_type(call, f"function {name} takes numbers, found {shown}")
    wanted = 0 if name == "MEDIAN" else 1
    if len(values) != 1 or len(fractions) != wanted or (name == "PERCENTILE_CONT") != bool(order):
        raise context.wrong_type(
            call,
            f"function {name} is not written like this",
            hint="Write MEDIAN(x), PERCENTILE(x, 0.9) or PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x).",
        )
    fraction = 0.5 if not fractions else _fraction(bound[1], fractions[0], name, context)
    if order and order[0].args.get("desc"):
        fraction = 1 - fraction
    value = bound[0] if bound[0].type == DOUBLE else Cast(bound[0], DOUBLE)
    return value, fraction


def _fraction(found: Expr, node: exp.Expr, name: str, context: Context) -> float:
    value = None
    if isinstance(found, Literal) and isinstance(found.value, int | float):
        value = found.value / 10**found.type.scale if found.type.kind is Kind.DECIMAL else float(found.value)
    if value is None or not 0 <= value <= 1:
        raise context.wrong_type(node, f"function {name} takes a constant from 0 to 1 as its fraction")
    return value


def cut(node: exp.Expr, name: str, context: Context) -> None:
    """ORDER BY, LIMIT and OFFSET: Unsupported unless the view is PERIODIC."""
    if name == "ORDER BY":
        detail, hint = "A view is a set of rows.", "Write KEY (col [DESC], …) in front of AS to order the stored rows"
    else:
        detail, hint = _FIRST_ROWS, "Write KEY (col [DESC], …) in front of AS, and LIMIT when the view is read"
    context.only_whole(node, name, detail=detail, hint=hint)

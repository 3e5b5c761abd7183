"""What needs all rows at once, and so only a PERIODIC view may have: types alone, since Spark computes it."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from viewkeeper.model.types import DOUBLE, INT, Type
from viewkeeper.plan.aggregate import result_type
from viewkeeper.plan.expr import Expr, Literal
from viewkeeper.plan.numbers import is_number
from viewkeeper.sql.constructs import bare, construct
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.spellings import AGGREGATES

RANKS: dict[str, Type] = {
    "ROW_NUMBER": INT,
    "RANK": INT,
    "DENSE_RANK": INT,
    "NTILE": INT,
    "PERCENT_RANK": DOUBLE,
    "CUME_DIST": DOUBLE,
}
NEIGHBOURS = frozenset({"LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"})
PERCENTILES = frozenset({"MEDIAN", "PERCENTILE", "PERCENTILE_CONT"})

_ALL_VALUES = "It needs every value of the group in order, and one change can move it anywhere."
_ALL_ROWS = "It looks at the rows around a row, so one change can change all of them."
_FIRST_ROWS = "A change can bring in any other row, and which one is known only by sorting them all."

Bind = Callable[[exp.Expr], Expr]


def window_function(node: exp.Window, context: Context, bind: Bind) -> Expr:
    """A stand-in of the type of f(…) OVER (…); its names are looked up. Unsupported unless the view is PERIODIC."""
    context.only_whole(
        node,
        "OVER (a window function)",
        detail=_ALL_ROWS,
        hint="Write KEY (…) so that the rows are stored in that order, and rank them when they are read",
    )
    if node.args.get("alias"):
        raise context.refuse(
            node, "OVER and a name", detail="A window is written where it is used.", hint="Write OVER (…) in full."
        )
    for part in (*node.args.get("partition_by", ()), *_ordered(node.args.get("order"))):
        bind(part)
    call = node.this
    if isinstance(call, exp.IgnoreNulls | exp.RespectNulls):
        call = call.this
    if not isinstance(call, exp.Anonymous):
        raise context.refuse(
            call, f"{construct(call)} with OVER", detail="OVER belongs to a function.", hint="Leave out OVER."
        )
    name = call.name.upper()
    types = [bind(argument).type for argument in call.expressions if not isinstance(bare(argument), exp.Star)]
    found = RANKS.get(name)
    if name in NEIGHBOURS and types:
        found = types[0]
    if name in AGGREGATES:
        found = result_type(AGGREGATES[name], types[0] if types else None)
    if found is None:
        raise context.refuse(
            call,
            f"function {name} with OVER",
            detail=f"With OVER stand {', '.join((*RANKS, *sorted(NEIGHBOURS)))} and the aggregates.",
            hint="Leave out OVER, or write one of these.",
        )
    return Literal(None, found)


def percentile(node: exp.Expr, call: exp.Anonymous, context: Context, bind: Bind) -> Expr:
    """A stand-in for MEDIAN and its like; `node` may be the WITHIN GROUP around it."""
    name = call.name.upper()
    context.only_whole(
        node,
        f"function {name}",
        detail=_ALL_VALUES,
        hint="Write AVG, MIN or MAX, or COUNT(*) by value and add the counts up when they are read",
    )
    order = _ordered(node.expression) if isinstance(node, exp.WithinGroup) else []
    values = order or call.expressions[:1]
    found = [bind(value).type for value in (*values, *call.expressions[len(values) if not order else 0 :])]
    if not found or not all(map(is_number, found)):
        shown = ", ".join(map(str, found)) or "nothing"
        raise context.wrong_type(call, f"function {name} takes numbers, found {shown}")
    return Literal(None, DOUBLE)


def cut(node: exp.Expr, name: str, context: Context) -> None:
    """ORDER BY, LIMIT and OFFSET: Unsupported unless the view is PERIODIC."""
    if name == "ORDER BY":
        detail, hint = "A view is a set of rows.", "Write KEY (col [DESC], …) in front of AS to order the stored rows"
    else:
        detail, hint = _FIRST_ROWS, "Write KEY (col [DESC], …) in front of AS, and LIMIT when the view is read"
    context.only_whole(node, name, detail=detail, hint=hint)


def _ordered(order: exp.Expr | None) -> list[exp.Expr]:
    return [] if order is None else [item.this for item in order.expressions]

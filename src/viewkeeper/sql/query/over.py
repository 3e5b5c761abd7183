"""f(…) OVER (…): window functions, which only a PERIODIC view may have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from viewkeeper.model.types import DOUBLE, INT, STRING, Type
from viewkeeper.plan.aggregate import AggregateKind, is_approximate
from viewkeeper.plan.casts import can_cast
from viewkeeper.plan.expr import Expr, Literal
from viewkeeper.plan.whole import FRAMED, Frame, WindowKind
from viewkeeper.sql.constructs import bare, construct
from viewkeeper.sql.query import exact
from viewkeeper.sql.query.fitting import convert
from viewkeeper.sql.query.literals import read_text
from viewkeeper.sql.query.spellings import AGGREGATES
from viewkeeper.sql.query.windows import Ordered, Wanted, Windows

if TYPE_CHECKING:
    from viewkeeper.sql.query.expressions import Expressions

RANKS: dict[str, Type] = {
    "ROW_NUMBER": INT,
    "RANK": INT,
    "DENSE_RANK": INT,
    "NTILE": INT,
    "PERCENT_RANK": DOUBLE,
    "CUME_DIST": DOUBLE,
}
NEIGHBOURS = frozenset({"LAG", "LEAD", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE"})

_ALL_ROWS = "It looks at the rows around a row, so one change can change all of them."
_OVER = "OVER (a window function)"


def window_function(node: exp.Window, binder: Expressions, windows: Windows | None) -> Expr:
    """The input that stands for f(…) OVER (…). Unsupported unless the view is PERIODIC, and the clause is SELECT."""
    context = binder.context
    context.only_whole(
        node,
        _OVER,
        detail=_ALL_ROWS,
        hint="Write KEY (…) so that the rows are stored in that order, and rank them when they are read",
    )
    if windows is None:
        raise context.refuse(
            node,
            f"{_OVER} in {binder.clause}",
            detail="It is computed over the rows that WHERE and HAVING leave.",
            hint="Write it in SELECT of a sub-query in FROM, and read its column around that.",
        )
    if node.args.get("alias"):
        raise context.refuse(
            node, "OVER and a name", detail="A window is written where it is used.", hint="Write OVER (…) in full."
        )
    return _Window(node, binder.inside_over(), windows).bind()


class _Window:
    """One f(…) OVER (…) while it is bound."""

    def __init__(self, node: exp.Window, binder: Expressions, windows: Windows) -> None:
        self._node = node
        self._binder = binder
        self._context = binder.context
        self._windows = windows

    def bind(self) -> Expr:
        call, condition = self._node.this, None
        if isinstance(call, exp.Filter):
            call, condition = call.this, call.expression.this
        if isinstance(call, exp.IgnoreNulls | exp.RespectNulls):
            raise self._context.refuse(
                call,
                "IGNORE NULLS" if isinstance(call, exp.IgnoreNulls) else "RESPECT NULLS",
                detail="A function with OVER looks at all rows of its frame.",
                hint="Leave it out, or take the rows with a value in a sub-query in FROM.",
            )
        if not isinstance(call, exp.Anonymous):
            raise self._context.refuse(
                call, f"{construct(call)} with OVER", detail="OVER belongs to a function.", hint="Leave out OVER."
            )
        name = call.name.upper()
        if name in AGGREGATES:
            return self._aggregate(call, condition)
        if (name not in RANKS and name not in NEIGHBOURS) or condition is not None:
            raise self._context.refuse(
                call,
                f"function {name} with {'FILTER and ' * (condition is not None)}OVER",
                detail=f"With OVER stand {', '.join((*RANKS, *sorted(NEIGHBOURS)))} and the aggregates.",
                hint="Leave out OVER, or write one of these.",
            )
        return self._ranked(call, WindowKind(name))

    def _aggregate(self, call: exp.Anonymous, condition: exp.Expr | None) -> Expr:
        kind, argument, type = self._binder.aggregate_alone(call, condition)
        if kind is AggregateKind.COUNT_DISTINCT:
            raise self._context.refuse(
                call,
                "COUNT(DISTINCT …) with OVER",
                detail="Each frame would need its own set of values.",
                hint="Write it with GROUP BY in a sub-query in FROM, and join that.",
            )
        near = argument is not None and (
            is_approximate(kind, argument.type) or self._binder.check_exact(argument, call)
        )
        return self._wanted(kind, argument, type, near and kind is not AggregateKind.COUNT)

    def _ranked(self, call: exp.Anonymous, kind: WindowKind) -> Expr:
        name, arguments = call.name.upper(), call.expressions
        least, most = (0, 0) if name in RANKS and name != "NTILE" else (1, 1)
        if name in ("LAG", "LEAD"):
            most = 3
        if name == "NTH_VALUE":
            least = most = 2
        if not least <= len(arguments) <= most:
            takes = str(least) if least == most else f"{least} to {most}"
            plural = "" if takes == "1" else "s"
            raise self._context.wrong_type(
                call, f"function {name} takes {takes} argument{plural}, found {len(arguments)}"
            )
        if kind not in FRAMED and self._node.args.get("order") is None:
            raise self._context.bad(
                self._node, f"OVER of function {name} has no ORDER BY", hint="Write OVER (… ORDER BY col)."
            )
        if kind is WindowKind.NTILE:
            return self._wanted(kind, None, INT, False, count=self._count(arguments[0], name, 1))
        if name in RANKS:
            return self._wanted(kind, None, RANKS[name], False)
        value = self._binder.bind(arguments[0])
        count = self._count(arguments[1], name, 1 if kind is WindowKind.NTH_VALUE else 0) if arguments[1:] else 1
        default = None
        if arguments[2:]:
            default = self._default(arguments[2], value.type, name)
        near = self._binder.check_exact(value, call)
        return self._wanted(kind, value, value.type, near, count=count, default=default)

    def _count(self, node: exp.Expr, name: str, least: int) -> int:
        found = bare(node)
        if isinstance(found, exp.Literal) and not found.is_string and found.this.isdigit() and len(found.this) < 10:
            number = int(found.this)
            if number >= least:
                return number
        raise self._context.wrong_type(node, f"function {name} takes a whole number from {least} on")

    def _default(self, node: exp.Expr, type: Type, name: str) -> Literal:
        operand = self._binder.operand(node)
        found: Expr | None = Literal(None, type) if isinstance(operand.node, exp.Null) else operand.expr
        if operand.is_text and type != STRING:
            found = read_text(operand.node, type, self._context)
        if isinstance(found, Literal) and can_cast(found.type, type):
            found = convert(found, type)
        if not isinstance(found, Literal) or found.type != type:
            raise self._context.wrong_type(node, f"function {name} takes a constant of type {type} as its default")
        return found

    def _wanted(
        self,
        kind: WindowKind | AggregateKind,
        argument: Expr | None,
        type: Type,
        near: bool,
        *,
        count: int = 1,
        default: Literal | None = None,
    ) -> Expr:
        order = self._order()
        wanted = Wanted(
            kind=kind,
            argument=argument,
            partition=tuple(self._exact(part) for part in self._node.args.get("partition_by") or ()),
            order=order,
            frame=self._frame(kind, bool(order)),
            type=type,
            count=count,
            default=None if default is None else default.value,
        )
        return self._windows.add(wanted, approximate=near)

    def _order(self) -> tuple[Ordered, ...]:
        from viewkeeper.sql.query.cut import ordered_by

        clause = self._node.args.get("order")
        items = [] if clause is None else clause.expressions
        return tuple(one for item in items for one in ordered_by(item, self._exact(item.this)))

    def _exact(self, node: exp.Expr) -> Expr:
        found = self._binder.bind(node)
        if self._binder.check_exact(found, node):
            raise self._context.refuse(node, "OVER by a sum of DOUBLE", detail=exact.DETAIL, hint=exact.HINT)
        return found

    def _frame(self, kind: WindowKind | AggregateKind, is_ordered: bool) -> Frame:
        spec = self._node.args.get("spec")
        if spec is None or (isinstance(kind, WindowKind) and kind not in FRAMED):
            if spec is not None:
                raise self._refuse_frame(spec, f"a frame of function {kind}")
            return Frame(False, None, 0 if is_ordered else None)
        by_rows = str(spec.args.get("kind")).upper() == "ROWS"
        if spec.args.get("exclude") or (not by_rows and str(spec.args.get("kind")).upper() != "RANGE"):
            raise self._refuse_frame(spec, "such a frame")
        start = self._end(spec.args.get("start"), spec.args.get("start_side"), "PRECEDING", spec)
        end = self._end(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"), "FOLLOWING", spec)
        if not by_rows and {start, end} - {None, 0}:
            raise self._refuse_frame(spec, "RANGE with a number")
        if start is not None and end is not None and start > end:
            raise self._context.bad(self._node, "the frame ends before it begins")
        return Frame(by_rows, start, end)

    def _end(self, given: object, side: object, beyond: str, spec: exp.Expr) -> int | None:
        """An end of a frame, relative to the row; None without end."""
        if isinstance(given, str):
            if given.upper() == "CURRENT ROW":
                return 0
            if str(side).upper() != beyond:
                raise self._context.bad(self._node, "the frame has no rows")
            return None
        found = bare(given) if isinstance(given, exp.Expr) else None
        if isinstance(found, exp.Literal) and not found.is_string and found.this.isdigit() and len(found.this) < 10:
            return -int(found.this) if str(side).upper() == "PRECEDING" else int(found.this)
        raise self._refuse_frame(spec, "a frame other than of whole numbers")

    def _refuse_frame(self, spec: exp.Expr, what: str) -> Exception:
        return self._context.refuse(
            self._node if spec.args else spec,
            what,
            detail="A frame counts rows, or is one of those without numbers.",
            hint="Write ROWS BETWEEN n PRECEDING AND CURRENT ROW, or leave the frame out.",
        )

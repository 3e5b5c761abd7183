"""Numbers whose last digits depend on the order of additions, and where they may not go.

SUM, AVG, VARIANCE and STDDEV of DOUBLE are compared with a tolerance. That works as long as a small difference stays
small: through + and *, but not through a comparison, a rounding, a key or a group.
"""

from __future__ import annotations

from collections.abc import Callable

from viewkeeper.plan.expr import Call, Case, Cast, Expr, Input, Literal, Parameter, children

_CONTINUOUS = frozenset({"+", "-", "*", "/", "negate", "abs", "coalesce", "greatest", "least", "sqrt"})
_EXACT_ANYWAY = frozenset({"is_null"})

DETAIL = (
    "The last digits of a sum of DOUBLE depend on the order of additions: two computations of the view could disagree."
)
HINT = "Sum an exact type, as in SUM(CAST(col AS DECIMAL(38,6)))."


class Inexact(Exception):
    """`what` an approximate number was put into."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


def is_approximate(expr: Expr, of_input: Callable[[int], bool]) -> bool:
    """Whether an expression is such a number, given which inputs are; Inexact if a small difference could grow."""
    match expr:
        case Input(index, _):
            return of_input(index)
        case Literal() | Parameter():
            return False
    found = [is_approximate(child, of_input) for child in children(expr)]
    if not any(found):
        return False
    match expr:
        case Call(name, _, _) if name in _EXACT_ANYWAY:
            return False
        case Call(name, _, _) if name not in _CONTINUOUS:
            raise Inexact(f"operator {name}" if not name.isidentifier() else name.upper())
        case Cast(_, type):
            raise Inexact(f"CAST AS {type}")
        case Case():
            # Conditions are comparisons, which were refused above: it is a result that is approximate.
            return True
    return True

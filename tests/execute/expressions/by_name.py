"""Each function as Spark SQL has it, for comparison: its text, and which cases are ours alone.

A text in which nothing can raise is compared on every row. For the others, rows on which the row executor fails are
left out, and so are the deviations that docs/functions.md lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from viewkeeper.model.types import TIMESTAMP, Kind, Type

Exclude = Callable[[list[Type], list[Any]], bool]
"""Whether arguments of these types and values are a documented deviation."""


def _never(_types: list[Type], _values: list[Any]) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Named:
    """A function in Spark SQL: `{0}`, `{1}` … are the arguments, `{*}` all of them. `total`: it never raises."""

    text: str
    total: bool = True
    exclude: Exclude = _never
    between: str = ", "

    def sql(self, args: Sequence[str]) -> str:
        text = self.text.replace("{*}", self.between.join(args)).replace("{1*}", ", ".join(args[1:]))
        return text.format(*args)


def _wide_units(types: list[Type], values: list[Any]) -> bool:
    """Spark negates no more than 34 digits."""
    return types[0].kind is Kind.DECIMAL and values[0] is not None and abs(values[0]) >= 10**34


def _long_double(types: list[Type], values: list[Any]) -> bool:
    """Java before 19 does not write the shortest text of a double; up to 15 digits there is only one."""
    return types[0].kind is Kind.DOUBLE and values[0] is not None and float(f"{values[0]:.15g}") != values[0]


def _other_letters(types: list[Type], values: list[Any]) -> bool:
    return values[0] is not None and not values[0].isascii()


def _huge_quotient(types: list[Type], values: list[Any]) -> bool:
    """Spark raises where the whole quotient of two decimals has more than 39 digits."""
    if types[0].kind is not Kind.DECIMAL or not values[0] or not values[1]:
        return False
    return abs(values[0]) * 10 ** types[1].scale // (abs(values[1]) * 10 ** types[0].scale) >= 10**38


def _infix(operator: str) -> Named:
    return Named("({0} " + operator + " {1})")


SPARK: dict[str, Named] = {
    "+": Named("try_add({*})"),
    "-": Named("try_subtract({*})"),
    "*": Named("try_multiply({*})"),
    "/": Named("try_divide({*})"),
    "%": Named("try_mod({*})", total=False, exclude=_huge_quotient),
    "div": Named("({0} div {1})", total=False),
    "negate": Named("(- {0})", total=False, exclude=_wide_units),
    "abs": Named("abs({0})", total=False, exclude=_wide_units),
    "floor": Named("floor({0})", total=False),
    "ceil": Named("ceil({0})", total=False),
    "round": Named("round({*})", total=False, exclude=_long_double),
    "sign": Named("sign({0})"),
    "sqrt": Named("sqrt({0})"),
    "isnan": Named("isnan({0})"),
    **{name: _infix(name) for name in ("=", "<>", "<", "<=", ">", ">=", "<=>")},
    "and": Named("({*})", between=" AND "),
    "or": Named("({*})", between=" OR "),
    "in": Named("({0} IN ({1*}))"),
    "not": Named("(NOT {0})"),
    "is_null": Named("({0} IS NULL)"),
    "coalesce": Named("coalesce({*})"),
    "greatest": Named("greatest({*})"),
    "least": Named("least({*})"),
    "upper": Named("upper({0})", exclude=_other_letters),
    "lower": Named("lower({0})", exclude=_other_letters),
    **{name: Named(name + "({*})") for name in ("trim", "ltrim", "rtrim", "length", "substring", "left", "right")},
    **{name: Named(name + "({*})") for name in ("lpad", "rpad", "reverse", "concat", "concat_ws", "replace")},
    "split_part": Named("split_part({*})", total=False),
    **{name: Named(name + "({*})") for name in ("instr", "startswith", "endswith", "contains")},
    "like": Named("({0} LIKE {1})", total=False),
    "epoch+": Named("timestamp_millis(unix_millis({0}) + {1})", total=False),
    "epoch-": Named("timestamp_millis(unix_millis({0}) - {1})", total=False),
    "epoch%": Named("pmod(unix_millis({0}), {1})", total=False, exclude=lambda types, values: (values[1] or 0) < 0),
    **{name: Named(name + "({0})") for name in ("year", "quarter", "month", "weekofyear", "day")},
    **{name: Named(name + "({0})") for name in ("dayofweek", "dayofyear", "hour", "minute", "second")},
    "date_trunc": Named("date_trunc({*})"),
    "date_add": Named("date_add({*})", total=False),
    "date_sub": Named("date_sub({*})", total=False),
    "datediff": Named("datediff({*})"),
    "unix_seconds": Named("unix_seconds({0})"),
    "unix_millis": Named("unix_millis({0})"),
    "timestamp_seconds": Named("timestamp_seconds({0})", total=False),
    "timestamp_millis": Named("timestamp_millis({0})", total=False),
}


def named(name: str, types: Sequence[Type]) -> Named:
    if name == "epoch-" and types[1] == TIMESTAMP:
        return Named("(unix_millis({0}) - unix_millis({1}))")
    return SPARK[name]

"""How functions are written in SQL: the names and operators, and what each is in plan/functions.py."""

from __future__ import annotations

from difflib import get_close_matches

from sqlglot import exp

from viewkeeper.plan.aggregate import AggregateKind
from viewkeeper.plan.functions import FUNCTIONS

OPERATORS: dict[type[exp.Expr], tuple[str, str]] = {
    exp.EQ: ("=", "="),
    exp.NEQ: ("<>", "<>"),
    exp.LT: ("<", "<"),
    exp.LTE: ("<=", "<="),
    exp.GT: (">", ">"),
    exp.GTE: (">=", ">="),
    exp.NullSafeEQ: ("<=>", "<=>"),
    exp.Mul: ("*", "*"),
    exp.Div: ("/", "/"),
    exp.IntDiv: ("div", "DIV"),
    exp.Add: ("+", "+"),
    exp.Sub: ("-", "-"),
    exp.Mod: ("%", "%"),
    exp.Like: ("like", "LIKE"),
}
"""Operators of two sides: the function, and the word for errors."""

_OTHER_NAMES: dict[str, str] = {
    "CEILING": "ceil",
    "CHAR_LENGTH": "length",
    "CHARACTER_LENGTH": "length",
    "LEN": "length",
    "SUBSTR": "substring",
    "MID": "substring",
    "UCASE": "upper",
    "LCASE": "lower",
    "NVL": "coalesce",
    "IFNULL": "coalesce",
    "MOD": "%",
    "NEGATIVE": "negate",
    "SIGNUM": "sign",
    "DAYOFMONTH": "day",
    "DATEADD": "date_add",
    "DATE_DIFF": "datediff",
    "ISNULL": "is_null",
}
_WRITTEN_OTHERWISE = frozenset(
    {"and", "or", "not", "in", "is_null", "like", "negate", "div", "has_word", "has_word_like"}
)

NAMES: dict[str, str] = {
    **{name.upper(): name for name in FUNCTIONS if name.isidentifier() and name not in _WRITTEN_OTHERWISE},
    **{written: name for written, name in _OTHER_NAMES.items() if name in FUNCTIONS},
}
"""Functions by the name that a query calls them, in upper case."""

FORMS: frozenset[str] = frozenset({"IF", "IIF", "NULLIF", "NVL2", "ISNOTNULL", "DATE_PART", "DATEPART", "HASH"})
"""Functions that become an expression of others."""

PARTS: dict[str, str] = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "WEEK": "weekofyear",
    "DAY": "day",
    "DAYOFWEEK": "dayofweek",
    "DOW": "dayofweek",
    "DAYOFYEAR": "dayofyear",
    "DOY": "dayofyear",
    "HOUR": "hour",
    "MINUTE": "minute",
}
"""What EXTRACT takes out of a DATE or TIMESTAMP. Spark's EXTRACT(SECOND …) has a fraction, which SECOND(…) has not."""

AGGREGATES: dict[str, AggregateKind] = {
    "COUNT": AggregateKind.COUNT,
    "SUM": AggregateKind.SUM,
    "AVG": AggregateKind.AVG,
    "MEAN": AggregateKind.AVG,
    "MIN": AggregateKind.MIN,
    "MAX": AggregateKind.MAX,
    "VARIANCE": AggregateKind.VAR_SAMP,
    "VAR_SAMP": AggregateKind.VAR_SAMP,
    "VAR_POP": AggregateKind.VAR_POP,
    "STDDEV": AggregateKind.STDDEV_SAMP,
    "STDDEV_SAMP": AggregateKind.STDDEV_SAMP,
    "STD": AggregateKind.STDDEV_SAMP,
    "STDDEV_POP": AggregateKind.STDDEV_POP,
    "COUNT_IF": AggregateKind.COUNT,
}
"""Aggregate functions by the name that a query calls them, in upper case."""

GROUPED: frozenset[str] = frozenset({"WINDOW", "GROUPING", "GROUPING_ID"})
"""Functions that say something about GROUP BY."""


def near(name: str) -> str:
    """A hint for a function that is not known: the names that look like it, else where to find them all."""
    known = sorted({*NAMES, *FORMS, *AGGREGATES, *GROUPED})
    close = get_close_matches(name.upper(), known, n=3, cutoff=0.6)
    if close:
        return f"Functions with a similar name: {', '.join(close)}."
    return "The functions are listed in docs/functions.md."

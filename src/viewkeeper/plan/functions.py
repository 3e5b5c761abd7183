"""The allow-list of scalar functions: what each takes, gives, and whether it can fail on a row.

A function is specified here once, and described in docs/functions.md. `execute/rows/functions.py` and
`execute/spark/functions.py` each have an implementation for every name, and tests compare both with Spark's own
function on random arguments.

Unless `nulls` says otherwise, a NULL argument gives NULL. A function that `can_fail` gives NULL for such arguments and
the row counts as an error; plan/failing.py says it of one call more exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from viewkeeper.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP
from viewkeeper.plan import signatures as rules
from viewkeeper.plan.expr import Expr, Literal
from viewkeeper.plan.signatures import ConstantRule, Rule, Signature, comparable

__all__ = ["FUNCTIONS", "Function", "Nulls", "Rule", "Signature", "comparable"]


class Nulls(Enum):
    """What a NULL argument does."""

    PROPAGATE = "gives NULL"
    OWN = "the function decides"


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One function. `constants` are the places of arguments that have to be constants other than NULL."""

    name: str
    rule: Rule
    takes: str
    nulls: Nulls = Nulls.PROPAGATE
    can_fail: bool = False
    constants: tuple[int, ...] = ()
    constant_rule: ConstantRule | None = None

    def signature(self, args: Sequence[Expr]) -> Signature | None:
        """The signature for these arguments; None if they do not fit. Other than `rule`, it looks at constants."""
        types = [arg.type for arg in args]
        if self.constant_rule is None or self.rule(types) is None:
            return self.rule(types)
        wanted = [args[place] for place in self.constants if place < len(args)]
        constants = [arg.value for arg in wanted if isinstance(arg, Literal) and arg.value is not None]
        return self.constant_rule(types, constants) if len(constants) == len(wanted) else None


_NUMBERS = "two numbers"
_COMPARED = "two comparable values"
_MOMENT = "DATE or TIMESTAMP"
_PADDED = "STRING, length (a constant up to 65536), STRING"

_NUMERIC = [
    Function(name="+", rule=rules.operator("+"), takes=_NUMBERS, can_fail=True),
    Function(name="-", rule=rules.operator("-"), takes=_NUMBERS, can_fail=True),
    Function(name="*", rule=rules.operator("*"), takes=_NUMBERS, can_fail=True),
    Function(name="/", rule=rules.operator("/"), takes=_NUMBERS, can_fail=True),
    Function(name="%", rule=rules.operator("%"), takes=_NUMBERS, can_fail=True),
    Function(name="div", rule=rules.operator("div"), takes="two numbers other than DOUBLE", can_fail=True),
    Function(name="negate", rule=rules.number_to_itself, takes="a number", can_fail=True),
    Function(name="abs", rule=rules.number_to_itself, takes="a number", can_fail=True),
    Function(name="floor", rule=rules.whole_part, takes="a number", can_fail=True),
    Function(name="ceil", rule=rules.whole_part, takes="a number", can_fail=True),
    Function(
        name="round",
        rule=rules.rounding,
        takes="a number, digits (a constant from -38 to 38; 0 if left out)",
        can_fail=True,
        constants=(1,),
        constant_rule=rules.rounding_to,
    ),
    Function(name="sign", rule=rules.number_to_double, takes="a number"),
    Function(name="sqrt", rule=rules.number_to_double, takes="a number"),
    Function(name="isnan", rule=rules.fixed(BOOLEAN, DOUBLE), takes="DOUBLE", nulls=Nulls.OWN),
    Function(
        name="bucket",
        rule=rules.buckets,
        takes="values, number of buckets (a constant above 0)",
        nulls=Nulls.OWN,
        constants=(-1,),
        constant_rule=rules.bucket_count,
    ),
]

_LOGICAL = [
    Function(name="=", rule=rules.comparison, takes=_COMPARED),
    Function(name="<>", rule=rules.comparison, takes=_COMPARED),
    Function(name="<", rule=rules.comparison, takes=_COMPARED),
    Function(name="<=", rule=rules.comparison, takes=_COMPARED),
    Function(name=">", rule=rules.comparison, takes=_COMPARED),
    Function(name=">=", rule=rules.comparison, takes=_COMPARED),
    Function(name="<=>", rule=rules.comparison, takes=_COMPARED, nulls=Nulls.OWN),
    Function(name="and", rule=rules.logical, takes="conditions", nulls=Nulls.OWN),
    Function(name="or", rule=rules.logical, takes="conditions", nulls=Nulls.OWN),
    Function(name="not", rule=rules.fixed(BOOLEAN, BOOLEAN), takes="a condition"),
    Function(name="is_null", rule=rules.any_to(BOOLEAN), takes="a value", nulls=Nulls.OWN),
    Function(name="in", rule=rules.membership, takes="a value and a list of comparable values", nulls=Nulls.OWN),
    Function(name="coalesce", rule=rules.same(1), takes="comparable values", nulls=Nulls.OWN),
    Function(name="greatest", rule=rules.same(2), takes="comparable values", nulls=Nulls.OWN),
    Function(name="least", rule=rules.same(2), takes="comparable values", nulls=Nulls.OWN),
]

_TEXT = [
    Function(name="upper", rule=rules.fixed(STRING, STRING), takes="STRING"),
    Function(name="lower", rule=rules.fixed(STRING, STRING), takes="STRING"),
    Function(name="trim", rule=rules.fixed(STRING, STRING), takes="STRING"),
    Function(name="ltrim", rule=rules.fixed(STRING, STRING), takes="STRING"),
    Function(name="rtrim", rule=rules.fixed(STRING, STRING), takes="STRING"),
    Function(name="length", rule=rules.size, takes="STRING or BINARY"),
    Function(
        name="substring",
        rule=rules.either(rules.fixed(STRING, STRING, INT, INT), rules.fixed(STRING, STRING, INT)),
        takes="STRING, start, length (the rest if left out)",
    ),
    Function(name="left", rule=rules.fixed(STRING, STRING, INT), takes="STRING, length"),
    Function(name="right", rule=rules.fixed(STRING, STRING, INT), takes="STRING, length"),
    Function(
        name="lpad",
        rule=rules.fixed(STRING, STRING, INT, STRING),
        takes=_PADDED,
        constants=(1,),
        constant_rule=rules.padding,
    ),
    Function(
        name="rpad",
        rule=rules.fixed(STRING, STRING, INT, STRING),
        takes=_PADDED,
        constants=(1,),
        constant_rule=rules.padding,
    ),
    Function(name="reverse", rule=rules.fixed(STRING, STRING), takes="STRING"),
    Function(name="concat", rule=rules.texts(1), takes="STRINGs"),
    Function(name="concat_ws", rule=rules.texts(2), takes="separator, STRINGs", nulls=Nulls.OWN),
    Function(name="replace", rule=rules.fixed(STRING, STRING, STRING, STRING), takes="STRING, from, to"),
    Function(
        name="split_part",
        rule=rules.fixed(STRING, STRING, STRING, INT),
        takes="STRING, separator, number",
        can_fail=True,
    ),
    Function(name="instr", rule=rules.fixed(INT, STRING, STRING), takes="STRING, STRING"),
    Function(name="startswith", rule=rules.fixed(BOOLEAN, STRING, STRING), takes="STRING, STRING"),
    Function(name="endswith", rule=rules.fixed(BOOLEAN, STRING, STRING), takes="STRING, STRING"),
    Function(name="contains", rule=rules.fixed(BOOLEAN, STRING, STRING), takes="STRING, STRING"),
    Function(name="like", rule=rules.fixed(BOOLEAN, STRING, STRING), takes="STRING, pattern", can_fail=True),
    Function(name="has_word", rule=rules.fixed(BOOLEAN, STRING, STRING), takes="STRING, word"),
    Function(name="has_word_like", rule=rules.fixed(BOOLEAN, STRING, STRING), takes="STRING, pattern"),
]

_TIME = [
    Function(name="epoch+", rule=rules.epoch_arithmetic("+"), takes="TIMESTAMP, milliseconds", can_fail=True),
    Function(
        name="epoch-",
        rule=rules.epoch_arithmetic("-"),
        takes="TIMESTAMP, milliseconds or TIMESTAMP",
        can_fail=True,
    ),
    Function(name="epoch%", rule=rules.epoch_arithmetic("%"), takes="TIMESTAMP, milliseconds", can_fail=True),
    Function(name="year", rule=rules.date_part, takes=_MOMENT),
    Function(name="quarter", rule=rules.date_part, takes=_MOMENT),
    Function(name="month", rule=rules.date_part, takes=_MOMENT),
    Function(name="weekofyear", rule=rules.date_part, takes=_MOMENT),
    Function(name="day", rule=rules.date_part, takes=_MOMENT),
    Function(name="dayofweek", rule=rules.date_part, takes=_MOMENT),
    Function(name="dayofyear", rule=rules.date_part, takes=_MOMENT),
    Function(name="hour", rule=rules.fixed(INT, TIMESTAMP), takes="TIMESTAMP"),
    Function(name="minute", rule=rules.fixed(INT, TIMESTAMP), takes="TIMESTAMP"),
    Function(name="second", rule=rules.fixed(INT, TIMESTAMP), takes="TIMESTAMP"),
    Function(
        name="date_trunc",
        rule=rules.fixed(TIMESTAMP, STRING, TIMESTAMP),
        takes="unit (a constant: " + ", ".join(rules.TRUNCATION_UNITS) + "), TIMESTAMP",
        constants=(0,),
        constant_rule=rules.truncation,
    ),
    Function(name="date_add", rule=rules.fixed(DATE, DATE, INT), takes="DATE, days", can_fail=True),
    Function(name="date_sub", rule=rules.fixed(DATE, DATE, INT), takes="DATE, days", can_fail=True),
    Function(name="datediff", rule=rules.fixed(INT, DATE, DATE), takes="DATE, DATE"),
    Function(name="unix_seconds", rule=rules.fixed(BIGINT, TIMESTAMP), takes="TIMESTAMP"),
    Function(name="unix_millis", rule=rules.fixed(BIGINT, TIMESTAMP), takes="TIMESTAMP"),
    Function(name="timestamp_seconds", rule=rules.fixed(TIMESTAMP, BIGINT), takes="seconds since 1970", can_fail=True),
    Function(
        name="timestamp_millis", rule=rules.fixed(TIMESTAMP, BIGINT), takes="milliseconds since 1970", can_fail=True
    ),
]

FUNCTIONS: dict[str, Function] = {function.name: function for function in (*_NUMERIC, *_LOGICAL, *_TEXT, *_TIME)}

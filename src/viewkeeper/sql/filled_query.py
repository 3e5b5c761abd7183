"""A query with values in the place of its parameters, as if they had been written there.

A value is a constant of its own type: 5 an INT, "5" a STRING, which is not read as a number or a date as a text in
quotes would be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlglot import exp

from viewkeeper.errors import BadParameter
from viewkeeper.model.types import MAX_PRECISION, STRING, TIMESTAMP
from viewkeeper.model.values import accept, present
from viewkeeper.sql.params import Values, check_length, shown
from viewkeeper.sql.parse import Parsed
from viewkeeper.sql.query_syntax import MAX, TYPE


def filled(query: exp.Expr, parsed: Parsed, values: Values) -> exp.Expr:
    """A copy of a query in which every parameter is a constant; BadParameter for a value that no type has.

    In an IN list a parameter may be a list, which stands for its values.
    """
    copy = query.copy()
    for node in list(copy.find_all(exp.Placeholder)):
        key = parsed.parameters[node.meta["start"]]
        value, name = values[key], shown(key)
        is_alone = node.arg_key == "field"
        if isinstance(node.parent, exp.In) and node.arg_key in ("field", "expressions"):
            if isinstance(value, list | tuple | set | frozenset):
                check_length(len(value), node.parent.meta.get(MAX), name)
                _spread(node, [_placed(_constant(one, name), node) for one in value])
                continue
            if is_alone:
                raise BadParameter(f"parameter {name} of IN is {value!r}, expected a list")
        node.replace(_placed(_constant(value, name), node))
    for choice in list(copy.find_all(exp.In)):
        if not any(choice.args.get(part) for part in ("expressions", "field", "query", "unnest")):
            choice.replace(_placed(exp.Boolean(this=False), choice))
    return copy


def _spread(node: exp.Expr, constants: Sequence[exp.Expr]) -> None:
    choice = node.parent
    assert isinstance(choice, exp.In)
    if node.arg_key == "field":
        choice.set("field", None)
        choice.set("expressions", list(constants))
        return
    around = [one for item in choice.expressions for one in (constants if item is node else [item])]
    choice.set("expressions", around)


def _placed(constant: exp.Expr, node: exp.Expr) -> exp.Expr:
    if "start" in node.meta:
        constant.meta["start"] = node.meta["start"]
    return constant


def _constant(value: Any, name: str) -> exp.Expr:
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.Boolean(this=value)
        case str():
            text = exp.Cast(this=exp.Literal.string(value))
            text.meta[TYPE] = STRING
            return text
        case bytes() | bytearray() | memoryview():
            return exp.HexString(this=bytes(value).hex())
        case float():
            return _number(f"{value:.17e}" if math.isfinite(value) else repr(value))
        case Decimal() if value.is_finite() and abs(value.adjusted()) <= MAX_PRECISION:
            digits = f"{value:f}"
            return _number(digits if "." in digits else f"{digits}.")
        case datetime():
            moment = present(accept(value, TIMESTAMP, name), TIMESTAMP)
            return _moment(moment.isoformat(" "), exp.DType.TIMESTAMPTZ)
        case date():
            return _moment(value.isoformat(), exp.DType.DATE)
    if hasattr(value, "__index__") and abs(value.__index__()) < 10**MAX_PRECISION:
        return _number(str(value.__index__()))
    raise BadParameter(
        f"parameter {name} is {value.__class__.__name__} {_short(value)}",
        detail="A value is None, a bool, an int or Decimal of at most 38 digits, a float, a str, bytes, a date or a "
        "datetime; a list stands in IN (…).",
    )


def _number(text: str) -> exp.Expr:
    digits = exp.Literal(this=text.removeprefix("-"), is_string=False)
    return exp.Neg(this=digits) if text.startswith("-") else digits


def _moment(text: str, kind: exp.DType) -> exp.Expr:
    return exp.Cast(this=exp.Literal.string(text), to=exp.DataType(this=kind))


def _short(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:
        # An int of more digits than Python writes.
        return "of very many digits"
    return text if len(text) <= 60 else text[:57] + "..."

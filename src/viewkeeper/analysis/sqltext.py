"""Expressions and names as SQL that is read back as the same."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import assert_never

from viewkeeper.model.types import Kind, Type
from viewkeeper.model.values import present
from viewkeeper.plan.aggregate import AggregateCall, AggregateKind
from viewkeeper.plan.expr import Call, Case, Cast, Expr, Input, Literal, Parameter
from viewkeeper.sql.names import written as quoted

__all__ = ["aggregate", "literal", "quoted", "sql"]

_INFIX = {"epoch+": "+", "epoch-": "-", "epoch%": "%", "and": "AND", "or": "OR"} | {
    name: name for name in ("+", "-", "*", "/", "%", "div", "=", "<>", "<", "<=", ">", ">=", "<=>")
}


def sql(expr: Expr, name: Callable[[Input], str]) -> str:
    """An expression; `name` gives the text of a column. It may stand between AND and commas as it is."""

    def text(part: Expr) -> str:
        match part:
            case Input():
                return name(part)
            case Literal():
                return literal(part)
            case Parameter():
                return part.written
            case Cast(arg, type):
                return f"CAST({text(arg)} AS {type})"
            case Case(branches, otherwise, _):
                whens = " ".join(f"WHEN {text(condition)} THEN {text(result)}" for condition, result in branches)
                return f"CASE {whens} ELSE {text(otherwise)} END"
            case Call():
                return _call(part, text)
        assert_never(part)

    found = text(expr)
    is_infix = isinstance(expr, Call) and expr.name in _INFIX and expr.name != "or"
    return found[1:-1] if is_infix and found.startswith("(") else found


def _call(call: Call, text: Callable[[Expr], str]) -> str:
    args = [text(arg) for arg in call.args]
    match call.name:
        case name if name in _INFIX and len(args) > 1:
            return f"({f' {_INFIX[name]} '.join(args)})"
        case "not":
            missing = call.args[0]
            if isinstance(missing, Call) and missing.name == "is_null":
                return f"({text(missing.args[0])} IS NOT NULL)"
            return f"(NOT {args[0]})"
        case "negate":
            return f"(- {args[0]})"
        case "is_null":
            return f"({args[0]} IS NULL)"
        case "in":
            return f"{args[0]} IN ({', '.join(dict.fromkeys(args[1:]))})"
        case "like":
            return f"{args[0]} LIKE {args[1]}"
        case "bucket":
            return f"HASH({', '.join(args[:-1])}) INTO {args[-1]}"
        case "word of":
            return f"TOKENS({args[0]})"
        case "has_word":
            return f"TOKENS({args[0]}) = {args[1]}"
        case "has_word_like":
            return f"TOKENS({args[0]}) LIKE {args[1]}"
    return f"{call.name.upper()}({', '.join(args)})"


def literal(value: Literal) -> str:
    """A constant of its type."""
    if value.value is None:
        return f"CAST(NULL AS {value.type})"
    return _constant(value.value, value.type)


def _constant(value: object, type: Type) -> str:
    match type.kind:
        case Kind.BOOLEAN:
            return str(value).upper()
        case Kind.STRING:
            return "'" + str(value).replace("'", "''") + "'"
        case Kind.BINARY:
            assert isinstance(value, bytes)
            return f"X'{value.hex()}'"
        case Kind.DATE | Kind.TIMESTAMP:
            return f"{type} '{present(value, type)}'"  # type: ignore[arg-type]
        case Kind.INT | Kind.BIGINT:
            return str(value)
        case Kind.DOUBLE:
            assert isinstance(value, float)
            # With an exponent it is no DECIMAL.
            text = repr(value)
            return f"CAST('{text}' AS DOUBLE)" if not isfinite(value) else text if "e" in text else f"{text}E0"
        case Kind.DECIMAL:
            return str(present(value, type))  # type: ignore[arg-type]
    assert_never(type.kind)


def aggregate(call: AggregateCall, argument: str | None) -> str:
    """A call of an aggregate."""
    if call.kind is AggregateKind.COUNT_ROWS:
        return "COUNT(*)"
    if call.kind is AggregateKind.COUNT_DISTINCT:
        return f"COUNT(DISTINCT {argument})"
    if call.fraction is not None:
        return f"PERCENTILE({argument}, {call.fraction:g})"
    return f"{call.kind}({argument})"

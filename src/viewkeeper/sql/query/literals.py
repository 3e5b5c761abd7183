"""Constants of a query, typed as Spark types them.

A whole number is an INT, else a BIGINT, else a DECIMAL; with a point it is the DECIMAL that its digits need, with an
exponent a DOUBLE. A text is a STRING, but next to a number, a DATE or a TIMESTAMP it is read as one.
"""

from __future__ import annotations

import re
from decimal import Decimal

from sqlglot import exp

from viewkeeper.errors import DataError, WrongType
from viewkeeper.model.types import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INT_MAX,
    INT_MIN,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    Type,
    decimal,
)
from viewkeeper.model.values import parse
from viewkeeper.plan.expr import Literal
from viewkeeper.plan.numbers import is_number
from viewkeeper.sql.constructs import bare
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query_syntax import TYPE

_WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")
_POINT = re.compile(r"[+-]?(?:[0-9]{1,4000}\.[0-9]{0,4000}|\.[0-9]{1,4000})")


def literal(node: exp.Expr, context: Context) -> Literal | None:
    """The constant that a node is, with its sign; None if it is none. NULL has no type and is none."""
    match node:
        case exp.Boolean():
            return Literal(bool(node.this), BOOLEAN)
        case exp.HexString():
            return Literal(bytes.fromhex(node.this), BINARY)
        case exp.Literal() if node.is_string:
            return read_text(node, STRING, context)
        case exp.Literal():
            return number(node.this, node, context)
        case exp.Neg():
            inner = bare(node.this)
            if isinstance(inner, exp.Literal) and not inner.is_string:
                return number(f"-{inner.this}", node, context)
        case exp.Cast() if TYPE not in node.meta:
            return _typed(node, context)
    return None


def _typed(node: exp.Expr, context: Context) -> Literal:
    """DATE '…' and TIMESTAMP '…'."""
    types = {exp.DType.DATE: DATE, exp.DType.TIMESTAMPTZ: TIMESTAMP}
    target = types.get(node.args["to"].this)
    if target is None or not (isinstance(node.this, exp.Literal) and node.this.is_string):
        raise context.refuse(
            node,
            f"the constant {node.args['to'].sql().upper()} '…'",
            detail="DATE and TIMESTAMP stand in front of a text, other types and other constants do not.",
            hint="Write CAST(… AS type).",
        )
    return read_text(node.this, target, context)


def number(text: str, node: exp.Expr, context: Context) -> Literal:
    """The number that a text with an optional sign is; WrongType if it is none, or longer than a DECIMAL can be."""
    if _WHOLE.fullmatch(text):
        value = int(text)
        if INT_MIN <= value <= INT_MAX:
            return Literal(value, INT)
        if BIGINT_MIN <= value <= BIGINT_MAX:
            return Literal(value, BIGINT)
        return _decimal(Decimal(text), node, context)
    if _POINT.fullmatch(text):
        return _decimal(Decimal(text), node, context)
    return Literal(_cell(text, DOUBLE, node, context), DOUBLE)


def _decimal(value: Decimal, node: exp.Expr, context: Context) -> Literal:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    significant = len(digits) if any(digits) else 1
    precision = max(significant, scale)
    if precision > MAX_PRECISION:
        raise context.wrong_type(node, f"a number of {precision} digits is longer than a DECIMAL can be")
    cell = int("".join(map(str, digits))) * (-1 if sign else 1)
    return Literal(cell, decimal(precision, scale))


def read_text(node: exp.Expr, target: Type, context: Context) -> Literal:
    """A text literal as a constant of `target`, or, for a whole or decimal number, of the type that its digits need."""
    text = str(node.this)
    if is_number(target) and target != DOUBLE:
        stripped = text.strip()
        if not (_WHOLE.fullmatch(stripped) or _POINT.fullmatch(stripped)):
            raise context.wrong_type(node, f"{_shown(text)} is not a number")
        return number(stripped, node, context)
    return Literal(_cell(text, target, node, context), target)


def _cell(text: str, target: Type, node: exp.Expr, context: Context) -> bool | int | float | str | bytes | None:
    try:
        return parse(text, target, "")
    except WrongType:
        raise context.wrong_type(node, f"{_shown(text)} is not a {target}") from None
    except DataError as error:
        detail = error.detail or f"{target} does not hold it."
        raise context.wrong_type(node, f"{_shown(text)} is out of range", detail=detail) from None


def _shown(text: str) -> str:
    return repr(text) if len(text) <= 40 else repr(text[:37]) + "..."

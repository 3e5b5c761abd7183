"""Values of a text: constants become cells once, parameters at every call.

A constant is read for the column that it is compared with or stored in, and exactly: 9.99 for a DECIMAL never passes
through a float, and only for a DOUBLE does it become one.
"""

from __future__ import annotations

import math
from decimal import Decimal

from sqlglot import exp

from viewkeeper.errors import OutOfRange, WrongType
from viewkeeper.model.schema import Column
from viewkeeper.model.types import Cell, Kind
from viewkeeper.model.values import accept, parse
from viewkeeper.sql.constructs import bare, construct
from viewkeeper.sql.key_tests import Operand
from viewkeeper.sql.scope import Scope

_READ_FROM_TEXT = (Kind.STRING, Kind.DOUBLE, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP)
_MAX_DIGITS = 4000
"""Python refuses to read longer integers, and no type holds one."""


def compile_value(node: exp.Expr, column: Column, scope: Scope) -> Operand:
    """The value of a constant or parameter as a cell of `column`. Unsupported for any other expression.

    WrongType or OutOfRange for a constant that does not fit, at once; for a parameter, when it is filled in.
    """
    node = bare(node)
    if isinstance(node, exp.Placeholder):
        key = scope.parsed.parameters[node.meta["start"]]
        type, name = column.type, column.name
        return lambda values: accept(values[key], type, name)
    cell = constant(node, column, scope)
    return lambda _: cell


def is_value(node: exp.Expr) -> bool:
    """Whether a node is a constant or a parameter, whatever its type."""
    node = bare(node)
    return isinstance(node, exp.Placeholder | exp.Null | exp.Boolean | exp.Literal | exp.HexString) or (
        _is_number(node) or _typed_text(node) is not None
    )


def constant(node: exp.Expr, column: Column, scope: Scope) -> Cell:
    """The cell of a constant; Unsupported if the node is none."""
    node = bare(node)
    match node:
        case exp.Null():
            return None
        case exp.Boolean():
            return accept(node.this, column.type, column.name)
        case exp.HexString():
            return accept(bytes.fromhex(node.this), column.type, column.name)
        case exp.Literal() if node.is_string:
            return _text(node.this, column)
    if _is_number(node):
        return _number(node, column)
    moment = _typed_text(node)
    if moment is not None:
        return _moment(moment, node.this.this, column)
    raise scope.refuse(
        node,
        f"{construct(node)} as a value",
        detail="A value is a constant or a parameter.",
        hint="Compute it first and pass it as a parameter.",
    )


def _is_number(node: exp.Expr) -> bool:
    while isinstance(node, exp.Neg):
        node = bare(node.this)
    return isinstance(node, exp.Literal) and not node.is_string


def _number(node: exp.Expr, column: Column) -> Cell:
    minus = ""
    while isinstance(node, exp.Neg):
        minus = "" if minus else "-"
        node = bare(node.this)
    digits = str(node.this)
    if len(digits) > _MAX_DIGITS:
        raise OutOfRange(f'{digits[:37]}... does not fit column "{column.name}" of type {column.type}')
    # The sign goes in front of the text: negating a Decimal would round it to the context's precision.
    text = minus + digits
    if column.type.kind is Kind.DOUBLE:
        value = float(text)
        if math.isinf(value):
            raise OutOfRange(f'{text} does not fit column "{column.name}" of type {column.type}')
        return accept(value, column.type, column.name)
    return accept(int(text) if digits.isdigit() else Decimal(text), column.type, column.name)


def _text(text: str, column: Column) -> Cell:
    kind = column.type.kind
    if kind in _READ_FROM_TEXT:
        return parse(text, column.type, column.name)
    shown = repr(text) if len(text) <= 60 else repr(text[:57]) + "..."
    hints = {Kind.BOOLEAN: "Write TRUE or FALSE.", Kind.BINARY: "Write the bytes in hexadecimal, as in X'0aff'."}
    hint = hints.get(kind, "Write the number without quotes.")
    raise WrongType(f'column "{column.name}" is {column.type}, found the text {shown}', hint=hint)


def _typed_text(node: exp.Expr) -> Kind | None:
    """DATE or TIMESTAMP for DATE '…' and TIMESTAMP '…'."""
    if type(node) is not exp.Cast or "to" not in node.args:
        return None
    if not (isinstance(node.this, exp.Literal) and node.this.is_string):
        return None
    kinds = {exp.DType.DATE: Kind.DATE, exp.DType.TIMESTAMPTZ: Kind.TIMESTAMP}
    return kinds.get(node.args["to"].this)


def _moment(kind: Kind, text: str, column: Column) -> Cell:
    if column.type.kind is kind:
        return parse(text, column.type, column.name)
    hint = f"Write {column.type} '…'." if column.type.kind in (Kind.DATE, Kind.TIMESTAMP) else ""
    raise WrongType(f'column "{column.name}" is {column.type}, found {kind} {text!r}', hint=hint)

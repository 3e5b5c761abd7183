"""Operands to the types that a function takes: every conversion becomes a Cast, or a constant of the other type."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from sqlglot import exp

from viewkeeper.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Kind,
    Type,
)
from viewkeeper.plan.casts import can_cast
from viewkeeper.plan.expr import Call, Cast, Expr, Literal, Parameter
from viewkeeper.plan.functions import FUNCTIONS, Signature
from viewkeeper.plan.numbers import is_number, literal_decimal
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.literals import read_text
from viewkeeper.sql.query.parameters import Element, Key

_COMPARES = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>"})
_READS_TEXT = _COMPARES | {"in", "coalesce", "greatest", "least"}
_MEETS_DECIMALS = _COMPARES | {"+", "-", "*", "/", "%", "div"}
_JOINS_TEXT = frozenset({"concat", "concat_ws"})
_OF_ANY_TYPE = frozenset({"is_null", "bucket"})
"""Functions whose arguments say nothing of one another."""
_ANY_TYPE = (STRING, INT, BOOLEAN, TIMESTAMP, DATE, DOUBLE, BIGINT, BINARY)
_MANY_NULLS = 3
"""More NULLs than this all take one type; fewer are tried in every combination."""


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument as it was written; without `expr` it is NULL or a parameter, which take whatever type fits.

    `is_text`: a text literal, which is read as a number, a DATE or a TIMESTAMP where it is compared with one.
    """

    node: exp.Expr
    expr: Expr | None
    is_text: bool = False
    parameter: tuple[Key, Element] | None = None

    @property
    def is_parameter(self) -> bool:
        """Whether it takes whatever type fits, as a value that is given later."""
        return self.parameter is not None and self.expr is None


def fit(name: str, operands: Sequence[Operand], shown: str, node: exp.Expr, context: Context) -> Call:
    """The call of a function with its arguments converted; WrongType if it does not take them.

    `shown` is what the user calls it.
    """
    operands = _prepared(name, _with_known(name, operands, context), context)
    found = _signature(name, operands)
    if found is None:
        raise _does_not_take(name, operands, shown, node, context)
    args, signature = found
    untyped = _are_untyped(name, operands)
    converted = (
        _parameter(operand, type, context, untyped=untyped) if operand.is_parameter else convert(arg, type)
        for operand, arg, type in zip(operands, args, signature.args, strict=True)
    )
    return Call(name, tuple(converted), signature.result)


def meet(operands: Sequence[Operand], shown: str, node: exp.Expr, context: Context) -> tuple[tuple[Expr, ...], Type]:
    """The operands at the one type at which they meet, and that type."""
    call = fit("coalesce", operands, shown, node, context)
    return call.args, call.type


def _parameter(operand: Operand, type: Type, context: Context, *, untyped: bool) -> Parameter:
    assert context.parameters is not None
    assert operand.parameter is not None
    key, element = operand.parameter
    if untyped:
        context.parameters.unknown.setdefault(key, operand.node)
        return Parameter(key, type, element)
    return context.parameters.use(key, element, type, operand.node)


def _with_known(name: str, operands: Sequence[Operand], context: Context) -> Sequence[Operand]:
    """Parameters that nothing beside them gives a type take that of their other places, where it is known."""
    if context.parameters is None or not _are_untyped(name, operands):
        return operands
    parameters = context.parameters
    return [
        replace(operand, expr=parameters.alone(*operand.parameter, operand.node))
        if operand.expr is None and operand.parameter is not None and operand.parameter[0] in parameters.known
        else operand
        for operand in operands
    ]


def _are_untyped(name: str, operands: Sequence[Operand]) -> bool:
    """Whether there are parameters that could be of several types: neither the function nor a value says which."""
    if not any(operand.is_parameter for operand in operands):
        return False
    if name in _OF_ANY_TYPE:
        return True
    if any(operand.expr is not None for operand in operands):
        return False
    found = (FUNCTIONS[name].signature(args) for args in _typed(operands))
    return len({signature.args for signature in found if signature is not None}) != 1


def _prepared(name: str, operands: Sequence[Operand], context: Context) -> Sequence[Operand]:
    if name in _READS_TEXT:
        return _texts_read(operands, context)
    if name in _JOINS_TEXT:
        return [_as_text(operand) for operand in operands]
    return operands


def _texts_read(operands: Sequence[Operand], context: Context) -> list[Operand]:
    types = [operand.expr.type for operand in operands if operand.expr is not None and not operand.is_text]
    target = next((type for type in types if _reads_as(type)), None)
    if target is None:
        return list(operands)
    return [
        replace(operand, expr=read_text(operand.node, target, context)) if operand.is_text else operand
        for operand in operands
    ]


def _reads_as(type: Type) -> bool:
    return is_number(type) or type in (DATE, TIMESTAMP)


def _as_text(operand: Operand) -> Operand:
    if operand.expr is None or operand.expr.type == STRING or not can_cast(operand.expr.type, STRING):
        return operand
    return replace(operand, expr=Cast(operand.expr, STRING))


def _signature(name: str, operands: Sequence[Operand]) -> tuple[list[Expr], Signature] | None:
    """The arguments, NULLs typed, and the signature that takes them; None if there is none."""
    for typed in _typed(operands):
        args = _whole_constants(typed) if name in _MEETS_DECIMALS else typed
        signature = FUNCTIONS[name].signature(args)
        if signature is not None:
            return args, signature
    return None


def _typed(operands: Sequence[Operand]) -> Iterable[list[Expr]]:
    """The arguments with each NULL as a constant of some type, the likelier types first."""
    nulls = sum(operand.expr is None for operand in operands)
    known = [operand.expr.type for operand in operands if operand.expr is not None]
    likely = dict.fromkeys([*known, *_ANY_TYPE])
    choices = product(likely, repeat=nulls) if nulls <= _MANY_NULLS else ((type,) * nulls for type in likely)
    for chosen in choices:
        types = iter(chosen)
        yield [Literal(None, next(types)) if operand.expr is None else operand.expr for operand in operands]


def _whole_constants(args: list[Expr]) -> list[Expr]:
    """A whole-number constant beside a decimal is a decimal of just its digits, as in Spark."""
    if not any(arg.type.kind is Kind.DECIMAL for arg in args):
        return args
    return [
        Literal(arg.value, literal_decimal(arg.value))
        if isinstance(arg, Literal) and isinstance(arg.value, int) and arg.type in (INT, BIGINT)
        else arg
        for arg in args
    ]


def convert(expr: Expr, target: Type) -> Expr:
    """The expression as a value of `target`; a constant where that is exact."""
    if expr.type == target:
        return expr
    if isinstance(expr, Literal):
        if expr.value is None:
            return Literal(None, target)
        exact = _widened(expr, target)
        if exact is not None:
            return exact
    if not can_cast(expr.type, target):
        raise ValueError(f"{expr.type} does not convert to {target}")
    return Cast(expr, target)


def _widened(literal: Literal, target: Type) -> Literal | None:
    """A whole or decimal constant at a type that holds it exactly; None if there is no such conversion."""
    value, source = literal.value, literal.type
    if not isinstance(value, int) or source.kind not in (Kind.INT, Kind.BIGINT, Kind.DECIMAL):
        return None
    match target.kind:
        case Kind.BIGINT if source == INT:
            return Literal(value, target)
        case Kind.DECIMAL if target.scale >= source.scale:
            cell = value * 10 ** (target.scale - source.scale)
            return Literal(cell, target) if abs(cell) < 10**target.precision else None
        case Kind.DOUBLE if source.scale == 0 and abs(value) <= 1 << 53:
            return Literal(float(value), target)
    return None


def _does_not_take(name: str, operands: Sequence[Operand], shown: str, node: exp.Expr, context: Context) -> Exception:
    function = FUNCTIONS[name]
    for place in function.constants:
        if -len(operands) <= place < len(operands):
            operand = operands[place]
            if not isinstance(operand.expr, Literal) or operand.expr.value is None:
                return context.wrong_type(
                    operand.node,
                    f"argument {place % len(operands) + 1} of {shown} is not a constant",
                    detail=f"{shown} takes {function.takes}.",
                    hint="Write the value itself.",
                )
    found = ", ".join("NULL" if operand.expr is None else str(operand.expr.type) for operand in operands)
    hint = "Convert the arguments with CAST(… AS type)."
    if name in _READS_TEXT and any(operand.is_text for operand in operands):
        hint = "Write the constant without quotes, as DATE '…' or TIMESTAMP '…', or convert it with CAST(… AS type)."
    return context.wrong_type(node, f"{shown} takes {function.takes}, found {found or 'nothing'}", hint=hint)

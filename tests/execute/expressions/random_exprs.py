"""Random typed expressions over input columns of given types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from tests.execute.expressions.random_cells import DECIMALS, TYPES, random_cell
from viewkeeper.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    decimal,
)
from viewkeeper.plan.casts import can_cast
from viewkeeper.plan.expr import Call, Case, Cast, Expr, Input, Literal
from viewkeeper.plan.functions import FUNCTIONS
from viewkeeper.plan.signatures import TRUNCATION_UNITS

NUMBERS = (INT, BIGINT, DOUBLE, *DECIMALS)


def any_decimal(rng: Random) -> Type:
    if rng.random() < 0.6:
        return rng.choice(DECIMALS)
    precision = rng.randint(1, 38)
    return decimal(precision, rng.randint(0, precision))


def any_number(rng: Random) -> Type:
    return rng.choice((INT, BIGINT, DOUBLE, any_decimal(rng), any_decimal(rng)))


def any_type(rng: Random) -> Type:
    return any_decimal(rng) if rng.random() < 0.3 else rng.choice(TYPES)


def _compared(rng: Random) -> list[Type]:
    if rng.random() < 0.5:
        return [any_number(rng), any_number(rng)]
    return [any_type(rng)] * 2 if rng.random() < 0.8 else [DATE, TIMESTAMP]


def _several(rng: Random) -> list[Type]:
    return [any_type(rng)] * rng.randint(2, 4) if rng.random() < 0.7 else [any_number(rng), any_number(rng), INT]


def _moment(rng: Random) -> list[Type]:
    return [rng.choice((DATE, TIMESTAMP))]


ARGUMENTS: dict[str, Callable[[Random], list[Type]]] = {
    **dict.fromkeys(("+", "-", "*", "/", "%"), lambda rng: [any_number(rng), any_number(rng)]),
    "div": lambda rng: [rng.choice((INT, BIGINT, any_decimal(rng))), rng.choice((INT, BIGINT, any_decimal(rng)))],
    **dict.fromkeys(("negate", "abs", "floor", "ceil", "sign", "sqrt"), lambda rng: [any_number(rng)]),
    "round": lambda rng: [any_number(rng), INT] if rng.random() < 0.8 else [any_number(rng)],
    "isnan": lambda rng: [DOUBLE],
    "bucket": lambda rng: [*(any_type(rng) for _ in range(rng.randint(1, 3))), INT],
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "<=>"), _compared),
    **dict.fromkeys(("and", "or"), lambda rng: [BOOLEAN] * rng.randint(1, 4)),
    "not": lambda rng: [BOOLEAN],
    "is_null": lambda rng: [any_type(rng)],
    **dict.fromkeys(("in", "coalesce", "greatest", "least"), _several),
    **dict.fromkeys(("upper", "lower", "trim", "ltrim", "rtrim", "reverse"), lambda rng: [STRING]),
    "length": lambda rng: [rng.choice((STRING, BINARY))],
    "substring": lambda rng: [STRING, INT, INT][: rng.randint(2, 3)],
    **dict.fromkeys(("left", "right"), lambda rng: [STRING, INT]),
    **dict.fromkeys(("lpad", "rpad"), lambda rng: [STRING, INT, STRING]),
    "concat": lambda rng: [STRING] * rng.randint(1, 3),
    "concat_ws": lambda rng: [STRING] * rng.randint(2, 4),
    "replace": lambda rng: [STRING] * 3,
    "split_part": lambda rng: [STRING, STRING, INT],
    **dict.fromkeys(("instr", "startswith", "endswith", "contains", "like"), lambda rng: [STRING, STRING]),
    **dict.fromkeys(("has_word", "has_word_like"), lambda rng: [STRING, STRING]),
    **dict.fromkeys(("epoch+", "epoch%"), lambda rng: [TIMESTAMP, rng.choice((INT, BIGINT))]),
    "epoch-": lambda rng: [TIMESTAMP, rng.choice((INT, BIGINT, TIMESTAMP))],
    **dict.fromkeys(("year", "quarter", "month", "weekofyear", "day", "dayofweek", "dayofyear"), _moment),
    **dict.fromkeys(("hour", "minute", "second", "unix_seconds", "unix_millis"), lambda rng: [TIMESTAMP]),
    "date_trunc": lambda rng: [STRING, TIMESTAMP],
    **dict.fromkeys(("date_add", "date_sub"), lambda rng: [DATE, INT]),
    "datediff": lambda rng: [DATE, DATE],
    **dict.fromkeys(("timestamp_seconds", "timestamp_millis"), lambda rng: [BIGINT]),
}
"""Argument types for each function, as the user might give them: not yet converted."""

CONSTANTS: dict[str, Callable[[Random], object]] = {
    "round": lambda rng: rng.choice((-38, -20, -3, -1, 0, 1, 2, 5, 17, 38)),
    "bucket": lambda rng: rng.choice((1, 2, 7, 1000, 2**31 - 1)),
    "lpad": lambda rng: rng.choice((0, 1, 3, 8)),
    "rpad": lambda rng: rng.choice((0, 1, 3, 8)),
    "date_trunc": lambda rng: rng.choice((*TRUNCATION_UNITS, "MONTH")),
}


def argument_types(rng: Random, name: str) -> list[Type]:
    return ARGUMENTS[name](rng)


class RandomExprs:
    """Draws expressions whose inputs are columns of these types."""

    def __init__(self, rng: Random, columns: Sequence[Type]) -> None:
        self.rng = rng
        self.columns = columns

    def call(self, name: str, depth: int) -> Call:
        """A call of this function, its arguments up to `depth` deep."""
        function, types = FUNCTIONS[name], argument_types(self.rng, name)
        constants = {place % len(types) for place in function.constants if place < len(types)}
        args = [
            Literal(CONSTANTS[name](self.rng), type) if place in constants else self.expr(type, depth)  # type: ignore[arg-type]
            for place, type in enumerate(types)
        ]
        signature = function.signature(args)
        assert signature is not None, (name, types)
        return Call(name, tuple(map(_converted, args, signature.args)), signature.result)

    def expr(self, type: Type, depth: int) -> Expr:
        """An expression of this type, up to `depth` deep."""
        choice = self.rng.random()
        if depth == 0 or choice < 0.25:
            return self._leaf(type)
        if choice < 0.35:
            return self._case(type, depth - 1)
        if choice < 0.45:
            return Call("coalesce", tuple(self.expr(type, depth - 1) for _ in range(self.rng.randint(1, 3))), type)
        if choice < 0.6:
            return self.cast(type, depth - 1)
        return self._called(type, depth - 1)

    def cast(self, type: Type, depth: int) -> Expr:
        sources = [source for source in (*TYPES, any_decimal(self.rng)) if can_cast(source, type)]
        return Cast(self.expr(self.rng.choice(sources), depth), type)

    def _leaf(self, type: Type) -> Expr:
        places = [place for place, column in enumerate(self.columns) if column == type]
        if places and self.rng.random() < 0.7:
            return Input(self.rng.choice(places), type)
        return Literal(random_cell(self.rng, type, nulls=0.1), type)

    def _case(self, type: Type, depth: int) -> Case:
        branches = [(self.expr(BOOLEAN, depth), self.expr(type, depth)) for _ in range(self.rng.randint(1, 3))]
        return Case(tuple(branches), self.expr(type, depth), type)

    def _called(self, type: Type, depth: int) -> Expr:
        """A call that gives the type, or can be converted to it."""
        for _ in range(20):
            call = self.call(self.rng.choice(list(FUNCTIONS)), depth)
            if call.type == type:
                return call
            if call.type.kind is type.kind or (self.rng.random() < 0.2 and can_cast(call.type, type)):
                return Cast(call, type)
        return self._leaf(type)


def _converted(arg: Expr, type: Type) -> Expr:
    if arg.type == type:
        return arg
    if isinstance(arg, Literal) and arg.value is None:
        return Literal(None, type)
    return Cast(arg, type)

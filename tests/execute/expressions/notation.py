"""Expressions written as text, for cases that people read: `round(2.345, 2)  -- 2.35`.

SQL as in docs/functions.md, with constants instead of columns: 5 is INT, 5L BIGINT, 1.50 DECIMAL(3,2), 1e0 and 1.5D
DOUBLE, 'text' (a backslash is just that), X'ff', DATE '…', TIMESTAMP '…'; NULL only as CAST(NULL AS type). What stands
behind the two dashes is the value, or `fails`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from decimal import Decimal
from typing import Any

from viewkeeper.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Cell,
    Kind,
    Type,
    decimal,
)
from viewkeeper.model.values import accept, parse, present
from viewkeeper.plan.expr import Call, Case, Cast, Expr, Literal
from viewkeeper.plan.functions import FUNCTIONS

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>[xX]?'(?:[^']|'')*')
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[LD]?)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<sign><=>|<>|<=|>=|[=<>+\-*/%(),])
    )""",
    re.VERBOSE,
)
_LEVELS = (("OR",), ("AND",), ("NOT",), ("=", "<>", "<", "<=", ">", ">=", "<=>"), ("+", "-"), ("*", "/", "%", "DIV"))
_TYPES = {str(type): type for type in (BOOLEAN, INT, BIGINT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP)}


@dataclass(frozen=True, slots=True)
class Example:
    """An expression and what it gives, as texts."""

    text: str
    gives: str

    @property
    def expr(self) -> Expr:
        return read(self.text)


def examples(text: str) -> list[Example]:
    """One example a line; empty lines and lines that begin with # or -- are none."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(("#", "--"))]
    found = [line.rpartition("  -- ") for line in lines]
    assert all(expression for expression, _, _ in found), [line for line in lines if "  -- " not in line]
    return [Example(expression.strip(), gives.strip()) for expression, _, gives in found]


def shown(cell: Cell, type: Type) -> str:
    """A cell as the notation writes it."""
    value: Any = present(cell, type)
    if value is None:
        return "NULL"
    match type.kind:
        case Kind.BOOLEAN:
            return str(value).upper()
        case Kind.STRING:
            return "'" + value.replace("'", "''") + "'"
        case Kind.BINARY:
            return f"X'{value.hex()}'"
        case Kind.DATE:
            return f"DATE '{value.isoformat()}'"
        case Kind.TIMESTAMP:
            return f"TIMESTAMP '{value.astimezone(UTC).replace(tzinfo=None)}'"
        case Kind.DECIMAL:
            return f"{value:f}"
    return repr(value)


def call(name: str, *args: Expr) -> Call:
    """A call with its arguments converted as the function wants them."""
    signature = FUNCTIONS[name].signature(args)
    assert signature is not None, f"{name} does not take {[str(arg.type) for arg in args]}"
    pairs = zip(args, signature.args, strict=True)
    return Call(name, tuple(arg if arg.type == type else Cast(arg, type) for arg, type in pairs), signature.result)


def read(text: str) -> Expr:
    reader = _Reader(text)
    expr = reader.level(0)
    assert reader.peek == "", f"{reader.peek!r} is left over in {text!r}"
    return expr


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        place = 0
        while text[place:].strip():
            found = _TOKEN.match(text, place)
            assert found, f"cannot read {text[place:]!r}"
            self.tokens.append(found[0].strip())
            place = found.end()

    @property
    def peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def next(self, *wanted: str) -> str:
        token = self.tokens.pop(0)
        assert not wanted or token.upper() in wanted, f"{token!r} instead of {wanted}"
        return token

    def takes(self, *words: str) -> bool:
        if self.peek.upper() not in words:
            return False
        self.tokens.pop(0)
        return True

    def level(self, level: int) -> Expr:
        if level == len(_LEVELS):
            return self.unary()
        if _LEVELS[level] == ("NOT",):
            return call("not", self.level(level)) if self.takes("NOT") else self.level(level + 1)
        left = self.level(level + 1)
        while True:
            if self.peek.upper() in _LEVELS[level]:
                left = operation(self.next().lower(), left, self.level(level + 1))
            elif _LEVELS[level][0] == "=" and self.peek.upper() in ("IS", "IN", "LIKE", "NOT"):
                left = self.test(left)
            else:
                return left

    def test(self, left: Expr) -> Expr:
        if self.takes("NOT"):
            return call("not", self.test(left))
        match self.next("IS", "IN", "LIKE").upper():
            case "IS":
                negated = self.takes("NOT")
                self.next("NULL")
                found = call("is_null", left)
                return call("not", found) if negated else found
            case "IN":
                self.next("(")
                return call("in", left, *self.list())
        return call("like", left, self.level(4))

    def list(self) -> Sequence[Expr]:
        """Expressions up to the closing parenthesis."""
        found = []
        while not self.takes(")"):
            found.append(self.level(0))
            assert self.peek in (",", ")"), self.tokens
            self.takes(",")
        return found

    def unary(self) -> Expr:
        if not self.takes("-"):
            return self.primary()
        if re.match(r"[\d.]", self.peek):
            return number("-" + self.next())
        return call("negate", self.unary())

    def primary(self) -> Expr:
        token = self.next()
        if token == "(":
            inner = self.level(0)
            self.next(")")
            return inner
        if token.startswith("'"):
            return Literal(_unquoted(token), STRING)
        if token[:2].upper() == "X'":
            return Literal(bytes.fromhex(token[2:-1]), BINARY)
        if re.match(r"[\d.]", token):
            return number(token)
        match token.upper():
            case "TRUE" | "FALSE":
                return Literal(token.upper() == "TRUE", BOOLEAN)
            case "DATE" | "TIMESTAMP" if self.peek.startswith("'"):
                return Literal(parse(_unquoted(self.next()), _TYPES[token.upper()], "literal"), _TYPES[token.upper()])
            case "CAST":
                return self.cast()
            case "CASE":
                return self.case()
        self.next("(")
        return call(token.lower(), *self.list())

    def cast(self) -> Expr:
        self.next("(")
        arg = None if self.takes("NULL") else self.level(0)
        self.next("AS")
        type = self.type()
        self.next(")")
        return Literal(None, type) if arg is None else Cast(arg, type)

    def type(self) -> Type:
        name = self.next().upper()
        if name != "DECIMAL":
            return _TYPES[name]
        self.next("(")
        precision = int(self.next())
        self.next(",")
        scale = int(self.next())
        self.next(")")
        return decimal(precision, scale)

    def case(self) -> Expr:
        branches = []
        while self.takes("WHEN"):
            condition = self.level(0)
            self.next("THEN")
            branches.append((condition, self.level(0)))
        self.next("ELSE")
        otherwise = self.level(0)
        self.next("END")
        return Case(tuple(branches), otherwise, otherwise.type)


def operation(symbol: str, left: Expr, right: Expr) -> Call:
    moment = left.type == TIMESTAMP and symbol in ("+", "-", "%")
    return call("epoch" + symbol if moment else symbol, left, right)


def number(text: str) -> Literal:
    if text.endswith("L"):
        return Literal(accept(int(text[:-1]), BIGINT, "literal"), BIGINT)
    if text.endswith("D") or "e" in text.lower():
        return Literal(float(text.removesuffix("D")), DOUBLE)
    if "." not in text:
        return Literal(accept(int(text), INT, "literal"), INT)
    scale = len(text.partition(".")[2])
    digits = len(text.partition(".")[0].lstrip("-0")) + scale
    type = decimal(max(digits, 1), scale)
    return Literal(accept(Decimal(text), type, "literal"), type)


def _unquoted(token: str) -> str:
    return token[1:-1].replace("''", "'")

"""Functions as they are called in a query."""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from viewkeeper.model.types import BOOLEAN, INT_MAX
from viewkeeper.plan.expr import Call, Case, Expr, Literal
from viewkeeper.sql.constructs import bare, construct
from viewkeeper.sql.query import refused
from viewkeeper.sql.query.any_of import any_of_list
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.fitting import Operand, fit, meet
from viewkeeper.sql.query.spellings import FORMS, NAMES, PARTS, near
from viewkeeper.sql.query_syntax import INTO

PARTS_OF_HASH = 16
"""What HASH(…) without INTO stands for: as many parts as this."""


class Binder(Protocol):
    """What binds the arguments."""

    @property
    def context(self) -> Context: ...

    def bind(self, node: exp.Expr) -> Expr: ...

    def operand(self, node: exp.Expr) -> Operand: ...


def bind_call(node: exp.Anonymous, binder: Binder) -> Expr:
    """A scalar function. Unsupported if it is not on the list, with the reason, or with names like it."""
    name = node.name.upper()
    if name not in FORMS and name not in NAMES:
        raise any_of_list(name, node, binder.context) or refuse_function(name, node, binder.context)
    check_arguments(node, binder.context)
    if name in FORMS:
        return _form(name, node, binder)
    operands = [binder.operand(argument) for argument in node.expressions]
    return fit(NAMES[name], operands, f"function {name}", node, binder.context)


def refuse_function(name: str, node: exp.Expr, context: Context) -> Exception:
    """The refusal of a function by name."""
    refusal = refused.FUNCTIONS.get(name)
    if refusal is not None:
        return context.refusal(node, refusal, f"function {name}")
    return context.refuse(
        node,
        f"function {name}",
        detail="Functions are a list: each means the same wherever a view is computed.",
        hint=near(name),
    )


def check_arguments(node: exp.Anonymous, context: Context) -> None:
    """Unsupported if an argument is more than an expression: f(a AS b), f(DISTINCT a), f(a ORDER BY b), f(x -> y)."""
    words = {
        exp.Alias: "AS",
        exp.Distinct: "DISTINCT",
        exp.Order: "ORDER BY",
        exp.Lambda: "->",
        exp.Star: "*",
        exp.IgnoreNulls: "IGNORE NULLS",
        exp.RespectNulls: "RESPECT NULLS",
        exp.Limit: "LIMIT",
        exp.HavingMax: "HAVING",
        exp.Kwarg: "=>",
    }
    for argument in node.expressions:
        word = words.get(type(argument))
        if word is not None:
            raise context.refuse(
                argument,
                f"{word} in the arguments of function {node.name.upper()}",
                detail="The arguments of a function are expressions.",
                hint="Leave it out.",
            )


def _form(name: str, node: exp.Anonymous, binder: Binder) -> Expr:
    args = node.expressions
    context = binder.context
    shown = f"function {name}"
    if name == "HASH":
        return _hash(node, binder)
    wanted = {"IF": 3, "IIF": 3, "NVL2": 3, "ISNOTNULL": 1}.get(name, 2)
    if len(args) != wanted:
        raise context.wrong_type(node, f"{shown} takes {wanted} argument{'s' * (wanted > 1)}, found {len(args)}")
    match name:
        case "IF" | "IIF":
            condition = fit("and", [binder.operand(args[0])], shown, node, context).args[0]
            (then, otherwise), type = meet([binder.operand(args[1]), binder.operand(args[2])], shown, node, context)
            return Case(((condition, then),), otherwise, type)
        case "NULLIF":
            first, second = binder.operand(args[0]), binder.operand(args[1])
            equal = fit("=", [first, second], shown, node, context)
            value = binder.bind(args[0])
            return Case(((equal, Literal(None, value.type)),), value, value.type)
        case "NVL2":
            missing = Call("is_null", (binder.bind(args[0]),), BOOLEAN)
            (then, otherwise), type = meet([binder.operand(args[1]), binder.operand(args[2])], shown, node, context)
            return Case(((missing, otherwise),), then, type)
        case "ISNOTNULL":
            return Call("not", (Call("is_null", (binder.bind(args[0]),), BOOLEAN),), BOOLEAN)
    part = bare(args[0])
    text = str(part.this) if isinstance(part, exp.Literal) and part.is_string else ""
    return extract(text, args[1], node, binder)


def _hash(node: exp.Anonymous, binder: Binder) -> Expr:
    """HASH(a, …) INTO m: the bucket that the values fall in."""
    count = node.meta.get(INTO, exp.Literal.number(PARTS_OF_HASH))
    if not node.expressions:
        raise binder.context.wrong_type(node, "function HASH takes at least one value, found none")
    if not (count.name.isdecimal() and 0 < int(count.name) <= INT_MAX):
        raise binder.context.wrong_type(
            count,
            f"function HASH makes from 1 to {INT_MAX:,} parts, found INTO {count.name}",
            hint="Write a whole number, such as HASH(…) INTO 16.",
        )
    operands = [binder.operand(argument) for argument in (*node.expressions, count)]
    return fit("bucket", operands, "function HASH", node, binder.context)


def extract(part: str, value: exp.Expr, node: exp.Expr, binder: Binder) -> Expr:
    """EXTRACT(part FROM value)"""
    context = binder.context
    name = PARTS.get(part.upper())
    if name is None:
        raise context.refuse(
            node,
            f"EXTRACT of {part.upper() or construct(node)}",
            detail=f"The parts are {', '.join(PARTS)}.",
            hint="Write SECOND(ts), UNIX_MILLIS(ts) or DATE_TRUNC('unit', ts) for what they do not give.",
        )
    return fit(name, [binder.operand(value)], f"EXTRACT({part.upper()} FROM …)", node, context)

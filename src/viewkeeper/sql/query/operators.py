"""Operators and the forms of SQL that have words of their own: CASE, CAST, BETWEEN, IN, IS."""

from __future__ import annotations

from typing import cast as typed

from sqlglot import exp

from viewkeeper.model.types import BOOLEAN, DATE, TIMESTAMP, Type
from viewkeeper.plan.casts import can_cast
from viewkeeper.plan.expr import Call, Case, Cast, Expr, Literal
from viewkeeper.sql.constructs import bare, construct
from viewkeeper.sql.query import refused_joins
from viewkeeper.sql.query.calls import Binder
from viewkeeper.sql.query.fitting import Operand, fit, meet
from viewkeeper.sql.query.spellings import OPERATORS
from viewkeeper.sql.query_syntax import MAX, TYPE

_ON_MOMENTS = {"+": "epoch+", "-": "epoch-", "%": "epoch%"}
_OF_WORDS: dict[type[exp.Expr], str] = {exp.EQ: "has_word", exp.Like: "has_word_like"}
"""What TOKENS(text) on one side makes of an operator."""
_ON_ROWS = frozenset({"=", "<>", "<", "<=", ">", ">="})
_ON_DATES = {"+": "date_add", "-": "date_sub"}


def bind_operator(node: exp.Expr, binder: Binder) -> Expr | None:
    """The expression that an operator makes of its sides; None if the node is none of these."""
    match node:
        case exp.And() | exp.Or():
            return _logical(node, binder)
        case exp.Not():
            return _fit("not", "NOT", node, binder, node.this)
        case exp.Neg():
            return _fit("negate", "operator -", node, binder, node.this)
        case exp.DPipe():
            return _concat(node, binder)
        case exp.Between():
            return _between(node, binder)
        case exp.In():
            return _in(node, binder)
        case exp.Is():
            return _is(node, binder)
        case exp.NullSafeNEQ():
            return _negated(_fit("<=>", "IS DISTINCT FROM", node, binder, node.this, node.expression))
        case exp.Case():
            return _case(node, binder)
        case exp.Cast():
            return _cast(node, binder)
    return _two_sided(node, binder) if type(node) in OPERATORS else None


def _fit(name: str, shown: str, node: exp.Expr, binder: Binder, *args: exp.Expr) -> Call:
    return fit(name, [binder.operand(arg) for arg in args], shown, node, binder.context)


def _negated(expr: Expr) -> Expr:
    return Call("not", (expr,), BOOLEAN)


def _logical(node: exp.Expr, binder: Binder) -> Expr:
    """AND and OR of any number of sides, read from left to right."""
    kind = type(node)
    sides: list[exp.Expr] = []
    pending = [node]
    while pending:
        part = pending.pop()
        if type(part) is kind:
            pending += [part.args["expression"], part.args["this"]]
        else:
            sides.append(part)
    name = "and" if kind is exp.And else "or"
    return _fit(name, name.upper(), node, binder, *sides)


def _two_sided(node: exp.Expr, binder: Binder) -> Expr:
    name, shown = OPERATORS[type(node)]
    _check_parts(node, {"this", "expression", "typed", "safe", "negate"}, binder)
    text, value = _words_of(node)
    if text is not None:
        call = _fit(_OF_WORDS[type(node)], f"TOKENS(…) {shown}", node, binder, text, value)
        return _negated(call) if node.args.get("negate") else call
    rows = bare(node.this), bare(node.expression)
    if name in _ON_ROWS and all(isinstance(side, exp.Tuple) for side in rows):
        return _of_rows(name, node, rows[0].expressions, rows[1].expressions, binder)
    operands = [binder.operand(node.this), binder.operand(node.expression)]
    if name in _ON_MOMENTS:
        name, operands = _on_time(name, operands, node, binder)
    call = fit(name, operands, shown if name == "like" else f"operator {shown}", node, binder.context)
    return _negated(call) if node.args.get("negate") else call


def _of_rows(name: str, node: exp.Expr, left: list[exp.Expr], right: list[exp.Expr], binder: Binder) -> Expr:
    """A comparison of rows: that of the first column in which they differ."""
    if len(left) != len(right):
        raise binder.context.bad(
            node,
            f"a row of {len(left)} is compared with one of {len(right)}",
            hint="Write as many values on both sides.",
        )
    shown = OPERATORS[type(node)][1]

    def compared(name: str, place: int) -> Expr:
        sides = [binder.operand(left[place]), binder.operand(right[place])]
        return fit(name, sides, f"operator {shown}", node, binder.context)

    if name in ("=", "<>"):
        every = tuple(compared(name, place) for place in range(len(left)))
        return Call("and" if name == "=" else "or", every, BOOLEAN)
    found = compared(name, len(left) - 1)
    for place in reversed(range(len(left) - 1)):
        same = Call("and", (compared("=", place), found), BOOLEAN)
        found = Call("or", (compared(name[0], place), same), BOOLEAN)
    return found


def _words_of(node: exp.Expr) -> tuple[exp.Expr | None, exp.Expr]:
    """The text of TOKENS(text) = value or TOKENS(text) LIKE value, and the value; None if the node is neither."""
    left, right = bare(node.this), bare(node.expression)
    if isinstance(node, exp.EQ) and not _is_tokens(left):
        left, right = right, left
    return (left.expressions[0] if type(node) in _OF_WORDS and _is_tokens(left) else None), right


def _is_tokens(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == "TOKENS" and len(node.expressions) == 1


def _on_time(name: str, operands: list[Operand], node: exp.Expr, binder: Binder) -> tuple[str, list[Operand]]:
    """Arithmetic with a TIMESTAMP is on milliseconds, with a DATE on days; the number may stand on either side of +."""
    types = [None if operand.expr is None else operand.expr.type for operand in operands]
    if TIMESTAMP in types:
        name = _ON_MOMENTS[name]
    elif types == [DATE, DATE]:
        raise binder.context.wrong_type(
            node, f"operator {name} does not take two DATEs", hint="Write DATEDIFF(a, b) for the days between them."
        )
    elif DATE in types:
        name = _ON_DATES.get(name, name)
    if name in ("epoch+", "date_add") and types[0] not in (TIMESTAMP, DATE):
        operands = operands[::-1]
    return name, operands


def _concat(node: exp.Expr, binder: Binder) -> Expr:
    sides: list[exp.Expr] = []
    first = node
    while isinstance(first, exp.DPipe):
        sides.insert(0, first.expression)
        first = bare(first.this)
    return _fit("concat", "operator ||", node, binder, first, *sides)


def _between(node: exp.Between, binder: Binder) -> Expr:
    _check_parts(node, {"this", "low", "high"}, binder)
    value = binder.operand(node.this)
    above = fit(">=", [value, binder.operand(node.args["low"])], "BETWEEN", node, binder.context)
    below = fit("<=", [value, binder.operand(node.args["high"])], "BETWEEN", node, binder.context)
    return Call("and", (above, below), BOOLEAN)


def _in(node: exp.In, binder: Binder) -> Expr:
    whole = node.args.get("field")
    if isinstance(whole, exp.Placeholder) and binder.context.parameters is not None:
        return _in_parameter(node, whole, binder)
    if whole or node.args.get("unnest"):
        raise binder.context.refusal(node, refused_joins.IN_FIELD)
    _check_parts(node, {"this", "expressions"}, binder)
    if not node.expressions:
        raise binder.context.bad(node, "the list of IN is empty", hint="Write FALSE.")
    return _fit("in", "IN", node, binder, node.this, *node.expressions)


def _in_parameter(node: exp.In, whole: exp.Placeholder, binder: Binder) -> Expr:
    """IN :list MAX n; without MAX, a list of which nobody knows how long it is."""
    parameters = binder.context.parameters
    assert parameters is not None
    key = parameters.key(whole)
    members = [Operand(whole, None, parameter=(key, place)) for place in parameters.use_list(whole, node.meta.get(MAX))]
    return fit("in", [binder.operand(node.this), *members], "IN", node, binder.context)


def _is(node: exp.Is, binder: Binder) -> Expr | None:
    right = bare(node.expression)
    if isinstance(right, exp.Null):
        operand = binder.operand(node.this)
        if operand.expr is None and not operand.is_parameter:
            return Literal(True, BOOLEAN)
        return fit("is_null", [operand], "IS NULL", node, binder.context)
    if isinstance(right, exp.Boolean):
        return _fit("<=>", f"IS {right.sql().upper()}", node, binder, node.this, right)
    return None


def _case(node: exp.Case, binder: Binder) -> Expr:
    subject = node.args.get("this")
    conditions: list[Expr] = []
    for branch in node.args["ifs"]:
        if subject is None:
            conditions.append(_fit("and", "WHEN", branch, binder, branch.this).args[0])
        else:
            conditions.append(_fit("=", "WHEN", branch, binder, subject, branch.this))
    results = [binder.operand(branch.args["true"]) for branch in node.args["ifs"]]
    default = node.args.get("default")
    results.append(Operand(node, None) if default is None else binder.operand(default))
    values, type = meet(results, "CASE", node, binder.context)
    return Case(tuple(zip(conditions, values[:-1], strict=True)), values[-1], type)


def _cast(node: exp.Cast, binder: Binder) -> Expr:
    target = typed(Type, node.meta[TYPE])
    operand = binder.operand(node.this)
    if operand.is_parameter and operand.parameter is not None and binder.context.parameters is not None:
        return binder.context.parameters.use(*operand.parameter, target, operand.node)
    value = operand.expr
    if value is None:
        return Literal(None, target)
    if value.type == target:
        return value
    if not can_cast(value.type, target):
        raise binder.context.wrong_type(
            node,
            f"{value.type} does not convert to {target}",
            hint="docs/functions.md lists which types convert to which.",
        )
    return Cast(value, target)


def _check_parts(node: exp.Expr, known: set[str], binder: Binder) -> None:
    for part, value in node.args.items():
        if value and part not in known:
            raise binder.context.refuse(
                node,
                f"{construct(node)} with {part.strip('_').replace('_', ' ').upper()}",
                detail="Only its plain form means the same everywhere.",
                hint="Leave it out.",
            )

"""A plan as a text: one operator a line, inputs indented below. Equal plans give equal texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import assert_never

from viewkeeper.model.types import Kind
from viewkeeper.model.values import present
from viewkeeper.plan.aggregate import AggregateCall, AggregateKind
from viewkeeper.plan.expr import Call, Case, Cast, Expr, Input, Literal, Parameter
from viewkeeper.plan.join import Equality, InnerJoin, PartnerJoin, UnionAll
from viewkeeper.plan.relation import (
    Aggregate,
    Distinct,
    Expand,
    Field,
    Filter,
    Project,
    Relation,
    Scan,
    Tokens,
    below,
)
from viewkeeper.plan.whole import FRAMED, Single, Sort, TopN, Window, WindowKind

_INFIX = frozenset(
    {"+", "-", "*", "/", "%", "div", "epoch+", "epoch-", "epoch%", "=", "<>", "<", "<=", ">", ">=", "<=>", "and", "or"}
)


def show(relation: Relation) -> str:
    """The plan, without a line feed at the end.

    A column is shown by its name, and by name#place where a name stands for several.
    """
    return "\n".join(_lines(relation, ""))


def _lines(relation: Relation, margin: str) -> Iterator[str]:
    first, *rest = _operator(relation)
    yield margin + first
    for line in rest:
        yield f"{margin}    {line}"
    for part in below(relation):
        yield from _lines(part, margin + "  ")


def _operator(relation: Relation) -> list[str]:
    match relation:
        case Scan(_, name, _, fields):
            return [f"Scan {name} ({', '.join(f'{field.name} {field.type}' for field in fields)})"]
        case Single():
            return ["Single"]
        case Filter(input, condition):
            return [f"Filter {show_expr(condition, input.fields)}"]
        case Project(input, exprs, names):
            return ["Project", *_outputs(exprs, names, input.fields)]
        case Expand(input, projections, names):
            shown = [f"({', '.join(show_expr(expr, input.fields) for expr in row)})" for row in projections]
            types = ", ".join(f"{field.name} {field.type}" for field in relation.fields)
            return [f"Expand ({types})", *shown]
        case Tokens(input, text, name):
            return [f"Tokens {name} = words of {show_expr(text, input.fields)}"]
        case Aggregate():
            return _aggregate(relation)
        case Distinct():
            return ["Distinct"]
        case InnerJoin():
            return ["InnerJoin", *_equalities(relation.equalities, relation.fields)]
        case PartnerJoin(kind, left, right, equalities, condition):
            fields = (*left.fields, *right.fields)
            also = [] if condition is None else [show_expr(condition, fields)]
            return [f"PartnerJoin {kind}", *_equalities(equalities, fields), *also]
        case UnionAll():
            return ["UnionAll"]
        case TopN(input, order, limit, offset):
            count = "" if limit is None else f" {limit:,}"
            behind = f" behind {offset:,}" if offset else ""
            return [f"TopN{count}{behind}{_order(order, _names(input.fields))}"]
        case Window():
            return _window(relation)
    assert_never(relation)


def _equalities(equalities: Sequence[Equality], fields: tuple[Field, ...]) -> list[str]:
    return [f"{show_expr(left, fields)} = {show_expr(right, fields)}" for left, right in equalities]


def _outputs(exprs: Sequence[Expr], names: Sequence[str], fields: tuple[Field, ...]) -> Iterator[str]:
    for name, expr in zip(names, exprs, strict=True):
        yield f"{name} {expr.type} = {show_expr(expr, fields)}"


def _aggregate(relation: Aggregate) -> list[str]:
    fields = relation.input.fields
    columns = _names(fields)
    group = ", ".join(
        _renamed(name, columns[place]) for name, place in zip(relation.names, relation.group, strict=False)
    )
    names = relation.names[len(relation.group) :]
    calls = [f"{name} {call.type} = {_call(call, columns)}" for name, call in zip(names, relation.calls, strict=True)]
    return [f"Aggregate by ({group})", *calls]


def _order(order: Sequence[Sort], columns: Sequence[str]) -> str:
    by = ", ".join(columns[sort.column] + " DESC" * sort.descending for sort in order)
    return f" by {by}" if by else ""


def _window(relation: Window) -> list[str]:
    columns = _names(relation.input.fields)
    shown = []
    for name, call in zip(relation.names, relation.calls, strict=True):
        argument = "" if call.argument is None else columns[call.argument]
        if call.kind in (WindowKind.LAG, WindowKind.LEAD, WindowKind.NTILE, WindowKind.NTH_VALUE):
            argument = ", ".join(part for part in (argument, str(call.count)) if part)
        function = str(call.kind) if call.kind is AggregateKind.COUNT_ROWS else f"{call.kind}({argument})"
        otherwise = "" if call.default is None else f" else {_literal(Literal(call.default, call.type))}"
        within = f" within ({', '.join(columns[place] for place in call.partition)})" if call.partition else ""
        frame = "" if isinstance(call.kind, WindowKind) and call.kind not in FRAMED else f", {call.frame}"
        by = _order(call.order, columns)
        shown.append(f"{name} {call.type} = {function}{otherwise}{within}{by}{frame}")
    return ["Window", *shown]


def _renamed(name: str, column: str) -> str:
    return name if name == column else f"{name} = {column}"


def _call(call: AggregateCall, columns: Sequence[str]) -> str:
    if call.argument is None:
        return str(call.kind)
    if call.fraction is not None:
        return f"PERCENTILE({columns[call.argument]}, {call.fraction:g})"
    if call.kind is AggregateKind.COUNT_DISTINCT:
        return f"COUNT(DISTINCT {columns[call.argument]})"
    return f"{call.kind}({columns[call.argument]})"


def _names(fields: Sequence[Field]) -> list[str]:
    count = Counter(field.name for field in fields)
    return [field.name if count[field.name] == 1 else f"{field.name}#{place}" for place, field in enumerate(fields)]


def show_expr(expr: Expr, fields: Sequence[Field]) -> str:
    """An expression over a row with these fields."""
    names = _names(fields)

    def text(part: Expr) -> str:
        match part:
            case Input(index, _):
                return names[index]
            case Literal():
                return _literal(part)
            case Parameter():
                return _parameter(part)
            case Cast(arg, type):
                return f"CAST({text(arg)} AS {type})"
            case Case(branches, otherwise, _):
                whens = " ".join(f"WHEN {text(condition)} THEN {text(result)}" for condition, result in branches)
                return f"CASE {whens} ELSE {text(otherwise)} END"
            case Call(name, args, _) if name in _INFIX and len(args) > 1:
                return f"({f' {name} '.join(map(text, args))})"
            case Call(name, args, _):
                return f"{name}({', '.join(map(text, args))})"
        assert_never(part)

    return text(expr)


def _parameter(parameter: Parameter) -> str:
    """:name, or ?1 for the first of those without one; in brackets the place in a list, … for all of it."""
    key, element = parameter.key, parameter.element
    shown = parameter.written if isinstance(key, str) else f"?{key + 1}"
    if element is None:
        return shown
    return f"{shown}[{'…' if element < 0 else element}]"


def _literal(literal: Literal) -> str:
    value, type = literal.value, literal.type
    if value is None:
        return f"NULL:{type}"
    match type.kind:
        case Kind.BOOLEAN:
            return str(value).upper()
        case Kind.STRING:
            return "'" + str(value).replace("'", "''") + "'"
        case Kind.BINARY:
            assert isinstance(value, bytes)
            return f"X'{value.hex()}'"
        case Kind.DATE | Kind.TIMESTAMP:
            return f"{type} '{present(value, type)}'"
        case Kind.INT:
            return str(value)
        case Kind.BIGINT | Kind.DOUBLE | Kind.DECIMAL:
            return f"{present(value, type)}:{type}"
    assert_never(type.kind)

"""The oracle: what a view is, computed from base rows in the plainest way.

Shares no code with `delta/` or `execute/`, and only the plan's nodes with the rest. Exact fractions where the real
thing uses scaled integers, lists where it uses state.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from viewkeeper.model.types import Kind, Type
from viewkeeper.plan.aggregate import AggregateCall, AggregateKind
from viewkeeper.plan.expr import Call, Case, Cast, Expr, Input, Literal, inputs
from viewkeeper.plan.join import Equality, InnerJoin, PartnerJoin, PartnerKind, UnionAll
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Filter, Project, Relation, Scan, Tokens

Cells = tuple[Any, ...]
Note = Callable[[], None]
"""Called for each operation that fails."""
SAMPLE = (AggregateKind.VAR_SAMP, AggregateKind.STDDEV_SAMP)


def evaluate(relation: Relation, tables: Callable[[Scan], Iterable[Cells]]) -> list[Cells]:
    """The rows of a relation, in no particular order; `tables` gives all columns of a scanned table."""
    match relation:
        case Scan():
            return [tuple(row[column] for column in relation.columns) for row in tables(relation)]
        case Filter(input, condition):
            return [row for row in evaluate(input, tables) if value(condition, row) is True]
        case Project(input, exprs, _):
            return [tuple(value(expr, row) for expr in exprs) for row in evaluate(input, tables)]
        case Expand(input, projections, _):
            rows = evaluate(input, tables)
            return [tuple(value(expr, row) for expr in shape) for row in rows for shape in projections]
        case Tokens(input, text, _):
            return [(*row, word) for row in evaluate(input, tables) for word in words(value(text, row))]
        case Distinct(input):
            return list({hashable(row): row for row in evaluate(input, tables)}.values())
        case Aggregate(input):
            return grouped(evaluate(input, tables), relation)
        case InnerJoin(parts, equalities):
            return combined([evaluate(part, tables) for part in parts], equalities)
        case PartnerJoin(_, left, right):
            return partnered(evaluate(left, tables), evaluate(right, tables), relation)
        case UnionAll(parts):
            return [row for part in parts for row in evaluate(part, tables)]


def combined(parts: list[list[Cells]], equalities: Iterable[Equality]) -> list[Cells]:
    """One row of each part side by side, in all ways in which the equalities hold; each is tried once it can be."""
    together: list[Cells] = [()]
    for rows in parts:
        together = [(*one, *other) for one in together for other in rows if _holds(equalities, (*one, *other))]
    return together


def _holds(equalities: Iterable[Equality], row: Cells) -> bool:
    return equal([pair for pair in equalities if all(place < len(row) for expr in pair for place in inputs(expr))], row)


def equal(equalities: Iterable[Equality], row: Cells) -> bool:
    """Whether all equalities hold in a row of a join; NULL equals nothing."""
    return all(_equal(value(left, row), value(right, row)) for left, right in equalities)


def partnered(left: list[Cells], right: list[Cells], join: PartnerJoin) -> list[Cells]:
    """The rows of a join of these rows; a row has a partner if equalities and condition hold with it."""
    pairs = [
        (one, other)
        for one, mine in enumerate(left)
        for other, theirs in enumerate(right)
        if equal(join.equalities, (*mine, *theirs))
        and (join.condition is None or value(join.condition, (*mine, *theirs)) is True)
    ]
    matched = {one for one, _ in pairs}
    alone = [row for one, row in enumerate(left) if one not in matched]
    if join.kind is PartnerKind.SEMI:
        return [row for one, row in enumerate(left) if one in matched]
    if join.kind is PartnerKind.ANTI:
        return alone
    rows = [(*left[one], *right[other]) for one, other in pairs]
    rows += [(*row, *[None] * len(join.right.fields)) for row in alone]
    if join.kind is PartnerKind.FULL:
        taken = {other for _, other in pairs}
        without = [row for other, row in enumerate(right) if other not in taken]
        rows += [(*[None] * len(join.left.fields), *row) for row in without]
    return rows


def _equal(one: Any, other: Any) -> bool:
    return one is not None and other is not None and bool(_rank(one) == _rank(other))


def words(text: str | None) -> list[str]:
    if text is None:
        return []
    return list(dict.fromkeys(re.findall(r"[^\W_]+", text.lower())))


def hashable(row: Cells) -> Cells:
    """A row under which equal rows are found: NaN equals NaN and 0.0 equals -0.0."""
    return tuple("NaN" if isinstance(cell, float) and math.isnan(cell) else (type(cell) is bool, cell) for cell in row)


def grouped(rows: list[Cells], relation: Aggregate) -> list[Cells]:
    """The rows of an aggregate over these rows of its input."""
    groups: dict[Cells, tuple[Cells, list[Cells]]] = {}
    if not relation.group:
        groups[()] = ((), [])
    for row in rows:
        key = tuple(row[column] for column in relation.group)
        groups.setdefault(hashable(key), (key, []))[1].append(row)
    return [
        (*key, *(_call(call, members, relation.input.fields) for call in relation.calls))
        for key, members in groups.values()
    ]


def _call(call: AggregateCall, rows: list[Cells], fields: Any) -> Any:
    if call.argument is None:
        return len(rows)
    cells = [row[call.argument] for row in rows if row[call.argument] is not None]
    source: Type = fields[call.argument].type
    match call.kind:
        case AggregateKind.COUNT:
            return len(cells)
        case AggregateKind.COUNT_DISTINCT:
            return len({hashable((cell,)) for cell in cells})
        case AggregateKind.MIN | AggregateKind.MAX if not cells:
            return None
        case AggregateKind.MIN:
            return min(cells, key=_rank)
        case AggregateKind.MAX:
            return max(cells, key=_rank)
    if not cells:
        return None
    if source.kind is Kind.DOUBLE:
        return _of_doubles(call.kind, cells)
    total = sum(cells)
    match call.kind:
        case AggregateKind.SUM:
            fits = abs(total) < 10**call.type.precision if call.type.precision else -(2**63) <= total < 2**63
            return total if fits else None
        case AggregateKind.AVG if call.type.kind is Kind.DECIMAL:
            return _rounded(Fraction(total * 10 ** (call.type.scale - source.scale), len(cells)))
        case AggregateKind.AVG:
            return total / len(cells)
    unit = Fraction(1, 10**source.scale)
    return _spread(call.kind, [cell * unit for cell in cells])


def _rank(cell: Any) -> Any:
    """By which cells are compared: NaN equals itself and is above all numbers."""
    return (math.isnan(cell), 0.0 if math.isnan(cell) else cell) if isinstance(cell, float) else cell


def _rounded(number: Fraction) -> int:
    whole = math.floor(abs(number) + Fraction(1, 2))
    return whole if number >= 0 else -whole


def _of_doubles(kind: AggregateKind, cells: list[float]) -> float | None:
    finite = all(map(math.isfinite, cells))
    if kind is AggregateKind.SUM:
        return math.fsum(cells) if finite else sum(cells)
    if kind is AggregateKind.AVG:
        return (math.fsum(cells) if finite else sum(cells)) / len(cells)
    if not finite:
        return None if len(cells) < 2 and kind in SAMPLE else math.nan
    return _spread(kind, [Fraction(cell) for cell in cells])


def _spread(kind: AggregateKind, cells: list[Fraction]) -> float | None:
    sample = kind in SAMPLE
    if len(cells) < 2 and sample:
        return None
    mean = sum(cells) / len(cells)
    variance = sum((cell - mean) ** 2 for cell in cells) / (len(cells) - sample)
    root = kind in (AggregateKind.STDDEV_SAMP, AggregateKind.STDDEV_POP)
    return math.sqrt(variance) if root else float(variance)


def _nothing() -> None:
    pass


def value(expr: Expr, row: Cells, note: Note = _nothing) -> Any:
    """The value of an expression; None where it fails. Knows the functions that the random plans of the tests use."""
    match expr:
        case Input(index, _):
            return row[index]
        case Literal(cell, _):
            return cell
        case Case(branches, otherwise, _):
            for condition, result in branches:
                if value(condition, row, note) is True:
                    return value(result, row, note)
            return value(otherwise, row, note)
        case Cast(arg, type):
            return _noted(_cast(value(arg, row, note), arg.type, type), note)
        case Call("coalesce", args, _):
            return next((cell for arg in args if (cell := value(arg, row, note)) is not None), None)
        case Call(name, args, type):
            return _noted(_function(name, [value(arg, row, note) for arg in args], type), note)


class _Failed:
    """What an operation gives that fails."""


FAILED = _Failed()


def _noted(cell: Any, note: Note) -> Any:
    if cell is FAILED:
        note()
        return None
    return cell


def _cast(cell: Any, source: Type, target: Type) -> Any:
    if cell is None:
        return None
    if target.kind is Kind.DOUBLE:
        return float(Fraction(cell, 10**source.scale))
    if source.kind is Kind.STRING and target.kind in (Kind.INT, Kind.BIGINT):
        return _fitting(int(cell), target) if re.fullmatch(r"\s*[+-]?[0-9]+\s*", cell) else FAILED
    if target.kind is Kind.DECIMAL:
        return _fitting(_rounded(Fraction(cell, 10**source.scale) * 10**target.scale), target)
    if target.kind in (Kind.INT, Kind.BIGINT) and source.kind in (Kind.INT, Kind.BIGINT):
        return _fitting(cell, target)
    raise AssertionError(f"the oracle does not cast {source} to {target}")


def _function(name: str, args: list[Any], type: Type) -> Any:
    match name:
        case "and":
            return False if False in args else None if None in args else True
        case "or":
            return True if True in args else None if None in args else False
        case "is_null":
            return args[0] is None
        case "<=>":
            return _equal(*args) if None not in args else args[0] is args[1]
    if None in args:
        return None
    match name:
        case "not":
            return not args[0]
        case "=":
            return _rank(args[0]) == _rank(args[1])
        case "<>":
            return _rank(args[0]) != _rank(args[1])
        case "<":
            return _rank(args[0]) < _rank(args[1])
        case "<=":
            return _rank(args[0]) <= _rank(args[1])
        case ">":
            return _rank(args[0]) > _rank(args[1])
        case ">=":
            return _rank(args[0]) >= _rank(args[1])
        case "+":
            return _fitting(args[0] + args[1], type)
        case "-":
            return _fitting(args[0] - args[1], type)
        case "*":
            return _fitting(args[0] * args[1], type)
        case "div":
            return FAILED if args[1] == 0 else _fitting(math.trunc(Fraction(args[0], args[1])), type)
        case "%":
            return FAILED if args[1] == 0 else args[0] - args[1] * math.trunc(Fraction(args[0], args[1]))
        case "epoch+":
            return (_milliseconds(args[0]) + args[1]) * 1000
        case "epoch-":
            return (_milliseconds(args[0]) - args[1]) * 1000
        case "epoch%":
            moment = _milliseconds(args[0])
            return moment - args[1] * math.floor(Fraction(moment, args[1]))
    raise AssertionError(f"the oracle does not know {name}")


def _milliseconds(moment: int) -> int:
    return math.floor(Fraction(moment, 1000))


def _fitting(number: int, type: Type) -> Any:
    if type.kind is Kind.DECIMAL:
        limit = 10**type.precision
        return number if -limit < number < limit else FAILED
    limit = 2**31 if type.kind is Kind.INT else 2**63
    return number if -limit <= number < limit else FAILED

"""WHERE to tests on key columns.

A condition is AND-ed comparisons of key columns with values: `=` or IN on the first columns of the key, then at most
one column with a range. That is what the order of the keys answers without reading a row too many.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from viewkeeper.errors import BadParameter, Unsupported
from viewkeeper.model.schema import Column
from viewkeeper.model.types import Cell
from viewkeeper.model.values import accept
from viewkeeper.sql.constants import compile_value, is_value
from viewkeeper.sql.constructs import bare, construct, start_of
from viewkeeper.sql.key_tests import Choice, ColumnTests, KeyCondition, Operand, order_of
from viewkeeper.sql.names import written
from viewkeeper.sql.params import Values, check_length, shown
from viewkeeper.sql.place import syntax_error
from viewkeeper.sql.query_syntax import MAX
from viewkeeper.sql.scope import Scope

_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}
_ELSE = "anything else would read every row"
_SINGLE = (str, bytes, bytearray, memoryview, Mapping)
_ALLOWED = "WHERE takes =, IN, <, <=, >, >= and BETWEEN on key columns, joined by AND."
_INSTEAD = {
    exp.Or: "Write an IN list, or one statement for each alternative.",
    exp.Not: "Write the keys that are wanted.",
    exp.NEQ: "Write two statements, one with < and one with >.",
    exp.Is: "Leave it out: this key column is never NULL.",
    exp.Like: "For a beginning of a text write a range: name >= 'ab' AND name < 'ac'.",
    exp.NullSafeEQ: "Write =.",
    exp.Boolean: "Leave it out, or leave out WHERE to mean every row.",
}


@dataclass(slots=True)
class _Gathered:
    """The tests of one column while the condition is taken apart; `node` is the first of them."""

    node: exp.Expr
    equals: list[Operand] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    lowers: list[tuple[Operand, bool]] = field(default_factory=list)
    uppers: list[tuple[Operand, bool]] = field(default_factory=list)
    is_null: bool = False
    is_not_null: bool = False

    def tests(self, column: Column, descending: bool) -> ColumnTests:
        bounded = bool(self.lowers or self.uppers)
        return ColumnTests(
            order=order_of(column.type),
            choices=tuple(self.choices),
            lowers=tuple(self.lowers),
            uppers=tuple(self.uppers),
            descending=descending,
            is_null=self.is_null,
            not_null=column.nullable and (bounded or self.is_not_null),
        )

    @property
    def has_points(self) -> bool:
        return bool(self.choices) or self.is_null

    @property
    def is_plain(self) -> bool:
        """Whether one `=` is all there is."""
        return len(self.choices) == len(self.equals) == 1 and not (self.lowers or self.uppers or self.is_null)


def compile_where(condition: exp.Expr | None, scope: Scope) -> KeyCondition:
    """The condition over the keys of the scope's table; without one, every key.

    Unsupported for what the order of the keys cannot answer.
    """
    gathered: dict[int, _Gathered] = {}
    pending = [] if condition is None else [condition]
    while pending:
        node = bare(pending.pop())
        if isinstance(node, exp.And):
            pending += [node.expression, node.this]
        else:
            _gather(node, gathered, scope)
    table = scope.table
    pinned: list[tuple[Column, _Gathered]] = []
    ranged: tuple[Column, _Gathered] | None = None
    for column in (table.columns[number] for number in table.key_ids):
        if not gathered:
            break
        found = gathered.pop(table.column_id(column.name), None)
        if found is not None and found.has_points:
            pinned.append((column, found))
            continue
        if found is not None:
            ranged = column, found
        if gathered:
            raise _gap(gathered, column, ranged is not None, scope)
    plain = ranged is None and all(found.is_plain for _, found in pinned)
    down = {table.columns[number].name for number in scope.descending}
    return KeyCondition(
        table=table.name,
        pinned=tuple(found.tests(column, column.name in down) for column, found in pinned),
        ranged=ranged[1].tests(ranged[0], ranged[0].name in down) if ranged else None,
        plain=tuple(found.equals[0] for _, found in pinned) if plain else None,
        fixed=frozenset(table.column_id(column.name) for column, found in pinned if found.equals or found.is_null),
    )


def _gather(node: exp.Expr, gathered: dict[int, _Gathered], scope: Scope) -> None:
    """Adds one comparison to the tests of its column."""
    if type(node) in _FLIPPED:
        left, right, kind = bare(node.this), bare(node.expression), type(node)
        if is_value(left) and isinstance(right, exp.Column):
            left, right, kind = right, left, _FLIPPED[kind]
        column, tests = _column(left, node, gathered, scope)
        if not is_value(right):
            raise _not_a_value(right, scope)
        operand = compile_value(right, column, scope)
        if kind is exp.EQ:
            tests.equals.append(operand)
            tests.choices.append(lambda values: (operand(values),))
        elif kind in (exp.GT, exp.GTE):
            tests.lowers.append((operand, kind is exp.GTE))
        else:
            tests.uppers.append((operand, kind is exp.LTE))
    elif isinstance(node, exp.Between):
        column, tests = _column(bare(node.this), node, gathered, scope)
        for bound, into in ((node.args["low"], tests.lowers), (node.args["high"], tests.uppers)):
            if not is_value(bound):
                raise _not_a_value(bound, scope)
            into.append((compile_value(bound, column, scope), True))
    elif isinstance(node, exp.In):
        column, tests = _column(bare(node.this), node, gathered, scope)
        tests.choices.append(_in_list(node, column, scope))
    elif (side := _null_test(node, scope)) is not None:
        column, tests = _column(side, node, gathered, scope)
        if isinstance(node, exp.Not):
            tests.is_not_null = True
        else:
            tests.is_null = True
    else:
        told = node.this if isinstance(node, exp.Not) and isinstance(node.this, exp.Is) else node
        hint = next(
            (text for kind, text in _INSTEAD.items() if isinstance(told, kind)), "Compare key columns with values."
        )
        raise scope.refuse(node, f"{construct(node)} in WHERE", detail=_ALLOWED, hint=hint)


def _null_test(node: exp.Expr, scope: Scope) -> exp.Expr | None:
    """The column of IS [NOT] NULL, if it may be NULL: key columns of a view may, those of a table are never."""
    test = node.this if isinstance(node, exp.Not) else node
    if not isinstance(test, exp.Is) or not isinstance(bare(test.expression), exp.Null):
        return None
    column = bare(test.this)
    if not isinstance(column, exp.Column) or not scope.table.columns[scope.column_id(column)].nullable:
        return None
    return column


def _column(side: exp.Expr, node: exp.Expr, gathered: dict[int, _Gathered], scope: Scope) -> tuple[Column, _Gathered]:
    """The key column that a comparison is about."""
    if not isinstance(side, exp.Column):
        if is_value(side):
            what, hint = "a comparison of two values", "Compare a key column with a value."
        else:
            one_by_one = "Compare the columns one by one, joined by AND."
            hint = one_by_one if isinstance(side, exp.Tuple) else "Compare the key column itself with a value."
            what = f"{construct(side)} in WHERE"
        raise scope.refuse(side, what, detail=_ALLOWED, hint=hint)
    number = scope.column_id(side)
    column = scope.table.columns[number]
    if number not in scope.table.key_ids:
        key = "primary key" if scope.kind == "table" else "key"
        raise scope.refuse(
            side,
            f'a condition on column "{column.name}", which is not in the {key},',
            detail=f'{scope.kind.capitalize()} "{scope.table.name}" is found by its key, {scope.key}; {_ELSE}.',
            hint=f"Write conditions on {scope.key}, or read the rows and filter them."
            if scope.order
            else "Read the rows and filter them.",
        )
    return column, gathered.setdefault(number, _Gathered(node))


def _not_a_value(node: exp.Expr, scope: Scope) -> Unsupported:
    node = bare(node)
    if isinstance(node, exp.Column):
        scope.column_id(node)
        return scope.refuse(
            node,
            "a comparison of two columns",
            detail="Keys are looked up by values that are known beforehand.",
            hint="Compare a key column with a constant or a parameter.",
        )
    return scope.refuse(
        node,
        f"{construct(node)} in WHERE",
        detail="Keys are looked up by values that are known beforehand.",
        hint="Compute it first and pass it as a parameter.",
    )


def _in_list(node: exp.In, column: Column, scope: Scope) -> Choice:
    """IN (value, …), where a parameter may be a list, or IN :parameter, where it has to be one."""
    whole = node.args.get("field")
    if isinstance(whole, exp.Placeholder):
        return _list_parameter(whole, column, scope, alone=True, most=node.meta.get(MAX))
    if node.args.get("query") or whole is not None or node.args.get("unnest"):
        raise scope.refuse(
            whole or node.args.get("query") or node,
            "IN of a query",
            detail="Keys are looked up by values that are known beforehand.",
            hint="Run the other query first and pass its result: IN (:list).",
        )
    if not node.expressions:
        start = start_of(node, scope.parsed.start)
        raise syntax_error(scope.parsed.source, start, "expected a value in the list of IN, found none")
    parts: list[Choice] = []
    for item in node.expressions:
        if isinstance(bare(item), exp.Placeholder):
            parts.append(_list_parameter(bare(item), column, scope, alone=False))
        elif is_value(item):
            parts.append(_one(compile_value(item, column, scope)))
        else:
            raise _not_a_value(item, scope)
    return lambda values: [cell for part in parts for cell in part(values)]


def _one(operand: Operand) -> Choice:
    return lambda values: (operand(values),)


def _list_parameter(node: exp.Expr, column: Column, scope: Scope, *, alone: bool, most: int | None = None) -> Choice:
    key = scope.parsed.parameters[node.meta["start"]]
    type, name = column.type, column.name

    def choose(values: Values) -> Iterable[Cell]:
        value = values[key]
        if isinstance(value, Collection) and not isinstance(value, _SINGLE):
            check_length(len(value), most, shown(key))
            return [accept(item, type, name) for item in value]
        if alone:
            raise BadParameter(
                f"parameter {shown(key)} of IN is {value.__class__.__name__} {value!r}, expected a list",
                hint=f"Pass a list, or write IN ({shown(key) if isinstance(key, str) else '?'}).",
            )
        return (accept(value, type, name),)

    return choose


def _gap(gathered: dict[int, _Gathered], before: Column, behind_range: bool, scope: Scope) -> Unsupported:
    number = next(number for number in scope.table.key_ids if number in gathered)
    name = scope.table.columns[number].name
    first = written(before.name)
    why = f'behind a range of "{before.name}"' if behind_range else f'without one on "{before.name}"'
    return scope.refuse(
        gathered[number].node,
        f'a condition on key column "{name}" {why}',
        detail=f"Keys are ordered by {scope.key}: the rows asked for do not lie side by side.",
        hint=f"Write {first} = … or {first} IN (…), or leave out the condition on {written(name)}.",
    )

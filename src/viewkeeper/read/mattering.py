"""Which changes of the inputs of a view can matter to the rows that are read of it.

The key columns that a read fixes are a condition on the view. What follows from it about the rows of its inputs is told
by fixedkeys.py: rows that violate it can be left out, and nothing that is read of the view changes. A change matters if
its row before or its row after meets all that is known; both of one that matters stay, so that what is left is still a
table in which no key is twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from viewkeeper.execute.rows.expr import Failures, compile_expr
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import BOOLEAN, Cell, Row
from viewkeeper.plan.expr import Call, Expr, Input, Literal, rewrite
from viewkeeper.plan.relation import Filter, Relation
from viewkeeper.read.fixedkeys import Leaf, leaves_of
from viewkeeper.read.region import Region
from viewkeeper.views.bound import BoundView
from viewkeeper.views.deltas import Pair, same

Test = Callable[[Row], bool]
"""Whether a row of an input can matter."""


def tests_of(one: BoundView, codec: RowCodec, regions: Sequence[Region]) -> Mapping[int, Test]:
    """By the id of an input, which of its rows can matter to these regions; all rows of those that are not in it."""
    found: dict[int, list[Test]] = {}
    whole: set[int] = set()
    for region in regions:
        plan = _fixed(one, codec, region)
        leaves = leaves_of(plan)
        if [leaf.scan.object for leaf in leaves] != [leaf.object for leaf in one.leaves]:
            return {}
        for leaf in leaves:
            test = _test(leaf)
            if test is None:
                whole.add(leaf.scan.object)
            else:
                found.setdefault(leaf.scan.object, []).append(test)
    # What is read twice, or by several regions, is one table: a row of it matters if it does anywhere.
    return {number: partial(_any, tests) for number, tests in found.items() if number not in whole}


def _any(tests: Sequence[Test], row: Row) -> bool:
    return any(test(row) for test in tests)


def _fixed(one: BoundView, codec: RowCodec, region: Region) -> Relation:
    """The plan of a view with the key columns that are fixed; NULL equals nothing, so it fixes none."""
    plan = one.statement.plan
    assert plan is not None
    visible = len(one.view.columns)
    for number, cell in zip(codec.key.columns, region.prefix, strict=False):
        if cell is not None and number < visible:
            type = codec.table.columns[number].type
            plan = Filter(plan, Call("=", (Input(number, type), Literal(cell, type)), BOOLEAN))
    return plan


def _test(leaf: Leaf) -> Test | None:
    """What is known of the rows of a leaf that matter; None if nothing is."""
    known = [(_getter(leaf, fact.expr), fact.value.value) for fact in leaf.facts if fact.value is not None]
    if not known:
        return None
    return lambda row: all(_equal(get(row), value) for get, value in known)


def _getter(leaf: Leaf, expr: Expr) -> Callable[[Row], Cell]:
    columns = leaf.scan.columns
    if isinstance(expr, Input):
        column = columns[expr.index]
        return lambda row: row[column]
    compute = compile_expr(rewrite(expr, lambda field: Input(columns[field.index], field.type)))
    return lambda row: compute(row, Failures())


def _equal(cell: Cell, value: Cell) -> bool:
    """Whether two values are equal as SQL sees it: NULL equals nothing, NaN itself, and 0.0 is -0.0."""
    if cell is None or value is None:
        return False
    return cell == value or (cell != cell and value != value)


def net(pairs: Iterable[Pair], codec: RowCodec) -> list[Pair]:
    """One change for each key, from its first row before to its last row after; none where these are the same."""
    encode = codec.key.encode
    found: dict[bytes, Pair] = {}
    for before, after in pairs:
        row = after if before is None else before
        assert row is not None
        key = encode(row)
        known = found.get(key)
        found[key] = (before if known is None else known[0], after)
    return [pair for pair in found.values() if not _is_same(pair)]


def _is_same(pair: Pair) -> bool:
    before, after = pair
    if before is None or after is None:
        return before is after
    return same(before, after)


def mattering(pairs: Iterable[Pair], test: Test) -> list[Pair]:
    """The changes that matter, of those that are net."""
    return [
        (before, after)
        for before, after in pairs
        if (before is not None and test(before)) or (after is not None and test(after))
    ]

"""Plans of a block over a view that stands for some of its sources, or over an index of that view."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from viewkeeper.analysis.block import Block
from viewkeeper.analysis.build import relation_of
from viewkeeper.analysis.conditions import Conditions
from viewkeeper.analysis.construct import INEXACT
from viewkeeper.analysis.indexes import KeyColumn, index_of
from viewkeeper.analysis.matching import rewritten
from viewkeeper.analysis.paths import definition_of
from viewkeeper.analysis.planning import Planned, plan_block
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.plan.expr import Expr, Input, rewrite

GROWING = "its groups are wanted in the order of what is TEMPORAL, and an index would have all changes at one end"


def plans_over(block: Block, view: Stored, schema: Schema, *, propose: bool = False) -> Iterator[Planned]:
    """The plans of a block in which a view stands for some of its sources; with `propose`, over indexes to be made."""
    for again in rewritten(block, view, schema):
        flat = ungrouped(again, schema)
        for one in (again,) if flat is None else (again, flat):
            planned = plan_block(one, schema, allowed=lambda other: other.mode != "PERIODIC", propose=propose)
            if isinstance(planned, Planned):
                yield planned


def ranked(block: Block, view: Stored, schema: Schema) -> Iterator[Planned]:
    """The same over an index of the view by an aggregate, which is to be made: the first groups are side by side."""
    for again in rewritten(block, view, schema):
        flat = ungrouped(again, schema)
        if flat is None or not flat.order or flat.rows_wanted is None:
            continue
        fixed, order = fixed_columns(flat), _order(flat)
        if not view.approximate.isdisjoint(order) or (not fixed and _is_hot(view, order)):
            continue
        key = [*map(KeyColumn, fixed), *order.values()]
        # Entries are not looked up in the view: they have all that is shown of it.
        shown = sorted(flat.used() - {*fixed, *order, *view.key})
        index = index_of(view, key, schema, schema.next_id(), shown)
        found = plan_block(flat, schema.with_objects(index), allowed=lambda one: one.id == index.id)  # noqa: B023
        if isinstance(found, Planned):
            yield found


def not_ranked(block: Block, view: Stored, schema: Schema) -> str:
    """Why no index has the groups of a view in the order that they are wanted in; empty if one may have them."""
    for flat in (ungrouped(again, schema) for again in rewritten(block, view, schema)):
        if flat is None:
            continue
        order = _order(flat)
        if not view.approximate.isdisjoint(order):
            return f"its groups are wanted in the order of a sum of DOUBLE, {INEXACT}"
        if not fixed_columns(flat) and _is_hot(view, order):
            return GROWING
    return ""


def _is_hot(view: Stored, order: Iterable[int]) -> bool:
    """Whether an index by these columns would have all changes at one end."""
    return any(view.columns[first].temporal for first in islice(order, 1))


def _order(flat: Block) -> dict[int, KeyColumn]:
    """The columns of the first source that rows are sorted by and that do not equal a constant."""
    fixed = fixed_columns(flat)
    found: dict[int, KeyColumn] = {}
    for sort in flat.order:
        column = flat.outputs[sort.column]
        if isinstance(column, Input) and column.index not in fixed:
            # What the order names again changes nothing.
            found.setdefault(column.index, KeyColumn(column.index, sort.descending))
    return found


def ungrouped(block: Block, schema: Schema) -> Block | None:
    """A block of groups over a view that has just these groups, as one of rows; None if it merges some.

    The aggregates of such a block are those of one row, and so the column that they are over. Over a view of rows they
    are still to be computed.
    """
    if not block.group or block.distinct or len(block.sources) != 1:
        return None
    group, stored = block.group, block.sources[0].stored
    known = None if stored is None else definition_of(stored, schema)
    if known is None or known.block.group is None:
        return None
    grouped = {one.index for one in group if isinstance(one, Input)}
    if stored is None or stored.unique is None or not stored.unique <= {*fixed_columns(block), *grouped}:
        return None

    def flat(expr: Expr) -> Expr:
        return rewrite(expr, one)

    def one(column: Input) -> Expr:
        if column.index < len(group):
            return group[column.index]
        argument = block.arguments[column.index - len(group)]
        assert argument is not None
        return argument

    made = replace(
        block,
        group=None,
        calls=(),
        arguments=(),
        having=(),
        conjuncts=(*block.conjuncts, *map(flat, block.having)),
        outputs=tuple(map(flat, block.outputs)),
    )
    return replace(made, relation=relation_of(made))


def fixed_columns(block: Block) -> list[int]:
    """The columns of a block's first source that equal a constant."""
    conditions = Conditions(block.conjuncts)
    stored = block.sources[0].stored
    assert stored is not None
    return [n for n, column in enumerate(stored.columns) if conditions.constants(Input(n, column.type))]

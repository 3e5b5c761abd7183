"""Plans of a block over a view that stands for some of its sources, or over an index of that view."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from viewkeeper.analysis.block import Block
from viewkeeper.analysis.build import relation_of
from viewkeeper.analysis.conditions import Conditions
from viewkeeper.analysis.indexes import KeyColumn, index_of
from viewkeeper.analysis.matching import rewritten
from viewkeeper.analysis.paths import definition_of
from viewkeeper.analysis.planning import Planned, plan_block
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.plan.expr import Expr, Input, rewrite


def plans_over(block: Block, view: Stored, schema: Schema) -> Iterator[Planned]:
    """The plans of a block in which a view stands for some of its sources."""
    for again in rewritten(block, view, schema):
        flat = ungrouped(again, schema)
        for one in (again,) if flat is None else (again, flat):
            planned = plan_block(one, schema, allowed=lambda other: other.mode != "PERIODIC")
            if isinstance(planned, Planned):
                yield planned


def ranked(block: Block, view: Stored, schema: Schema) -> Iterator[Planned]:
    """The same over an index of the view by an aggregate, which is to be made: the first groups are side by side."""
    for again in rewritten(block, view, schema):
        flat = ungrouped(again, schema)
        if flat is None or not flat.order or flat.rows_wanted is None:
            continue
        fixed = fixed_columns(flat)
        order: dict[int, KeyColumn] = {}
        for sort in flat.order:
            column = flat.outputs[sort.column]
            if isinstance(column, Input) and column.index not in fixed:
                # What the order names again changes nothing.
                order.setdefault(column.index, KeyColumn(column.index, sort.descending))
        index = index_of(view, [*map(KeyColumn, fixed), *order.values()], schema, schema.next_id())
        found = plan_block(flat, schema.with_objects(index), allowed=lambda one: one.id == index.id)  # noqa: B023
        if isinstance(found, Planned):
            yield found


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

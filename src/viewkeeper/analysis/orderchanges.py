"""Changes of ORDER BY: begun with what is compared by inequality, or left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from viewkeeper.analysis.block import Block
from viewkeeper.analysis.change import Change, Place, columns_of, place_of, short_name
from viewkeeper.analysis.conditions import INEQUALITIES, Conditions, core
from viewkeeper.analysis.sqltext import quoted, sql
from viewkeeper.plan.expr import Expr, Input, inputs, rewrite
from viewkeeper.plan.relation import Project, Relation
from viewkeeper.plan.whole import Sort
from viewkeeper.sql.statements import Query


def orders(query: Query, block: Block) -> Iterator[Change]:
    """Without the order, or ordered first by what is compared by inequality."""
    if not query.order:
        return
    first = core(block.outputs[query.order[0].column])
    tests = Conditions(block.conjuncts).tests if block.group is None else []
    for subject in dict.fromkeys(test.subject for test in tests if test.op in INEQUALITIES):
        if subject != first and _with_column(query.plan, block, subject) is not None:
            text = f"Begin ORDER BY with {_written(query, block, subject)}."
            yield Change(text=text, query=partial(_begun, block, subject))
    yield Change(text="Leave out ORDER BY.", query=lambda query: replace(query, order=()))


def _begun(block: Block, subject: Expr, query: Query) -> Query:
    """The query in the order of an expression first, in the direction that it may have in ORDER BY already."""
    made = _with_column(query.plan, block, subject)
    assert made is not None
    plan, column = made
    own = next((one for one in query.order if one.column == column), Sort(column))
    return replace(query, plan=plan, order=(own, *(one for one in query.order if one.column != column)))


def _with_column(plan: Relation, block: Block, expr: Expr) -> tuple[Relation, int] | None:
    """A relation that has an expression over the attributes as a column, and the place of it; None if none can."""
    shown = next((place for place, one in enumerate(block.outputs) if core(one) == expr), None)
    if shown is not None:
        return plan, shown
    if not isinstance(plan, Project):
        return None
    fields: dict[Place | None, int] = {place: number for number, place in enumerate(columns_of(plan.input, 0))}
    fields.pop(None, None)
    places = {number: place_of(block, number) for number in inputs(expr)}
    if not fields.keys() >= set(places.values()):
        return None
    added = rewrite(expr, lambda column: Input(fields[places[column.index]], column.type))
    return Project(plan.input, (*plan.exprs, added), (*plan.names, "")), len(plan.exprs)


def _written(query: Query, block: Block, expr: Expr) -> str:
    """An expression as it may stand in ORDER BY; what is only sorted by has no name in SELECT."""
    for column, shown in zip(query.columns, block.outputs, strict=False):
        if core(shown) == expr:
            return quoted(column.name)
    return sql(expr, partial(_name, block))


def _name(block: Block, column: Input) -> str:
    """A column, with the name of its table where several have it."""
    source, name = block.name(column.index).split(".", 1)
    same = [one for one in range(block.sources[-1].end) if short_name(block, one) == name]
    return quoted(name) if len(same) == 1 else f"{quoted(source)}.{quoted(name)}"

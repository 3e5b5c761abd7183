"""Conditions behind the groups that they are about: of whole groups, so that a view has them, or few are skipped.

WHERE g <> :x … GROUP BY g          =  … GROUP BY g HAVING g <> :x          the groups are kept for every :x
GROUP BY g HAVING n > 3 … LIMIT 5   =  FROM (… GROUP BY g) WHERE n > 3 …    rows of a view, so one more has them
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from viewkeeper.analysis.block import conjuncts_of
from viewkeeper.analysis.build import all_of
from viewkeeper.analysis.conditions import excluded_by
from viewkeeper.plan.expr import Expr, Input, inputs, rewrite
from viewkeeper.plan.relation import Aggregate, Filter, Project, Relation, below, with_below


def excluded_behind(relation: Relation) -> Relation:
    """The relation with groups left out, where what is left out of their rows is what they are grouped by."""
    made = with_below(relation, [excluded_behind(part) for part in below(relation)])
    return _moved(made) if isinstance(made, Aggregate) and made.group else made


def _moved(node: Aggregate) -> Relation:
    shown = node.input if isinstance(node.input, Project) else None
    rows = node.input if shown is None else shown.input
    if not isinstance(rows, Filter):
        return node
    groups: dict[int, int] = {}
    for number, place in enumerate(node.group):
        expr = Input(place, rows.fields[place].type) if shown is None else shown.exprs[place]
        if isinstance(expr, Input):
            groups.setdefault(expr.index, number)
    conjuncts = list(conjuncts_of(rows.condition))
    moved = [one for one in conjuncts if _is_moved(one, groups)]
    if not moved:
        return node
    kept = [one for one in conjuncts if one not in moved]
    inner = Filter(rows.input, all_of(kept)) if kept else rows.input
    made = replace(node, input=inner if shown is None else replace(shown, input=inner))
    behind = [rewrite(one, lambda column: Input(groups[column.index], column.type)) for one in moved]
    return Filter(made, all_of(behind))


def _is_moved(condition: Expr, groups: Mapping[int, int]) -> bool:
    return excluded_by(condition)[0] is not None and set(inputs(condition)) <= groups.keys()


def having_outside(relation: Relation) -> Relation:
    """The relation with HAVING as a condition on the rows of a query in FROM."""
    made = with_below(relation, [having_outside(part) for part in below(relation)])
    if not isinstance(made, Filter) or not isinstance(made.input, Aggregate):
        return made
    fields = made.input.fields
    columns = tuple(Input(place, field.type) for place, field in enumerate(fields))
    return Filter(Project(made.input, columns, tuple(field.name for field in fields)), made.condition)

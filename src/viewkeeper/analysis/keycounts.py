"""DISTINCT left out where no two rows are the same: what is shown or counted is the key of what is joined."""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.analysis.partnergroups import is_single
from viewkeeper.analysis.schema import Schema
from viewkeeper.plan.aggregate import AggregateCall, AggregateKind
from viewkeeper.plan.expr import Input
from viewkeeper.plan.relation import Aggregate, Distinct, Relation, below, with_below


def keys_counted(relation: Relation, schema: Schema) -> Relation:
    """The relation with keys shown and counted without looking at which there were already."""
    made = with_below(relation, [keys_counted(part, schema) for part in below(relation)])
    if isinstance(made, Distinct):
        columns = [Input(place, field.type) for place, field in enumerate(made.fields)]
        return made.input if is_single(made.input, columns, (), schema) else made
    if not isinstance(made, Aggregate):
        return made
    return replace(made, calls=tuple(_counted(made, call, schema) for call in made.calls))


def _counted(node: Aggregate, call: AggregateCall, schema: Schema) -> AggregateCall:
    if call.kind is not AggregateKind.COUNT_DISTINCT or call.argument is None:
        return call
    fields = node.input.fields
    columns = [Input(place, fields[place].type) for place in dict.fromkeys((call.argument, *node.group))]
    return replace(call, kind=AggregateKind.COUNT) if is_single(node.input, columns, (), schema) else call

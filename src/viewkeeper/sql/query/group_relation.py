"""The relation of one row a group:

    Aggregate(Filter?(Project | Expand(rows)))

Below Aggregate a row is its group columns and the arguments of the aggregates, once for each epoch and each grouping
set that it is in; the Filter drops the epochs that end before the row's moment.
"""

from __future__ import annotations

from collections.abc import Sequence

from viewkeeper.model.types import BIGINT, INT, TIMESTAMP
from viewkeeper.plan.aggregate import AggregateCall
from viewkeeper.plan.expr import Expr, Input, Literal, rewrite
from viewkeeper.plan.relation import Aggregate, Expand, Filter, Project, Relation
from viewkeeper.sql.query.aggregates import Collector
from viewkeeper.sql.query.conjuncts import filtered
from viewkeeper.sql.query.epochs import Epochs
from viewkeeper.sql.query.grouping import Grouping
from viewkeeper.sql.query.outputs import EPOCH, distinct_names
from viewkeeper.sql.query.rows import Rows

GROUPING_ID = "grouping_id"
GROUPING_SET = "grouping_set"


class GroupRelation:
    """Group columns come first: those of GROUP BY, then the hidden ones that tell grouping sets apart."""

    def __init__(self, rows: Rows, grouping: Grouping, epochs: Epochs, collector: Collector) -> None:
        self._rows = rows
        self._grouping = grouping
        self._epochs = epochs
        self._collector = collector
        self.hidden: list[str] = []
        if grouping.has_sets:
            # A set that is there twice gives its groups twice, and the grouping id does not tell them apart.
            self.hidden = [GROUPING_ID, GROUPING_SET] if grouping.repeats else [GROUPING_ID]
        self.group_count = len(grouping.exprs) + len(self.hidden)

    def build(self) -> Aggregate:
        group = [*map(self._group_name, range(len(self._grouping.exprs))), *self.hidden]
        names = distinct_names([*group, *self._collector.names])
        arguments, places = self._arguments()
        calls = tuple(
            AggregateCall(kind, None if argument is None else places[argument], type, fraction)
            for kind, argument, type, fraction in self._collector.calls
        )
        below = self._spread(arguments, [*names[: self.group_count], *map(self._argument_name, arguments)])
        return Aggregate(below, tuple(range(self.group_count)), calls, tuple(names))

    def _group_name(self, place: int) -> str:
        expr = self._grouping.exprs[place]
        if expr == Input(self._epochs.place, TIMESTAMP):
            return EPOCH
        return self._column_name(expr) or f"group_{place + 1}"

    def _argument_name(self, argument: Expr) -> str:
        return self._column_name(argument) or "value"

    def _column_name(self, expr: Expr) -> str | None:
        if isinstance(expr, Input) and expr.index < self._rows.width:
            return self._rows.columns.column(expr.index).name
        return None

    def _arguments(self) -> tuple[list[Expr], dict[Expr, int]]:
        """The arguments that need a column of their own, and the column of each.

        One that is a group column too shares it, unless grouping sets make NULLs of it.
        """
        shared = [] if self._grouping.has_sets else list(self._grouping.exprs)
        wanted = dict.fromkeys(argument for _, argument, *_ in self._collector.calls if argument is not None)
        own = [argument for argument in wanted if argument not in shared]
        places = {expr: place for place, expr in enumerate(shared)}
        return own, places | {argument: self.group_count + number for number, argument in enumerate(own)}

    def _spread(self, arguments: Sequence[Expr], names: Sequence[str]) -> Relation:
        window = self._epochs.window
        if window is None:
            return self._rows_as(self._rows.relation, [None], arguments, names)
        # A row without a moment is in no epoch.
        relation = filtered(self._rows.relation, [window.has_moment()])
        starts: list[Expr | None] = [*window.starts()]
        if window.is_even:
            return self._rows_as(relation, starts, arguments, names)
        checked = [*arguments, Input(self._epochs.place, TIMESTAMP), window.moment]
        spread = self._rows_as(relation, starts, checked, [*names, "epoch_start", "moment"])
        width = len(spread.fields)
        return Filter(spread, window.covers(Input(width - 2, TIMESTAMP), Input(width - 1, TIMESTAMP)))

    def _rows_as(
        self, relation: Relation, starts: Sequence[Expr | None], columns: Sequence[Expr], names: Sequence[str]
    ) -> Relation:
        """Each row for each epoch, by its start, and each grouping set; columns come behind those of the group."""
        projections = tuple(
            tuple(self._in_epoch(expr, start) for expr in (*self._group_columns(number), *columns))
            for start in starts
            for number in range(len(self._grouping.sets))
        )
        distinct = tuple(distinct_names(names))
        if len(projections) == 1:
            return Project(relation, projections[0], distinct)
        return Expand(relation, projections, distinct)

    def _group_columns(self, number: int) -> list[Expr]:
        """The group columns of a row in one grouping set."""
        members = self._grouping.sets[number]
        columns = [
            expr if place in members else Literal(None, expr.type) for place, expr in enumerate(self._grouping.exprs)
        ]
        told_apart = [Literal(self._grouping.id_of(members), BIGINT), Literal(number, INT)]
        return [*columns, *told_apart[: len(self.hidden)]]

    def _in_epoch(self, expr: Expr, start: Expr | None) -> Expr:
        if start is None:
            return expr
        return rewrite(expr, lambda column: start if column.index == self._epochs.place else column)

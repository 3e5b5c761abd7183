"""A SELECT with groups: GROUP BY, then the expressions over groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.model.types import TIMESTAMP
from viewkeeper.plan.aggregate import EXTREMES, AggregateKind
from viewkeeper.plan.expr import Call, Case, Cast, Expr, Input, Literal, Parameter
from viewkeeper.plan.relation import Filter, Project, Relation
from viewkeeper.sql.constructs import bare
from viewkeeper.sql.query import exact, refused
from viewkeeper.sql.query.aggregates import Collector
from viewkeeper.sql.query.columns import RowColumn
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.epochs import MAX_EPOCHS, Epochs, duration
from viewkeeper.sql.query.expressions import Expressions
from viewkeeper.sql.query.group_relation import GroupRelation
from viewkeeper.sql.query.grouping import MAX_IN_SETS, GroupBinder, Grouping
from viewkeeper.sql.query.outputs import Item, distinct_names
from viewkeeper.sql.query.rows import Bound, Rows
from viewkeeper.sql.query.windows import FIRST as FIRST_WINDOW
from viewkeeper.sql.query.windows import Windows

_COUNTS = (AggregateKind.COUNT_ROWS, AggregateKind.COUNT, AggregateKind.COUNT_DISTINCT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """RETAIN: the place of the epoch among the group columns, and how long it stays."""

    column: int
    length_ms: int
    retain_ms: int
    node: exp.Expr


class GroupedSelect:
    """Expressions are bound over the rows, with stand-ins behind their columns for the epoch, the grouping id and the
    aggregates; `_over_groups` turns them into expressions over groups.
    """

    def __init__(
        self, context: Context, rows: Rows, collector: Collector, epochs: Epochs, windows: Windows, *, id_place: int
    ) -> None:
        self._context = context
        self._rows = rows
        self._collector = collector
        self._epochs = epochs
        self._windows = windows
        self._condition: tuple[Expr, exp.Expr, Expressions] | None = None
        self._retained: Retained | None = None
        self.grouping = Grouping(exprs=(), sets=((),), id_place=id_place)

    def group_by(self, group: exp.Expr, items: Sequence[Item]) -> None:
        clause = Expressions(self._context, self._rows.columns, "GROUP BY", epochs=self._epochs)
        binder = GroupBinder(self._context, lambda node: self._grouped_by(node, items, clause))
        self._epochs.is_open = True
        sets = binder.sets(group.expressions)
        self._epochs.is_open = False
        if not binder.exprs:
            raise self._context.refusal(group, refused.NO_GROUP)
        if len(sets) > 1 and len(binder.exprs) > MAX_IN_SETS:
            count = len(binder.exprs)
            raise self._context.bad(group, f"grouping sets of {count} expressions, more than {MAX_IN_SETS}")
        epochs = 1 if self._epochs.window is None else self._epochs.window.count
        if epochs * len(sets) > MAX_EPOCHS:
            raise self._context.bad(
                group,
                f"each row would be in {epochs * len(sets):,} groups, more than {MAX_EPOCHS:,}",
                detail="It is in a group of each grouping set, in each epoch of the window.",
                hint="Write a longer slide, or fewer grouping sets.",
            )
        self.grouping = Grouping(exprs=tuple(binder.exprs), sets=tuple(sets), id_place=self.grouping.id_place)
        for epoch, retain in binder.retained:
            self._retain(epoch, retain)

    def _grouped_by(self, node: exp.Expr, items: Sequence[Item], clause: Expressions) -> Expr:
        """One expression of GROUP BY: a column goes before an output name, a whole number is a place in SELECT."""
        node = bare(node)
        item: Item | None = None
        if isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit():
            item = self._ordinal(node, items)
        elif isinstance(node, exp.Column) and not node.table and not self._rows.columns.has(node.name):
            item = self._alias(node, items)
        if item is None:
            item = Item(name="", node=node)
        found = clause.bind(item.node) if item.expr is None else item.expr
        if clause.check_exact(found, item.node):
            raise self._context.refuse(item.node, "GROUP BY of a sum of DOUBLE", detail=exact.DETAIL, hint=exact.HINT)
        return found

    def _ordinal(self, node: exp.Expr, items: Sequence[Item]) -> Item:
        number = int(node.this) if len(node.this) < 6 else 0
        if not 1 <= number <= len(items):
            raise self._context.bad(node, f"column {node.this} of SELECT is not there: it has {len(items)}")
        return items[number - 1]

    def _alias(self, node: exp.Column, items: Sequence[Item]) -> Item | None:
        for number, item in enumerate(items, start=1):
            if item.expr is None and item.name.lower() == node.name.lower():
                # A column of that name, added later, would go before the output name.
                name = node.this
                self._context.edits[name.meta["start"]] = (name.meta["end"] + 1, str(number))
                return item
        return None

    def _retain(self, epoch: Expr, node: exp.Expr) -> None:
        window = self._epochs.window
        if window is None or epoch != Input(self._epochs.place, TIMESTAMP):
            raise self._context.refusal(node, refused.RETAIN)
        column = self.grouping.exprs.index(epoch)
        if any(column not in members for members in self.grouping.sets):
            raise self._context.bad(
                node,
                "RETAIN with grouping sets that leave out WINDOW",
                detail="Their groups would hold rows of epochs that were dropped.",
                hint="Write WINDOW(…) outside of CUBE, ROLLUP and GROUPING SETS.",
            )
        retain_ms = duration(node, self._context)
        self._retained = Retained(column=column, length_ms=window.length_ms, retain_ms=retain_ms, node=node)

    def having(self, node: exp.Expr, clause: Expressions) -> None:
        self._condition = clause.condition(node), node, clause

    def finish(
        self, items: Sequence[Item], shown: Sequence[Expr], clause: Expressions, more: Sequence[Expr] = ()
    ) -> tuple[Bound, Retained | None]:
        """The relation of one row a group, with what tells grouping sets apart hidden behind the visible columns.

        `more` are expressions that come behind all of these.
        """
        groups = GroupRelation(self._rows, self.grouping, self._epochs, self._collector)
        relation: Relation = groups.build()
        fields = relation.fields
        if self._condition is not None:
            condition, node, having = self._condition
            relation = Filter(relation, self._over_groups(condition, node, having, groups.group_count))
        relation = self._windows.over(
            relation, lambda expr: self._over_groups(expr, items[0].node, clause, groups.group_count)
        )
        exprs: list[Expr] = []
        columns: list[RowColumn] = []
        for item, expr in zip(items, shown, strict=True):
            approximate = clause.check_exact(expr, item.node)
            exprs.append(self._over_groups(expr, item.node, clause, groups.group_count))
            columns.append(self._column(item, exprs[-1], approximate, groups.group_count))
        first = len(self.grouping.exprs)
        hidden = [Input(place, fields[place].type) for place in range(first, groups.group_count)]
        hidden = [column for column in hidden if column not in exprs]
        last = [self._over_groups(expr, items[0].node, clause, groups.group_count) for expr in more]
        shown_names = (item.name for item in items)
        names = distinct_names(
            [*shown_names, *(fields[column.index].name for column in hidden), *("order" for _ in last)]
        )
        project = Project(relation, (*exprs, *hidden, *last), tuple(names))
        return Bound(relation=project, columns=tuple(columns)), self._retained

    def _over_groups(self, expr: Expr, node: exp.Expr, clause: Expressions, group_count: int) -> Expr:
        """An expression over rows and stand-ins as one over groups; BadDefinition if it needs a column of the rows."""
        exprs = self.grouping.exprs

        def lift(part: Expr) -> Expr:
            if part in exprs:
                return Input(exprs.index(part), part.type)
            match part:
                case Input(index) if index >= FIRST_WINDOW:
                    return self._windows.moved(part)
                case Input(index, type) if index >= self._collector.first:
                    return Input(group_count + index - self._collector.first, type)
                case Input(index, type) if index == self.grouping.id_place:
                    return Input(len(exprs), type)
                case Input(index, _):
                    raise self._not_grouped(index, node, clause)
                case Literal() | Parameter():
                    return part
                case Call(name, args, type):
                    return Call(name, tuple(map(lift, args)), type)
                case Cast(arg, type):
                    return Cast(lift(arg), type)
                case Case(branches, otherwise, type):
                    pairs = tuple((lift(condition), lift(result)) for condition, result in branches)
                    return Case(pairs, lift(otherwise), type)

        return lift(expr)

    def _not_grouped(self, index: int, node: exp.Expr, clause: Expressions) -> Exception:
        if index >= self._rows.width:
            return self._context.bad(node, "WINDOW is not in GROUP BY by itself", hint="Add it to GROUP BY.")
        columns = self._rows.columns
        shown = columns.text(index)
        return self._context.bad(
            clause.seen.get(index, node),
            f'column "{columns.column(index).name}" is neither grouped nor aggregated',
            detail="A group of rows may have many values of it.",
            hint=f"Add {shown} to GROUP BY, or write MIN({shown}) or MAX({shown}).",
        )

    def _column(self, item: Item, expr: Expr, approximate: bool, group_count: int) -> RowColumn:
        nullable, temporal = not (isinstance(expr, Literal) and expr.value is not None), False
        if isinstance(expr, Input):
            place = expr.index
            if place < len(self.grouping.exprs):
                nullable, temporal = self._group_column(place)
            elif place < group_count:
                nullable = False
            else:
                nullable, temporal = self._call_column(place - group_count)
        return RowColumn(name=item.name, type=expr.type, nullable=nullable, temporal=temporal, approximate=approximate)

    def _group_column(self, place: int) -> tuple[bool, bool]:
        """Whether a group column may be NULL, and whether it grows with time."""
        expr = self.grouping.exprs[place]
        window = self._epochs.window
        if window is not None and expr == Input(self._epochs.place, TIMESTAMP):
            # An epoch before the first moment that a TIMESTAMP holds is NULL.
            moment = self._row_column(window.moment)
            return True, moment is not None and moment.temporal
        column = self._row_column(expr)
        if column is None:
            return True, False
        everywhere = all(place in members for members in self.grouping.sets)
        return column.nullable or not everywhere, column.temporal

    def _call_column(self, number: int) -> tuple[bool, bool]:
        """The same of an aggregate, or of what is computed behind all of them."""
        if number >= len(self._collector.calls):
            return True, False
        kind, argument, *_ = self._collector.calls[number]
        column = None if argument is None else self._row_column(argument)
        return kind not in _COUNTS, kind in EXTREMES and column is not None and column.temporal

    def _row_column(self, expr: Expr) -> RowColumn | None:
        if isinstance(expr, Input) and expr.index < self._rows.width:
            return self._rows.columns.column(expr.index)
        return None

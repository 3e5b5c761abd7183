"""Relations as frames: Spark computes what recompute.py computes in one process.

The fields of a relation are the columns f0, f1, … of its frame. How many rows an expression fails on is counted by the
row executor, in jobs of their own, and only where one can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import assert_never

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from viewkeeper.delta.deltaplan import Compute, Linear, Multiply, Select, Words
from viewkeeper.execute.rows.linear import Pipe
from viewkeeper.execute.spark import grouping
from viewkeeper.execute.spark.code import all_of
from viewkeeper.execute.spark.expr import column, failed
from viewkeeper.execute.spark.intasks import brought_together, in_batches, in_tasks, name_of
from viewkeeper.execute.spark.normal import normalised
from viewkeeper.execute.spark.python import tokens_column
from viewkeeper.execute.windows import window_failures
from viewkeeper.model.types import BIGINT, BOOLEAN, Kind, Row, Type
from viewkeeper.plan.aggregate import AggregateKind
from viewkeeper.plan.expr import Expr
from viewkeeper.plan.failing import can_fail
from viewkeeper.plan.join import InnerJoin, PartnerJoin, PartnerKind, UnionAll, inputs_read, starts_of
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Filter, Project, Relation, Scan, Tokens
from viewkeeper.plan.whole import Single, Sort, TopN, Window, WindowCall

Leaf = Callable[[Scan], DataFrame]
"""The frame of a scan: its columns as f0, f1, …, each row as often as it is there."""

_HOW = {
    PartnerKind.LEFT: "left",
    PartnerKind.FULL: "full",
    PartnerKind.SEMI: "left_semi",
    PartnerKind.ANTI: "left_anti",
}


class Frames:
    """Builds frames. `parts` is into how many tasks rows are brought together; scans are asked for from left to right.

    `kept` are frames that are read twice, and to be given up when all is done.
    """

    def __init__(self, leaf: Leaf, parts: int) -> None:
        self._leaf = leaf
        self._parts = parts
        self._failing: list[DataFrame] = []
        self.kept: list[DataFrame] = []

    def errors(self) -> int:
        """On how many rows an expression failed, of all frames that were built."""
        if not self._failing:
            return 0
        (total,) = reduce(DataFrame.unionAll, self._failing).agg(sf.sum("n").alias("n")).collect()
        return int(total["n"] or 0)

    def frame(self, relation: Relation) -> DataFrame:
        match relation:
            case Scan():
                return self._leaf(relation)
            case Filter() | Project() | Expand() | Tokens():
                return self._linear(relation)
            case Aggregate(input):
                return self._aggregate(relation, self.frame(input))
            case Distinct(input):
                columns = [normalised(each, type) for each, type in zip(_columns(input), _types(input), strict=True)]
                return _named(self.frame(input), columns).distinct()
            case InnerJoin():
                return self._inner(relation)
            case PartnerJoin():
                return self._partners(relation)
            case UnionAll(inputs):
                return reduce(DataFrame.unionAll, [self.frame(part) for part in inputs])
            case TopN():
                return self._top(relation)
            case Window():
                return self._window(relation)
            case Single():
                return SparkSession.active().range(1).select()
        assert_never(relation)

    def _linear(self, relation: Relation) -> DataFrame:
        """Operators row by row, down to the next that is not; a row on which several of them fail counts once."""
        steps: list[Filter | Project | Expand | Tokens] = []
        base = relation
        while isinstance(base, Filter | Project | Expand | Tokens):
            steps.insert(0, base)
            base = base.input
        frame = self.frame(base)
        if any(can_fail(expr) for step in steps for expr in _exprs(step)):
            self._failing.append(_count_failures(frame, _types(base), [_step(step) for step in steps]))
        for step in steps:
            frame = _applied(step, frame)
        return frame

    def _aggregate(self, relation: Aggregate, frame: DataFrame) -> DataFrame:
        made = grouping.grouped(relation, frame, self._parts)
        return self._checked(made, len(relation.fields), grouping.can_fail(relation))

    def _checked(self, frame: DataFrame, width: int, can_fail: bool) -> DataFrame:
        """A frame without its last column, which says whether a row failed."""
        if can_fail:
            frame = frame.persist()
            self.kept.append(frame)
            self._failing.append(frame.filter(sf.col(name_of(width))).agg(sf.count(sf.lit(1)).alias("n")))
        return frame.drop(name_of(width))

    def _inner(self, join: InnerJoin) -> DataFrame:
        starts = starts_of(join.inputs)
        frames = [_moved(self.frame(part), starts[number]) for number, part in enumerate(join.inputs)]
        columns = _columns(join)
        met, waiting = {0}, list(join.equalities)
        joined = frames[0]
        while len(met) < len(frames):
            reads = [inputs_read(left, starts) | inputs_read(right, starts) for left, right in waiting]
            number = next(other for read in reads if len(read - met) == 1 and read & met for other in read - met)
            met.add(number)
            here = [pair for pair, read in zip(waiting, reads, strict=True) if read <= met]
            waiting = [pair for pair in waiting if pair not in here]
            joined = joined.join(frames[number], _equal(here, columns), "inner")
        return joined.select(*columns)

    def _partners(self, join: PartnerJoin) -> DataFrame:
        width = len(join.left.fields)
        left, right = self.frame(join.left), _moved(self.frame(join.right), width)
        columns = [sf.col(name_of(place)) for place in range(width + len(join.right.fields))]
        on = _equal(join.equalities, columns)
        if join.condition is not None:
            fails = failed(join.condition, columns)
            if fails is not None:
                pairs = left.join(right, on, "inner").filter(fails)
                self._failing.append(pairs.agg(sf.count(sf.lit(1)).alias("n")))
            on = on & column(join.condition, columns)
        return left.join(right, on, _HOW[join.kind]).select(*_columns(join))

    def _top(self, top: TopN) -> DataFrame:
        frame = in_order(self.frame(top.input), top.order)
        if top.offset:
            frame = frame.offset(top.offset)
        return frame if top.limit is None else frame.limit(top.limit)

    def _window(self, window: Window) -> DataFrame:
        """The calls of one partitioning together: rows are brought together for each."""
        frame, types = self.frame(window.input), _types(window.input)
        width = len(types)
        by: dict[tuple[int, ...], list[int]] = {}
        for number, call in enumerate(window.calls):
            by.setdefault(call.partition, []).append(number)
        order: list[int] = []
        flags: list[int] = []
        for partition, numbers in by.items():
            calls = [window.calls[number] for number in numbers]
            made = [*types, *(call.type for call in calls), BOOLEAN]
            together = brought_together(frame, partition, types, self._parts)
            frame = in_tasks(together, types, _Windowed(calls), made)
            order += numbers
            flags.append(len(made) - 1)
            types = made
        calls_at = dict(zip(order, _call_places(width, by), strict=True))
        shown = [*range(width), *(calls_at[number] for number in range(len(window.calls)))]
        columns = [sf.col(name_of(place)) for place in shown]
        fails = reduce(Column.__or__, [sf.col(name_of(place)) for place in flags])
        return self._checked(_named(frame, [*columns, fails]), len(shown), any(map(_can_fail, window.calls)))


def in_order(frame: DataFrame, order: Sequence[Sort]) -> DataFrame:
    """The rows of a frame of a relation in an order; those that are equal in it by all of their columns."""
    every = [sf.col(name_of(place)) for place in range(len(frame.columns))]
    keys = [every[by.column].desc_nulls_last() if by.descending else every[by.column].asc_nulls_first() for by in order]
    return frame.orderBy(*keys, *(each.asc_nulls_first() for each in every))


def _call_places(width: int, by: dict[tuple[int, ...], list[int]]) -> Iterator[int]:
    """Where the values of calls are, in the order in which they were computed: a flag comes behind each pass."""
    place = width
    for numbers in by.values():
        yield from range(place, place + len(numbers))
        place += len(numbers) + 1


def _can_fail(call: WindowCall) -> bool:
    return call.kind in (AggregateKind.SUM, AggregateKind.AVG) and call.type.kind is not Kind.DOUBLE


class _Windowed:
    """What a task does with whole partitions."""

    def __init__(self, calls: Sequence[WindowCall]) -> None:
        self._calls = calls

    def __call__(self, rows: list[Row]) -> Iterable[Row]:
        made, failures = window_failures(rows, self._calls)
        return [(*row, place in failures) for place, row in enumerate(made)]


def _types(relation: Relation) -> list[Type]:
    return [field.type for field in relation.fields]


def _columns(relation: Relation) -> list[Column]:
    return [sf.col(name_of(place)) for place in range(len(relation.fields))]


def _named(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    return frame.select(*(each.alias(name_of(place)) for place, each in enumerate(columns)))


def _moved(frame: DataFrame, start: int) -> DataFrame:
    """A frame whose columns are numbered from `start` on."""
    return frame.select(*(sf.col(name_of(place)).alias(name_of(start + place)) for place in range(len(frame.columns))))


def _equal(equalities: Iterable[tuple[Expr, Expr]], columns: Sequence[Column]) -> Column:
    return all_of([column(left, columns) == column(right, columns) for left, right in equalities])


def _exprs(step: Filter | Project | Expand | Tokens) -> list[Expr]:
    match step:
        case Filter(_, condition):
            return [condition]
        case Project(_, exprs, _):
            return list(exprs)
        case Expand(_, projections, _):
            return [expr for projection in projections for expr in projection]
        case Tokens(_, text, _):
            return [text]


def _step(step: Filter | Project | Expand | Tokens) -> Linear:
    match step:
        case Filter(_, condition):
            return Select(condition)
        case Project(_, exprs, _):
            return Compute(exprs)
        case Expand(_, projections, _):
            return Multiply(projections)
        case Tokens(_, text, _):
            return Words(text)


def _applied(step: Filter | Project | Expand | Tokens, frame: DataFrame) -> DataFrame:
    columns = _columns(step.input)
    match step:
        case Filter(_, condition):
            return frame.filter(column(condition, columns))
        case Project(_, exprs, _):
            return _named(frame, [column(expr, columns) for expr in exprs])
        case Expand(_, projections, _):
            rows = [
                sf.struct(*(column(expr, columns).alias(name_of(place)) for place, expr in enumerate(projection)))
                for projection in projections
            ]
            return frame.select(sf.explode(sf.array(*rows)).alias("row")).select("row.*")
        case Tokens(_, text, _):
            return _named(frame, [*columns, sf.explode(tokens_column(column(text, columns)))])


def _count_failures(frame: DataFrame, types: Sequence[Type], steps: Sequence[Linear]) -> DataFrame:
    """On how many rows of a frame steps fail, counted by the row executor."""
    linear = tuple(steps)

    def count(rows: list[Row]) -> list[Row]:
        return [(Pipe(linear).run((row, 1) for row in rows)[1],)]

    return in_batches(frame, types, count, [BIGINT]).select(sf.col(name_of(0)).alias("n"))

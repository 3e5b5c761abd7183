"""Joins and unions of delta plans as frames: what execute/chain.py does row by row, for batches that are too large.

A frame holds signed rows: column number n of sides.py as `cn`, and the weight as `_w`. An inner join is the union of
its terms, small sides first, so that the large ones are met as they were at the watermark:

    A_upper  =  A at the watermark, by lookups or a scan of its index,  +  ΔA, the frame
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import count
from typing import assert_never

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from viewkeeper.delta.deltaplan import AggregateSink, Changes, DeltaPlan, Linear, Select
from viewkeeper.delta.joinplan import Index, InnerSource, ManySource, PartnerSource, Side, UnionSource, WholeSource
from viewkeeper.delta.sides import SIDE_COLUMNS, is_plain, numbers_of
from viewkeeper.delta.tables import IndexTable, PlanTables, SourceTables
from viewkeeper.execute.chain import Chain, ViewChanges
from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.epochs import Clock
from viewkeeper.execute.joincost import BROADCAST_ROWS, Way, choose
from viewkeeper.execute.joinindex import bulk_changes
from viewkeeper.execute.spark.branches import branches
from viewkeeper.execute.spark.bulk import Tasks, collect
from viewkeeper.execute.spark.collect import Collected
from viewkeeper.execute.spark.expr import Translation
from viewkeeper.execute.spark.pool import WEIGHT, SourceColumns, source_column
from viewkeeper.execute.spark.sharing import Sharing
from viewkeeper.model.arrow import from_cells
from viewkeeper.model.types import Kind, Type
from viewkeeper.pipeline.indexframe import look_up, scan_frame
from viewkeeper.pipeline.partnertasks import PartnerTasks
from viewkeeper.store.applying import ObjectChanges
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.viewreading import ViewReading

NETTED_ROWS = 100_000
"""Rows of a side's delta up to which it is netted before it is joined."""


class NotOnSpark(Exception):
    """A plan has a step that no frame expresses: no error, the row executor does it."""


@dataclass(frozen=True, slots=True)
class Framed:
    """A frame of signed rows, and about how many there are.

    `is_log`: it is the log of a table as it is, so that what comes later in it was written later.
    """

    frame: DataFrame
    rows: int
    is_log: bool = False


Leaf = Callable[[int, Changes], Framed | None]
"""The delta of a leaf, by its number, columns named by their ids; None if it did not change."""


@dataclass(frozen=True, slots=True)
class KeptIndex:
    """What tasks make of the delta of a side is the change of an index of it."""

    tasks: Tasks
    frame: DataFrame
    table: IndexTable
    is_log: bool

    def changes(self, collected: Collected, reading: ViewReading) -> ObjectChanges:
        """The changes of the index, given what its tasks gave."""
        parts = collected.parts(0) if self.is_log else [collected.rows(0)]
        return bulk_changes(self.table, parts, reading)


@dataclass(slots=True)
class Kept:
    """What has to be kept of a join. `changes` are known already; what tasks make of frames belongs to the indexes.

    `ways` are those in which indexes are met, `held` is what Spark holds until the batch is done.
    """

    changes: ViewChanges = field(default_factory=ViewChanges)
    indexes: list[KeptIndex] = field(default_factory=list)
    ways: list[Way] = field(default_factory=list)
    held: list[DataFrame] = field(default_factory=list)


class JoinFrames:
    """Builds the frame of one source, and remembers what has to be kept of it."""

    def __init__(self, spark: SparkSession, store: EmbeddedStore, reading: ViewReading, leaf: Leaf) -> None:
        self._spark = spark
        self._store = store
        self._reading = reading
        self._leaf = leaf
        self._leaves = count()
        self.kept = Kept()

    def source(self, source: ManySource, tables: SourceTables) -> Framed | None:
        """The delta of a join or union; its columns are those of the source."""
        match source:
            case InnerSource():
                return self._inner(source, tables)
            case PartnerSource():
                return self._partners(source, tables)
            case UnionSource():
                found = [self._plan(plan, below) for plan, below in zip(source.branches, tables.below, strict=True)]
                return _united([one for one in found if one is not None])
            case WholeSource():
                raise ValueError("it is computed whole")
        assert_never(source)

    def _next_leaf(self, changes: Changes) -> Framed | None:
        # Leaves are met from left to right, as DeltaPlan.leaves gives them.
        return self._leaf(next(self._leaves), changes)

    # Sides

    def _side(self, side: Side, tables: PlanTables) -> Framed | None:
        """The delta of a side, columns named by their numbers."""
        if not is_plain(side):
            return self._plan(side.plan, tables)
        (stage,) = side.plan.stages
        assert isinstance(stage.source, Changes)
        found = self._next_leaf(stage.source)
        if found is None:
            return None
        frame = found.frame
        inputs = [sf.col(source_column(number)) for number in stage.source.columns]
        for step in stage.linear:
            assert isinstance(step, Select)
            frame = frame.where(Translation(inputs).column(step.condition))
        return Framed(frame, found.rows, found.is_log)

    def _plan(self, plan: DeltaPlan, tables: PlanTables) -> Framed | None:
        """The delta of the rows of a plan, columns named by their places."""
        first, *rest = plan.stages
        source = first.source
        assert source is not None
        found = self._next_leaf(source) if isinstance(source, Changes) else self._below(source, tables)
        if not rest:
            return None if found is None else self._linear(found, source, first.linear)
        # Also without a change: a global aggregate has its row from the beginning.
        sharing = Sharing()
        if branches(source, first.linear) is None:
            raise NotOnSpark
        share = sharing.add_stage(source, first)
        assert isinstance(first.sink, AggregateSink)
        chain = Chain(plan, tables)
        if found is None:
            table = chain.first([], self.kept.changes)
            assert not isinstance(table, list)
        else:
            tasks = Tasks(sharing)
            (collected,) = collect([(tasks, found.frame)])
            self.kept.changes.errors += sum(tasks.errors(collected).values())
            table = collected.change_table(first.sink, share)
        return self._local(chain.rest(table, self._reading, self.kept.changes, Clock()), plan.types)

    def _below(self, source: ManySource, tables: PlanTables) -> Framed | None:
        assert tables.source is not None
        found = self.source(source, tables.source)
        if found is None:
            return None
        # What is above reads it several times: for its terms and for each of its indexes.
        held = found.frame.persist()
        self.kept.held.append(held)
        return Framed(held, found.rows)

    def _linear(self, found: Framed, source: Changes | ManySource, linear: Sequence[Linear]) -> Framed:
        """What linear steps make of rows."""
        made = branches(source, linear)
        if made is None:
            raise NotOnSpark
        inputs = SourceColumns()
        if made.risks:
            sharing = Sharing()
            sharing.add_risks(made.risks)
            tasks = Tasks(sharing)
            (collected,) = collect([(tasks, found.frame)])
            self.kept.changes.errors += sum(tasks.errors(collected).values())
        frames = []
        for branch in made.branches:
            frame = found.frame
            for condition in branch.conditions:
                frame = frame.where(Translation(inputs).column(condition))
            columns = [
                Translation(inputs).column(expr).alias(source_column(place))
                for place, expr in enumerate(branch.columns)
            ]
            frames.append(frame.select(*columns, WEIGHT))
        return Framed(reduce(DataFrame.unionAll, frames), found.rows * len(frames))

    def _local(self, rows: Sequence[Weighted], types: Sequence[Type]) -> Framed | None:
        """Rows of the driver as a frame."""
        if not rows:
            return None
        arrays = [from_cells([row[place] for row, _ in rows], type) for place, type in enumerate(types)]
        names = [source_column(place) for place in range(len(types))]
        weights = pa.array([weight for _, weight in rows], pa.int64())
        table = pa.table([*arrays, weights], names=[*names, WEIGHT])
        return Framed(self._spark.createDataFrame(table), len(rows))

    # Inner joins

    def _inner(self, source: InnerSource, tables: SourceTables) -> Framed | None:
        sides = [_netted(self._side(side, below), side) for side, below in zip(source.sides, tables.below, strict=True)]
        for index, table in zip(source.indexes, tables.indexes, strict=True):
            self._keep(source.sides[index.side], index, table, sides[index.side])
        changed = [place for place, side in enumerate(sides) if side is not None]
        order = sorted(changed, key=lambda place: sides[place].rows)  # type: ignore[union-attr]
        terms = []
        for rank, place in enumerate(order):
            before = {other: sides[other] for other in order[:rank]}
            terms.append(self._term(source, tables, place, sides[place], before))  # type: ignore[arg-type]
        return _united([term for term in terms if term is not None])

    def _keep(self, side: Side, index: Index, table: IndexTable, delta: Framed | None) -> None:
        if delta is not None:
            sharing = Sharing()
            sharing.add_index(side, index, table)
            self.kept.indexes.append(KeptIndex(Tasks(sharing), delta.frame, table, delta.is_log))

    def _term(
        self, source: InnerSource, tables: SourceTables, place: int, delta: Framed, before: dict[int, Framed | None]
    ) -> Framed | None:
        """One side's delta against the others: those `before` it as they are once the batch is applied."""
        frame = _of_side(delta.frame, place, source.sides[place])
        for probe in source.terms[place]:
            index, table = source.indexes[probe.index], tables.indexes[probe.index]
            by = [Translation(_Side(other, source.sides[other])).column(expr) for other, expr in probe.by]
            found = self._probe(
                Framed(frame, delta.rows), by, index, table, source.sides[index.side], before.get(index.side)
            )
            if found is None:
                return None
            frame = found
        # All columns of all sides: another view of the same join may show others.
        shown = [
            sf.col(_name(other, number)).alias(source_column(other * SIDE_COLUMNS + number))
            for other, side in enumerate(source.sides)
            for number in dict.fromkeys(numbers_of(side))
        ]
        return Framed(frame.select(*shown, WEIGHT), delta.rows)

    def _probe(
        self,
        met: Framed,
        by: Sequence[Column],
        index: Index,
        table: IndexTable,
        side: Side,
        more: Framed | None,
    ) -> DataFrame | None:
        """Rows with their partners in an index and among the rows that a side gets `more`; None if there are none."""
        rows, depth = self._reading.rows(table.layout.id), len(index.key)
        frame = met.frame
        given = list(frame.columns)
        found: list[DataFrame] = []
        partners = [] if more is None else [_as_partner(more.frame, index, side)]
        small = more is None or more.rows <= BROADCAST_ROWS
        if rows:
            way = choose(rows, met.rows)
            self.kept.ways.append(way)
            if way.by == "lookups":
                looked_up = sf.explode(look_up(self._store, table, depth, by)).alias("p")
                found.append(_met(frame.select(*given, looked_up), given, side, index.side, "p."))
            else:
                partners.append(scan_frame(self._spark, self._store, table, depth))
                small = small and rows <= BROADCAST_ROWS
        if partners:
            partner = reduce(DataFrame.unionAll, partners)
            found.append(self._joined(frame, given, by, partner, side, index.side, small=small))
        return reduce(DataFrame.unionAll, found) if found else None

    def _joined(
        self,
        frame: DataFrame,
        given: Sequence[str],
        by: Sequence[Column],
        partner: DataFrame,
        side: Side,
        place: int,
        *,
        small: bool,
    ) -> DataFrame:
        """Rows with all their partners among those of a frame k0, …, r0, …, w."""
        keyed = frame.select(*given, *(column.alias(f"b{number}") for number, column in enumerate(by)))
        condition = reduce(Column.__and__, [sf.col(f"b{number}") == sf.col(f"k{number}") for number in range(len(by))])
        met = keyed.join(sf.broadcast(partner) if small else partner, condition, "inner")
        return _met(met, given, side, place, "")

    # Joins by partner

    def _partners(self, source: PartnerSource, tables: SourceTables) -> Framed | None:
        left, right = (self._side(side, below) for side, below in zip(source.sides, tables.below, strict=True))
        tasks = PartnerTasks(self._spark, self._store, source, tables)
        given = tasks.run(None if left is None else left.frame, None if right is None else right.frame)
        if given is None:
            return None
        self.kept.held.append(given.held)
        for number, changes in given.objects.items():
            self.kept.changes.objects[number] = changes
        self.kept.changes.errors += given.errors
        return Framed(given.frame, (left.rows if left else 0) + (right.rows if right else 0))


class _Side:
    """The columns of a side inside a term, by place."""

    def __init__(self, place: int, side: Side) -> None:
        self._place = place
        self._numbers = numbers_of(side)

    def __getitem__(self, index: int) -> Column:
        return sf.col(_name(self._place, self._numbers[index]))


def _name(place: int, number: int) -> str:
    return f"s{place}_{number}"


def _of_side(frame: DataFrame, place: int, side: Side) -> DataFrame:
    """A frame of a side under the names that a term has for it."""
    numbers = dict.fromkeys(numbers_of(side))
    return frame.select(*(sf.col(source_column(number)).alias(_name(place, number)) for number in numbers), WEIGHT)


def _met(met: DataFrame, given: Sequence[str], side: Side, place: int, prefix: str) -> DataFrame:
    """Rows that have met a partner r0, r1, …, w, under the names of a term."""
    kept = [name for name in given if name != WEIGHT]
    numbers = {number: column for column, number in enumerate(numbers_of(side))}
    columns = [sf.col(f"{prefix}r{column}").alias(_name(place, number)) for number, column in numbers.items()]
    return met.select(*kept, *columns, (sf.col(WEIGHT) * sf.col(f"{prefix}w")).alias(WEIGHT))


def _netted(found: Framed | None, side: Side) -> Framed | None:
    """The delta of a side with what cancels out left out, if it is small: a row that changed many times would meet all
    its partners as many times. A large one is not worth the shuffle."""
    if found is None or found.rows > NETTED_ROWS:
        return found
    numbers = dict(zip(numbers_of(side), side.types, strict=True))
    # Doubles by their texts: grouping would make one zero of two.
    groups = [
        sf.col(source_column(number)).cast("string").alias(f"g{number}")
        if type.kind is Kind.DOUBLE
        else sf.col(source_column(number)).alias(f"g{number}")
        for number, type in numbers.items()
    ]
    kept = [sf.first(source_column(number)).alias(source_column(number)) for number in numbers]
    netted = found.frame.groupBy(*groups).agg(*kept, sf.sum(WEIGHT).alias(WEIGHT)).where(sf.col(WEIGHT) != 0)
    return Framed(netted.select(*map(source_column, numbers), WEIGHT), found.rows)


def _as_partner(frame: DataFrame, index: Index, side: Side) -> DataFrame:
    """The delta of a side in the form that an index has: k0, …, r0, …, w."""
    inputs = _Side(index.side, side)
    keys = [Translation(inputs).column(expr).alias(f"k{place}") for place, expr in enumerate(index.key)]
    numbers = numbers_of(side)
    columns = [sf.col(_name(index.side, number)).alias(f"r{place}") for place, number in enumerate(numbers)]
    return _of_side(frame, index.side, side).select(*keys, *columns, sf.col(WEIGHT).alias("w"))


def _united(found: Sequence[Framed]) -> Framed | None:
    if not found:
        return None
    frames = [one.frame for one in found]
    return Framed(reduce(DataFrame.unionAll, frames), sum(one.rows for one in found))

"""The first stages of views over joins and unions, on Spark: views whose joins are the same are computed together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from viewkeeper.delta.deltaplan import Changes
from viewkeeper.delta.joinplan import InnerSource
from viewkeeper.delta.sides import identity, is_plain, numbers_of
from viewkeeper.delta.tables import indexes_of
from viewkeeper.errors import BatchFailed, ViewkeeperError
from viewkeeper.execute.encodedrows import FirstChanges
from viewkeeper.pipeline.logsource import feed_frame, log_frame
from viewkeeper.pipeline.sparkerrors import told
from viewkeeper.pipeline.tablesource import table_frame, view_frame
from viewkeeper.store.applying import ObjectChanges
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.scan import Interval
from viewkeeper.views.bound import BoundView, BoundViews

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from viewkeeper.pipeline.joinframes import Framed

PROBES = 64


@dataclass(slots=True)
class Joined:
    """By view id, what its first stage gave, and how its indexes were met. A view that is not in it has to be computed
    by the row executor."""

    firsts: dict[int, FirstChanges] = field(default_factory=dict)
    ways: dict[int, str] = field(default_factory=dict)


def joined_firsts(
    spark: SparkSession, store: EmbeddedStore, bound: BoundViews, views: Sequence[BoundView], lower: int, upper: int
) -> Joined:
    """The changes between two positions. BatchFailed if Spark gave up; errors of ours come out as they are."""
    shares = _shares(store, lower, upper)

    def leaf(_: int, changes: Changes) -> Framed | None:
        from viewkeeper.pipeline.joinframes import Framed

        ends = store.position(lower), store.position(upper)
        repeats = bound.repeats(changes.object)
        columns = tuple(sorted(set(changes.columns)))
        if bound.fed_by(changes.object) is None:
            codec = bound.catalog.codecs[changes.object]
            rows = int(2 * (upper - lower) * shares.get(changes.object, 0.0))
            return Framed(log_frame(spark, store, codec, columns, *ends, repeats=repeats), rows, is_log=True)
        codec = bound.catalog.view_codecs[changes.object]
        frame = feed_frame(spark, store, codec, columns, *ends, repeats=repeats)
        return Framed(frame, upper - lower)

    joined = Joined()
    for together in _alike(views):
        _run(spark, store, together, leaf, joined)
    return joined


def joined_fill(
    spark: SparkSession,
    store: EmbeddedStore,
    bound: BoundViews,
    one: BoundView,
    number: int,
    position: int,
    interval: Interval,
    rows: int,
) -> FirstChanges | None:
    """The same for an interval of one leaf, as of a position; None if the row executor has to do it."""

    def leaf(at: int, changes: Changes) -> Framed | None:
        from viewkeeper.pipeline.joinframes import Framed

        if at != number:
            return None
        repeats, when = bound.repeats(changes.object), store.position(position)
        columns = tuple(sorted(set(changes.columns)))
        if bound.fed_by(changes.object) is None:
            codec = bound.catalog.codecs[changes.object]
            frame = table_frame(spark, store, codec, columns, when, interval, repeats=repeats)
            return Framed(frame, rows, is_log=True)
        codec = bound.catalog.view_codecs[changes.object]
        return Framed(view_frame(spark, store, codec, columns, when, interval, repeats=repeats), rows)

    joined = Joined()
    _run(spark, store, [one], leaf, joined, filling=True)
    return joined.firsts.get(one.view.id)


def _alike(views: Sequence[BoundView]) -> list[list[BoundView]]:
    """Views by their join; the first of each uses all columns that the others do."""
    found: dict[object, list[BoundView]] = {}
    for one in views:
        source = one.program.plan.source
        # What is kept below a side that is not plain belongs to one view alone.
        key: object = one.view.id
        if isinstance(source, InnerSource) and all(map(is_plain, source.sides)):
            used = tuple(frozenset(numbers_of(side)) for side in source.sides)
            key = (identity(source), used)
        found.setdefault(key, []).append(one)
    return list(found.values())


def _run(
    spark: SparkSession,
    store: EmbeddedStore,
    views: Sequence[BoundView],
    leaf: Callable[[int, Changes], Framed | None],
    joined: Joined,
    *,
    filling: bool = False,
) -> None:
    from viewkeeper.execute.spark.bulk import BulkStages, collect
    from viewkeeper.pipeline.joinframes import JoinFrames, NotOnSpark

    first = views[0]
    source, tables = first.program.plan.source, first.program.tables.source
    assert not isinstance(source, Changes)
    assert tables is not None
    objects = [number for one in views for number in one.view.objects]
    with store.view_tables.reading(objects, filling=filling) as reading:
        frames = JoinFrames(spark, store, reading, leaf)
        try:
            framed = frames.source(source, tables)
            stages = BulkStages([one.runner for one in views])
            passes = [(index.tasks, index.frame) for index in frames.kept.indexes]
            if framed is not None:
                passes.append((stages.tasks, framed.frame))
            collected = collect(passes)
        except NotOnSpark:
            return
        except ViewkeeperError:
            raise
        except Exception as error:
            raise BatchFailed(
                "Spark could not compute the batch", detail=told(error), hint="It is tried again by itself."
            ) from error
        finally:
            for held in frames.kept.held:
                held.unpersist()
        made = [one.runner.first_changes([]) for one in views] if framed is None else stages.made(collected[-1])
        indexes = {
            index.table.layout.id: index.changes(given, reading)
            for index, given in zip(frames.kept.indexes, collected, strict=False)
        }
        kept = frames.kept.changes
        for one, given in zip(views, made, strict=True):
            objects_of_one = {**_indexes_of(one, first, indexes), **kept.objects}
            joined.firsts[one.view.id] = FirstChanges(given.changes, given.errors + kept.errors, objects_of_one)
            joined.ways[one.view.id] = ", ".join(dict.fromkeys(map(str, frames.kept.ways)))


def _indexes_of(one: BoundView, first: BoundView, made: Mapping[int, ObjectChanges]) -> dict[int, ObjectChanges]:
    """The changes of a view's own join indexes, given those of a view whose join is the same.

    By place, not by contents: both sides of a self-join hold the same, but a fill reads them one after the other.
    """
    own, theirs = (
        [table.layout.id for _, table in indexes_of(view.program.plan, view.program.tables)] for view in (one, first)
    )
    return {mine: made[other] for mine, other in zip(own, theirs, strict=True) if other in made}


def _shares(store: EmbeddedStore, lower: int, upper: int) -> dict[int, float]:
    """About which part of the changes between two positions is of which table, from a look at a few transactions."""
    counted: dict[int, int] = {}
    for number in range(PROBES):
        at = lower + (upper - lower) * number // PROBES
        for block in store.blocks(store.position(at), store.position(upper), None, 1):
            for section in block.sections:
                counted[section.table] = counted.get(section.table, 0) + section.changes
    total = sum(counted.values()) or 1
    return {table: count / total for table, count in counted.items()}

"""Queries that may read every row: computed as a PERIODIC view is, all sources as of one moment, and not kept.

A small input is computed in this process, a large one on Spark, whose tasks hand rows over in pieces, in order. They
stay there until they are taken, so that an answer may be larger than this process.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial

import pyarrow as pa

from viewkeeper.errors import BatchFailed, ViewkeeperError, ViewNotReady
from viewkeeper.execute.recompute import recompute
from viewkeeper.model.arrow import arrow_type, from_cells, to_cells
from viewkeeper.model.picking import picker
from viewkeeper.model.position import Position
from viewkeeper.model.types import BINARY, Cell, Row, Type
from viewkeeper.pipeline.holding import hold
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.pipeline.sparkerrors import told
from viewkeeper.plan.expr import Input, Parameter
from viewkeeper.plan.filling import filled
from viewkeeper.plan.join import InnerJoin, PartnerJoin, UnionAll
from viewkeeper.plan.relation import Project, Relation, Scan, scans
from viewkeeper.plan.whole import Single, TopN
from viewkeeper.sql.statements import Query
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.views.bound import BoundViews, bound_views
from viewkeeper.views.fill import SMALL
from viewkeeper.views.firstrows import relation_rows
from viewkeeper.views.neededrows import needed_rows
from viewkeeper.views.reach import common_place

CHUNK = 4096
"""Rows of a list, about, as they are given."""

Values = Mapping[tuple[str | int, int | None], Cell]
"""By parameter, and by its place in a list, what was given for it."""


def scan_query(
    store: EmbeddedStore, spark: SparkSource | None, query: Query, values: Values
) -> tuple[Iterator[list[Row]], Position]:
    """The rows of a query in lists, in its order, and the position that they are of; each row is as long as `columns`.

    That is the head, or, where views are read that lag, the last position at which all of these stood. When this
    returns, the rows have been computed; where there are many, they are brought here as they are taken. What an
    expression cannot compute is NULL. Without `spark`, all is computed in this process.

    ViewNotReady if a view is not filled, or views have never stood at one position; NotRetained if the log no longer
    reaches back to it; BatchFailed if Spark gives up.
    """
    bound = bound_views(store)
    relation = _unlocal(bound, _whole(query, values))
    place = _place(store, bound, relation)
    chunks = _chunks(store, spark, bound, relation, place, len(query.columns))
    next(chunks)
    return chunks, store.position(place)


def _whole(query: Query, values: Values) -> Relation:
    """All of a query as one relation."""
    plan = filled(query.plan, values)
    limit = query.limit
    if isinstance(limit, Parameter):
        given = values[limit.key, limit.element]
        assert isinstance(given, int)
        limit = given
    if query.order or limit is not None or query.offset:
        plan = TopN(plan, query.order, limit, query.offset)
    return plan


def _unlocal(bound: BoundViews, relation: Relation) -> Relation:
    """With the definition of a view in its place where it is not stored as its rows are read.

    Those are LOCAL views of a table in partitions, and views of one row that are kept beside tables; both follow every
    write, so that their definition over the tables gives what they are.
    """
    match relation:
        case Scan(object=number, columns=columns):
            view = bound.catalog.views.get(number)
            if view is None or not view.in_base or not (view.parts or not view.layout.key):
                return relation
            one = bound.get(number)
            assert one is not None
            plan = one.statement.plan
            shown = tuple(Input(column, plan.fields[column].type) for column in columns)
            return Project(_unlocal(bound, plan), shown, tuple(field.name for field in relation.fields))
        case InnerJoin() | UnionAll():
            return replace(relation, inputs=tuple(_unlocal(bound, part) for part in relation.inputs))
        case PartnerJoin():
            return replace(relation, left=_unlocal(bound, relation.left), right=_unlocal(bound, relation.right))
        case Single():
            return relation
    return replace(relation, input=_unlocal(bound, relation.input))


def _place(store: EmbeddedStore, bound: BoundViews, relation: Relation) -> int:
    """Where all that a relation reads can be read."""
    read = {scan.object for scan in scans(relation)}
    apart = sorted(number for number in read if number not in bound.catalog.codecs)
    if not apart:
        return store.offset(store.head())
    place = common_place(store, apart)
    beside = (bound.catalog.views[number].since for number in read - set(apart) if number in bound.catalog.views)
    if place is None or any(place < since for since in beside):
        names = ", ".join(f'"{bound.catalog.views[number].name}"' for number in apart)
        raise ViewNotReady(
            f"there is no position at which {names} can be read together with the rest of the query",
            hint="Run maintenance: db.maintain() or viewkeeper maintain.",
        )
    return place


def _chunks(
    store: EmbeddedStore, spark: SparkSource | None, bound: BoundViews, relation: Relation, place: int, width: int
) -> Generator[list[Row]]:
    """An empty list when the rows have been computed, then the rows."""
    holder = f"query {os.getpid()}-{secrets.token_hex(4)}"
    with hold(store, store.position(place), holder):
        if spark is not None and relation_rows(store, bound, relation) > SMALL:
            yield from _on_spark(store, spark, bound, relation, place, width)
            return
        rows = _here(store, bound, relation, place)
    yield []
    for start in range(0, len(rows), CHUNK):
        yield [row[:width] for row in rows[start : start + CHUNK]]


def _here(store: EmbeddedStore, bound: BoundViews, relation: Relation, place: int) -> list[Row]:
    given: list[list[Row]] = []
    for scan, rows in zip(scans(relation), needed_rows(store, bound, relation, place), strict=True):
        pick = picker(scan.columns)
        given.append([again for row, weight in rows for again in [pick(row)] * weight])
    return recompute(relation, given)[0]


def _on_spark(
    store: EmbeddedStore, spark: SparkSource, bound: BoundViews, relation: Relation, place: int, width: int
) -> Generator[list[Row]]:
    from pyspark.sql import functions as sf

    from viewkeeper.execute.spark.intasks import in_batches, name_of
    from viewkeeper.execute.spark.relation import in_order
    from viewkeeper.pipeline.wholeframes import relation_frames

    types = [field.type for field in relation.fields[:width]]
    frames = relation_frames(spark.session(), store, bound, relation, place)
    try:
        rows = frames.frame(relation)
        if isinstance(relation, TopN) and relation.offset:
            # What leaves out the first rows brings the others together in any order.
            rows = in_order(rows, relation.order)
        rows = rows.select(*(sf.col(name_of(number)) for number in range(width)))
        pieces = in_batches(rows, types, partial(_packed, types), [BINARY]).persist()
        frames.kept.append(pieces)
        # All tasks at once; the iterator below would run them one after the other.
        pieces.count()
        yield []
        for piece in pieces.toLocalIterator():
            yield from _unpacked(piece[0], types)
    except ViewkeeperError:
        raise
    except Exception as error:
        raise BatchFailed("Spark could not compute the query", detail=told(error)) from error
    finally:
        for kept in frames.kept:
            # It fails where the JVM has gone.
            with suppress(Exception):
                kept.unpersist()


def _packed(types: list[Type], rows: list[Row]) -> list[Row]:
    """In a task: rows as one Arrow stream."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(types)
    arrays = [from_cells(list(cells), type) for cells, type in zip(columns, types, strict=True)]
    schema = pa.schema([pa.field(str(place), arrow_type(type)) for place, type in enumerate(types)])
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, schema) as stream:
        stream.write_batch(pa.record_batch(arrays, schema=schema))
    return [(out.getvalue().to_pybytes(),)]


def _unpacked(piece: bytes, types: list[Type]) -> Iterator[list[Row]]:
    for batch in pa.ipc.open_stream(piece):
        for start in range(0, batch.num_rows, CHUNK):
            part = batch.slice(start, CHUNK)
            cells = (to_cells(column, type) for column, type in zip(part.columns, types, strict=True))
            yield list(zip(*cells, strict=True))

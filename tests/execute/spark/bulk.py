"""The first stages of plans by both executors over the same signed rows, in a form in which they can be compared."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from viewkeeper.delta.program import numbered, program
from viewkeeper.execute.changetable import ChangeTable, Weighted
from viewkeeper.execute.encodedrows import EncodedRows, FirstChanges
from viewkeeper.execute.spark.bulk import BulkStages
from viewkeeper.execute.viewchanges import ViewRunner
from viewkeeper.model.arrow import from_cells
from viewkeeper.model.schema import Column
from viewkeeper.model.types import BIGINT, Type
from viewkeeper.plan.relation import Field, Relation

VIEW = 1000
TOLERANCE = 1e-9


def runner(relation: Relation, *, has_key: bool = False) -> ViewRunner:
    """A view over a table whose key, if it counts, is BIGINT column 0."""
    visible = tuple(Column(name=field.name, type=field.type) for field in relation.fields)
    key = ((0, Field("id", BIGINT)),) if has_key else None
    made = program(relation, visible, (), id=VIEW, name="V", key_of=lambda _: key)
    return ViewRunner(numbered(made, itertools.count(VIEW + 1)))


def frame(spark: SparkSession, types: Sequence[Type], rows: Sequence[Weighted]) -> DataFrame:
    """Signed rows of a table in Spark."""
    arrays = [from_cells([row[place] for row, _ in rows], type) for place, type in enumerate(types)]
    names = [f"c{place}" for place in range(len(types))]
    weights = pa.array([weight for _, weight in rows], pa.int64())
    return spark.createDataFrame(pa.table([*arrays, weights], [*names, "_w"]))


def in_rows(view: ViewRunner, rows: Sequence[Weighted]) -> FirstChanges:
    columns = view.program.plan.source.columns
    return view.first_changes((tuple(row[column] for column in columns), weight) for row, weight in rows)


def in_spark(given: DataFrame, views: Sequence[ViewRunner]) -> list[FirstChanges]:
    return BulkStages(views).run(given)


def differences(left: FirstChanges, right: FirstChanges) -> list[str]:
    """How two results differ; sums of DOUBLE may in their last digits."""
    found = [] if left.errors == right.errors else [f"errors {left.errors} {right.errors}"]
    if isinstance(left.changes, ChangeTable) and isinstance(right.changes, ChangeTable):
        return found + _table_differences(left.changes, right.changes)
    assert isinstance(left.changes, EncodedRows)
    assert isinstance(right.changes, EncodedRows)
    return found + _dict_differences(_net(left.changes), _net(right.changes))


def _net(rows: EncodedRows) -> dict[Any, int]:
    pairs = list(zip(rows.keys, rows.rows, strict=True))
    assert len(set(pairs)) == len(pairs)
    assert 0 not in rows.weights
    return dict(zip(pairs, rows.weights, strict=True))


def _table_differences(left: ChangeTable, right: ChangeTable) -> list[str]:
    found = _dict_differences(
        {group: (change.weight, change.sums) for group, change in left.groups.items()},
        {group: (change.weight, change.sums) for group, change in right.groups.items()},
    )
    for mine, theirs in zip(left.values, right.values, strict=True):
        found += _dict_differences(mine, theirs)
    return found


def _dict_differences(left: dict[Any, Any], right: dict[Any, Any]) -> list[str]:
    # A NaN in a key is the same object on both sides, or it is not found.
    found = [f"{key!r}: {left.get(key)} {right.get(key)}" for key in left.keys() ^ right.keys()]
    found += [
        f"{key!r}: {left[key]} {right[key]}" for key in left.keys() & right.keys() if not _same(left[key], right[key])
    ]
    return found


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, list | tuple):
        return type(left) is type(right) and len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, float):
        return isinstance(right, float) and math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(left) is type(right) and bool(left == right)

"""One row without columns on Spark: SELECT without FROM beside what is read whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viewkeeper.execute.spark.relation import Frames
from viewkeeper.model.types import INT, STRING
from viewkeeper.plan.expr import Literal
from viewkeeper.plan.join import UnionAll
from viewkeeper.plan.relation import Project, Relation, Scan
from viewkeeper.plan.whole import Single

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def test_a_row_of_constants_is_one_row(spark: SparkSession) -> None:
    def leaf(_: Scan) -> DataFrame:
        raise AssertionError

    def row(number: int) -> Relation:
        return Project(Single(), (Literal(number, INT), Literal("x", STRING)), ("n", "text"))

    frame = Frames(leaf, 2).frame(UnionAll((row(1), row(2))))
    assert sorted(tuple(one) for one in frame.collect()) == [(1, "x"), (2, "x")]

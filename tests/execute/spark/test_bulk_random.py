"""Random plans over random signed rows: Spark gives what the row executor gives, for many plans in one job."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.execute.plans import COLUMNS, plans, rows
from tests.execute.spark.bulk import differences, frame, in_rows, in_spark, runner
from viewkeeper.execute.changetable import Weighted
from viewkeeper.plan.relation import Relation

TYPES = [column.type for column in COLUMNS]
TRIED = "random cases tried"
signed = st.lists(st.tuples(rows(), st.sampled_from([1, 1, -1, -1, 2, -3, 1000])), min_size=10, max_size=40)
batches = st.tuples(st.lists(st.tuples(plans(1), st.booleans()), min_size=30, max_size=40), signed)


# No shrinking: a job takes half a second, and what differs is said plan by plan.
@settings(max_examples=12, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate])
@given(batch=batches)
def test_spark_gives_the_first_changes_of_the_row_executor(
    spark: SparkSession,
    record_property: Callable[[str, object], None],
    batch: tuple[list[tuple[Relation, bool]], list[Weighted]],
) -> None:
    chosen, changes = batch
    views = [runner(relation, has_key=has_key) for relation, has_key in chosen]
    found = in_spark(frame(spark, TYPES, changes), views)
    for (relation, _), view, first in zip(chosen, views, found, strict=True):
        assert differences(in_rows(view, changes), first) == [], relation
    record_property(TRIED, len(chosen) * len(changes))

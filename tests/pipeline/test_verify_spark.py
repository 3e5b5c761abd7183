"""Verification of views with a large input, which Spark recomputes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pipeline.shop import ABOVE, BELOW, VIEWS, bound_view, contents, damages, make_shop, store_of
from viewkeeper.pipeline import backfill
from viewkeeper.pipeline.repair import repair
from viewkeeper.pipeline.scratchfill import scratch_filler
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.pipeline.verify import verify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("kind", ["hidden key", "aggregates", "doubles", "having", "aggregate above"])
def test_spark_recomputes_what_the_row_executor_has_kept(
    tmp_path: Path, spark: SparkSession, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill, "SMALL", 0)
    texts = (BELOW, ABOVE[kind]) if kind in ABOVE else (VIEWS[kind],)
    with make_shop(tmp_path / "db", *texts) as db:
        store = store_of(db)
        source = SparkSource(spark)
        rows: list[tuple[str, int, int]] = []
        filler = scratch_filler(source, lambda *told: rows.append(told))
        report = verify(store, "V", filler=filler)
        assert report.ok, str(report)
        assert source.is_started
        assert rows[-1][0] == "recomputed"
        assert rows[-1][1] == rows[-1][2] > 0
        number = bound_view(store).view.id
        for damage in list(damages(store))[:4]:
            before = contents(store)
            damage.do(store)
            assert repair(store, "V", filler=filler).written == 1
            if kind not in ("doubles", "having"):
                assert contents(store) == before
        assert verify(store, "V").ok
        assert store.view_tables.notes()[number].verified_differences == 0

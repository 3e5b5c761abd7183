"""A Spark task that dies in the middle and is run again: every change counts once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
from collections.abc import Iterator
from typing import Any

from pyspark import TaskContext, cloudpickle

import viewkeeper as vk
from viewkeeper.pipeline import logsource, source
from viewkeeper.pipeline.maintainer import Maintainer
from viewkeeper.pipeline.session import SparkSource


TOLD = sys.argv[2]


class DyingReader(source.PlannedReader):
    def read(self, partition: Any) -> Iterator[Any]:
        attempt = TaskContext.get().attemptNumber()
        for number, batch in enumerate(super().read(partition)):
            yield batch
            if attempt < 2:
                raise RuntimeError(f"attempt {attempt} dies behind batch {number}")
        with open(TOLD, "a") as told:
            told.write(f"{attempt}\\n")


class DyingSource(logsource.LogSource):
    def reader(self, schema: Any) -> Any:
        return DyingReader(super().reader(schema)._plan)


cloudpickle.register_pickle_by_value(sys.modules["__main__"])
logsource.LogSource = DyingSource
with vk.open(sys.argv[1]) as db:
    db.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, g BIGINT, n BIGINT)")
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT g, COUNT(*) AS c, SUM(n) AS s FROM t GROUP BY g")
    with db.transaction() as tx:
        for number in range(500):
            tx.put("t", {"id": number, "g": number % 3, "n": number})
    spark = SparkSource(master="local[2,4]")
    done = Maintainer(db._shared, spark, small_work=0).round()
    print(done.engine, done.failed, [tuple(row.values()) for row in db.scan("v")], db.verify("v").ok)
    spark.stop()
"""


def test_a_task_that_is_run_again_counts_once(tmp_path: Path) -> None:
    told = tmp_path / "attempts"
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "db"), str(told)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    wanted = [(shop, len(range(shop, 500, 3)), sum(range(shop, 500, 3))) for shop in range(3)]
    assert done.stdout.strip() == f"spark {{}} {wanted} True"
    assert set(told.read_text().split()) == {"2"}

"""One small Spark for the tests: two threads, ANSI on, UTC, and nothing printed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from viewkeeper.pipeline.session import errors_to

SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.pyspark.fallback.enabled": "false",
    # Otherwise each call that makes a column looks through the stack for its caller, which takes longer than the call.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Otherwise the optimizer would evaluate a projection of literal rows by itself, and no task would run.
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
}


def start_spark(folder: Path) -> SparkSession:
    """A session whose JVM writes what it has to say to a file in `folder`, and its scratch files beside it."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("viewkeeper tests")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    builder = builder.config("spark.local.dir", str(folder))
    with errors_to(folder / "spark.log"):
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    return session

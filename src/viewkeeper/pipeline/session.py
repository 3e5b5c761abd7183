"""The Spark session that maintenance runs in: its own settings, and nothing of Spark's on the user's screen."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias

from viewkeeper.errors import SparkMissing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What a session of ours has, whoever made the context. ANSI and UTC are part of what views mean.
SESSION = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.pyspark.fallback.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.streaming.pollingDelay": "5ms",
    # Writing offsets through the other one takes three times as long, and ours need not survive anything.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.minBatchesToRetain": "2",
}
# What a context has that we start ourselves.
CONTEXT = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.python.worker.reuse": "true",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.log.level": "ERROR",
    # Otherwise each call that makes a column looks through the stack for its caller, which takes longer than the call.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}


_shared = Lock()
_using: list[SparkSource] = []
"""Who uses the one context of this process; what was started here is stopped by the last of them."""

Spark: TypeAlias = "SparkSession | SparkSource"
"""A session of the caller's, or a source of one."""


class SparkSource:
    """A session when it is first needed: of the caller's context, or of one that is started here.

    Maintenance of a few changes needs none, so a JVM is started only where there is bulk work to do.
    """

    def __init__(self, spark: SparkSession | None = None, *, master: str | None = None) -> None:
        self._given = spark
        self._master = master
        self._session: SparkSession | None = None
        self._started = False
        self._folders: list[str] = []
        self._lock = Lock()

    @property
    def is_started(self) -> bool:
        return self._session is not None

    def session(self) -> SparkSession:
        """The session; SparkMissing if none can be started here."""
        with self._lock:
            if self._session is None:
                base = self._given if self._given is not None else self._share()
                self._session = base.newSession()
                for name, value in SESSION.items():
                    self._session.conf.set(name, value)
            return self._session

    def _share(self) -> SparkSession:
        with _shared, _signals_later():
            session = self._start()
            _using.append(self)
            return session

    def _start(self) -> SparkSession:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        if SparkContext._active_spark_context is not None:
            # Somebody else's, who will stop it; or one that was started here for another database.
            return SparkSession.builder.getOrCreate()
        _set_python()
        folder = tempfile.mkdtemp(prefix="viewkeeper-spark-")
        self._folders.append(folder)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        builder: Any = SparkSession.builder.appName("viewkeeper")
        if self._master is not None:
            builder = builder.master(self._master)
        elif "SPARK_ENV_LOADED" not in os.environ:
            # Not under spark-submit, which has its own idea of where to run.
            builder = builder.master("local[*]")
        for name, value in {**CONTEXT, "spark.sql.warehouse.dir": f"{folder}/warehouse"}.items():
            builder = builder.config(name, value)
        try:
            with errors_to(Path(folder) / "spark.log"):
                session: SparkSession = builder.getOrCreate()
                session.sparkContext.setLogLevel("ERROR")
        except Exception as error:
            raise SparkMissing(
                "Spark could not be started",
                detail=_told(error, Path(folder) / "spark.log"),
                hint="Java 17 or later has to be on the PATH, or JAVA_HOME be set; a master, one that Spark knows.",
            ) from error
        self._started = True
        return session

    def stop(self) -> None:
        """Stop the context, if it was started here or by another that has left it to this one, and none is left."""
        with self._lock, _shared:
            session, self._session = self._session, None
            if self in _using:
                _using.remove(self)
                if _using:
                    _using[0]._inherit(self)
                elif self._started and session is not None:
                    # It fails where the JVM has gone already.
                    with suppress(Exception), warnings.catch_warnings(action="ignore"):
                        session.stop()
            for folder in self._folders:
                shutil.rmtree(folder, ignore_errors=True)
            self._started, self._folders = False, []

    def _inherit(self, other: SparkSource) -> None:
        self._started = self._started or other._started
        self._folders += other._folders
        other._folders = []


@contextmanager
def _signals_later() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait for the end of this: a JVM that is left while it starts would stay for ever."""
    came: list[int] = []

    def note(number: int, _: object) -> None:
        came.append(number)

    kept = {}
    if threading.current_thread() is threading.main_thread():
        kept = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            # Spark has a handler of its own for Ctrl-C, which also cancels what runs.
            if signal.getsignal(number) is note:
                signal.signal(number, handler)
        for sent in came:
            signal.raise_signal(sent)


def _set_python() -> None:
    # Tasks run our code, so they run under our interpreter.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


def _told(error: BaseException, log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    said = next((line for line in reversed(lines) if not line.startswith(("at ", "..."))), "")
    return f"{str(error).strip() or type(error).__name__} {said}".strip()


@contextmanager
def errors_to(path: Path) -> Iterator[None]:
    """What is started meanwhile inherits a file as its standard error, and keeps it."""
    sys.stderr.flush()
    kept = os.dup(2)
    with path.open("wb") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)

"""How random tests run, and how many cases they tried.

`ci` is the profile of `make test`; `--hypothesis-profile=thorough` tries twenty times as many.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from hypothesis.statistics import collector

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Never derandomized: each run is a new chance to find something, and the blob of a failure repeats it.
settings.register_profile("ci", max_examples=100, derandomize=False, deadline=None, print_blob=True)
settings.register_profile("thorough", parent=settings.get_profile("ci"), max_examples=2_000)
settings.load_profile("ci")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As in a job that a script started in the background: what tests start and interrupt would go on for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)

_TRIED = "random cases tried"


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one Spark of the whole run, started by the first test that asks for it."""
    # Imported here: the tests that need no JVM need not wait for pyspark either.
    from tests.spark_session import start_spark

    session = start_spark(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Notes the cases that a property tried; inside hypothesis' own wrapper, whose collector it hands on to."""
    collected: Any = collector
    whole_report = collected.value

    def count(statistics: dict[str, Any]) -> None:
        phases = (part["test-cases"] for name, part in statistics.items() if name.endswith("-phase"))
        statuses = Counter(case["status"] for cases in phases for case in cases)
        item.user_properties.append((_TRIED, statuses["valid"] + statuses["interesting"]))
        if whole_report is not None:
            whole_report(statistics)

    with collected.with_value(count):
        return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line a property, a parametrized one summed up; nothing where no property ran."""
    tried: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                cases = sum(count for name, count in report.user_properties if name == _TRIED)
                tried[report.nodeid.partition("[")[0]] += cases
    properties = sorted((name, count) for name, count in tried.items() if count)
    if not properties:
        return
    terminalreporter.section(_TRIED)
    for name, count in properties:
        terminalreporter.line(f"{count:7,}  {name}")
    terminalreporter.line(f"{tried.total():7,}  in {len(properties)} properties")

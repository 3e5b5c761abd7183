"""One process has one Spark context: what was started here is stopped by the last database that uses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from viewkeeper.pipeline.session import SparkSource


class Context:
    """Stands in for a session, and for its settings."""

    def __init__(self) -> None:
        self.stopped = 0
        self.conf = self

    def newSession(self) -> Context:  # noqa: N802 (Spark's name)
        return self

    def set(self, name: str, value: str) -> None: ...

    def stop(self) -> None:
        self.stopped += 1


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Context:
    """The first source starts it, in a folder of its own."""
    made: list[Context] = []

    def start(self: SparkSource) -> Any:
        if not made:
            made.append(context)
            self._started = True
            (tmp_path / "spark").mkdir()
            self._folders.append(str(tmp_path / "spark"))
        return made[0]

    context = Context()
    monkeypatch.setattr(SparkSource, "_start", start)
    return context


@pytest.mark.parametrize("first", [0, 1])
def test_the_last_one_stops_it(context: Context, tmp_path: Path, first: int) -> None:
    sources = [SparkSource(), SparkSource()]
    for source in sources:
        source.session()
    sources[first].stop()
    assert (context.stopped, (tmp_path / "spark").exists()) == (0, True)
    sources[1 - first].stop()
    assert (context.stopped, (tmp_path / "spark").exists()) == (1, False)
    sources[0].stop()
    assert context.stopped == 1


def test_what_the_caller_gave_is_left_to_the_caller(context: Context) -> None:
    source = SparkSource(cast(Any, context))
    source.session()
    source.stop()
    assert context.stopped == 0

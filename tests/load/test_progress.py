"""Progress: a bar on a terminal, one line elsewhere, nothing where nothing was asked for."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.load.reading import ORDERS, written
from viewkeeper.load import LoadProgress, open_source
from viewkeeper.load.progress import summary

ROWS = [{"OrderID": number} for number in range(25)]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_all_batches_come_through_and_are_counted() -> None:
    progress = LoadProgress(shown=False)
    sizes = [batch.data.num_rows for batch in progress.watch(open_source(ROWS, ORDERS, batch_rows=10))]
    assert (sizes, progress.rows) == ([10, 10, 5], 25)
    assert progress.seconds > 0


def test_a_batch_counts_only_when_it_has_been_written() -> None:
    progress = LoadProgress(shown=False)
    batches = progress.watch(open_source(ROWS, ORDERS, batch_rows=10))
    next(batches)
    assert progress.rows == 0
    next(batches)
    batches.close()
    assert progress.rows == 10


def test_rows_that_the_taker_left_out_do_not_count() -> None:
    progress = LoadProgress(shown=False)
    for number, _ in enumerate(progress.watch(open_source(ROWS, ORDERS, batch_rows=10))):
        if number == 1:
            progress.refuse()
            progress.refuse(2)
    assert progress.rows == 22


def test_elsewhere_than_on_a_terminal_one_line_is_printed(tmp_path: Path) -> None:
    stream = io.StringIO()
    path = written(tmp_path / "o.csv", "OrderID\n1\n2\n")
    list(LoadProgress(stream=stream).watch(open_source(path, ORDERS)))
    assert re.fullmatch(rf"{path}: 2 rows in \d+\.\d\d s, [\d,]+ rows/s\n", stream.getvalue())


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()], ids=["elsewhere", "terminal"])
def test_nothing_is_printed_where_nothing_was_asked_for(stream: io.StringIO) -> None:
    list(LoadProgress(shown=False, stream=stream).watch(open_source(ROWS, ORDERS)))
    assert stream.getvalue() == ""


def test_the_last_line_can_be_left_to_the_caller() -> None:
    stream = io.StringIO()
    list(LoadProgress(last_line=False, stream=stream).watch(open_source(ROWS, ORDERS)))
    assert stream.getvalue() == ""


def test_on_a_terminal_a_bar_shows_rows_rate_and_part(tmp_path: Path) -> None:
    stream = Terminal()
    path = written(tmp_path / "o.csv", "OrderID\n" + "".join(f"{n}\n" for n in range(5000)))
    list(LoadProgress(stream=stream).watch(open_source(path, ORDERS, batch_rows=1000)))
    shown = stream.getvalue()
    assert "5,000 rows" in shown
    assert "rows/s" in shown
    assert "100%" in shown


def test_sums_go_over_several_sources() -> None:
    progress = LoadProgress(shown=False)
    for _ in range(3):
        list(progress.watch(open_source(ROWS, ORDERS)))
    assert progress.rows == 75


def test_the_summary_is_readable() -> None:
    assert summary(100_000, 0.5) == "100,000 rows in 0.50 s, 200,000 rows/s"
    assert summary(1, 2.0) == "1 row in 2.00 s, 0 rows/s"
    assert summary(0, 0.0) == "0 rows in 0.00 s, - rows/s"


def test_counting_does_not_import_rich() -> None:
    program = (
        "import io, sys; from viewkeeper.load import LoadProgress, open_source; from tests.load.reading import ORDERS;"
        "list(LoadProgress(stream=io.StringIO()).watch(open_source([{'OrderID': 1}], ORDERS)));"
        "sys.exit('rich' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, env=_environment()).returncode == 0


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in [*sys.path, "."] if path)}

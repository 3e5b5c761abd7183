"""The benchmarks: what they are called, where they are written, and one of them as small as it can be."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from benchmarks import __main__, tpcw_mixes
from benchmarks.harness import Figure
from benchmarks.plot import Table
from examples.tpcw.generate import Sizes
from examples.tpcw.mixes import INTERACTIONS, MIXES


@pytest.mark.parametrize("name", __main__.MODULES)
def test_a_benchmark_asks_a_question_and_runs(name: str) -> None:
    module = import_module(__main__.MODULES[name])
    assert str(module.__doc__).split("\n\n")[0].endswith("?")
    assert callable(module.run)


def test_what_can_be_small_is_a_benchmark() -> None:
    assert set(__main__.MODULES) >= __main__.SIZED


def test_tables_are_written_between_their_marks_and_new_ones_behind_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, before = tmp_path / "page.md", "# Page\n\n<!-- begin one -->\nold\n<!-- end one -->\n\nText.\n"
    page.write_text(before, encoding="utf-8")
    monkeypatch.setattr(__main__, "PAGE", page)
    monkeypatch.setattr(__main__, "machine", lambda: "this")
    __main__._write("one", "Is it?", "new")
    written = before.replace("old", "Measured on this.\n\nnew")
    assert page.read_text(encoding="utf-8") == written
    for _ in range(2):
        __main__._write("mixes", "How long?", "| a |")
        added = "\nHow long?\n\n<!-- begin mixes -->\nMeasured on this.\n\n| a |\n<!-- end mixes -->\n"
        assert page.read_text(encoding="utf-8") == written + added


def test_mixes_tell_of_every_interaction_and_how_often_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"SIZES": Sizes(60, 30), "SECONDS": 0.5, "WARM": 0.1, "MODES": ("SYNC",)}.items():
        monkeypatch.setattr(tpcw_mixes, name, value)
    *figures, table = tpcw_mixes.run()
    assert all(isinstance(figure, Figure) for figure in figures)
    assert isinstance(table, Table)
    heading, *rows, whole, behind = table.rows
    assert heading == ("interaction", *(f"{mix}, SYNC" for mix in MIXES))
    assert [row[0].replace(" ", "_") for row in rows] == list(INTERACTIONS)
    assert behind[1:] == ("0",) * len(MIXES)
    for column, figure in enumerate(figures, 1):
        seen = [_count(row[column]) for row in rows]
        assert sum(seen) == _count(whole[column]) > 0
        assert f"{sum(seen) / 0.5:,.0f} pages a second" in figure.question


def _count(cell: str) -> int:
    return 0 if cell == "none" else int(cell.partition("(")[2].rstrip(")").replace(",", ""))

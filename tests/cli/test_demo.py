"""`viewkeeper demo` runs to its end by itself and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import ok, run
from viewkeeper.cli import demo_crash, demo_story, demo_views


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A shorter story, in a folder of its own for what is temporary."""
    monkeypatch.setattr(demo_story, "ITEMS", 3_000)
    monkeypatch.setattr(demo_crash, "SECONDS", 0.2)
    monkeypatch.setattr(demo_views, "WRITE_SECONDS", 1.0)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    return temporary


def test_the_story_is_told_and_nothing_is_left(short: Path) -> None:
    out = ok("demo")
    assert [line.split(".")[0] for line in out.splitlines() if line[:1].isdigit()] == [
        str(number) for number in range(1, 11)
    ]
    assert "items.csv line 18, column \"Price\": 'n/a' is not DECIMAL(10,2)" in out
    assert "2,999 rows in" in out
    assert "error[transaction.conflict]" in out
    assert "attempt 2" in out
    assert "error[data.cardinality_exceeded]" in out
    assert "deleted" in out
    assert out.count("[yes]") == 3
    assert out.count("equal to its definition") == 3
    assert "\x1b[" not in out
    assert list(short.iterdir()) == []


def test_the_folder_can_be_kept(short: Path) -> None:
    out = ok("demo", "--keep")
    (kept,) = short.iterdir()
    assert str(kept / "shop") in out
    assert "Items" in ok("status", kept / "shop")


def test_a_new_folder_can_be_named_and_is_kept(tmp_path: Path, short: Path) -> None:
    assert run("demo", "--path", tmp_path / "here").code == 0
    assert "Items" in ok("status", tmp_path / "here")
    assert list(short.iterdir()) == []
    again = run("demo", "--path", tmp_path / "here")
    assert again.code == 1
    assert "already" in again.err


def test_it_fails_if_a_promise_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_crash, "_replayed", lambda *_: {})
    done = run("demo")
    assert done.code == 1
    assert "[NO] log and tables agree" in done.out

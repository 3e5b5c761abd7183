"""The prompt of `viewkeeper sql`."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import ENVIRONMENT, PROGRAM
from viewkeeper import database
from viewkeeper.cli.output import Format
from viewkeeper.cli.prompt import Prompt


def typed(*lines: str | type[BaseException]) -> tuple[Callable[[str], str], list[str]]:
    """A terminal at which these lines are typed, and the prompts that it showed."""
    prompts: list[str] = []
    left = iter(lines)

    def read(prompt: str) -> str:
        prompts.append(prompt)
        line = next(left, EOFError)
        if isinstance(line, str):
            return line
        raise line

    return read, prompts


def session(path: Path, *lines: str | type[BaseException]) -> list[str]:
    read, prompts = typed(*lines)
    with database.open(path) as db:
        Prompt(db, Format.json, {"id": 1}, read).run()
    return prompts


def test_statements_may_go_over_several_lines(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = session(
        shop, "INSERT INTO Items (ItemID)", "VALUES (1);", "SELECT ItemID FROM Items; SELECT", "tag FROM Tags;"
    )
    assert [prompt.strip() for prompt in prompts] == ["viewkeeper>", "->", "viewkeeper>", "->", "viewkeeper>"]
    assert capsys.readouterr().out == '{"ItemID": 1}\n'


def test_parameters_hold_for_every_statement(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session(shop, "INSERT INTO Items (ItemID) VALUES (:id);", "SELECT ItemID FROM Items WHERE ItemID = :id;")
    assert capsys.readouterr().out == '{"ItemID": 1}\n'


def test_errors_are_printed_and_the_prompt_goes_on(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session(shop, "SELECT * FROM Nothing; INSERT INTO Items (ItemID) VALUES (1);", "SELECT ItemID FROM Items;")
    printed = capsys.readouterr()
    assert "error[definition.unknown_table]" in printed.err
    assert printed.out == ""


def test_ctrl_c_drops_what_was_typed(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = session(shop, "DELETE FROM", KeyboardInterrupt, "SELECT ItemID FROM Items;")
    assert [prompt.strip() for prompt in prompts] == ["viewkeeper>", "->", "viewkeeper>", "viewkeeper>"]
    assert "error" not in capsys.readouterr().err


def test_q_quits_before_what_follows(shop: Path) -> None:
    assert len(session(shop, "\\q", "SELECT ItemID FROM Items;")) == 1


@pytest.mark.parametrize("command", ["\\d", "\\dt"])
def test_tables_are_listed(command: str, shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session(shop, command)
    out = capsys.readouterr().out
    assert "ItemID BIGINT, Name STRING, Price DECIMAL(10,2)" in out
    assert "docId, tag" in out


def test_a_table_is_described_by_the_statement_that_makes_it(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session(shop, "\\d tags", "\\d nothing")
    printed = capsys.readouterr()
    assert printed.out.startswith("CREATE TABLE Tags (\n  docId BIGINT")
    assert "WITH CARDINALITY (tag, 2);" in printed.out
    assert 'table "nothing" does not exist' in printed.err


def test_views_are_listed_and_described(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    view = "CREATE MATERIALIZED VIEW Counts AS SELECT tag, COUNT(*) AS n FROM Tags GROUP BY tag"
    session(shop, f"{view};", "\\dv", "\\d counts", "\\dt")
    listed, described = capsys.readouterr().out.split("CREATE MATERIALIZED VIEW Counts", 1)
    assert "tag STRING, n BIGINT" in listed
    assert "GROUP BY tag;" in described
    assert "Counts" not in described


def test_anything_else_behind_a_backslash_gives_help(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session(shop, "\\?")
    assert "\\dt" in capsys.readouterr().out


def test_a_real_terminal_gets_a_prompt_and_keeps_its_history(shop: Path, tmp_path: Path) -> None:
    outer, inner = pty.openpty()
    environment = {**ENVIRONMENT, "XDG_STATE_HOME": str(tmp_path / "state")}
    with subprocess.Popen(
        [*PROGRAM, "sql", str(shop)], stdin=inner, stdout=inner, stderr=inner, env=environment
    ) as running:
        os.close(inner)
        os.write(outer, b"SELECT ItemID FROM Items;\n\\q\n")
        shown = b""
        while True:
            try:
                more = os.read(outer, 4096)
            except OSError:
                break
            if not more:
                break
            shown += more
        os.close(outer)
        assert running.wait(timeout=30) == 0
    assert b"viewkeeper>" in shown
    assert b"(0 rows)" in shown
    assert "SELECT ItemID FROM Items;" in (tmp_path / "state" / "viewkeeper" / "history").read_text()

"""How commands end: messages, exit codes, nothing made by accident."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import ENVIRONMENT, PROGRAM, run
from viewkeeper import database
from viewkeeper.cli import query as query_module


@pytest.mark.parametrize(
    "args",
    [["query", "SELECT * FROM T"], ["changes", "T"], ["status"], ["load", "T", "t.csv"]],
    ids=lambda args: args[0],
)
def test_a_database_that_is_not_there_is_not_made(args: list[str], tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    done = run(args[0], gone, *args[1:])
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        f'error[store.not_a_database]: there is no database at "{gone}"',
        f'  hint: Check the path, or make one: viewkeeper sql {gone} -c "CREATE TABLE …".',
    ]
    assert not gone.exists()


def test_an_error_has_code_message_detail_and_hint_and_no_traceback(shop: Path) -> None:
    done = run("query", shop, "SELECT * FROM Nothing")
    first, *rest = done.err.splitlines()
    assert first == 'error[definition.unknown_table]: table "Nothing" does not exist'
    assert [line[:8] for line in rest] == ["  detail", "  hint: "]


@pytest.mark.parametrize("how", ["option", "environment"])
def test_the_traceback_comes_when_it_is_asked_for(how: str, shop: Path) -> None:
    if how == "option":
        done = run("--traceback", "query", shop, "SELECT * FROM Nothing")
    else:
        done = run("query", shop, "SELECT * FROM Nothing", VIEWKEEPER_TRACEBACK="1")
    assert done.code == 1
    assert done.err.startswith("Traceback (most recent call last):")
    assert "error[definition.unknown_table]:" in done.err
    assert "Traceback" not in run("query", shop, "SELECT * FROM Nothing").err


def test_a_mistake_of_ours_is_reported_without_a_traceback(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("ours")

    monkeypatch.setattr(query_module, "print_rows", broken)
    done = run("query", shop, "SELECT * FROM Items")
    assert done.code == 1
    assert done.err.startswith("error[internal]: KeyError: 'ours'\n  hint: This is a mistake in viewkeeper.")


def test_ctrl_c_ends_quietly_with_130(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(query_module, "print_rows", interrupted)
    done = run("query", shop, "SELECT * FROM Items")
    assert (done.code, done.out, done.err) == (130, "", "")


@pytest.mark.parametrize("rows", [0, 20_000])
@pytest.mark.parametrize("format", ["csv", "table"])
def test_a_pipe_that_closes_is_no_error_message(format: str, rows: int, shop: Path) -> None:
    with database.open(shop) as db:
        db.load("Items", [{"ItemID": number, "Name": "x" * 100} for number in range(rows)])
    command = [*PROGRAM, "query", str(shop), "SELECT ItemID, Name FROM Items", "-f", format]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        if rows:
            running.stdout.readline()
        running.stdout.close()
        assert running.wait(timeout=30) == 141
        assert running.stderr.read() == b""


def test_help_lists_the_commands_and_imports_nothing_slow() -> None:
    program = (
        "import sys; from viewkeeper.cli import app; from typer.testing import CliRunner;"
        "out = CliRunner().invoke(app, ['--help']).stdout;"
        "assert all(f' {name} ' in out for name in ('demo', 'sql', 'load', 'query', 'changes', 'status')), out;"
        "sys.exit(any(name in sys.modules for name in ('pyarrow', 'sqlglot', 'pyspark')))"
    )
    done = subprocess.run([sys.executable, "-c", program], env=ENVIRONMENT, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["demo", "sql", "load", "query", "changes", "status"])
def test_every_command_has_help(command: str) -> None:
    assert run(command, "--help").code == 0
    assert run(command, "--no-such-option").code == 2


def test_the_version_is_one_line() -> None:
    done = run("--version")
    assert done.code == 0
    assert done.out.startswith("viewkeeper")
    assert done.out.count("\n") == 1

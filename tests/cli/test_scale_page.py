"""docs/scale-independence.md says what is so: its commands and programs print what stands below them.

Run as a program, this writes what they print into the page.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import viewkeeper as vk
from tests.cli.running import ENVIRONMENT
from tests.repo.tree import ROOT, section
from viewkeeper.analysis.report import MEANS, as_json
from viewkeeper.analysis.verdict import Verdict

PAGE = ROOT / "docs" / "scale-independence.md"
PROGRAM = [sys.executable, "-W", "error", "-c", "import sys; from viewkeeper.cli import main; main()"]
_FENCE = re.compile(r"^```([a-z]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def as_it_is(page: str, folder: Path) -> str:
    """The page with what its commands and programs print now, each run behind those before it."""
    printed = ""

    def fence(match: re.Match[str]) -> str:
        nonlocal printed
        kind, text = match.groups()
        if kind == "sql":
            name = re.match(r"-- (\w+\.sql)\n", text)
            assert name, text
            (folder / name[1]).write_text(text, encoding="utf-8")
        elif kind == "python":
            printed = _run([sys.executable, "-W", "error", "-c", text], folder)[1]
        elif kind == "output":
            text = printed
        elif kind == "console":
            text = "".join(_session(re.findall(r"^\$ (.+)$", text, re.MULTILINE), folder))
        return f"```{kind}\n{text}```"

    return _FENCE.sub(fence, page)


def _session(commands: list[str], folder: Path) -> list[str]:
    found: list[str] = []
    code = 0
    for command in commands:
        if command == "echo $?":
            found.append(f"$ {command}\n{code}\n")
            continue
        program, *args = shlex.split(command)
        assert program == "viewkeeper", command
        code, out = _run([*PROGRAM, *args], folder)
        found.append(f"$ {command}\n{out}")
    return found


def _run(command: list[str], folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert "Traceback" not in done.stdout, done.stdout
    return done.returncode, _normal(done.stdout)


def _normal(text: str) -> str:
    """Latencies and database ids differ from run to run."""
    text = re.sub(r"predicted p50 \S+ ms, p99 \S+ ms", "predicted p50 0.1 ms, p99 0.3 ms", text)
    return re.sub(r", position [0-9a-f]{12}@", ", position 3f9a27c1d0b4@", text)


def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert len(re.findall(r"^\$ viewkeeper", page, re.MULTILINE)) >= 7
    assert as_it_is(page, tmp_path) == page


ITEMS = """
CREATE TABLE Item (id BIGINT PRIMARY KEY, title STRING, subject STRING, price INT) WITH CARDINALITY (TOKENS(title), 9)
"""
INSTEAD = {
    "SELECT id FROM Item WHERE subject = :s": "SELECT id FROM Item WHERE subject = :s LIMIT 10",
    "SELECT id FROM Item WHERE subject = :s LIMIT :n": "SELECT id FROM Item WHERE subject = :s LIMIT :n MAX 50",
    "SELECT title FROM Item WHERE id IN :ids": "SELECT title FROM Item WHERE id IN :ids MAX 20",
    "SELECT id FROM Item WHERE price > :p AND id > :i LIMIT 10": "SELECT id FROM Item WHERE price > :p LIMIT 10",
    "SELECT id FROM Item WHERE price > :p ORDER BY title LIMIT 10": (
        "SELECT id FROM Item WHERE price > :p ORDER BY price LIMIT 10"
    ),
    "SELECT COUNT(*) AS n FROM Item WHERE price > :p": (
        "SELECT COUNT(*) AS n FROM Item WHERE price - price % 10 = :class"
    ),
    "SELECT MEDIAN(price) AS m FROM Item": "SELECT AVG(price) AS a, MIN(price) AS b, MAX(price) AS c FROM Item",
    "SELECT id FROM Item WHERE title LIKE '%' || :w || '%' LIMIT 9": (
        "SELECT id FROM Item WHERE TOKENS(title) = :w LIMIT 9"
    ),
    "SELECT id FROM Item WHERE subject = :s OR price = :p LIMIT 9": "SELECT id FROM Item WHERE price = :p LIMIT 9",
    "SELECT id FROM Item WHERE price + :p = 10 LIMIT 9": "SELECT id FROM Item WHERE price = 10 - :p LIMIT 9",
    "SELECT DISTINCT subject FROM Item": (
        "SELECT subject, COUNT(*) AS n FROM Item GROUP BY subject ORDER BY subject LIMIT 10"
    ),
}


def test_what_is_to_be_written_instead_has_a_bound(tmp_path: Path) -> None:
    rows = re.findall(r"^\| (.+?) \|", section(PAGE, "What has no bound, and what to write instead"), re.MULTILINE)
    assert len(rows) - 1 == len(INSTEAD)
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(ITEMS)
        for bad, good in INSTEAD.items():
            assert (db.explain(bad).level, db.explain(good).level == "unbounded") == ("unbounded", False), bad


def test_words_need_a_limit_and_prefixes_have_no_order(tmp_path: Path) -> None:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(ITEMS + ";" + ITEMS.split(" WITH ", maxsplit=1)[0].replace("Item", "Loose"))
        for table, where, order, bounded in (
            ("Item", "= :word", "ORDER BY title", True),
            ("Item", "LIKE 'wor%'", "", True),
            ("Item", "LIKE :start", "ORDER BY title", False),
            ("Loose", "= :word", "", False),
        ):
            found = db.explain(f"SELECT id FROM {table} WHERE TOKENS(title) {where} {order} LIMIT 10").level
            assert (found != "unbounded") == bounded, (table, where, order, found)


def test_every_level_is_told() -> None:
    rows = re.findall(r"^\| (\S+) \|", section(PAGE, "Four levels"), re.MULTILINE)
    assert rows[1:] == list(MEANS)


def test_every_name_of_a_verdict_is_told() -> None:
    told = section(PAGE, "In CI")
    assert [name for name in as_json(Verdict(level="SI-0")) if f"`{name}`" not in told] == []


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        PAGE.write_text(as_it_is(PAGE.read_text(encoding="utf-8"), Path(made)), encoding="utf-8")
    print(f"{PAGE.name} written")

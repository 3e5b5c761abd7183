"""`viewkeeper advise`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import make, ok, run

SCHEMA = """
CREATE TABLE Documents (docId BIGINT PRIMARY KEY, at TIMESTAMP TEMPORAL, text STRING);
CREATE TABLE Tags (docId BIGINT, tag STRING, votes INT, PRIMARY KEY (docId, tag)) WITH CARDINALITY (tag, 10);
"""
GOOD = """
-- name: tagsOf
-- By its key; and here is a semicolon that ends nothing.
SELECT tag FROM Tags WHERE docId = :doc;

SELECT docId FROM Tags WHERE tag = :tag ORDER BY votes DESC LIMIT 5;
-- name: howMany
SELECT COUNT(*) AS n FROM Tags WHERE tag = :tag
"""
BAD = "-- name: others\nSELECT docId FROM Tags WHERE tag <> :tag;\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    found = {name: tmp_path / f"{name}.sql" for name in ("schema", "good", "bad")}
    for path, text in zip(found.values(), (SCHEMA, GOOD, BAD), strict=True):
        path.write_text(text, encoding="utf-8")
    return found


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return make(tmp_path / "tagged", SCHEMA)


def levels(out: str) -> dict[str, str]:
    """The levels in the table of queries."""
    table = out.split("\n\n", maxsplit=1)[0].splitlines()[1:]
    return {line.split()[0]: line.split()[1] for line in table if not line.startswith(" ")}


def test_files_alone_are_enough(files: dict[str, Path]) -> None:
    out = ok("advise", files["schema"], files["good"])
    assert levels(out) == {"tagsOf": "SI-0", "query_2": "SI-1", "howMany": "SI-2"}
    assert "  CREATE INDEX Tags_by_tag_votes ON Tags (tag, votes DESC);" in out.splitlines()
    assert "  CREATE MATERIALIZED VIEW howManyView KEY (tag) AS " in out
    assert "  Documents: at most 0 reads and 0 writes" in out.splitlines()


def test_a_database_in_front_of_the_files_is_asked(files: dict[str, Path], db: Path) -> None:
    ok("sql", db, "-c", "CREATE INDEX mine ON Tags (tag, votes DESC)")
    out = ok("advise", db, files["good"])
    assert levels(out) == {"tagsOf": "SI-0", "query_2": "SI-1", "howMany": "SI-2"}
    assert "CREATE INDEX" not in out
    assert run("advise", files["good"], db).code == 1


def test_statements_that_create_are_taken_as_run_and_are_not(files: dict[str, Path], db: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.sql"
    more.write_text("CREATE INDEX mine ON Tags (tag, votes DESC);\n", encoding="utf-8")
    ok("sql", db, "-c", "CREATE MATERIALIZED VIEW n AS SELECT tag, COUNT(*) AS n FROM Tags GROUP BY tag")
    out = ok("advise", db, more, files["good"])
    assert "to be created" not in out
    assert [view["view"] for view in json.loads(ok("status", db, "--json"))["views"]] == ["n"]


def test_standard_input_is_a_file(files: dict[str, Path]) -> None:
    done = run("advise", files["schema"], "-", text=GOOD)
    assert (done.code, list(levels(done.out))) == (0, ["tagsOf", "query_2", "howMany"])


def test_a_query_without_a_bound_is_an_exit_code_and_told_why(files: dict[str, Path]) -> None:
    done = run("advise", files["schema"], files["good"], files["bad"])
    assert (done.code, done.err) == (1, "")
    assert levels(done.out)["others"] == "unbounded"
    assert "\n\nothers is unbounded: " in done.out


def test_what_would_bound_it_is_told(files: dict[str, Path], tmp_path: Path) -> None:
    bad = tmp_path / "more.sql"
    bad.write_text("-- name: ofTag\nSELECT docId, votes FROM Tags WHERE tag = :tag;\n", encoding="utf-8")
    out = run("advise", files["schema"], bad).out
    found = json.loads(run("advise", files["schema"], bad, "--json").out)["queries"][0]["verdict"]["suggestions"]
    assert found
    for one in found:
        assert f"    {one['text']} ({one['level']})" in out


def test_a_query_that_cannot_be_read_is_told_of_beside_the_others(files: dict[str, Path], tmp_path: Path) -> None:
    bad = tmp_path / "wrong.sql"
    bad.write_text("-- name: wrong\nSELECT nothing FROM Tags;\n", encoding="utf-8")
    done = run("advise", files["schema"], files["good"], bad)
    assert done.code == 1
    assert levels(done.out) == {"tagsOf": "SI-0", "query_2": "SI-1", "howMany": "SI-2", "wrong": "refused"}
    assert 'wrong is refused: column "nothing" is not in "Tags"' in done.out


def test_an_slo_that_is_missed_is_an_exit_code(files: dict[str, Path]) -> None:
    hit = run("advise", files["schema"], files["good"], "--slo", "1h")
    miss = run("advise", files["schema"], files["good"], "--slo", "0.000001ms")
    assert (hit.code, miss.code) == (0, 1)
    assert hit.out.splitlines()[0].split()[:6] == ["query", "level", "operations", "rows", "p99", "ms"]
    assert "\n\nhowMany is too slow: predicted p50 " in miss.out


def test_lines_of_prose_fit_a_terminal(files: dict[str, Path]) -> None:
    out = run("advise", files["schema"], files["good"], files["bad"], "--slo", "0.000001ms").out
    prose = out.split("to be created:")[0].splitlines()
    assert max(map(len, prose)) <= 80
    assert "\x1b" not in out


def test_apply_creates_what_is_needed_and_then_nothing_is(files: dict[str, Path], db: Path) -> None:
    done = run("advise", db, files["good"], "--apply", "--maintain", "SYNC")
    assert done.code == 0
    assert [line.split()[0] for line in done.err.splitlines()] == ["1/2", "2/2"]
    views = json.loads(ok("status", db, "--json"))["views"]
    assert [(view["view"], view["mode"]) for view in views] == [("howManyView", "SYNC"), ("Tags_by_tag_votes", "SYNC")]
    again = run("advise", db, files["good"], "--apply")
    assert (again.code, again.err) == (0, "")
    assert "to be created" not in again.out
    ok("sql", db, "-c", "INSERT INTO Tags (docId, tag, votes) VALUES (1, 'a', 1)")
    assert ok("query", db, "SELECT COUNT(*) AS n FROM Tags WHERE tag = 'a'", "-f", "json") == '{"n": 1}\n'


def test_the_mode_is_in_the_statements(files: dict[str, Path]) -> None:
    out = ok("advise", files["schema"], files["good"], "--maintain", "SYNC")
    assert "  CREATE INDEX Tags_by_tag_votes ON Tags (tag, votes DESC) MAINTAIN SYNC;" in out.splitlines()


def test_json_is_one_object(files: dict[str, Path]) -> None:
    done = run("advise", files["schema"], files["good"], files["bad"], "--json")
    found = json.loads(done.out)
    assert done.code == 1
    assert list(found) == ["good", "slo_ms", "queries", "tables", "ddl", "levels"]
    assert [(one["name"], one["level"], one["good"]) for one in found["queries"]] == [
        ("tagsOf", "SI-0", True),
        ("query_2", "SI-1", True),
        ("howMany", "SI-2", True),
        ("others", "unbounded", False),
    ]
    assert found["queries"][0]["verdict"]["operations_max"] == 1
    assert set(found["tables"]["Tags"]) == {"reads", "writes", "new_reads", "new_writes"}
    assert found["ddl"] == [text for one in found["queries"] for text in one["verdict"]["needs"]]
    assert found["levels"]["execution"] == {"SI-0": "I", "SI-1": "D", "SI-2": "D"}


def test_levels_are_a_table(files: dict[str, Path]) -> None:
    lines = ok("advise", files["schema"], files["good"], "--levels").splitlines()
    assert [line.split() for line in lines[:2]] == [["SI-0", "SI-1", "SI-2"], ["queries", "1", "1", "1"]]
    assert lines[3].split() == ["execution", "with", "indexes", "-", "I", "D"]


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("schema", "--apply"),
        ("schema", "--levels", "--json"),
        ("db",),
        ("db", "schema", "--apply"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(args: tuple[str, ...], files: dict[str, Path], db: Path) -> None:
    known = {**files, "db": db}
    done = run("advise", *(known.get(arg, arg) for arg in args))
    assert (done.code, done.out) == (2, "")


def test_files_have_queries_and_what_they_read_and_nothing_else(files: dict[str, Path], tmp_path: Path) -> None:
    other = tmp_path / "other.sql"
    other.write_text("\n\nDELETE FROM Tags WHERE docId = 1;\n", encoding="utf-8")
    done = run("advise", files["schema"], other)
    assert (done.code, done.out) == (1, "")
    assert f'"{other}" line 3: DELETE in a file of queries' in done.err


def test_two_queries_of_one_name_are_refused(files: dict[str, Path]) -> None:
    done = run("advise", files["schema"], files["bad"], files["bad"])
    assert (done.code, done.out) == (1, "")
    assert "two queries are called others" in done.err


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    done = run("advise", tmp_path / "none.sql")
    assert (done.code, done.out) == (1, "")
    assert 'none.sql" cannot be read: ' in done.err

"""`viewkeeper advise`."""

from __future__ import annotations

import json
import pkgutil
import re
from pathlib import Path
from typing import Any

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
    assert "  Tags: at most 4 reads and 4 writes, all new" in out.splitlines()
    assert "Documents" not in out


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
    assert "\n\nothers is unbounded" in done.out
    assert f"others is unbounded ({files['bad']}:2): " in " ".join(done.out.split())


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
    assert f'wrong is refused ({bad}:2): column "nothing" is not in "Tags"' in " ".join(done.out.split())


def test_an_slo_that_is_missed_is_an_exit_code(files: dict[str, Path]) -> None:
    hit = run("advise", files["schema"], files["good"], "--slo", "1h")
    miss = run("advise", files["schema"], files["good"], "--slo", "0.000001ms")
    assert (hit.code, miss.code) == (0, 1)
    assert hit.out.splitlines()[0].split()[:6] == ["query", "level", "operations", "rows", "p99", "ms"]
    assert f"howMany is too slow ({files['good']}:8): predicted p50 " in " ".join(miss.out.split())


def table(out: str) -> dict[str, list[str]]:
    """The cells of the table of queries that are not blank, by the first."""
    rows = [re.split(r"  +", line) for line in out.split("\n\n", maxsplit=1)[0].splitlines()]
    return {row[0]: row[1:] for row in rows}


def test_each_query_tells_what_is_stored_for_it_and_what_it_costs(files: dict[str, Path]) -> None:
    shared = f"{GOOD};\n-- name: again\nSELECT docId FROM Tags WHERE tag = :tag ORDER BY votes DESC LIMIT 2"
    files["good"].write_text(shared, encoding="utf-8")
    out = ok("advise", files["schema"], files["good"])
    assert table(out) == {
        "query": ["level", "operations", "rows", "stored", "cost of a changed row"],
        "tagsOf": ["SI-0", "1", "10"],
        "query_2": ["SI-1", "1", "5", "1 × Tags", "Tags 2 r 2 w *"],
        "howMany": ["SI-2", "1", "1", "1 × Tags", "Tags 2 r 2 w *"],
        "again": ["SI-1", "1", "2", "1 × Tags", "Tags 2 r 2 w *"],
    }
    assert "  Tags: at most 4 reads and 4 writes, all new" in out.splitlines()


def test_what_is_there_costs_as_much_as_what_was_new(files: dict[str, Path], db: Path) -> None:
    before = ok("advise", db, files["good"])
    ok("sql", db, "-c", "CREATE INDEX mine ON Tags (tag, votes DESC)")
    half = ok("advise", db, files["good"])
    assert table(half)["query_2"][-1] == "Tags 2 r 2 w"
    assert table(half)["howMany"][-1] == "Tags 2 r 2 w *"
    assert "  Tags: at most 4 reads and 4 writes, 2 and 2 new" in half.splitlines()
    assert run("advise", db, files["good"], "--apply").code == 0
    after = ok("advise", db, files["good"])
    assert table(after) == {name: [cell.removesuffix(" *") for cell in row] for name, row in table(before).items()}
    assert "*" not in after.split("to be created")[0]
    assert "  Tags: at most 4 reads and 4 writes" in after.splitlines()


def test_of_a_query_over_what_is_there_and_what_is_not_the_new_part_is_told(files: dict[str, Path], db: Path) -> None:
    ok("sql", db, "-c", "CREATE MATERIALIZED VIEW n AS SELECT tag, COUNT(*) AS n FROM Tags GROUP BY tag")
    files["good"].write_text("-- name: top\nSELECT tag, n FROM n ORDER BY n DESC LIMIT 3", encoding="utf-8")
    out = ok("advise", db, files["good"])
    assert table(out)["top"][-1] == "Tags 6 r 6 w, 4 r 4 w *"
    [found] = json.loads(ok("advise", db, files["good"], "--json"))["queries"]
    assert found["costs"] == {"Tags": {"reads": 6, "writes": 6, "new_reads": 4, "new_writes": 4}}


def test_the_legend_has_what_occurs(files: dict[str, Path], db: Path) -> None:
    whole = ok("advise", files["schema"], files["good"]).split("\n\n")[1]
    assert " ".join(whole.split()) == (
        "SI-0: by primary keys; SI-1: with indexes; SI-2: with views kept up to date at a bounded cost r, w: reads and"
        " writes of indexes and views for a changed row; *: not there yet What queries share is counted in each of"
        " them, and once in the totals below."
    )
    files["good"].write_text("SELECT tag FROM Tags WHERE docId = :doc", encoding="utf-8")
    assert ok("advise", db, files["good"]).split("\n\n")[1] == "SI-0: by primary keys\n"
    assert "unbounded: the work grows with the data" in run("advise", db, files["bad"]).out.splitlines()


def test_only_a_missed_slo_is_marked(files: dict[str, Path], db: Path) -> None:
    view = "CREATE MATERIALIZED VIEW pairs AS SELECT a.docId AS x, b.docId AS y FROM Tags a, Tags b WHERE a.tag = b.tag"
    assert run("sql", db, "-c", view).code == 0
    files["good"].write_text("-- name: pairs\nSELECT y FROM pairs WHERE x = 1 LIMIT 3", encoding="utf-8")
    out = run("advise", db, files["good"], "--slo", "1h").out
    assert table(out)["pairs"][0] == "unbounded"
    assert "any number of r and w" in out
    assert "!" not in out
    missed = run("advise", db, files["good"], "--slo", "0.000001ms").out
    assert "!" in table(missed)["pairs"][3]
    assert "!: slower than asked for" in missed.splitlines()


def test_lines_of_prose_fit_a_terminal(files: dict[str, Path], here: Path) -> None:
    out = run("advise", *(files[name].relative_to(here) for name in files), "--slo", "0.000001ms").out
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


def test_apply_goes_on_where_something_cannot_be_in_the_mode(files: dict[str, Path], db: Path) -> None:
    ok("sql", db, "-c", "CREATE MATERIALIZED VIEW n AS SELECT tag, COUNT(*) AS n FROM Tags GROUP BY tag")
    files["good"].write_text(f"SELECT tag, n FROM n ORDER BY n DESC LIMIT 3;{GOOD}", encoding="utf-8")
    done = run("advise", db, files["good"], "--apply", "--maintain", "SYNC")
    assert done.code == 0, done.err
    assert 'index "n_by_n" cannot be SYNC over view "n", which is DEFERRED' in done.out
    assert "to be created" not in ok("advise", db, files["good"])


def test_the_mode_is_in_the_statements(files: dict[str, Path]) -> None:
    out = ok("advise", files["schema"], files["good"], "--maintain", "SYNC")
    assert "  CREATE INDEX Tags_by_tag_votes ON Tags (tag, votes DESC) MAINTAIN SYNC;" in out.splitlines()


def test_json_is_one_object(files: dict[str, Path]) -> None:
    done = run("advise", files["schema"], files["good"], files["bad"], "--json")
    found = json.loads(done.out)
    assert done.code == 1
    assert list(found) == ["good", "slo_ms", "queries", "tables", "ddl", "notes", "levels"]
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


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the program runs, so that names of files are short."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("text", ["", "-- nothing\n", "CREATE TABLE t (a INT PRIMARY KEY);"])
def test_files_without_a_query_are_a_usage_error(text: str, here: Path) -> None:
    (here / "a.sql").write_text(text, encoding="utf-8")
    (here / "b.sql").write_text("", encoding="utf-8")
    done = run("advise", "a.sql", "b.sql", "--json")
    assert (done.code, done.out) == (2, "")
    assert "no query was found in a.sql, b.sql" in done.err


def flat(printed: str) -> str:
    """Without the frame around a usage error."""
    return " ".join(printed.replace("│", "").split())


@pytest.mark.parametrize(
    "mode", ["FOO", "", "SYNC x", "SYNC; DROP TABLE t", "EVERY", "SYNC AS SELECT 1", "EVERY 1 MILLISECOND"]
)
def test_a_mode_that_there_is_not_is_a_usage_error(mode: str, files: dict[str, Path]) -> None:
    done = run("advise", files["schema"], files["good"], "--maintain", mode)
    assert (done.code, done.out) == (2, "")
    assert "The modes are DEFERRED, SYNC, LAZY, LOCAL and EVERY n unit, such as" in flat(done.err)


def test_periodic_is_refused_before_anything_is_made(files: dict[str, Path], db: Path) -> None:
    done = run("advise", db, files["good"], "--apply", "--maintain", "PERIODIC 90 SECONDS")
    assert (done.code, done.out) == (2, "")
    assert "--maintain: PERIODIC 90 SECONDS is no mode for what queries need." in flat(done.err)
    assert "Write EVERY 90 SECONDS." in flat(done.err)
    assert json.loads(ok("status", db, "--json"))["views"] == []


@pytest.mark.parametrize("broken", ["viewkeeper.analysis.advice.analyse_within", "viewkeeper.read.advising.query_of"])
def test_a_mistake_of_ours_ends_one_query_and_not_the_others(
    broken: str, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, place = pkgutil.resolve_name(broken), broken.rpartition(".")
    calls: list[object] = []

    def fails_once(*args: Any, **named: Any) -> Any:
        calls.append(args)
        if len(calls) % 3 == 2:
            raise KeyError("ours")
        return whole(*args, **named)

    monkeypatch.setattr(pkgutil.resolve_name(place[0]), place[2], fails_once)
    done = run("advise", files["schema"], files["good"])
    assert (done.code, done.err) == (1, "")
    assert levels(done.out) == {"tagsOf": "SI-0", "query_2": "refused", "howMany": "SI-2"}
    assert "query_2 is refused (" in flat(done.out)
    assert "error[internal]: KeyError: 'ours' hint: This is a mistake in viewkeeper. Run it with" in flat(done.out)
    calls.clear()
    asked = run("--traceback", "advise", files["schema"], files["good"], "--json")
    assert asked.err.startswith("Traceback (most recent call last):")
    found = json.loads(asked.out)
    assert (asked.code, found["good"], found["queries"][1]["good"]) == (1, False, False)
    assert found["queries"][1]["error"].startswith("error[internal]: KeyError: 'ours'")


def test_other_statements_are_refused_one_by_one_and_the_rest_is_analysed(files: dict[str, Path], here: Path) -> None:
    other = "\n\nDELETE FROM Tags WHERE docId = 1;\n-- name: changed\nUPDATE Tags SET votes = 1 WHERE docId = 1;\n"
    (here / "other.sql").write_text(
        f"{other}EXPLAIN SELECT tag FROM Tags;\nSELEC tag FROM Tags;{GOOD}", encoding="utf-8"
    )
    done = run("advise", files["schema"], "other.sql")
    assert (done.code, done.err) == (1, "")
    refused = dict.fromkeys(["query_1", "changed", "query_3", "query_4"], "refused")
    assert levels(done.out) == {**refused, "tagsOf": "SI-0", "query_6": "SI-1", "howMany": "SI-2"}
    told = "is not analysed: advise reads SELECT, and CREATE statements of what they read"
    flat = " ".join(done.out.split())
    assert f"query_1 is refused (other.sql:3): DELETE {told}" in flat
    assert f"changed is refused (other.sql:5): UPDATE {told}" in flat
    assert f"query_3 is refused (other.sql:6): EXPLAIN {told}" in flat
    assert 'query_4 is refused (other.sql:7): syntax error at line 7, column 1: unexpected "SELEC"' in flat


def test_json_has_what_is_refused_in_its_place(files: dict[str, Path], here: Path) -> None:
    (here / "other.sql").write_text("DROP TABLE Tags;\n  SELECT tag FROM Tags WHERE docId = 1", encoding="utf-8")
    done = run("advise", files["schema"], "other.sql", "--json")
    first, second = json.loads(done.out)["queries"]
    assert (done.code, first["level"], first["verdict"]) == (1, "refused", None)
    assert first["error"].startswith("DROP is not analysed: ")
    assert (first["sql"], first["where"]) == ("DROP TABLE Tags", "other.sql:1")
    assert (second["sql"], second["where"]) == ("SELECT tag FROM Tags WHERE docId = 1", "other.sql:2")


def test_a_syntax_error_is_shown_where_it_stands_in_the_file(files: dict[str, Path], here: Path) -> None:
    text = "SELECT 1;\n\n  -- name: wrong\n  SELECT tag,    votes\n  FROM Tags WHERE    docId == AND   tag = :tag;\n"
    (here / "wrong.sql").write_text(text, encoding="utf-8")
    out = run("advise", files["schema"], "wrong.sql").out
    assert "wrong is refused (wrong.sql:4): syntax error at line 5, column 31: " in " ".join(out.split())
    lines = out.splitlines()
    place = next(number for number, line in enumerate(lines) if line.strip() == "^")
    assert lines[place - 1].strip() == "FROM Tags WHERE    docId == AND   tag = :tag;".rstrip(";")
    assert lines[place - 1][lines[place].index("^") :].startswith("AND")


def test_an_error_of_a_definition_is_told_with_its_place(files: dict[str, Path], here: Path) -> None:
    (here / "schema.sql").write_text(
        "CREATE TABLE a (b INT PRIMARY KEY);\nCREATE TABLE c (\n  d WORD)", encoding="utf-8"
    )
    done = run("advise", "schema.sql", files["good"])
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error[sql.")
    assert "schema.sql:2: " in done.err
    assert "line 3, column 5" in done.err


def test_what_is_defined_twice_is_told_where(here: Path, db: Path) -> None:
    (here / "one.sql").write_text("\nCREATE TABLE Things (a INT PRIMARY KEY);", encoding="utf-8")
    (here / "two.sql").write_text("CREATE TABLE things (a INT PRIMARY KEY); SELECT a FROM things", encoding="utf-8")
    done = run("advise", "one.sql", "two.sql")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith('error[definition.table_exists]: two.sql:1: table "things" exists already')
    assert "It is defined twice in the files, first at one.sql:2." in done.err
    (here / "tags.sql").write_text("CREATE TABLE Tags (a INT PRIMARY KEY); SELECT a FROM Tags", encoding="utf-8")
    done = run("advise", db, "tags.sql")
    assert "The database has it, and the files define it, too." in done.err


@pytest.mark.parametrize("name", ["my query", "", "two-tags", "2tags", "x :one"])
def test_a_name_is_one_word(name: str, here: Path) -> None:
    (here / "a.sql").write_text(f"\n-- name: {name}\nSELECT tag FROM Tags;\n", encoding="utf-8")
    done = run("advise", "a.sql")
    assert (done.code, done.out) == (1, "")
    assert f'a.sql:2: "{name}" cannot be the name of a query' in done.err
    assert "A name is one word of letters, digits and _" in done.err


def test_two_queries_of_one_name_are_refused(files: dict[str, Path]) -> None:
    done = run("advise", files["schema"], files["bad"], files["bad"])
    assert (done.code, done.out) == (1, "")
    assert f"{files['bad']}:2: two queries are called others, the other at {files['bad']}:2" in done.err


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    done = run("advise", tmp_path / "none.sql")
    assert (done.code, done.out) == (1, "")
    assert 'none.sql" cannot be read: ' in done.err

"""`viewkeeper query`."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import ok, run


def test_rows_of_a_select_with_parameters(shop: Path) -> None:
    ok("sql", shop, "-c", "INSERT INTO Tags (docId, tag) VALUES (1, 'a'), (1, 'b'), (2, 'a')")
    select = "SELECT tag FROM Tags WHERE docId = :doc AND tag = :tag"
    assert run("query", shop, select, "-p", "doc=1", "-p", "tag=b", "-f", "json").rows == [{"tag": "b"}]


def test_a_query_that_writes_is_refused_and_writes_nothing(shop: Path) -> None:
    done = run("query", shop, "INSERT INTO Tags (docId, tag) VALUES (1, 'a')")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error[sql.unsupported]:")
    assert ok("query", shop, "SELECT * FROM Tags", "-f", "json") == ""


def test_a_syntax_error_shows_the_place(shop: Path) -> None:
    done = run("query", shop, "SELECT FROM Items")
    assert done.code == 1
    assert done.err.startswith("error[sql.syntax]: ")
    assert "line 1, column 8" in done.err


def test_an_unknown_format_is_a_usage_error(shop: Path) -> None:
    done = run("query", shop, "SELECT * FROM Items", "--format", "xml")
    assert done.code == 2
    assert "xml" in done.err


def test_views_are_queried_like_tables(shop: Path) -> None:
    ok("sql", shop, "-c", "INSERT INTO Tags (docId, tag) VALUES (1, 'a'), (2, 'a')")
    ok("sql", shop, "-c", "CREATE MATERIALIZED VIEW Counts AS SELECT tag, COUNT(*) AS n FROM Tags GROUP BY tag")
    select = "SELECT n FROM Counts WHERE tag = :wait"
    assert ok("query", shop, select, "-p", "wait=a", "-f", "json") == '{"n": 2}\n'
    assert ok("sql", shop, "-c", select, "-p", "wait=a", "-f", "json") == '{"n": 2}\n'


def test_what_helps_a_query_without_a_bound_is_told_as_commands(shop: Path) -> None:
    # Once an index would do, once nothing that is known.
    for select in (
        "SELECT docId FROM Tags WHERE tag = :t ORDER BY docId DESC LIMIT 3",
        "SELECT docId FROM Tags WHERE tag <> :t",
    ):
        for command in (("query", shop, select), ("sql", shop, "-c", select)):
            done = run(*command, "-p", "t=a")
            assert (done.code, done.out) == (1, "")
            assert "viewkeeper query --allow-scan reads all rows." in done.err
            assert ("viewkeeper advise DB FILE --apply" in done.err) == ("LIMIT" in select)
            assert "allow_scan" not in done.err
            assert "db.prepare" not in done.err


def test_all_rows_are_read_only_where_that_is_allowed(shop: Path) -> None:
    ok("sql", shop, "-c", "INSERT INTO Tags (docId, tag) VALUES (1, 'a'), (2, 'b')")
    done = run("query", shop, "SELECT docId FROM Tags WHERE tag = 'b'")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error[sql.unsupported.unbounded]:")
    taken = run("query", shop, "SELECT docId FROM Tags WHERE docId > :wait", "--allow-scan", "-p", "wait=1")
    assert (taken.code, "no parameter is called :wait" in taken.err) == (1, True)
    scan = ("query", shop, "SELECT tag FROM Tags WHERE docId > :doc", "--allow-scan", "-p", "doc=1", "-f", "json")
    assert ok(*scan) == '{"tag": "b"}\n'

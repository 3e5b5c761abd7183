"""`viewkeeper explain`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.running import ok, run

VIEW = "CREATE MATERIALIZED VIEW Counts AS SELECT tag, COUNT(*) AS n FROM Tags GROUP BY tag"
BY_KEY = "SELECT tag FROM Tags WHERE docId = :doc"
BY_INDEX = "SELECT docId FROM Tags WHERE tag = :tag ORDER BY docId DESC LIMIT 3"
COUNT = "SELECT COUNT(*) AS n FROM Tags WHERE tag = :tag"
UNBOUNDED = "SELECT docId FROM Tags WHERE tag <> :tag"


def test_a_query_is_told_its_level_bounds_and_plan(shop: Path) -> None:
    lines = ok("explain", shop, BY_KEY).splitlines()
    assert lines[0] == "level: SI-0, answered by primary keys"
    assert "reads: at most 1 operation and 2 rows per execution" in lines
    assert "  1. index scan Tags (docId = :doc): 1 operation, 2 rows" in lines


def test_what_is_needed_is_called_after_the_name(shop: Path) -> None:
    assert "  CREATE MATERIALIZED VIEW HowManyView KEY (tag) AS " in ok("explain", shop, COUNT, "--name", "HowMany")


def test_nothing_is_made(shop: Path) -> None:
    ok("explain", shop, COUNT)
    ok("explain", shop, VIEW)
    assert json.loads(ok("status", shop, "--json"))["views"] == []


def test_a_view_that_is_there_is_told_how_it_is_maintained(shop: Path) -> None:
    ok("sql", shop, "-c", VIEW)
    out = ok("explain", shop, "counts")
    verdict, _, rest = out.partition("\n\n")
    assert rest.startswith('view "Counts", stored by (tag)')
    assert verdict.splitlines()[:4] == [
        "level: SI-2, answered from views that are maintained at a bounded cost",
        "storage: at most 1 × Tags",
        "each changed row costs, over all indexes and views of its table:",
        "  Tags: at most 2 reads and 2 writes, all of this view",
    ]
    assert "  Counts, for a row of Tags (at most 1 read and 2 rows):" in verdict.splitlines()


def test_a_view_that_is_there_is_told_as_its_statement_was_and_beside_others(shop: Path) -> None:
    before = json.loads(ok("explain", shop, VIEW, "--json"))
    ok("sql", shop, "-c", VIEW)
    ok("sql", shop, "-c", "CREATE INDEX byTag ON Tags (tag)")
    found = json.loads(ok("explain", shop, "Counts", "--json"))
    assert found["view"] == "Counts"
    assert found["costs"] == {"Tags": {"reads": 2, "writes": 2}}
    assert found["verdict"]["maintenance"] == {"Tags": {"reads": 4, "writes": 4, "new_reads": 0, "new_writes": 0}}
    assert {**found["verdict"], "maintenance": before["maintenance"]} == before
    assert "  Tags: at most 4 reads and 4 writes, 2 and 2 of this index" in ok("explain", shop, "byTag").splitlines()


def test_a_view_without_a_bound_is_told_why(shop: Path) -> None:
    run(
        "sql",
        shop,
        "-c",
        "CREATE VIEW pairs AS SELECT a.docId AS x, b.docId AS y FROM Tags a, Tags b WHERE a.tag = b.tag",
    )
    lines = ok("explain", shop, "pairs").splitlines()
    assert lines[0] == "level: unbounded, the work grows with the data"
    assert lines[1].startswith('reason: View "pairs" has no bound on its maintenance.')
    assert "  Tags: any number of reads and writes" in lines


def test_the_name_of_no_view_is_an_error(shop: Path) -> None:
    done = run("explain", shop, "Nothing")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error[definition.unknown_")


def test_json_has_every_name_for_every_verdict(shop: Path) -> None:
    found = [json.loads(ok("explain", shop, sql, "--json")) for sql in (BY_KEY, BY_INDEX, COUNT, UNBOUNDED)]
    assert [one["level"] for one in found] == ["SI-0", "SI-1", "SI-2", "unbounded"]
    assert len({tuple(one) for one in found}) == 1
    assert found[0]["operations_max"] == 1
    assert found[0]["storage"] is None
    assert found[1]["needs"] == ["CREATE INDEX Tags_by_tag_docId ON Tags (tag, docId DESC)"]
    assert found[2]["storage"] == {"factor": 1, "table": "Tags"}
    new = found[2]["maintenance"]["Tags"]
    assert new["new_writes"] == new["writes"] > 0
    assert (found[3]["operations_max"], found[3]["reason"] != "") == (None, True)


def test_a_miss_of_the_slo_is_an_exit_code(shop: Path) -> None:
    hit, miss = run("explain", shop, BY_KEY, "--slo", "1h"), run("explain", shop, BY_KEY, "--slo", "0.000001ms")
    assert (hit.code, miss.code) == (0, 1)
    assert "latency: predicted p50 " in hit.out
    assert "asked for: 1e-06 ms" in miss.out
    assert json.loads(run("explain", shop, BY_KEY, "--slo", "1h", "--json").out)["meets_slo"] is True


def test_what_has_no_bound_misses_every_slo_and_is_told_without_one(shop: Path) -> None:
    assert run("explain", shop, UNBOUNDED).code == 0
    assert run("explain", shop, UNBOUNDED, "--slo", "1h").code == 1


def test_options_of_a_query_are_refused_for_a_view(shop: Path) -> None:
    ok("sql", shop, "-c", VIEW)
    assert run("explain", shop, "Counts", "--slo", "1ms").code == 2
    assert run("explain", shop, "Counts", "--name", "x").code == 2


def test_an_slo_that_is_no_time_is_an_error(shop: Path) -> None:
    done = run("explain", shop, BY_KEY, "--slo", "soon")
    assert (done.code, done.out) == (1, "")
    assert "'soon' is not a duration" in done.err

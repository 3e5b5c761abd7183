"""Advice on several queries: what they share, what each adds, what is left out again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.repo.tree import ROOT
from viewkeeper.analysis.advice import Advice, table_one
from viewkeeper.analysis.latency import Samples
from viewkeeper.read import latency

TABLES = """
CREATE TABLE Documents (docId BIGINT PRIMARY KEY, timestamp TIMESTAMP TEMPORAL, text STRING);
CREATE TABLE Tags (docId BIGINT, tag STRING, timestamp TIMESTAMP TEMPORAL, votes INT, PRIMARY KEY (docId, tag))
  WITH CARDINALITY (tag, 10);
"""
NEWEST = "SELECT docId FROM Tags WHERE tag = :tag ORDER BY timestamp DESC LIMIT 10"
SOME = "SELECT docId FROM Tags WHERE tag = :tag LIMIT 10"
TWO = """SELECT t1.docId FROM Tags t1, Tags t2, Documents d
WHERE t1.docId = t2.docId AND t1.docId = d.docId AND t1.tag = :a AND t2.tag = :b ORDER BY d.timestamp DESC LIMIT 5"""
COUNT = "SELECT COUNT(*) AS n FROM Tags WHERE tag = :tag"
OLDEST = "SELECT docId FROM Tags WHERE votes > :votes AND tag <> :tag"


@pytest.fixture(autouse=True)
def same_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the machine does, reads take this long."""
    samples = Samples(query=[0.05], get=[0.002], range=[0.02], row=[0.001])
    monkeypatch.setattr(latency, "_known", [samples])


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as opened:
        opened.execute(TABLES)
        yield opened


def names(advice: Advice) -> list[str]:
    """What is to be created, by name."""
    return [text.split(" VIEW ")[-1].split("INDEX ")[-1].split()[0] for text in advice.ddl]


def test_a_second_query_uses_what_the_first_one_needs(db: vk.Database) -> None:
    advice = db.advise({"one": NEWEST, "again": NEWEST.replace("LIMIT 10", "LIMIT 3")})
    assert names(advice) == ["Tags_by_tag_timestamp"]
    first, second = (one.verdict for one in advice.queries)
    assert first is not None
    assert second is not None
    assert (len(first.needs), first.added) == (1, db.explain(NEWEST).added)
    assert (second.needs, second.added, second.uses) == ((), {}, ("Tags_by_tag_timestamp",))
    assert second.maintenance == first.added


def test_an_index_that_another_one_begins_with_is_left_out(db: vk.Database) -> None:
    alone = db.advise({"some": SOME})
    assert names(alone) == ["Tags_by_tag"]
    both = db.advise({"some": SOME, "newest": NEWEST})
    assert names(both) == ["Tags_by_tag_timestamp"]
    assert [one.level for one in both.queries] == ["SI-1", "SI-1"]
    assert both.tables["Tags"].writes == alone.tables["Tags"].writes
    some, newest = (one.verdict for one in both.queries)
    assert some is not None
    assert newest is not None
    assert (some.uses, len(some.needs), newest.needs) == (("Tags_by_tag_timestamp",), 1, ())


def test_totals_are_over_all_queries_and_what_exists(db: vk.Database) -> None:
    before = [db.explain(query).added for query in (NEWEST, TWO, COUNT)]
    db.execute("CREATE INDEX byVotes ON Tags (votes)")
    there = db.explain("SELECT tag FROM Tags WHERE docId = :d").maintenance["Tags"]
    advice = db.advise({"newest": NEWEST, "two": TWO, "count": COUNT})
    cost = advice.tables["Tags"]
    new = tuple(sum(one["Tags"][part] for one in before) for part in (0, 1))
    assert there > (0, 0)
    assert (cost.new_reads, cost.new_writes) == new
    assert (cost.reads, cost.writes) == (new[0] + there[0], new[1] + there[1])
    assert advice.tables["Documents"].writes == before[1]["Documents"][1]
    for one in advice.queries:
        assert one.verdict is not None
        assert one.verdict.maintenance["Tags"] == (cost.reads, cost.writes)


def test_what_was_advised_is_enough_and_costs_as_much_as_was_said(db: vk.Database) -> None:
    queries = {"some": SOME, "newest": NEWEST, "two": TWO, "count": COUNT}
    advice = db.advise(queries)
    for text in advice.ddl:
        db.execute(text)
    again = db.advise(queries)
    assert again.ddl == ()
    assert [one.level for one in again.queries] == [one.level for one in advice.queries]
    for table, cost in again.tables.items():
        before = advice.tables[table]
        assert (cost.reads, cost.writes) == (before.reads, before.writes)
        assert (cost.new_reads, cost.new_writes) == (0, 0)


def test_a_text_that_is_no_query_is_told_of_and_the_others_go_on(db: vk.Database) -> None:
    advice = db.advise({"bad": "SELECT nothing FROM Tags", "two": "SELECT 1; SELECT 2", "good": NEWEST})
    assert [one.level for one in advice.queries] == ["refused", "refused", "SI-1"]
    assert 'column "nothing" is not in "Tags"' in advice.queries[0].error
    assert not advice.is_good
    assert len(advice.ddl) == 1


def test_an_unbounded_query_is_not_good(db: vk.Database) -> None:
    advice = db.advise({"old": OLDEST, "newest": NEWEST})
    assert [(one.level, one.is_good) for one in advice.queries] == [("unbounded", False), ("SI-1", True)]
    assert not advice.is_good


def test_a_query_that_is_too_slow_is_not_good(db: vk.Database) -> None:
    slow = db.advise({"newest": NEWEST}, slo=1e-6)
    fast = db.advise({"newest": NEWEST}, slo="1h")
    assert (slow.is_good, fast.is_good) == (False, True)
    assert slow.queries[0].level == "SI-1"


def test_every_invariant_is_told_by_level(db: vk.Database) -> None:
    advice = db.advise({"key": "SELECT tag FROM Tags WHERE docId = :d", "newest": NEWEST, "two": TWO, "old": OLDEST})
    assert table_one(advice) == {
        "execution": {"SI-0": "I", "SI-1": "D", "SI-2": "D"},
        "execution with indexes": {"SI-0": "-", "SI-1": "I", "SI-2": "D"},
        "update of views": {"SI-0": "-", "SI-1": "-", "SI-2": "I"},
        "storage of views": {"SI-0": "-", "SI-1": "-", "SI-2": "I"},
        "parallel update of views": {"SI-0": "-", "SI-1": "-", "SI-2": "-"},
    }


def test_an_index_has_the_columns_that_are_read_where_that_is_predicted_to_be_faster(db: vk.Database) -> None:
    query = NEWEST.replace("docId", "docId, votes")
    (narrow,) = db.advise({"q": query}).ddl
    (wide,) = db.advise({"q": query}, slo="1h").ddl
    assert wide == f"{narrow} INCLUDE (votes)"
    before, after = db.explain(query), db.explain(query, slo="1h")
    assert (before.operations_max, after.operations_max) == (11, 1)
    assert db.advise({"q": query}, slo=1e-6).ddl == (wide,)
    db.execute("INSERT INTO Tags (docId, tag, votes) VALUES (1, 'a', 7)")
    db.execute(f"{wide} MAINTAIN SYNC")
    rows = db.query(query, tag="a")
    assert (list(rows), rows.meta.operations) == ([{"docId": 1, "votes": 7}], 1)


@pytest.mark.parametrize("folder", ["piql", "tpcw"])
def test_the_table_of_the_paper_comes_out(folder: str, tmp_path: Path) -> None:
    schema, queries = ((ROOT / "examples" / folder / name).read_text() for name in ("schema.sql", "queries.sql"))
    parts = re.split(r"^-- name: (\w+)$", queries, flags=re.MULTILINE)[1:]
    with vk.open(tmp_path / folder, durability="os") as other:
        other.execute(schema)
        advice = other.advise(dict(zip(parts[::2], parts[1::2], strict=True)))
    assert table_one(advice) == {
        "execution": {"SI-0": "I", "SI-1": "D", "SI-2": "D", "SI-3": "D"},
        "execution with indexes": {"SI-0": "-", "SI-1": "I", "SI-2": "D", "SI-3": "D"},
        "update of views": {"SI-0": "-", "SI-1": "-", "SI-2": "I", "SI-3": "D"},
        "storage of views": {"SI-0": "-", "SI-1": "-", "SI-2": "I", "SI-3": "I"},
        "parallel update of views": {"SI-0": "-", "SI-1": "-", "SI-2": "-", "SI-3": "I"},
    }
    assert advice.is_good
    assert len(advice.ddl) == len(set(advice.ddl))


@pytest.mark.parametrize("create", [False, True])
def test_a_mode_that_there_is_not_is_refused_before_anything_is_made(db: vk.Database, create: bool) -> None:
    with pytest.raises(vk.BadParameter, match='"FOO" is no mode in which views are maintained') as caught:
        db.prepare(NEWEST, create=create, maintain="FOO")
    assert caught.value.hint.startswith("The modes are DEFERRED, SYNC, ")
    assert list(db.views()) == []


@pytest.mark.parametrize("create", [False, True])
def test_what_queries_need_is_not_made_periodic(db: vk.Database, create: bool) -> None:
    with pytest.raises(vk.BadParameter, match="PERIODIC 1 MINUTE is no mode for what queries need") as caught:
        db.prepare(NEWEST, create=create, maintain="PERIODIC 1 MINUTE")
    assert caught.value.hint == "Write EVERY 1 MINUTE."
    assert list(db.views()) == []


def test_a_staging_view_counts_in_each_query_that_is_answered_over_it(db: vk.Database) -> None:
    recent = "SELECT tag, COUNT(*) AS n FROM (SELECT * FROM Tags ORDER BY timestamp DESC LIMIT {}) AS r GROUP BY tag"
    queries = {"first": recent.format(500), "other": recent.format(100), "again": recent.format(500)}
    advice = db.advise(queries)
    assert [one.level for one in advice.queries] == ["SI-3"] * 3
    assert len([text for text in advice.ddl if "INTO 16 AS part" in text]) == 1
    costs = [{table: (cost.total, cost.new) for table, cost in one.costs.items()} for one in advice.queries]
    assert costs == [{"Tags": ((2, 2), (2, 2))}] * 3
    assert advice.tables["Tags"].total == (2, 2)
    for text in advice.ddl:
        db.execute(text)
    costs = [{table: (cost.total, cost.new) for table, cost in one.costs.items()} for one in db.advise(queries).queries]
    assert costs == [{"Tags": ((2, 2), (0, 0))}] * 3

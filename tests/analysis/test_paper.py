"""The examples of the paper on PIQL, with what it prints of them. Where it slips in print, our text says how.

Its Algorithm 1 as printed would refuse twoTags, which has an ORDER BY and no inequality; "newest" needs DESC; and its
rule for countTags is that of a count of two tags.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.analysis.counting import cost_of_write

DOCUMENTS = "CREATE TABLE Documents (docId BIGINT PRIMARY KEY, timestamp TIMESTAMP TEMPORAL, text STRING)"
TAGS = "CREATE TABLE Tags (docId BIGINT, tag STRING, timestamp TIMESTAMP TEMPORAL, PRIMARY KEY (docId, tag))"
TWO = (
    "SELECT t1.docId FROM Tags t1, Tags t2, Documents d WHERE t1.docId = t2.docId AND t1.docId = d.docId"
    " AND t1.tag = :tag1 AND t2.tag = :tag2"
)
TWO_TAGS = f"{TWO} ORDER BY d.timestamp DESC LIMIT 5"
COUNT_TAGS = "SELECT COUNT(*) AS cnt FROM Tags WHERE tag = :tag"
WINDOWED = "SELECT COUNT(*) AS cnt FROM Tags WHERE timestamp - (timestamp % (60*1000)) = :epoch AND tag = :tag"
POPULAR = (
    "SELECT tag, COUNT(*) AS cnt FROM (SELECT * FROM Tags ORDER BY timestamp DESC LIMIT 5000) AS recent GROUP BY tag"
)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(f"{DOCUMENTS}; {TAGS} WITH CARDINALITY (tag, 10)")
        yield db


@pytest.fixture
def unlimited(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "unlimited", durability="os") as db:
        db.execute(f"{DOCUMENTS}; {TAGS}")
        yield db


def test_the_tags_of_a_document_are_a_range_of_the_primary_key(db: vk.Database) -> None:
    found = db.explain("SELECT tag, timestamp FROM Tags WHERE docId = :doc")
    assert (found.level, found.operations_max, found.rows_max) == ("SI-0", 1, 10)


def test_two_tags_gets_the_view_of_the_paper(db: vk.Database) -> None:
    found = db.explain(TWO_TAGS, name="twoTags")
    assert (found.level, found.operations_max, found.rows_max) == ("SI-2", 1, 5)
    (needed,) = found.needs
    assert needed == (
        'CREATE MATERIALIZED VIEW twoTagsView KEY (t1tag, t2tag, "timestamp" DESC, docId)'
        ' AS SELECT t1.tag AS t1tag, t2.tag AS t2tag, d."timestamp", d.docId'
        " FROM Tags AS t1, Tags AS t2, Documents AS d WHERE t1.docId = t2.docId AND t1.docId = d.docId"
    )
    assert found.predicates == ("t1.docId = t2.docId", "t1.docId = d.docId")


def test_the_view_of_two_tags_is_stored_as_it_was_said(db: vk.Database) -> None:
    prepared = db.prepare(TWO_TAGS, create=True, name="twoTags")
    assert not prepared.verdict.needs
    assert prepared.verdict.uses == ("twoTagsView",)
    (view,) = db.views()
    assert [view.layout.columns[number].name for number in view.layout.key[:4]] == [
        "t1tag",
        "t2tag",
        "timestamp",
        "docId",
    ]
    assert view.layout.descending[:4] == (False, False, True, False)


def test_the_five_dependencies_of_two_tags_are_listed(db: vk.Database) -> None:
    found = db.explain(TWO_TAGS).dependencies
    assert {
        "d.docId → (d.timestamp, d.text)",
        "t1.docId →10 t1.tag",
        "t2.docId →10 t2.tag",
        "t1.docId ↔ t2.docId",
        "t1.docId ↔ d.docId",
    } <= set(found)
    # What the paper leaves out for brevity: here a tag has a time, too.
    assert set(found) - {"(t1.docId, t1.tag) → t1.timestamp", "(t2.docId, t2.tag) → t2.timestamp"} < set(found)
    assert len(found) == 7


def test_two_tags_stores_at_most_as_many_rows_for_a_tag_as_a_document_has_tags(db: vk.Database) -> None:
    assert db.explain(TWO_TAGS).storage == (10, "Tags")


def test_without_a_limit_on_tags_the_view_of_two_tags_is_refused(unlimited: vk.Database) -> None:
    found = unlimited.explain(TWO_TAGS)
    assert (found.level, found.operations_max, found.needs) == ("unbounded", None, ())
    assert "nothing limits Tags.tag" in found.reason
    assert any("table Tags WITH CARDINALITY (tag, n)" in one.text for one in found.suggestions)
    with pytest.raises(vk.Unbounded):
        unlimited.query(TWO_TAGS, tag1="a", tag2="b")


def test_what_reads_no_table_is_trivially_independent(db: vk.Database) -> None:
    found = db.explain("SELECT 1")
    assert (found.level, found.operations_max, found.rows_max, found.needs) == ("SI-0", 0, 0, ())
    assert list(db.query("SELECT 1")) == [{"1": 1}]
    assert db.execute("SELECT 1").all() == [{"1": 1}]  # type: ignore[union-attr]
    assert list(db.query("SELECT CAST(:a AS INT) + 1 AS x, UPPER('b') AS y", a=3)) == [{"x": 4, "y": "B"}]
    assert list(db.query("SELECT 1 AS x WHERE :a > 2", a=1)) == []
    assert list(db.query("SELECT COUNT(*) AS n")) == [{"n": 1}]
    with db.snapshot() as now:
        assert list(now.query("SELECT 1 AS x UNION ALL SELECT 2 AS x")) == [{"x": 1}, {"x": 2}]
    with pytest.raises(vk.Unsupported, match="SELECT without FROM"):
        db.execute("CREATE MATERIALIZED VIEW v AS SELECT 1 AS x")


def test_what_reads_no_table_beside_one_that_is_read_whole(db: vk.Database) -> None:
    db.put("Tags", {"docId": 1, "tag": "red"})
    sql = "SELECT tag FROM Tags UNION ALL SELECT 'none' AS tag"
    assert [row["tag"] for row in db.query(sql, allow_scan=True)] == ["red", "none"]
    joined = "SELECT t.tag, q.n FROM Tags t JOIN (SELECT 1 AS n) AS q ON q.n = t.docId WHERE t.docId = 1"
    assert list(db.query(joined)) == [{"tag": "red", "n": 1}]


def test_a_new_tag_looks_up_the_other_tags_of_its_document(db: vk.Database) -> None:
    """newTag is one range read of at most K tags, and the document; as often again for the second place of Tags."""
    first, second, document, itself = db.explain(TWO_TAGS).delta_queries
    assert (
        first.sql == 'SELECT :tag, t2.tag, d."timestamp", d.docId FROM Tags AS t2, Documents AS d'
        " WHERE t2.docId = :docId AND d.docId = :docId"
    )
    assert (
        second.sql == 'SELECT t1.tag, :tag, d."timestamp", d.docId FROM Tags AS t1, Documents AS d'
        " WHERE t1.docId = :docId AND d.docId = :docId"
    )
    # The document and the tags are looked up, and each of ten rows is read before it is written.
    assert (first.table, first.reads, first.rows) == ("Tags", 1 + 2 + 10, 10)
    assert itself.is_with_itself
    assert itself.sql == 'SELECT :tag, :tag, d."timestamp", d.docId FROM Documents AS d WHERE d.docId = :docId'
    assert (document.table, document.rows) == ("Documents", 100)


def test_a_document_full_of_tags_costs_no_more_than_is_said(db: vk.Database) -> None:
    db.prepare(TWO_TAGS, create=True, maintain="SYNC")
    most = db.explain(TWO_TAGS).maintenance
    db.put("Documents", {"docId": 1})
    for tag in range(9):
        db.put("Tags", {"docId": 1, "tag": str(tag)})
    tenth = cost_of_write(db, lambda: db.put("Tags", {"docId": 1, "tag": "9"}))
    # With 9 others and with itself, both ways; and the tag is kept for both places.
    assert tenth.writes == 2 * 9 + 1 + 2
    assert (tenth.reads, tenth.writes) <= most["Tags"]
    moved = cost_of_write(db, lambda: db.put("Documents", {"docId": 1, "timestamp": datetime(2026, 1, 1, tzinfo=UTC)}))
    # All pairs of tags go and come, and the document goes and comes under one key.
    assert moved.writes == 2 * 10 * 10 + 1
    assert moved.writes <= most["Documents"][1]
    assert moved.reads <= most["Documents"][0]


def test_a_count_is_grouped_by_what_is_compared_with_a_parameter(db: vk.Database) -> None:
    found = db.explain(COUNT_TAGS, name="docsPerTag")
    assert (found.level, found.operations_max, found.rows_max, found.storage) == ("SI-2", 1, 1, (1, "Tags"))
    (needed,) = found.needs
    assert needed == (
        "CREATE MATERIALIZED VIEW docsPerTagView KEY (tag)"
        " AS SELECT t.tag, COUNT(*) AS cnt FROM Tags AS t GROUP BY t.tag"
    )
    (rule,) = found.delta_queries
    assert (rule.sql, rule.reads) == ("SELECT :tag, +1", 1)


def test_the_rule_that_is_printed_for_count_tags_is_that_of_a_count_of_two_tags(db: vk.Database) -> None:
    found = db.explain(
        "SELECT COUNT(*) AS cnt FROM Tags t1, Tags t2 WHERE t1.docId = t2.docId AND t1.tag = :a AND t2.tag = :b"
    )
    assert found.delta_queries[0].sql == "SELECT :tag, t2.tag, +1 FROM Tags AS t2 WHERE t2.docId = :docId"
    assert found.storage == (10, "Tags")


def test_a_time_window_is_a_group_of_its_epoch_behind_the_tag(db: vk.Database) -> None:
    """The paper puts the epoch first; as time must not lead, or all writes go to one end, the tag does."""
    found = db.explain(WINDOWED, name="docsPerTagWindowed")
    assert (found.level, found.operations_max) == ("SI-2", 1)
    (needed,) = found.needs
    assert " KEY (tag, epoch) " in needed
    assert 't."timestamp" - (t."timestamp" % ' in needed
    assert needed.index("GROUP BY t.tag,") > 0


def test_popular_tags_are_staged_by_a_hash_and_refreshed(db: vk.Database) -> None:
    found = db.explain(POPULAR, name="popularTags")
    staging, refreshed = found.needs
    assert found.level == "SI-3"
    assert ' KEY (part, "timestamp" DESC, docId, tag) AS SELECT HASH(docId, tag) INTO ' in staging
    assert "MAINTAIN PERIODIC" in refreshed
    assert 'FROM popularTagsStaging ORDER BY "timestamp" DESC LIMIT 5000' in refreshed


def test_no_view_is_led_by_time_either(db: vk.Database) -> None:
    found = db.explain("SELECT tag FROM Tags ORDER BY timestamp DESC LIMIT 10")
    assert (found.level, found.operations_max, found.rows_max) == ("SI-3", 1, 10)
    assert " KEY (part, " in found.needs[0]
    assert "PERIODIC" in found.needs[1]


def test_an_index_by_time_is_made_where_nothing_says_that_time_grows(tmp_path: Path) -> None:
    with vk.open(tmp_path / "plain", durability="os") as db:
        db.execute(TAGS.replace(" TEMPORAL", ""))
        found = db.explain(POPULAR)
    assert found.level == "SI-1"
    assert found.needs[0].startswith('CREATE INDEX Tags_by_timestamp ON Tags ("timestamp" DESC')


# Algorithm 1: rows of an answer are side by side


def test_two_columns_compared_by_inequality_are_refused(db: vk.Database) -> None:
    found = db.explain(f"{TWO} AND t1.timestamp > :since AND d.timestamp > :when ORDER BY d.timestamp LIMIT 5")
    assert found.level == "unbounded"
    assert "Tags.timestamp and Documents.timestamp are compared with parameters by inequality" in found.reason


def test_an_interval_is_one_column(db: vk.Database) -> None:
    found = db.explain(f"{TWO} AND d.timestamp > :since AND d.timestamp <= :when ORDER BY d.timestamp LIMIT 5")
    assert (found.level, found.operations_max, found.rows_max) == ("SI-2", 1, 5)


def test_order_has_to_begin_with_the_column_that_is_compared_by_inequality(db: vk.Database) -> None:
    found = db.explain(f"{TWO} AND d.timestamp > :since ORDER BY d.docId LIMIT 5")
    assert found.level == "unbounded"
    assert "ORDER BY begins with Documents.docId, and Documents.timestamp is compared by inequality" in found.reason


# Algorithm 2: the conditions of the view

SAME = "SELECT t1.docId FROM Tags t1, Tags t2 WHERE t1.docId = t2.docId AND t1.tag = :p AND t2.tag = :p"


def test_columns_compared_with_one_parameter_are_equal_in_the_view(db: vk.Database) -> None:
    found = db.explain(f"{SAME} AND t2.timestamp > t1.timestamp ORDER BY t2.timestamp LIMIT 5")
    assert "t1.tag = t2.tag" in found.predicates
    assert 't2."timestamp" > t1."timestamp"' in found.predicates
    assert not any(":" in one.replace("::", "") for one in found.predicates)


def test_conditions_without_parameters_stay_and_those_with_one_go(db: vk.Database) -> None:
    found = db.explain(
        f"{TWO} AND d.text = 'x' AND t1.timestamp > TIMESTAMP '2020-01-01 00:00:00' ORDER BY d.timestamp LIMIT 5"
    )
    assert "d.\"text\" = 'x'" in found.predicates
    assert any(one.startswith('t1."timestamp" > TIMESTAMP') for one in found.predicates)
    assert not any("tag" in one for one in found.predicates)


# Algorithm 3: the key of the view


def test_a_column_that_equals_one_of_the_key_is_not_in_it_again(db: vk.Database) -> None:
    (needed,) = db.explain(TWO_TAGS).needs
    assert needed.count("docId") == 6  # in KEY, in SELECT, and twice in each of two conditions

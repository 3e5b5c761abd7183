"""What is said, and not proposed, where a write or a query has no bound."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.cli.running import run

TABLES = """
CREATE TABLE follows (a BIGINT, b BIGINT, PRIMARY KEY (a, b));
CREATE TABLE tickets (id BIGINT PRIMARY KEY, title STRING, project BIGINT, updated BIGINT);
CREATE TABLE orders (id BIGINT PRIMARY KEY, total INT, placed TIMESTAMP);
"""
PAIRS = "CREATE MATERIALIZED VIEW pairs AS SELECT x.a, y.b FROM follows x JOIN follows y ON x.b = y.a"
FOLLOWED = "SELECT b FROM follows WHERE a = :a LIMIT 5"
WORDS = "SELECT id FROM tickets WHERE TOKENS(title) = :w AND project = :p ORDER BY updated DESC LIMIT 10"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLES)
        yield db


def test_a_table_with_an_unbounded_view_has_no_bound_on_a_changed_row(db: vk.Database) -> None:
    db.execute(PAIRS)
    found = db.explain(FOLLOWED)
    assert (found.level, found.maintenance) == ("SI-0", {"follows": None})
    assert "follows: any number of reads and writes" in str(found)
    advice = db.advise({"followed": FOLLOWED})
    assert advice.tables["follows"].total is None
    assert "follows: any number of reads and writes" in str(advice)
    assert advice.tables["tickets"].total == (0, 0)


def test_a_view_that_reads_an_unbounded_one_has_no_bound_either(db: vk.Database) -> None:
    db.execute(PAIRS)
    found = db.explain("CREATE MATERIALIZED VIEW counts AS SELECT a, COUNT(*) AS n FROM pairs GROUP BY a")
    assert (found.level, found.maintenance) == ("unbounded", {"follows": None})


def test_an_index_that_has_no_bound_is_not_proposed(db: vk.Database) -> None:
    found = db.explain(WORDS)
    assert (found.level, found.needs, found.operations_max) == ("unbounded", (), None)
    assert [one.level for one in found.suggestions] == ["SI-1"]
    assert "TOKENS(title), n" in found.suggestions[0].text
    advice = db.advise({"words": WORDS})
    assert advice.ddl == ()
    assert advice.tables["tickets"].total == (0, 0)
    with pytest.raises(vk.Unbounded):
        db.prepare(WORDS, create=True)


def test_json_has_null_where_there_is_no_bound(db: vk.Database, tmp_path: Path) -> None:
    db.execute(PAIRS)
    file = tmp_path / "queries.sql"
    file.write_text(f"-- name: followed\n{FOLLOWED};\n", encoding="utf-8")
    done = run("advise", str(tmp_path / "db"), str(file), "--json")
    found = json.loads(done.out)
    assert found["tables"]["follows"] == {"reads": None, "writes": None, "new_reads": 0, "new_writes": 0}


@pytest.mark.parametrize(
    "where", ["placed >= :day", "placed >= :day AND placed < :next", ":day <= placed AND placed <= :next"]
)
def test_hours_are_suggested_in_place_of_all_comparisons_of_a_time(db: vk.Database, where: str) -> None:
    [hours] = db.explain(f"SELECT SUM(total) AS t FROM orders WHERE {where}").suggestions
    assert "write placed - (placed % 3600000) = :hour for what is asked of placed" in hours.text
    changed = db.explain("SELECT SUM(total) AS t FROM orders WHERE placed - (placed % 3600000) = :hour")
    assert changed.level == hours.level == "SI-2"


def test_hours_of_an_extreme_are_not_added_up(db: vk.Database) -> None:
    [hours] = db.explain("SELECT MAX(total) AS t FROM orders WHERE placed >= :day").suggestions
    assert "take the least or greatest of them" in hours.text


def test_two_limits_are_suggested_where_one_is_not_enough(db: vk.Database) -> None:
    """Each of them changes the schema."""
    db.execute("CREATE TABLE x (a INT, b INT, PRIMARY KEY (a, b)); CREATE TABLE y (a INT, b INT, PRIMARY KEY (a, b))")
    found = db.explain("SELECT x.b, y.b AS c FROM x JOIN y ON y.a = x.b WHERE x.a = :a")
    assert found.level == "unbounded"
    assert all(" And " in one.text for one in found.suggestions)
    assert any("table x WITH" in one.text and "table y WITH" in one.text for one in found.suggestions)
    db.execute("DROP TABLE x; DROP TABLE y")
    db.execute("CREATE TABLE x (a INT, b INT, PRIMARY KEY (a, b)) WITH CARDINALITY (b, 20)")
    db.execute("CREATE TABLE y (a INT, b INT, PRIMARY KEY (a, b)) WITH CARDINALITY (b, 20)")
    again = db.explain("SELECT x.b, y.b AS c FROM x JOIN y ON y.a = x.b WHERE x.a = :a")
    both = next(one for one in found.suggestions if "table x WITH" in one.text and "table y WITH" in one.text)
    assert again.level == both.level


def test_without_temporal_is_suggested_where_only_that_forbids_an_index(db: vk.Database) -> None:
    db.execute("CREATE TABLE events (id BIGINT PRIMARY KEY, ts TIMESTAMP TEMPORAL)")
    found = db.explain("SELECT id FROM events WHERE ts > :t ORDER BY ts LIMIT 10")
    assert found.level == "unbounded"
    assert "which is TEMPORAL" in found.reason
    assert any("without TEMPORAL" in one.text for one in found.suggestions)


@pytest.mark.parametrize(
    ("sql", "told", "instead"),
    [
        (
            "SELECT id FROM people WHERE age > :a AND size > :b LIMIT 5",
            "Write age = :a, since rows lie side by side for a range of one column only.",
            ["SELECT id FROM people WHERE age = :a AND size > :b LIMIT 5"],
        ),
        (
            "SELECT id FROM people WHERE age > :a AND size > :b AND size < :c ORDER BY age LIMIT 5",
            "Write size = :b, since rows lie side by side for a range of one column only.",
            ["SELECT id FROM people WHERE age > :a AND size = :b ORDER BY age LIMIT 5"],
        ),
        (
            "SELECT COUNT(*) AS n FROM people WHERE age >= :a AND :b >= age",
            "Ask class by class, and add them up: write age - age % 10 = :class for what is asked of age.",
            ["SELECT COUNT(*) AS n FROM people WHERE age - age % 10 = :class"],
        ),
        (
            "SELECT MIN(age) AS m FROM people WHERE size > :a",
            (
                "Ask class by class, and take the least or greatest of them: "
                "write size - size % 10 = :class for what is asked of size."
            ),
            ["SELECT MIN(age) AS m FROM people WHERE size - size % 10 = :class"],
        ),
        (
            "SELECT COUNT(*) AS n FROM people WHERE name > :a",
            "Write name = :a.",
            ["SELECT COUNT(*) AS n FROM people WHERE name = :a"],
        ),
        (
            "SELECT MEDIAN(age) AS m FROM people WHERE name = :a",
            "Ask for AVG in place of a median or percentile, or for counts class by class.",
            ["SELECT AVG(age) AS m FROM people WHERE name = :a", "SELECT COUNT(*) AS n FROM people WHERE age = :a"],
        ),
        (
            "SELECT id FROM people WHERE name = :a OR age = :b OR id = :c LIMIT 5",
            "Ask once for each side of OR, and put the answers together.",
            [f"SELECT id FROM people WHERE {one} LIMIT 5" for one in ("name = :a", "age = :b", "id = :c")],
        ),
        (
            "SELECT p.id, q.age FROM people p FULL JOIN people q ON q.id = p.size WHERE p.id = :a",
            "Write LEFT JOIN in place of FULL JOIN: rows of the right side alone are what nothing limits.",
            ["SELECT p.id, q.age FROM people p LEFT JOIN people q ON q.id = p.size WHERE p.id = :a"],
        ),
        (
            "SELECT id FROM people WHERE name = :a AND age <= :b ORDER BY size DESC, age, id LIMIT 5",
            "Begin ORDER BY with age.",
            ["SELECT id FROM people WHERE name = :a AND age <= :b ORDER BY age, size DESC, id LIMIT 5"],
        ),
        (
            "SELECT id FROM people WHERE name = :a AND age > :b AND age <= :c ORDER BY size LIMIT 5",
            "Begin ORDER BY with age.",
            ["SELECT id FROM people WHERE name = :a AND age > :b AND age <= :c ORDER BY age, size LIMIT 5"],
        ),
        (
            "SELECT id, age AS years FROM people WHERE name = :a AND age <= :b ORDER BY size LIMIT 5",
            "Begin ORDER BY with years.",
            ["SELECT id, age AS years FROM people WHERE name = :a AND age <= :b ORDER BY years, size LIMIT 5"],
        ),
        (
            "SELECT id FROM people WHERE LOWER(name) > :a ORDER BY age LIMIT 5",
            "Begin ORDER BY with LOWER(name).",
            ["SELECT id FROM people WHERE LOWER(name) > :a ORDER BY LOWER(name), age LIMIT 5"],
        ),
    ],
)
def test_what_is_suggested_gives_the_bound_that_is_told(
    db: vk.Database, sql: str, told: str, instead: list[str]
) -> None:
    db.execute("CREATE TABLE people (id BIGINT PRIMARY KEY, name STRING, age INT, size DECIMAL(8,2))")
    found = db.explain(sql)
    assert found.level == "unbounded"
    [suggested] = [one for one in found.suggestions if one.text == told]
    levels = [db.explain(one).level for one in instead]
    assert "unbounded" not in levels
    assert max(levels) == suggested.level


def test_sides_of_or_are_suggested_only_if_each_has_a_bound(db: vk.Database) -> None:
    db.execute("CREATE TABLE people (id BIGINT PRIMARY KEY, name STRING, age INT)")
    found = db.explain("SELECT id FROM people WHERE id = :a OR age <> :b LIMIT 5")
    assert found.level == "unbounded"
    assert not any("OR" in one.text for one in found.suggestions)


SALES = "CREATE TABLE sales (id BIGINT PRIMARY KEY, shop STRING, amount INT)"
SHOPS = "(SELECT shop, COUNT(*) AS n FROM sales GROUP BY shop) AS g"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT shop, SUM(amount) AS total, RANK() OVER (ORDER BY SUM(amount) DESC) AS r FROM sales GROUP BY shop",
        "SELECT SUM(SUM(amount)) OVER () AS total FROM sales GROUP BY shop",
        f"SELECT shop, ROW_NUMBER() OVER (ORDER BY n, shop) AS r FROM {SHOPS}",
        "SELECT shop, ROW_NUMBER() OVER (ORDER BY shop) AS r FROM (SELECT DISTINCT shop FROM sales) AS g",
    ],
)
def test_window_functions_over_groups_have_no_bound_and_run_all_the_same(db: vk.Database, sql: str) -> None:
    db.execute(SALES)
    for number in range(6):
        db.put("sales", {"id": number, "shop": "abc"[number % 3], "amount": number})
    found = db.explain(sql)
    assert (found.level, found.suggestions) == ("unbounded", ())
    assert "a window function is computed from all rows of its partition" in found.reason
    assert len(list(db.query(sql, allow_scan=True))) == 3


def test_several_joins_may_each_be_suggested_as_a_left_join(db: vk.Database) -> None:
    db.execute(
        "CREATE TABLE items (ticket BIGINT, line INT, PRIMARY KEY (ticket, line));"
        "CREATE TABLE refunds (id BIGINT PRIMARY KEY, ticket BIGINT)"
    )
    mine = "t.id FROM tickets t JOIN {0} x ON x.ticket = t.id WHERE t.project = :p"
    sql = f"SELECT {mine.format('items')} UNION ALL SELECT {mine.format('refunds')} ORDER BY id LIMIT 20"
    found = db.explain(sql)
    assert found.level == "unbounded"
    assert list(db.query(sql, p=1, allow_scan=True)) == []

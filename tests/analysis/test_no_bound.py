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


BOOKS = """
CREATE TABLE authors (id INT PRIMARY KEY, country STRING);
CREATE TABLE books (id INT PRIMARY KEY, author INT, title STRING);
CREATE TABLE reviews (id INT PRIMARY KEY, book INT, stars INT)
"""
BEST = (
    "SELECT b.title, r.stars FROM books b JOIN reviews r ON r.book = b.id WHERE b.author = :a"
    " ORDER BY r.stars DESC LIMIT 9"
)


@pytest.mark.parametrize(
    ("table", "by", "declared"),
    [
        ("books", "author", "author INT, title STRING"),
        ("reviews", "book", "book INT, stars INT"),
    ],
)
def test_a_key_by_which_rows_can_be_limited_is_suggested(
    db: vk.Database, tmp_path: Path, table: str, by: str, declared: str
) -> None:
    """A table with a key that is just a number has no limit on how many rows belong to one of another."""
    db.execute(BOOKS)
    found = [one for one in db.explain(BEST).suggestions if f"of table {table} " in one.text]
    [suggested] = found
    assert suggested.text == (
        f"Make ({by}, id) the primary key of table {table} WITH CARDINALITY (id, n), CARDINALITY ({by}, 1), "
        f"n being the most that there may be for one {by}."
    )
    with vk.open(tmp_path / "other") as other:
        plain = f"CREATE TABLE {table} (id INT PRIMARY KEY, {declared})"
        assert plain in BOOKS
        keyed = f"({by}, id)) WITH CARDINALITY (id, 20), CARDINALITY ({by}, 1)"
        other.execute(BOOKS.replace(plain, f"CREATE TABLE {table} (id INT, {declared}, PRIMARY KEY {keyed}"))
        assert other.explain(BEST).level == suggested.level
        # What is found by the number alone is still one row.
        assert other.prepare(f"SELECT * FROM {table} WHERE id = :id", create=True).verdict.rows_max == 2


def test_an_inner_join_is_suggested_where_a_left_one_has_no_view(db: vk.Database) -> None:
    db.execute(BOOKS)
    sql = (
        "SELECT a.id, COUNT(b.id) AS n FROM authors a LEFT JOIN books b ON b.author = a.id GROUP BY a.id"
        " ORDER BY n DESC LIMIT 10"
    )
    texts = {one.text: one.level for one in db.explain(sql).suggestions}
    level = texts["Write JOIN in place of LEFT JOIN, if rows without a partner are not wanted."]
    assert db.explain(sql.replace("LEFT JOIN", "JOIN")).level == level == "SI-2"


def test_different_keys_are_counted_as_they_are_only_where_each_comes_once(db: vk.Database) -> None:
    db.execute(BOOKS)
    once = "SELECT COUNT(DISTINCT b.id) AS n FROM authors a JOIN books b ON b.author = a.id WHERE a.country = :c"
    asked = db.prepare(once, create=True, maintain="SYNC")
    assert asked.verdict.level == "SI-2"
    db.execute("INSERT INTO authors VALUES (1, 'x'), (2, 'x'), (3, 'y')")
    db.execute("INSERT INTO books VALUES (1, 1, 'a'), (2, 1, 'a'), (3, 2, 'a'), (4, 3, 'a'), (5, 9, 'a')")
    assert [list(asked(c=one)) for one in ("x", "y", "z")] == [[{"n": 3}], [{"n": 1}], [{"n": 0}]]
    often = once.replace(" WHERE", " JOIN reviews r ON r.book = b.id WHERE")
    assert db.explain(often).level == "unbounded"
    assert db.explain(once.replace("b.id)", "b.title)")).level == "unbounded"


def test_a_key_is_suggested_for_a_view_too(db: vk.Database) -> None:
    db.execute(BOOKS)
    sql = "CREATE MATERIALIZED VIEW v AS SELECT b.title, r.id, r.stars FROM books b JOIN reviews r ON r.book = b.id"
    [suggested] = db.explain(sql).suggestions
    assert suggested.text.startswith("Make (book, id) the primary key of table reviews WITH CARDINALITY (id, n)")
    assert suggested.level == "SI-2"


def test_what_is_different_in_each_group_is_counted_as_it_is_there(db: vk.Database) -> None:
    db.execute("CREATE TABLE marks (post INT, word STRING, PRIMARY KEY (post, word))")
    db.execute("CREATE TABLE posts (id INT PRIMARY KEY, author INT)")
    sql = "SELECT m.post, COUNT(DISTINCT m.word) AS n FROM posts p JOIN marks m ON m.post = p.id WHERE p.author = :a"
    asked = db.prepare(f"{sql} GROUP BY m.post ORDER BY n DESC LIMIT 2", create=True, maintain="SYNC")
    db.execute("INSERT INTO posts VALUES (1, 1), (2, 1), (3, 1)")
    db.execute("INSERT INTO marks VALUES (1, 'a'), (1, 'b'), (2, 'a'), (3, 'a'), (3, 'b'), (3, 'c')")
    assert [tuple(row.values()) for row in asked(a=1)] == [(3, 3), (1, 2)]
    assert db.explain(sql.replace("m.post, ", "")).level == "unbounded"


def test_distinct_keys_are_the_rows_themselves(db: vk.Database) -> None:
    db.execute("CREATE TABLE titles (id INT PRIMARY KEY, name STRING, at INT) WITH CARDINALITY (TOKENS(name), 5)")
    sql = "SELECT DISTINCT id FROM titles WHERE TOKENS(name) LIKE :w AND at = :at LIMIT 10"
    assert db.explain(sql).level == db.explain(sql.replace("DISTINCT ", "")).level == "SI-1"
    asked = db.prepare(sql, create=True, maintain="SYNC")
    db.execute("INSERT INTO titles VALUES (1, 'an apple a day', 7), (2, 'all', 7), (3, 'all', 8), (4, 'none', 7)")
    assert sorted(row["id"] for row in asked(w="a%", at=7)) == [1, 2]
    assert db.explain(sql.replace("id FROM", "at FROM")).level == "unbounded"

"""The text that a view is kept under means the same tomorrow."""

from __future__ import annotations

import pytest

from tests.sql.tables import catalog, view
from viewkeeper.errors import BadDefinition, Unsupported
from viewkeeper.sql.maintain import Maintain, Mode
from viewkeeper.sql.view_text import with_maintain


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM k",
        "SELECT k.* FROM k",
        "SELECT DISTINCT * FROM (SELECT * FROM k AS x) AS y",
        "WITH x AS (SELECT * FROM k) SELECT COUNT(*) AS n FROM (SELECT DISTINCT * FROM x)",
        "SELECT v % 10 AS later, COUNT(*) AS n FROM k GROUP BY later",
        "SELECT v % 10 AS later, a, COUNT(*) AS n FROM k GROUP BY CUBE ((later, a)), ROLLUP (a)",
        "SELECT a % 2 AS x, * FROM k GROUP BY x, a, b, c, v",
        "SELECT *, a % 2 AS later FROM k GROUP BY a, b, c, v, later",
        "SELECT COUNT(*) AS later FROM k GROUP BY a HAVING later > 1",
        "SELECT v, tag FROM k JOIN Tags ON a = docId WHERE v > 1 AND tag <> b",
        "SELECT * FROM (SELECT a, v AS docId FROM k) AS x JOIN Tags USING (docId)",
        "SELECT docId, x.a FROM (SELECT a, v AS docId FROM k) AS x FULL JOIN Tags USING (docId) WHERE docId > 1",
        "SELECT a FROM k WHERE EXISTS (SELECT * FROM Tags WHERE docId = a AND tag = b)",
        "SELECT a FROM k WHERE a IN (SELECT * FROM (SELECT docId FROM Tags))",
        "SELECT a FROM k UNION ALL SELECT * FROM (SELECT docId FROM Tags)",
        "SELECT Max(docId), x.a FROM (SELECT a, v AS docId FROM k) AS x FULL JOIN Tags USING (docId) GROUP BY a",
        "CREATE JOIN INDEX v ON k (a), Tags (docId)",
    ],
)
def test_a_column_that_is_added_later_changes_nothing(text: str) -> None:
    tables = catalog()
    before = view(text, tables)
    for table in ("k", "Tags"):
        for name in {"later", "a", "b", "v", "x", "docId", "tag"} - set(tables.find(table).column_names):
            tables.run(f"ALTER TABLE {table} ADD COLUMN {name} INT")
    after = tables.one(before.text)
    assert (after.plan, after.visible) == (before.plan, before.visible)


def test_the_text_as_it_was_written_would_change_its_meaning() -> None:
    tables = catalog()
    before = view("SELECT * FROM k", tables)
    grouped = "SELECT v % 10 AS later, COUNT(*) AS n FROM k GROUP BY later"
    view(grouped, tables)
    tables.run("ALTER TABLE k ADD COLUMN later INT")
    assert view("SELECT * FROM k", tables).plan != before.plan
    with pytest.raises(BadDefinition, match='column "v" is neither grouped nor aggregated'):
        view(grouped, tables)


def test_names_of_a_spread_star_are_quoted_where_they_have_to_be() -> None:
    tables = catalog()
    tables.run('CREATE TABLE odd ("select" INT PRIMARY KEY, "a ""b""" INT, date DATE, plain INT)')
    found = view("SELECT * FROM odd AS o", tables)
    assert found.text.endswith('AS SELECT "select", "a ""b""", "date", plain FROM odd AS o')
    assert view("SELECT o.* FROM odd AS o", tables).text.endswith(
        'AS SELECT o."select", o."a ""b""", o."date", o.plain FROM odd AS o'
    )
    assert tables.one(found.text).plan == found.plan


def test_comments_and_layout_stay() -> None:
    text = "CREATE VIEW v -- what it is for\nAS SELECT a, -- why\n  b /* and */ FROM k -- end"
    assert view(text).text == "CREATE MATERIALIZED VIEW v AS SELECT a, -- why\n  b /* and */ FROM k"


def test_the_text_is_of_one_statement_alone() -> None:
    *_, found = catalog().run("SELECT * FROM k; CREATE VIEW v AS SELECT a FROM k WHERE b = ';' ; SELECT * FROM k")[:2]
    assert found.text == "CREATE MATERIALIZED VIEW v AS SELECT a FROM k WHERE b = ';'"


@pytest.mark.parametrize(
    "text",
    [
        "CREATE VIEW v KEY (a DESC) MAINTAIN SYNC AS SELECT * FROM k WHERE v > 1",
        "CREATE VIEW v AS SELECT a FROM k",
        "CREATE INDEX v ON k (b DESC, v + 1 AS x) INCLUDE (a) MAINTAIN EVERY 5 SECONDS",
        "CREATE INDEX v ON k (b)",
        "CREATE JOIN INDEX v ON k (a) INCLUDE (v), Tags (docId) MAINTAIN SYNC",
    ],
)
@pytest.mark.parametrize(
    "maintain", [Maintain(mode=Mode.DEFERRED), Maintain(mode=Mode.LAZY), Maintain(mode=Mode.EVERY, interval_ms=90_000)]
)
def test_the_mode_can_be_changed_in_the_text(text: str, maintain: Maintain) -> None:
    before = view(text)
    after = view(with_maintain(before.text, maintain))
    assert after.maintain == maintain
    assert (after.plan, after.key, after.visible) == (before.plan, before.key, before.visible)


def test_a_view_that_is_computed_whole_is_refused_in_another_mode() -> None:
    before = view("CREATE VIEW v PERIODIC 1 MIN SELECT a FROM k ORDER BY a LIMIT 5")
    with pytest.raises(Unsupported, match="ORDER BY"):
        view(with_maintain(before.text, Maintain(mode=Mode.DEFERRED)))


def test_only_the_text_of_a_view_has_a_mode() -> None:
    with pytest.raises(ValueError, match="not the text of a view"):
        with_maintain("SELECT a FROM k", Maintain(mode=Mode.LAZY))

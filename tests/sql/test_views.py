"""CREATE VIEW, CREATE INDEX, ALTER and DROP: everything around the query."""

from __future__ import annotations

import pytest

from tests.sql.tables import Catalog, catalog, view
from viewkeeper.errors import BadParameter, Unsupported
from viewkeeper.sql.bind import bind
from viewkeeper.sql.maintain import Maintain, Mode, ViewKind
from viewkeeper.sql.parse import parse
from viewkeeper.sql.statements import AlterView, DropView

HOUR = 3_600_000


@pytest.mark.parametrize(
    "begin",
    ["CREATE VIEW", "CREATE MATERIALIZED VIEW", "create or replace view", "CREATE OR REPLACE MATERIALIZED VIEW"],
)
@pytest.mark.parametrize("middle", ["AS", ""])
def test_a_view_may_be_begun_in_several_ways(begin: str, middle: str) -> None:
    found = view(f"{begin} v {middle} SELECT a FROM k")
    assert (found.name, found.kind, found.or_replace) == ("v", ViewKind.VIEW, "replace" in begin.lower())


def test_if_not_exists_is_told() -> None:
    assert view("CREATE VIEW IF NOT EXISTS v AS SELECT a FROM k").if_not_exists is True
    assert view("CREATE INDEX IF NOT EXISTS i ON k (v)").if_not_exists is True
    assert view("CREATE VIEW v AS SELECT a FROM k").if_not_exists is False


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("DEFERRED", Maintain(mode=Mode.DEFERRED)),
        ("sync", Maintain(mode=Mode.SYNC)),
        ("LAZY", Maintain(mode=Mode.LAZY)),
        ("LOCAL", Maintain(mode=Mode.LOCAL)),
        ("EVERY 50 MILLISECONDS", Maintain(mode=Mode.EVERY, interval_ms=50)),
        ("EVERY 1 SECOND", Maintain(mode=Mode.EVERY, interval_ms=1000)),
        ("EVERY 2 MINUTES", Maintain(mode=Mode.EVERY, interval_ms=120_000)),
        ("PERIODIC 3 HOURS", Maintain(mode=Mode.PERIODIC, interval_ms=3 * HOUR)),
        ("PERIODIC 1 MIN", Maintain(mode=Mode.PERIODIC, interval_ms=60_000)),
        ("PERIODIC 1 DAY", Maintain(mode=Mode.PERIODIC, interval_ms=24 * HOUR)),
    ],
)
def test_every_mode_is_read_wherever_it_may_stand(mode: str, expected: Maintain) -> None:
    assert view(f"CREATE VIEW v MAINTAIN {mode} AS SELECT a FROM k").maintain == expected
    assert view(f"CREATE INDEX i ON k (v) INCLUDE (a) MAINTAIN {mode}").maintain == expected
    for kind in (ViewKind.VIEW, ViewKind.INDEX):
        altered = catalog().one(f"ALTER {kind} x SET MAINTAIN {mode}")
        assert altered == AlterView(name="x", kind=kind, maintain=expected)


@pytest.mark.parametrize("maintain", [Maintain(mode=mode) for mode in Mode if mode not in ("EVERY", "PERIODIC")])
def test_a_mode_without_an_interval_prints_as_it_is_read(maintain: Maintain) -> None:
    assert view(f"CREATE VIEW v MAINTAIN {maintain} AS SELECT a FROM k").maintain == maintain


@pytest.mark.parametrize("interval", [50, 999, 1000, 1001, 60_000, 61_000, HOUR, HOUR + 1000, 25 * HOUR])
def test_an_interval_prints_as_it_is_read(interval: int) -> None:
    maintain = Maintain(mode=Mode.EVERY, interval_ms=interval)
    assert view(f"CREATE VIEW v MAINTAIN {maintain} AS SELECT a FROM k").maintain == maintain


def test_an_interval_that_no_batch_keeps_up_with_is_refused() -> None:
    with pytest.raises(Unsupported, match="EVERY 49 MILLISECONDS is not supported") as refused:
        view("CREATE VIEW v MAINTAIN EVERY 49 MILLISECONDS AS SELECT a FROM k")
    assert "MAINTAIN SYNC" in refused.value.hint


def test_a_mode_has_an_interval_or_none() -> None:
    with pytest.raises(ValueError, match="wrong interval"):
        Maintain(mode=Mode.EVERY)
    with pytest.raises(ValueError, match="wrong interval"):
        Maintain(mode=Mode.LAZY, interval_ms=5)
    with pytest.raises(ValueError, match="at least a millisecond"):
        Maintain(mode=Mode.EVERY, interval_ms=0)


def test_the_mode_is_deferred_if_nothing_is_said() -> None:
    assert view("SELECT a FROM k").maintain == Maintain(mode=Mode.DEFERRED)


@pytest.mark.parametrize(
    "clauses", ["KEY (b DESC, A) MAINTAIN EVERY 1 SECOND", "MAINTAIN EVERY 1 SECOND KEY (b DESC, a ASC)"]
)
def test_key_and_mode_come_in_either_order(clauses: str) -> None:
    found = view(f"CREATE VIEW v {clauses} AS SELECT a, b FROM k")
    assert (found.key, found.maintain.interval_ms) == (((1, True), (0, False)), 1000)


def test_no_key_is_told_as_none() -> None:
    assert view("SELECT a FROM k").key == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DROP VIEW v", DropView(name="v", kind=ViewKind.VIEW, if_exists=False, cascade=False)),
        ("DROP MATERIALIZED VIEW IF EXISTS v", DropView(name="v", kind=ViewKind.VIEW, if_exists=True, cascade=False)),
        ("drop view v cascade", DropView(name="v", kind=ViewKind.VIEW, if_exists=False, cascade=True)),
        ("DROP INDEX IF EXISTS i CASCADE", DropView(name="i", kind=ViewKind.INDEX, if_exists=True, cascade=True)),
    ],
)
def test_drop_says_what_and_how(text: str, expected: DropView) -> None:
    assert catalog().one(text) == expected


def test_drop_and_alter_look_nothing_up() -> None:
    def never(name: str) -> object:
        raise AssertionError(name)

    for text in ("DROP VIEW v", "DROP INDEX v", "ALTER VIEW v SET MAINTAIN LAZY"):
        (parsed,) = parse(text)
        bind(parsed, never, None)  # type: ignore[arg-type]


def test_the_sources_are_the_ids_of_what_is_read() -> None:
    tables = catalog()
    ids = {name: found.id for name, found in tables.tables.items()}
    assert view("SELECT a FROM k", tables).sources == (ids["k"],)
    assert view("WITH x AS (SELECT * FROM Items) SELECT tag FROM Tags", tables).sources == (ids["tags"],)
    assert view("CREATE INDEX i ON tags (timestamp)", tables).sources == (ids["tags"],)
    assert view("CREATE VIEW p PERIODIC 1 MIN SELECT tag FROM Tags ORDER BY tag", tables).sources == (ids["tags"],)


def test_a_scan_names_its_object_and_lists_the_ids_of_the_columns_that_are_used() -> None:
    tables = catalog()
    plan = view("SELECT Stock, Name FROM items", tables).plan
    scan = plan.input  # type: ignore[union-attr]
    assert (scan.object, scan.name, scan.columns) == (tables.find("items").id, "Items", (1, 8))  # type: ignore[union-attr]


def test_a_parameter_is_refused_before_its_value_is_asked_for() -> None:
    with pytest.raises(Unsupported, match=r"a parameter in the definition of a view .* column 44"):
        parse("CREATE VIEW v AS SELECT a FROM k WHERE a = :p")
    with pytest.raises(Unsupported, match="a parameter"):
        parse("CREATE INDEX i ON k (v + ? AS x)")
    with pytest.raises(BadParameter, match="no parameters"):
        catalog().one("CREATE VIEW v AS SELECT a FROM k", {"p": 1})


def test_a_view_is_nested_too_deeply_with_an_error_of_ours() -> None:
    with pytest.raises(Exception, match="nested too deeply"):
        view("SELECT " + "+".join(["a"] * 3000) + " AS x FROM k")


def test_a_long_chain_of_or_is_read() -> None:
    assert view("SELECT a FROM k WHERE " + " OR ".join(f"a = {number}" for number in range(3000))).plan is not None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("INSERT INTO v VALUES (1)", 'INSERT into view "v"'),
        ("UPDATE v SET a = 1 WHERE a = 2", 'UPDATE of view "v"'),
        ("DELETE FROM v", 'DELETE from view "v"'),
        ("ALTER TABLE v ADD COLUMN x INT", 'ALTER TABLE of view "v"'),
    ],
)
def test_a_view_cannot_be_written(text: str, what: str) -> None:
    tables = Catalog("CREATE TABLE t (a INT PRIMARY KEY)", "CREATE VIEW v AS SELECT a FROM t")
    with pytest.raises(Unsupported, match=what):
        tables.one(text)


def test_nullable_and_temporal_are_those_of_the_columns_that_are_shown() -> None:
    found = view("SELECT docId, timestamp AS at, LOWER(tag) AS t, 1 AS one, CAST(NULL AS INT) AS nothing FROM Tags")
    assert [(column.nullable, column.temporal) for column in found.visible] == [
        (False, False),
        (True, True),
        (True, False),
        (False, False),
        (True, False),
    ]


def test_groups_of_time_grow_with_time() -> None:
    found = view("SELECT timestamp, WINDOW(timestamp, '1 s') AS w, COUNT(*) AS n FROM Tags GROUP BY 1, 2")
    assert [column.temporal for column in found.visible] == [True, True, False]

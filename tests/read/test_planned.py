"""Plans of bounded work against the same query over whole tables, at the position that they were answered at."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.read.moving import move, store_of
from tests.read.planning import (
    TABLES,
    access,
    both,
    cells,
    equals,
    expected,
    fill,
    found,
    given,
    number,
    plan,
    run,
    scan,
    town,
)
from viewkeeper.errors import BadParameter
from viewkeeper.model.schema import Column
from viewkeeper.model.types import BIGINT, BOOLEAN, INT, STRING
from viewkeeper.plan.access import QueryPlan
from viewkeeper.plan.aggregate import AggregateCall, AggregateKind
from viewkeeper.plan.expr import Call, Input, Literal
from viewkeeper.plan.join import InnerJoin, PartnerJoin, PartnerKind
from viewkeeper.plan.relation import Aggregate, Filter, Project, Scan
from viewkeeper.plan.whole import Sort, TopN
from viewkeeper.read.moments import Moments
from viewkeeper.read.planned import Planned

MODES = ["DEFERRED", "SYNC", "LAZY", "LOCAL"]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as opened:
        opened.execute(TABLES)
        yield opened


def _by_index(db: vk.Database) -> QueryPlan:
    """The people of a town from some age on, by an index that is stored by town DESC, age and hidden keys."""
    condition = both(equals(1, STRING, town()), Call(">=", (Input(2, INT), number("age", INT)), BOOLEAN))
    return plan(
        Filter(scan(db, "Users"), condition),
        access(db, "ByTown", None, town(), lower=(number("age", INT), True), operations=1),
        access(db, "Users", 0, found(0, 2), operations=20),
        order=(Sort(2, descending=True), Sort(0)),
    )


def _of_friends(db: vk.Database) -> QueryPlan:
    """Whom somebody follows, with their towns, their posts, and how many live there; posts and counts may be none."""
    follows = Filter(scan(db, "Follows"), equals(0, BIGINT, number("me")))
    people = InnerJoin((follows, scan(db, "Users")), ((Input(1, BIGINT), Input(3, BIGINT)),))
    posts = PartnerJoin(PartnerKind.LEFT, people, scan(db, "Posts"), ((Input(3, BIGINT), Input(6, BIGINT)),))
    return plan(
        posts,
        access(db, "Follows", 0, number("me"), operations=1),
        access(db, "Users", 1, found(0, 1), operations=8),
        access(db, "Posts", 2, found(1, 0), operations=8),
    )


def _counted(db: vk.Database) -> QueryPlan:
    """How many of some people have which age, most first."""
    ids = tuple(number("ids", element=place) for place in range(4))
    some = Filter(scan(db, "Users"), Call("in", (Input(0, BIGINT), *ids), BOOLEAN))
    calls = (AggregateCall(AggregateKind.COUNT_ROWS, None, BIGINT),)
    return plan(
        Aggregate(some, (2,), calls, ("age", "n")),
        access(db, "Users", 0, ids, operations=4),
        order=(Sort(1, descending=True), Sort(0)),
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("level", ["any", "latest", None])
def test_the_answer_is_that_of_whole_tables_at_its_position(db: vk.Database, mode: str, level: Any) -> None:
    db.execute(f"CREATE INDEX ByTown ON Users (town DESC, age) MAINTAIN {mode}")
    chance = random.Random(f"{mode} {level}")
    plans = [_by_index(db), _of_friends(db), _counted(db)]
    moments = Moments(db._reads)
    answers = 0
    for _ in range(25):
        fill(db, chance, chance.randrange(6))
        if chance.random() < 0.3:
            move(db)
        for made in plans:
            values = {
                "town": chance.choice(["Rome", "Oslo", "", None]),
                "age": chance.choice([1, 2, None]),
                "me": chance.randrange(8),
                "ids": [chance.choice([1, 2, 3, 3, 99, None]) for _ in range(4)],
            }
            head = db.head()
            rows = run(db, made, level, moments, **values)
            got = cells(rows)
            assert Counter(got) == Counter(expected(db, made, rows.meta.position, **values))
            if made.order:
                assert got == expected(db, made, rows.meta.position, **values)
            assert rows.meta.operations <= made.operations
            if level == "latest" or (level is None and mode == "LAZY") or mode in ("SYNC", "LOCAL"):
                assert rows.meta.position == head
            answers += bool(got)
    assert answers > 20


def test_an_entry_and_its_row_are_of_one_time_while_writes_go_on(db: vk.Database) -> None:
    """The index lags: rows are read as they were where it stands, so that none fails what it was found by."""
    for one in range(6):
        db.put("Users", {"id": one, "town": "Rome", "age": one})
    db.execute("CREATE INDEX ByTown ON Users (town DESC, age)")
    before = db.head()
    db.put("Users", {"id": 3, "town": "Oslo", "age": 9})
    db.delete("Users", 4)
    made = plan(
        scan(db, "Users"),
        access(db, "ByTown", None, town()),
        access(db, "Users", 0, found(0, 2)),
    )
    rows = run(db, made, town="Rome")
    assert rows.meta.position == before
    assert rows.meta.path == "view"
    assert cells(rows) == [(one, "Rome", one) for one in range(6)]
    assert (rows.meta.operations, rows.meta.rows) == (7, 12)
    latest = run(db, made, "latest", town="Rome")
    assert latest.meta.path == "folded"
    assert [row[0] for row in cells(latest)] == [0, 1, 2, 5]
    assert [row[0] for row in cells(run(db, made, vk.at_least(before), town="Rome"))] == [0, 1, 2, 5]


def test_rows_are_cut_and_shown_as_the_plan_says(db: vk.Database) -> None:
    for one in range(6):
        db.put("Posts", {"author": one // 3, "n": one % 3, "text": f"t{one}"})
    both_authors = (number("a", element=0), number("a", element=1))
    made = plan(
        Project(scan(db, "Posts"), (Input(2, STRING), Input(1, INT)), ("text", "n")),
        access(db, "Posts", 0, both_authors, limit=number("most", INT), reverse=True),
        columns=(Column(name="text", type=STRING),),
        order=(Sort(1, descending=True),),
        limit=number("limit", INT),
        offset=1,
    )
    values = {"a": [0, 1], "most": 2, "limit": 2}
    rows = run(db, made, **values)
    assert cells(rows) == [("t5",), ("t1",)]
    assert (rows.meta.operations, rows.meta.rows, rows.meta.path) == (2, 4, "table")
    assert cells(run(db, made, **{**values, "limit": 0})) == []
    none = run(db, made, **{**values, "most": 0})
    assert (cells(none), none.meta.operations) == ([], 0)
    with pytest.raises(BadParameter, match="LIMIT :limit is -1"):
        run(db, made, **{**values, "limit": -1})
    with pytest.raises(BadParameter, match="LIMIT :most is None"):
        run(db, made, **{**values, "most": None})


def test_what_fails_the_condition_of_an_access_is_looked_up_by_no_more(db: vk.Database) -> None:
    for one in range(6):
        db.put("Follows", {"owner": 1, "target": one, "since": one % 2})
        db.put("Users", {"id": one, "town": "Rome", "age": one})
    whole = scan(db, "Follows")
    # The condition is over the fields of the scan, which are not where the columns are stored.
    follows = Scan(whole.object, "Follows", (2, 1), (whole.fields[2], whole.fields[1]))
    condition = equals(0, INT, number("since", INT))
    join = InnerJoin((follows, scan(db, "Users")), ((Input(1, BIGINT), Input(2, BIGINT)),))
    made = plan(
        join,
        access(db, "Follows", 0, number("me"), condition=condition),
        access(db, "Users", 1, found(0, 1)),
    )
    rows = run(db, made, me=1, since=1)
    assert [row[2] for row in cells(rows)] == [1, 3, 5]
    assert (rows.meta.operations, rows.meta.rows) == (1 + 3, 6 + 3)


def test_the_first_rows_under_each_key_that_was_found(db: vk.Database) -> None:
    """A sorted index join: of each friend the last two posts, of these the last three."""
    for one in range(4):
        db.put("Follows", {"owner": 1, "target": one, "since": 0})
        for post in range(4):
            db.put("Posts", {"author": one, "n": post * 4 + one, "text": "x"})
    join = InnerJoin((scan(db, "Follows"), scan(db, "Posts")), ((Input(1, BIGINT), Input(3, BIGINT)),))
    made = plan(
        TopN(join, (Sort(4, descending=True),), 3),
        access(db, "Follows", 0, number("me")),
        access(db, "Posts", 1, found(0, 1), limit=2, reverse=True),
        order=(Sort(4, descending=True),),
    )
    rows = run(db, made, me=1)
    assert [row[4] for row in cells(rows)] == [15, 14, 13]
    assert (rows.meta.operations, rows.meta.rows) == (5, 4 + 8)


def test_keys_of_the_rows_of_two_accesses_are_all_their_combinations(db: vk.Database) -> None:
    for one in range(3):
        db.put("Users", {"id": one, "town": "Rome", "age": one})
        db.put("Posts", {"author": one, "n": 2 - one, "text": f"t{one}"})
    made = plan(
        Project(scan(db, "Posts"), (Input(2, STRING),), ("text",)),
        access(db, "Users", None, (number("a"), number("b"))),
        access(db, "Users", None, (number("b"), number("c"))),
        access(db, "Posts", 0, found(0, 0), found(1, 2, INT)),
    )
    rows = run(db, made, a=0, b=1, c=2)
    assert sorted(cells(rows)) == [("t0",), ("t1",)]
    assert rows.meta.operations == 2 + 2 + 4


def test_a_key_has_its_constants_behind_what_was_found_as_well(db: vk.Database) -> None:
    for one in (1, 2):
        db.put("Users", {"id": one, "town": "Rome", "age": one})
        for post in (1, 2, 3):
            db.put("Posts", {"author": one, "n": post, "text": f"{one}{post}"})
    made = plan(
        Project(scan(db, "Posts"), (Input(2, STRING),), ("text",)),
        access(db, "Users", None),
        access(db, "Posts", 0, found(0, 0), (number("n", INT), Literal(1, INT), found(0, 2, INT))),
    )
    rows = run(db, made, n=3)
    assert sorted(cells(rows)) == [("11",), ("13",), ("21",), ("22",), ("23",)]
    assert rows.meta.operations == 1 + 5


def test_stretches_that_overlap_give_each_row_once(db: vk.Database) -> None:
    for one in range(6):
        db.put("Posts", {"author": 1, "n": one, "text": "x"})
    for one in (2, 4):
        db.put("Follows", {"owner": 7, "target": one, "since": one})
    made = plan(
        scan(db, "Posts"),
        access(db, "Follows", None, Literal(7, BIGINT)),
        access(db, "Posts", 0, Literal(1, BIGINT), lower=(found(0, 2, INT), False)),
    )
    assert sorted(row[1] for row in cells(run(db, made))) == [3, 4, 5]


@pytest.mark.parametrize("mode", MODES)
def test_a_view_of_groups_is_looked_up_by_its_key(db: vk.Database, mode: str) -> None:
    db.execute("CREATE TABLE Sales (id BIGINT PRIMARY KEY, town STRING, n INT) PARTITIONED BY HASH (id) INTO 3")
    for one in range(12):
        db.put("Sales", {"id": one, "town": "Rome" if one % 3 else None, "n": one})
    db.execute(
        f"CREATE VIEW ByTown MAINTAIN {mode} AS SELECT town, COUNT(*) AS n, MAX(n) AS m FROM Sales GROUP BY town"
    )
    made = plan(scan(db, "ByTown"), access(db, "ByTown", 0, (town("a"), town("b"))))
    rows = run(db, made, a="Rome", b="Rome")
    assert cells(rows) == [("Rome", 8, 11)]
    assert rows.meta.operations == (3 if mode == "LOCAL" else 1)
    assert rows.meta.path == "view"
    db.put("Sales", {"id": 50, "town": "Oslo", "n": 1})
    latest = run(db, made, "latest", a="Oslo", b=None)
    assert cells(latest) == [("Oslo", 1, 1)]
    whole = plan(scan(db, "ByTown"), access(db, "ByTown", 0))
    assert len(cells(run(db, whole, "latest"))) == 3


def test_the_one_row_of_a_global_aggregate_is_a_lookup(db: vk.Database) -> None:
    for mode in MODES:
        db.execute(f"CREATE VIEW All{mode} MAINTAIN {mode} AS SELECT COUNT(*) AS n FROM Users")
    db.put("Users", {"id": 1})
    for mode in MODES:
        made = plan(scan(db, f"All{mode}"), access(db, f"All{mode}", 0))
        assert cells(run(db, made, "latest")) == [(1,)]


@pytest.mark.usefixtures("weighted_views")
@pytest.mark.parametrize("mode", ["DEFERRED", "SYNC"])
def test_rows_that_repeat_count_as_often_as_they_weigh(db: vk.Database, mode: str) -> None:
    for one in range(9):
        db.put("Users", {"id": one, "town": "Rome" if one % 3 else "Oslo", "age": 1})
    db.execute(f"CREATE VIEW Towns MAINTAIN {mode} AS SELECT town FROM Users")
    made = plan(scan(db, "Towns"), access(db, "Towns", 0, town(), limit=number("most", INT)))
    rows = run(db, made, town="Rome", most=4)
    assert cells(rows) == [("Rome",)] * 4
    assert (rows.meta.operations, rows.meta.rows) == (1, 4)
    assert len(cells(run(db, made, town="Rome", most=100))) == 6


def test_one_plan_in_many_threads_answers_each_with_its_own_values(db: vk.Database) -> None:
    db.execute("CREATE INDEX ByTown ON Users (town DESC, age)")
    for one in range(80):
        db.put("Users", {"id": one, "town": f"t{one % 8}", "age": one})
    move(db)
    catalog = store_of(db).catalog()
    condition = both(equals(1, STRING, town()), Call(">=", (Input(2, INT), number("age", INT)), BOOLEAN))
    made = plan(
        Filter(scan(db, "Users"), condition),
        access(db, "ByTown", None, town()),
        access(db, "Users", 0, found(0, 2)),
    )
    planned, moments = Planned(made, catalog), Moments(db._reads)

    def ask(thread: int) -> bool:
        for turn in range(60):
            name, least = f"t{(thread + turn) % 8}", turn % 50
            rows = planned.run(moments.now(catalog, planned.objects), given({"town": name, "age": least}))
            wanted = [one for one in range(80) if f"t{one % 8}" == name and one >= least]
            if [row["c0"] for row in rows] != wanted or rows.meta.operations != 11:
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        # The index stands still meanwhile, and so do the rows that are read through it.
        writing = pool.submit(fill, db, random.Random(1), 100)
        assert all(pool.map(ask, range(8)))
        writing.result()


def test_a_scan_gets_its_rows_from_one_access(db: vk.Database) -> None:
    made = plan(scan(db, "Users"), access(db, "Users", 0, number()), access(db, "Users", 0, number("m")))
    with pytest.raises(ValueError, match="one access"):
        Planned(made, store_of(db).catalog())
    nothing = plan(scan(db, "Users"))
    assert cells(run(db, nothing)) == []

"""One position for all that a query reads, whatever stands where."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.read.moving import move, store_of, unfilled
from tests.read.planning import TABLES, access, cells, fill, found, given, plan, run, scan, town
from viewkeeper.errors import FuturePosition, NotRetained, ViewBehind, ViewNotReady
from viewkeeper.model.types import BIGINT, STRING
from viewkeeper.plan.access import QueryPlan
from viewkeeper.plan.expr import Input, Literal
from viewkeeper.plan.join import PartnerJoin, PartnerKind
from viewkeeper.read.consistency import Asked
from viewkeeper.read.moment import Moment
from viewkeeper.read.moments import Moments
from viewkeeper.read.planned import Planned
from viewkeeper.read.rows import ReadMeta
from viewkeeper.read.uncommitted import view_with_own_writes
from viewkeeper.store.interface import ALL, Store
from viewkeeper.views import bound
from viewkeeper.views.batch import Timing, batch_by_rows
from viewkeeper.views.bound import BoundViews, bound_views


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as opened:
        opened.execute(TABLES)
        yield opened


def _views(db: vk.Database) -> QueryPlan:
    """Two views of different groups, and what is counted by a third beside the tables, by town."""
    db.execute("CREATE VIEW People AS SELECT town, COUNT(*) AS n FROM Users GROUP BY town")
    db.execute("CREATE VIEW Oldest MAINTAIN EVERY 1 HOUR AS SELECT town, MAX(age) AS age FROM Users GROUP BY town")
    db.execute("CREATE VIEW Youngest MAINTAIN SYNC AS SELECT town, MIN(age) AS age FROM Users GROUP BY town")
    oldest = PartnerJoin(
        PartnerKind.LEFT, scan(db, "People"), scan(db, "Oldest"), ((Input(0, STRING), Input(2, STRING)),)
    )
    youngest = PartnerJoin(PartnerKind.LEFT, oldest, scan(db, "Youngest"), ((Input(0, STRING), Input(4, STRING)),))
    return plan(
        youngest,
        access(db, "People", 0, town()),
        access(db, "Oldest", 1, found(0, 0, STRING)),
        access(db, "Youngest", 2, found(0, 0, STRING)),
    )


def _counted(db: vk.Database, at: vk.Position, name: str) -> list[Any]:
    store = store_of(db)
    codec = store.catalog().codec("Users")
    rows = [row for chunk in store.snapshot(at).scan(codec, ALL) for row in chunk if row[1] == name]
    ages: list[Any] = [row[2] for row in rows if row[2] is not None]
    if not rows:
        return []
    return [(name, len(rows), name, max(ages, default=None), name, min(ages, default=None))]


def _move_one(db: vk.Database, name: str, upper: vk.Position) -> None:
    store = store_of(db)
    found = store.view_tables.standing(store.catalog().find(name).id)
    assert found is not None
    target = store.offset(upper)
    if found[1].watermark < target:
        batch = batch_by_rows(store, bound_views(store), found[0].group, found[1], target, Timing())
        store.view_tables.apply(batch)


@pytest.mark.parametrize("level", ["any", "latest", "at_least"])
def test_views_that_stand_at_different_places_are_read_at_one(db: vk.Database, level: str) -> None:
    made = _views(db)
    chance = random.Random(level)
    moments, paths = Moments(db._reads), Counter[str]()
    answers = 0
    for turn in range(60):
        fill(db, chance, chance.randrange(4))
        for name in chance.sample(["People", "Oldest"], chance.randrange(3)):
            _move_one(db, name, db.head())
        floor = db.head()
        consistency: Any = vk.at_least(floor) if level == "at_least" else level
        fill(db, chance, chance.randrange(2))
        name = chance.choice(["Rome", "Oslo", ""])
        rows = run(db, made, consistency, moments, town=name)
        assert cells(rows) == _counted(db, rows.meta.position, name), turn
        assert level == "any" or rows.meta.position.covers(floor)
        paths[rows.meta.path] += 1
        answers += rows.meta.rows > 0
    assert answers > 20
    assert len(paths) > 1


def test_views_that_stand_apart_are_read_where_the_foremost_stands(db: vk.Database) -> None:
    """One that stands there may have been read there already, and does not go back."""
    made = _views(db)
    db.put("Users", {"id": 1, "town": "Rome", "age": 1})
    move(db)
    db.put("Users", {"id": 2, "town": "Rome", "age": 2})
    second = db.head()
    _move_one(db, "People", second)
    rows = run(db, made, "any", town="Rome")
    assert (rows.meta.position, rows.meta.path) == (second, "folded")
    assert {row[1] for row in cells(rows)} == {2}


def test_a_view_beside_the_tables_that_is_younger_is_read_as_of_now(db: vk.Database) -> None:
    db.put("Users", {"id": 1, "town": "Rome", "age": 3})
    db.execute("CREATE INDEX ByTown ON Users (town)")
    db.put("Users", {"id": 2, "town": "Rome", "age": 1})
    db.execute("CREATE VIEW Youngest MAINTAIN SYNC AS SELECT town, MIN(age) AS age FROM Users GROUP BY town")
    made = plan(
        scan(db, "Youngest"), access(db, "ByTown", None, town()), access(db, "Youngest", 0, found(0, 0, STRING))
    )
    rows = run(db, made, "any", town="Rome")
    assert (rows.meta.position, rows.meta.path) == (db.head(), "folded")
    assert cells(rows) == [("Rome", 1)]


def test_what_a_handle_has_seen_is_not_taken_back(db: vk.Database, tmp_path: Path) -> None:
    db.execute("CREATE INDEX ByTown ON Users (town)")
    made = plan(scan(db, "Users"), access(db, "ByTown", None, town()), access(db, "Users", 0, found(0, 1)))
    # So many that the fold is not committed for all.
    for one in range(3000):
        db.put("Users", {"id": one, "town": f"t{one}", "age": 1})
    assert cells(run(db, made, "any", town="t1")) == []
    assert len(cells(run(db, made, "latest", town="t1"))) == 1
    again = run(db, made, "any", town="t1")
    assert (len(cells(again)), again.meta.position) == (1, db.head())
    with vk.open(tmp_path / "db", durability="os") as other:
        assert cells(run(other, made, "any", town="t1")) == []


def test_a_lazy_view_is_brought_up_by_the_queries_that_read_it(db: vk.Database) -> None:
    db.execute("CREATE INDEX ByTown ON Users (town) MAINTAIN LAZY")
    made = plan(scan(db, "Users"), access(db, "ByTown", None, town()), access(db, "Users", 0, found(0, 1)))
    db.put("Users", {"id": 1, "town": "Rome", "age": 1})
    rows = run(db, made, town="Rome")
    assert (cells(rows), rows.meta.path, rows.meta.moved) == ([(1, "Rome", 1)], "folded", ("ByTown",))
    assert run(db, made, town="Rome").meta.path == "view"


def test_a_view_that_lags_too_far_is_waited_for_or_brought_up(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db.execute("CREATE INDEX ByTown ON Users (town)")
    made = plan(scan(db, "Users"), access(db, "ByTown", None, town()), access(db, "Users", 0, found(0, 1)))
    for one in range(5):
        db.put("Users", {"id": one, "town": "Rome", "age": 1})
    monkeypatch.setattr("viewkeeper.read.pending.LOOK", 3)
    with pytest.raises(ViewBehind, match="no maintainer runs"):
        run(db, made, "latest", town="Rome")
    handle = db._reads
    brought: list[str] = []

    def bring_up(view: Any, wanted: int) -> None:
        brought.append(view.name)
        move(db)

    monkeypatch.setattr(handle, "bring_up", bring_up)
    catalog = store_of(db).catalog()
    planned = Planned(made, catalog)
    asked = Asked(consistency="latest", bring_up=True)
    rows = planned.run(Moments(handle).now(catalog, planned.objects, asked), given({"town": "Rome"}))
    assert (len(cells(rows)), rows.meta.path, brought) == (5, "pipeline", ["ByTown"])


def test_a_periodic_view_is_read_with_the_rows_that_it_was_computed_from(db: vk.Database) -> None:
    db.put("Users", {"id": 1, "town": "Rome", "age": 1})
    db.execute("CREATE VIEW Eldest MAINTAIN PERIODIC 1 HOUR AS SELECT id FROM Users ORDER BY age DESC LIMIT 1")
    made = plan(scan(db, "Users"), access(db, "Eldest", None), access(db, "Users", 0, found(0, 0)))
    db.put("Posts", {"author": 1, "n": 1})
    latest = run(db, made, "latest")
    assert (cells(latest), latest.meta.position) == ([(1, "Rome", 1)], db.head())
    db.put("Users", {"id": 1, "town": "Oslo", "age": 2})
    assert cells(run(db, made, "any")) == [(1, "Rome", 1)]
    with pytest.raises(ViewBehind, match="computed anew as a whole"):
        run(db, made, "latest")


def test_a_periodic_view_that_is_replaced_just_before_a_query_was_dropped(
    db: vk.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    eldest = "VIEW Eldest MAINTAIN PERIODIC 1 HOUR AS SELECT id FROM Users ORDER BY age DESC LIMIT 1"
    db.execute(f"CREATE {eldest}")
    made = plan(scan(db, "Users"), access(db, "Eldest", None), access(db, "Users", 0, found(0, 0)))
    db.put("Users", {"id": 1, "town": "Rome", "age": 1})

    def replaced_before(store: Store) -> BoundViews:
        monkeypatch.undo()
        db.execute(f"CREATE OR REPLACE {eldest}")
        return bound_views(store)

    monkeypatch.setattr(bound, "bound_views", replaced_before)
    with pytest.raises(vk.TableDropped, match='view "Eldest" was dropped, replaced or moved while it was read'):
        run(db, made, "latest")


def test_errors_of_a_read_are_those_of_any_other(db: vk.Database) -> None:
    with unfilled():
        db.execute("CREATE INDEX ByTown ON Users (town)")
    made = plan(scan(db, "Users"), access(db, "ByTown", None, town()), access(db, "Users", 0, found(0, 1)))
    with pytest.raises(ViewNotReady, match="ByTown"):
        run(db, made, town="Rome")
    future = store_of(db).position(10**6)
    table = plan(scan(db, "Users"), access(db, "Users", 0, Literal(1, BIGINT)))
    with pytest.raises(FuturePosition):
        run(db, table, vk.at_least(future))


def test_a_snapshot_has_its_own_moment(db: vk.Database) -> None:
    db.execute("CREATE INDEX ByTown ON Users (town)")
    made = plan(scan(db, "Users"), access(db, "ByTown", None, town()), access(db, "Users", 0, found(0, 1)))
    store = store_of(db)
    db.put("Users", {"id": 1, "town": "Rome", "age": 1})
    move(db)
    stood = db.head()
    db.put("Users", {"id": 2, "town": "Rome", "age": 2})
    states, objects = store.view_tables.objects()
    standings = {number: states[place.group] for number, place in objects.items()}
    snapshot, catalog = store.snapshot(), store.catalog()
    db.put("Users", {"id": 3, "town": "Rome", "age": 3})
    move(db)
    planned, moments = Planned(made, catalog), Moments(db._reads)
    for wanted, people, position in ((0, [1], stood), (store.offset(snapshot.position), [1, 2], snapshot.position)):
        moment = moments.within(catalog, planned.objects, snapshot, standings, wanted)
        rows = planned.run(moment, given({"town": "Rome"}))
        assert ([row[0] for row in cells(rows)], rows.meta.position) == (people, position)


def test_a_transaction_sees_its_own_writes_through_an_index(db: vk.Database) -> None:
    db.execute("CREATE INDEX ByTown ON Users (town)")
    made = plan(scan(db, "Users"), access(db, "ByTown", None, town()), access(db, "Users", 0, found(0, 1)))
    db.put("Users", {"id": 1, "town": "Rome", "age": 1})
    store, handle = store_of(db), db._reads
    catalog = store.catalog()
    with db.transaction() as tx:
        tx.put("Users", {"id": 2, "town": "Rome", "age": 2})
        inner = tx._inner
        moment = Moment(
            meta=ReadMeta(path="table", position=inner.position),
            tables=lambda: inner,
            view_as=lambda view, regions: view_with_own_writes(handle, inner, catalog, view, regions()),
        )
        rows = Planned(made, catalog).run(moment, given({"town": "Rome"}))
        assert [row[0] for row in cells(rows)] == [1, 2]


def test_a_run_that_nothing_can_finish_says_why(db: vk.Database) -> None:
    made = plan(scan(db, "Users"), access(db, "Users", 0, Literal(1, BIGINT)))
    store = store_of(db)
    tries: list[int] = []

    class Lost:
        def get_many(self, codec: Any, keys: Any) -> Any:
            tries.append(1)
            raise NotRetained("gone")

    def moment(more: int) -> Moment:
        lost: Any = Lost()
        meta = ReadMeta(path="table", position=store.head())
        return Moment(
            meta=meta,
            tables=lambda: lost,
            view_as=lambda *_: (lost, None),
            again=(lambda: moment(more - 1)) if more else None,
        )

    with pytest.raises(NotRetained, match="gone"):
        Planned(made, store.catalog()).run(moment(2), {})
    assert len(tries) == 3

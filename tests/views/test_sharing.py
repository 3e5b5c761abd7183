"""Views with the same input, filter and group share what they keep of it, and no more than that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.faults.maintaining import TABLE, check, store_of, write
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.store.scan import ALL
from viewkeeper.views.bound import bound_views

ENDS = "CREATE VIEW Ends AS SELECT g, MAX(n) AS high FROM T WHERE n > 0 GROUP BY g"
BOTH = (
    "CREATE VIEW Both AS SELECT g, COUNT(*) AS c, MIN(n) AS low, COUNT(DISTINCT n) AS d FROM T WHERE n > 0 GROUP BY g"
)
OTHER_FILTER = "CREATE VIEW OtherFilter AS SELECT g, MAX(n) AS high FROM T WHERE n > 1 GROUP BY g"
OTHER_GROUP = "CREATE VIEW OtherGroup AS SELECT id % 2 AS h, MAX(n) AS high FROM T WHERE n > 0 GROUP BY id % 2"
OTHER_VALUE = "CREATE VIEW OtherValue AS SELECT g, MAX(id) AS high FROM T WHERE n > 0 GROUP BY g"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLE)
        write(db, 1, 10)
        for text in (ENDS, BOTH, OTHER_FILTER, OTHER_GROUP, OTHER_VALUE):
            db.execute(text)
        write(db, 2, 5)
        db.maintain()
        yield db


def slots(db: vk.Database, name: str) -> set[int]:
    """Where the auxiliary tables of a view are."""
    objects = store_of(db).view_tables.objects()[1]
    return {objects[number].slot for number in store_of(db).catalog().known_view(name).auxiliary}


def group(db: vk.Database, name: str) -> int:
    return store_of(db).view_tables.objects()[1][store_of(db).catalog().known_view(name).id].group


def test_equal_pre_aggregations_are_kept_once(db: vk.Database) -> None:
    assert slots(db, "Ends") == slots(db, "Both")
    assert len(slots(db, "Both")) == 1
    assert group(db, "Ends") == group(db, "Both")


@pytest.mark.parametrize("name", ["OtherFilter", "OtherGroup", "OtherValue"])
def test_what_differs_is_kept_apart(db: vk.Database, name: str) -> None:
    assert slots(db, name).isdisjoint(slots(db, "Ends"))
    assert group(db, name) != group(db, "Ends")


def test_views_that_share_stay_right_together(db: vk.Database) -> None:
    for seed in range(3, 9):
        write(db, seed, 4)
        db.maintain()
        check(db)


@pytest.mark.parametrize(("gone", "left"), [("Ends", "Both"), ("Both", "Ends")])
def test_the_other_keeps_what_was_shared_when_one_is_dropped(db: vk.Database, gone: str, left: str) -> None:
    shared = slots(db, left)
    db.execute(f"DROP VIEW {gone}")
    assert slots(db, left) == shared
    write(db, 20, 6)
    db.maintain()
    check(db)
    # Emptied with its last user, and used again.
    db.execute(f"DROP VIEW {left}")
    db.execute(ENDS)
    db.execute(BOTH)
    db.maintain()
    check(db)


def test_what_is_shared_holds_each_value_once(db: vk.Database) -> None:
    store = store_of(db)
    view = store.catalog().known_view("Ends")
    (number,) = view.auxiliary
    codec = RowCodec(bound_views(store).views[view.id].program.tables.stages[0].values[0])
    table = store.catalog().codec("T")
    rows = [row for part in store.snapshot().scan(table, ALL) for row in part]
    counted: dict[tuple[object, object], int] = {}
    for _, g, n in rows:
        if isinstance(n, int) and n > 0:
            counted[g, n] = counted.get((g, n), 0) + 1
    with store.view_tables.reading([number]) as reading:
        kept = [codec.decode(value) for _, value in reading.slice(codec, ALL, 1000)]
    assert {(g, value): weight for g, value, weight in kept} == counted

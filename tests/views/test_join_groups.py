"""Groups of views that join: connected, caught up with, replaced and dropped; and the join indexes that they share."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.faults.maintaining import store_of
from tests.oracle import Cells
from tests.views.kept import check_joins, finish, maintainer
from viewkeeper.errors import BadDefinition, ViewsDepend
from viewkeeper.pipeline.verify import verify
from viewkeeper.store.scan import ALL
from viewkeeper.views import fill
from viewkeeper.write import views as statements

TABLES = ("A", "B", "C")
PAIRS = "CREATE VIEW Pairs AS SELECT a.id AS a, b.id AS b FROM A AS a JOIN B AS b ON a.k = b.k"
SUMS = "CREATE VIEW Sums AS SELECT b.s, SUM(a.m) AS total FROM A AS a JOIN B AS b ON a.k = b.k GROUP BY b.s"
ALL_OF_A = "CREATE VIEW AllOfA AS SELECT a.id, b.m FROM A AS a LEFT JOIN B AS b ON a.k = b.k"
ELSEWHERE = "CREATE VIEW Elsewhere AS SELECT a.id AS a, b.id AS b FROM A AS a JOIN B AS b ON a.m = b.m"
LOW = "CREATE VIEW Low AS SELECT id, k, m FROM A WHERE m > 1"
OTHER_LOW = "CREATE OR REPLACE VIEW Low AS SELECT id, k, m FROM A WHERE m > 2"
UP = "CREATE VIEW Up AS SELECT l.id, b.s FROM Low AS l JOIN B AS b ON l.k = b.k"
COUNTS = "CREATE VIEW Counts AS SELECT k, COUNT(*) AS c FROM Low GROUP BY k"
TOP = "CREATE VIEW Top AS SELECT u.id, u.s, l.m FROM Up AS u LEFT JOIN Low AS l ON u.id = l.id"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        for table in TABLES:
            db.execute(f"CREATE TABLE {table} (id BIGINT PRIMARY KEY, k BIGINT, m BIGINT, s STRING)")
        write(db, 1, 12)
        yield db


def write(db: vk.Database, seed: int, transactions: int) -> None:
    """Transactions of one to four puts and deletes of a few keys of all tables."""
    chance = random.Random(seed)
    for _ in range(transactions):
        with db.transaction() as tx:
            for _ in range(chance.randint(1, 4)):
                table, key = chance.choice(TABLES), chance.randrange(6)
                if chance.random() < 0.2:
                    tx.delete(table, key)
                else:
                    row = {"k": chance.choice([None, 1, 2]), "m": chance.randrange(5), "s": chance.choice("xy")}
                    tx.put(table, {"id": key, **row})


def check(db: vk.Database, *, at_head: bool = True) -> None:
    """Views are what they have to be at their watermarks, and so is what they keep beside."""
    store = store_of(db)

    def base(table: int, position: int) -> list[Cells]:
        codec = store.catalog().codec(store.catalog().tables[table].name)
        return [row for part in store.snapshot(store.position(position)).scan(codec, ALL) for row in part]

    whole = check_joins(store, base)
    if at_head:
        assert whole == len(store.catalog().views)
        assert {state.watermark for state in store.view_tables.groups().values()} == {store.offset(store.head())}
        for view in store.catalog().views.values():
            if view.replaces is None:
                assert verify(store, view.name).ok


def slots(db: vk.Database, name: str) -> set[int]:
    """Where the auxiliary tables of a view are."""
    objects = store_of(db).view_tables.objects()[1]
    return {objects[number].slot for number in store_of(db).catalog().known_view(name).auxiliary}


def group(db: vk.Database, name: str) -> int:
    return store_of(db).view_tables.objects()[1][store_of(db).catalog().known_view(name).id].group


def create(db: vk.Database, *texts: str) -> None:
    for text in texts:
        db.execute(text)
    db.maintain()


class TestConnected:
    def test_two_groups_that_a_join_connects_become_one(self, db: vk.Database) -> None:
        create(
            db,
            "CREATE VIEW OfA AS SELECT k, COUNT(*) AS c FROM A GROUP BY k",
            "CREATE VIEW OfB AS SELECT k, SUM(m) AS total FROM B GROUP BY k",
        )
        assert group(db, "OfA") != group(db, "OfB")
        create(db, "CREATE VIEW Both AS SELECT x.k, x.c, y.total FROM OfA AS x FULL JOIN OfB AS y ON x.k = y.k")
        assert group(db, "OfA") == group(db, "OfB") == group(db, "Both")
        for seed in range(2, 8):
            write(db, seed, 3)
            db.maintain()
            check(db)

    def test_they_become_one_although_they_stood_apart(self, db: vk.Database) -> None:
        """The one that is behind catches up first, alone."""
        store = store_of(db)
        create(
            db,
            "CREATE VIEW OfA AS SELECT k, COUNT(*) AS c FROM A GROUP BY k",
            "CREATE VIEW OfB AS SELECT k, SUM(m) AS total FROM B GROUP BY k",
        )
        write(db, 2, 4)
        db.maintain(views=["OfA"])
        write(db, 3, 4)
        db.execute("CREATE VIEW Both AS SELECT x.k, x.c, y.total FROM OfA AS x JOIN OfB AS y ON x.k = y.k")
        finish(maintainer(store, batch_changes=1, step=lambda _: check(db, at_head=False)))
        assert group(db, "OfA") == group(db, "OfB") == group(db, "Both")
        check(db)

    def test_views_of_a_diamond_are_one_group(self, db: vk.Database) -> None:
        create(db, LOW, UP, COUNTS, "CREATE VIEW Tip AS SELECT u.id, c.c FROM Up AS u JOIN Counts AS c ON u.id = c.k")
        assert len({group(db, name) for name in ("Low", "Up", "Counts", "Tip")}) == 1
        for seed in range(2, 8):
            write(db, seed, 3)
            db.maintain()
            check(db)

    def test_the_group_moves_as_one(self, db: vk.Database) -> None:
        store = store_of(db)
        create(db, LOW, UP, TOP)
        write(db, 2, 6)
        seen = []

        def look(name: str) -> None:
            states, objects = store.view_tables.objects()
            marks = {states[objects[number].group].watermark for number in store.catalog().views}
            seen.append(len(marks))
            check(db, at_head=False)

        finish(maintainer(store, batch_changes=2, step=look))
        assert set(seen) == {1}
        check(db)


class TestCatchingUp:
    def test_a_view_added_to_a_moving_group_catches_up_beside_it(
        self, db: vk.Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = store_of(db)
        create(db, PAIRS)
        monkeypatch.setattr(statements, "SMALL", -1)
        monkeypatch.setattr(fill, "STEP_ROWS", 2)
        db.execute(SUMS)
        moved: list[int] = []

        def filling(_: Any) -> None:
            """While the new view is being filled, the old one goes on."""
            write(db, 100 + len(moved), 1)
            old = store.catalog().known_view("Pairs").id
            maintainer(store, views=[old]).round(fill=False)
            states, objects = store.view_tables.objects()
            moved.append(states[objects[old].group].watermark)
            assert objects[store.catalog().known_view("Sums").id].group != objects[old].group
            check(db, at_head=False)

        finish(maintainer(store, progress=filling))
        assert len(moved) > 1
        assert moved == sorted(set(moved))
        finish(maintainer(store))
        assert group(db, "Sums") == group(db, "Pairs")
        assert slots(db, "Sums") & slots(db, "Pairs")
        check(db)

    def test_until_then_it_keeps_join_indexes_of_its_own(
        self, db: vk.Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = store_of(db)
        create(db, PAIRS)
        write(db, 2, 4)
        db.execute(SUMS)
        assert slots(db, "Sums").isdisjoint(slots(db, "Pairs"))
        finish(maintainer(store, batch_changes=1, step=lambda _: check(db, at_head=False)))
        assert slots(db, "Sums") & slots(db, "Pairs")
        check(db)

    def test_a_position_before_that_of_a_side_leaves_it_for_later(self, db: vk.Database) -> None:
        """Its sides stand at different positions and may not be brought to one; that is no reason to try for ever."""
        store = store_of(db)
        create(db, "CREATE VIEW OfA AS SELECT id, k FROM A")
        behind = store.offset(store.head())
        write(db, 2, 3)
        db.execute("CREATE VIEW OfB AS SELECT id, k FROM B")
        db.execute("CREATE VIEW Both AS SELECT a.id AS a, b.id AS b FROM OfA AS a JOIN OfB AS b ON a.k = b.k")
        finish(maintainer(store), behind)
        check(db, at_head=False)
        finish(maintainer(store))
        check(db)


class TestReplaced:
    @pytest.fixture
    def names(self, db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
        """Views on each other, whole; what is made from now on is left to maintainers."""
        create(db, LOW, UP, TOP)
        monkeypatch.setattr(statements, "SMALL", -1)
        monkeypatch.setattr(fill, "STEP_ROWS", 2)
        return named(db)

    def test_joins_above_are_swapped_with_the_lower_view(self, db: vk.Database, names: dict[str, int]) -> None:
        store = store_of(db)
        db.execute(OTHER_LOW)
        assert named(db) == names
        assert {view.name for view in store.catalog().views.values() if view.replaces is not None} == set(names)
        seen = []
        finish(maintainer(store, step=lambda _: seen.append(named(db))))
        assert set(names.values()).isdisjoint(named(db).values())
        assert all(found in (names, named(db)) for found in seen)
        write(db, 2, 5)
        db.maintain()
        check(db)
        # Nothing is left of the old ones, nor of their join indexes.
        kept = {number for view in store.catalog().views.values() for number in view.objects}
        assert store.view_tables.objects()[1].keys() == kept

    def test_joins_follow_the_log_with_the_old_one_until_then(self, db: vk.Database, names: dict[str, int]) -> None:
        store = store_of(db)
        db.execute(OTHER_LOW)
        write(db, 2, 5)
        maintainer(store).round(fill=False)
        assert named(db) == names
        states, objects = store.view_tables.objects()
        assert {states[objects[number].group].watermark for number in names.values()} == {store.offset(store.head())}
        check(db, at_head=False)

    def test_a_shape_that_joins_above_cannot_take_names_all_of_them(
        self, db: vk.Database, names: dict[str, int]
    ) -> None:
        db.execute("CREATE VIEW Ids AS SELECT l.id FROM Low AS l JOIN C AS c ON l.id = c.id")
        before = store_of(db).catalog().views
        with pytest.raises(ViewsDepend) as refused:
            db.execute("CREATE OR REPLACE VIEW Low AS SELECT id, m FROM A")
        # Top reads columns of Low that stay, and stands on Up.
        assert refused.value.message == 'view "Low" cannot be replaced: Up, Top would no longer hold'
        with pytest.raises(ViewsDepend) as refused:
            db.execute("CREATE OR REPLACE VIEW Low AS SELECT id AS other, k, m FROM A")
        assert refused.value.message == 'view "Low" cannot be replaced: Up, Top, Ids would no longer hold'
        assert store_of(db).catalog().views == before

    def test_a_join_that_would_read_itself_on_one_side_is_refused(self, db: vk.Database, names: dict[str, int]) -> None:
        with pytest.raises(BadDefinition, match="Low"):
            db.execute("CREATE OR REPLACE VIEW Low AS SELECT a.id, a.k, a.m FROM A AS a JOIN Top AS t ON a.id = t.id")

    def test_a_join_above_is_replaced_alone(self, db: vk.Database, names: dict[str, int]) -> None:
        store = store_of(db)
        db.execute("CREATE OR REPLACE VIEW Up AS SELECT l.id, b.s FROM Low AS l LEFT JOIN B AS b ON l.k = b.k")
        finish(maintainer(store))
        assert named(db)["Low"] == names["Low"]
        assert named(db)["Up"] != names["Up"]
        assert named(db)["Top"] != names["Top"]
        assert store.catalog().known_view("Top").sources == (named(db)["Up"], named(db)["Low"])
        write(db, 3, 5)
        db.maintain()
        check(db)


def named(db: vk.Database) -> dict[str, int]:
    """The views that have a name, by it."""
    return {view.name: view.id for view in store_of(db).catalog().views.values() if view.replaces is None}


class TestDropped:
    def test_a_view_under_a_join_is_not_dropped_without_cascade(self, db: vk.Database) -> None:
        create(db, LOW, UP, TOP)
        with pytest.raises(ViewsDepend) as refused:
            db.execute("DROP VIEW Low")
        assert "Up" in str(refused.value)
        assert "Top" in str(refused.value)
        assert set(named(db)) == {"Low", "Up", "Top"}
        db.execute("DROP VIEW Low CASCADE")
        assert named(db) == {}
        assert store_of(db).view_tables.objects() == ({}, {})

    def test_nor_is_a_table(self, db: vk.Database) -> None:
        create(db, PAIRS)
        for table in ("A", "B"):
            with pytest.raises(ViewsDepend, match="Pairs"):
                db.execute(f"DROP TABLE {table}")
        db.execute("DROP TABLE C")

    def test_what_stands_on_the_other_side_stays(self, db: vk.Database) -> None:
        create(db, LOW, UP, COUNTS)
        db.execute("DROP VIEW Up")
        write(db, 2, 5)
        db.maintain()
        assert set(named(db)) == {"Low", "Counts"}
        check(db)


class TestSharedJoinIndex:
    def test_a_second_view_over_the_same_sides_keeps_none_of_its_own(self, db: vk.Database) -> None:
        create(db, PAIRS, SUMS)
        assert group(db, "Pairs") == group(db, "Sums")
        assert slots(db, "Pairs")
        assert slots(db, "Pairs") <= slots(db, "Sums")

    def test_a_third_of_another_kind_shares_it_too(self, db: vk.Database) -> None:
        create(db, PAIRS, SUMS, ALL_OF_A)
        assert slots(db, "Pairs") <= slots(db, "AllOfA")
        assert slots(db, "Pairs") <= slots(db, "Sums")
        for seed in range(2, 8):
            write(db, seed, 4)
            db.maintain()
            check(db)

    def test_another_attribute_is_kept_apart(self, db: vk.Database) -> None:
        create(db, PAIRS, ELSEWHERE)
        assert slots(db, "Elsewhere").isdisjoint(slots(db, "Pairs"))
        assert group(db, "Elsewhere") != group(db, "Pairs")

    def test_so_are_other_rows_of_a_side(self, db: vk.Database) -> None:
        create(
            db,
            PAIRS,
            "CREATE VIEW Fewer AS SELECT a.id AS a, b.id AS b FROM A AS a JOIN B AS b ON a.k = b.k WHERE a.m > 1",
            "CREATE VIEW Some AS SELECT a.id AS a, b.id AS b FROM (SELECT * FROM A WHERE m > 1) AS a, B AS b "
            "WHERE a.k = b.k",
        )
        for seed in range(2, 6):
            write(db, seed, 4)
            db.maintain()
            check(db)

    @pytest.mark.parametrize(("gone", "left"), [("Pairs", "Sums"), ("Sums", "Pairs")])
    def test_it_stays_when_one_is_dropped_and_goes_with_the_last(self, db: vk.Database, gone: str, left: str) -> None:
        create(db, PAIRS, SUMS)
        shared = slots(db, "Pairs") & slots(db, "Sums")
        db.execute(f"DROP VIEW {gone}")
        assert shared <= slots(db, left)
        write(db, 2, 6)
        db.maintain()
        check(db)
        db.execute(f"DROP VIEW {left}")
        assert store_of(db).view_tables.objects() == ({}, {})
        # Emptied with its last user, and used again.
        create(db, PAIRS, SUMS)
        check(db)

    def test_a_view_that_uses_more_columns_of_it_finds_them_in_rows_from_before(self, db: vk.Database) -> None:
        """Some rows of the index were written when nobody used the column."""
        create(db, PAIRS)
        write(db, 2, 5)
        create(db, "CREATE VIEW Texts AS SELECT a.id AS a, b.s, b.m FROM A AS a JOIN B AS b ON a.k = b.k")
        check(db)
        # Only rows of A change: those of B come from the index.
        for key in range(6):
            db.put("A", {"id": key, "k": 1 + key % 2, "m": 1, "s": "x"})
            db.maintain()
            check(db)
        db.execute("DROP VIEW Texts")
        write(db, 3, 5)
        db.maintain()
        check(db)

    def test_a_side_of_two_indexes_has_in_both_what_another_side_uses_of_one(self, db: vk.Database) -> None:
        """B is twice in Twins, by k alone and by k and m: what is used of the one is in the other, too."""
        create(
            db,
            "CREATE VIEW Trips AS SELECT a.k, COUNT(*) AS n FROM A a JOIN B b ON b.k = a.k JOIN B c ON c.k = a.k "
            "GROUP BY a.k",
        )
        create(
            db,
            "CREATE VIEW Twins AS SELECT a.id AS a, b.id AS b, c.id AS c, c.s FROM A a JOIN B b ON b.k = a.k "
            "JOIN B c ON c.k = a.k AND c.m = b.m",
        )
        assert group(db, "Trips") == group(db, "Twins")
        assert slots(db, "Trips") & slots(db, "Twins")
        for seed in range(2, 8):
            write(db, seed, 4)
            db.maintain()
            check(db)

    def test_what_a_column_says_that_nobody_uses_does_not_matter(self, db: vk.Database) -> None:
        """A change of nothing but that column changes no view, and is there once a view uses it."""
        create(db, PAIRS)
        since = db.put("B", {"id": 1, "k": 1, "s": "x"})
        db.maintain()
        db.put("B", {"id": 1, "s": "z"})
        db.maintain()
        check(db)
        assert all(change.position.covers(since) for change in db.changes("Pairs", since=since))
        create(db, "CREATE VIEW Texts AS SELECT a.id AS a, b.s FROM A AS a JOIN B AS b ON a.k = b.k")
        db.put("A", {"id": 1, "k": 1})
        db.maintain()
        check(db)

    def test_a_column_that_nobody_uses_any_more_is_not_compared(self, db: vk.Database) -> None:
        """It stays in rows from before; a NaN in another column does not make them differ either."""
        db.execute("CREATE TABLE D (id BIGINT PRIMARY KEY, k BIGINT, x DOUBLE, s STRING)")
        db.insert("D", {"id": 1, "k": 1, "x": float("nan"), "s": "z"})
        create(
            db,
            "CREATE VIEW Texts AS SELECT a.id, d.x, d.s FROM A AS a JOIN D AS d ON a.k = d.k",
            "CREATE VIEW Numbers AS SELECT a.id, d.x FROM A AS a JOIN D AS d ON a.k = d.k",
        )
        db.execute("DROP VIEW Texts")
        check(db)

    def test_joins_over_a_view_share_it(self, db: vk.Database) -> None:
        create(
            db,
            LOW,
            UP,
            "CREATE VIEW Again AS SELECT b.s, COUNT(*) AS c FROM Low AS l JOIN B AS b ON l.k = b.k GROUP BY b.s",
        )
        assert slots(db, "Up") <= slots(db, "Again")
        for seed in range(2, 6):
            write(db, seed, 4)
            db.maintain()
            check(db)

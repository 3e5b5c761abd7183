"""CREATE OR REPLACE: the new view is built beside the old one, with those above it, and all are swapped at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.faults.child import run
from tests.faults.maintaining import TABLE, check, fill_and_die, maintain_and_die, store_of, write
from tests.faults.threads import Thread
from tests.views.kept import finish, group_of, maintainer, shown
from viewkeeper.errors import BadDefinition, UnknownColumn, ViewsDepend
from viewkeeper.pipeline import maintainer as pipeline
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.views import fill
from viewkeeper.views.batch import Timing, batch_by_rows
from viewkeeper.views.bound import bound_views
from viewkeeper.views.settle import settle_views
from viewkeeper.write import views as statements
from viewkeeper.write.statements import Outcome

LOW = "VIEW Low AS SELECT id, g, n FROM T WHERE n > 1"
OTHER_LOW = "VIEW Low AS SELECT id, g, n FROM T WHERE n > 2"
MIDDLE = "VIEW Middle AS SELECT g, COUNT(*) AS c FROM Low GROUP BY g"
TOP = "VIEW Top AS SELECT c, COUNT(*) AS many FROM Middle GROUP BY c"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db"


@pytest.fixture
def db(path: Path) -> Iterator[vk.Database]:
    """Three views on each other, whole; what is made from now on is left to maintainers."""
    with vk.open(path, durability="os") as db, pytest.MonkeyPatch.context() as patch:
        db.execute(TABLE)
        write(db, 1, 12)
        for text in (LOW, MIDDLE, TOP):
            db.execute(f"CREATE {text}")
        db.maintain()
        patch.setattr(statements, "SMALL", -1)
        patch.setattr(fill, "STEP_ROWS", 2)
        yield db


def names(store: EmbeddedStore) -> dict[str, int]:
    """The views that have a name, by it."""
    return {view.name: view.id for view in store.catalog().views.values() if view.replaces is None}


def pending(store: EmbeddedStore) -> set[str]:
    return {view.name for view in store.catalog().views.values() if view.replaces is not None}


class TestSwap:
    def test_all_are_swapped_together_once_all_are_whole(self, db: vk.Database) -> None:
        store = store_of(db)
        old = names(store)
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        assert names(store) == old
        assert pending(store) == {"Low", "Middle", "Top"}
        seen = []
        finish(maintainer(store, step=lambda name: seen.append(names(store))))
        assert set(old.values()).isdisjoint(names(store).values())
        assert all(found in (old, names(store)) for found in seen)
        assert pending(store) == set()
        assert "n > 2" in store.catalog().known_view("Low").text
        check(db)
        # Nothing is left of the old ones.
        kept = {number for view in store.catalog().views.values() for number in view.objects}
        assert store.view_tables.objects()[1].keys() == kept

    def test_old_ones_follow_the_log_until_then(self, db: vk.Database) -> None:
        store = store_of(db)
        old = names(store)
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        write(db, 2, 5)
        maintainer(store).round(fill=False)
        assert names(store) == old
        assert check_at_head(store, old) == 3
        check(db, at_head=False)

    def test_a_replacement_that_is_behind_is_not_swapped_yet(self, db: vk.Database) -> None:
        """Readers would go back in time."""
        store = store_of(db)
        db.execute("DROP VIEW Middle CASCADE")
        old = names(store)
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        (new,) = (view.id for view in store.catalog().views.values() if view.replaces is not None)
        assert maintainer(store)._filler.fill(bound_views(store), bound_views(store).views[new])
        write(db, 3, 5)
        maintainer(store, views=list(old.values())).round(fill=False)
        assert names(store) == old
        finish(maintainer(store))
        assert names(store) == {"Low": new}
        check(db)

    def test_a_replacement_that_does_not_move_with_its_source_yet_is_not_swapped(self, db: vk.Database) -> None:
        """A snapshot would show a view and the one below it at two moments, which it did not before."""
        store = store_of(db)
        old = names(store)
        write(db, 3, 5)
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        new = [view.id for _, view in sorted(store.catalog().views.items()) if view.replaces is not None]
        for number in new:
            bound = bound_views(store)
            assert maintainer(store)._filler.fill(bound, bound.views[number])
        write(db, 4, 5)
        states, objects = store.view_tables.objects()
        group, head = objects[new[0]].group, store.offset(store.head())
        assert set(states[group].objects).isdisjoint(new[1:])
        store.view_tables.apply(batch_by_rows(store, bound_views(store), group, states[group], head, Timing()))
        assert names(store) == old
        settle_views(store)
        assert names(store) == old
        finish(maintainer(store))
        assert set(names(store).values()) == set(new)
        check(db)

    def test_a_replacement_that_is_not_whole_is_not_swapped_yet(self, db: vk.Database) -> None:
        store = store_of(db)
        old = names(store)
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        seen = []

        def settle(_: Any) -> None:
            settle_views(store)
            seen.append(names(store))

        maintainer(store, progress=settle).round()
        assert len(seen) > 3
        # With its last step the last of the three is whole.
        assert seen[:-1] == [old] * (len(seen) - 1)
        assert set(old.values()).isdisjoint(seen[-1].values())
        check(db)

    @pytest.mark.parametrize("name", ["Low", "Middle", "Top"])
    def test_maintaining_a_view_by_name_fills_what_replaces_it(self, db: vk.Database, name: str) -> None:
        store = store_of(db)
        db.execute("CREATE VIEW Beside AS SELECT id FROM T")
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        assert set(db.maintain(views=[name]).filled) == {"Low", "Middle", "Top"}
        assert pending(store) == set()
        check(db, at_head=False)

    def test_a_view_over_what_is_about_to_take_a_place_is_analysed_as_any_other(self, db: vk.Database) -> None:
        store = store_of(db)
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        db.execute("CREATE VIEW Fresh AS SELECT g, COUNT(*) AS c FROM Low GROUP BY g")
        assert [status.level for status in db.status() if status.view == "Fresh"] == ["SI-2"]
        text = "SELECT c FROM Fresh WHERE g = :g"
        with pytest.raises(vk.ViewNotReady, match="Fresh"):
            db.query(text, g="a")
        finish(maintainer(store))
        for row in db.scan("Fresh").all():
            assert db.query(text, g=row["g"]).all() == [{"c": row["c"]}]

    def test_no_writer_waits_for_a_swap_that_is_not_due(self, db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
        """It would wait for an apply, with the lock that writers of tables need."""
        store = store_of(db)
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        with monkeypatch.context() as patch:
            patch.setattr(store, "define", lambda change: pytest.fail("the catalog was locked"))
            settle_views(store)
        finish(maintainer(store))
        check(db)

    def test_no_apply_begins_before_the_swap_is_committed(
        self, db: vk.Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It could take the old view ahead of the new one, and readers of the name back."""
        store = store_of(db)
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        with monkeypatch.context() as patch:
            patch.setattr(pipeline, "settle_views", lambda store: False)
            finish(maintainer(store))
        really, applying = store.refresh, []

        def committed() -> None:
            applying.append(Thread(lambda: store.view_tables.claim(0, "another", 1)))
            applying[0].join(0.2)
            assert applying[0].is_alive()
            really()

        with monkeypatch.context() as patch:
            patch.setattr(store, "refresh", committed)
            assert settle_views(store)
        assert applying[0].ended() is False
        assert pending(store) == set()
        check(db)

    def test_a_watermark_never_goes_back_for_readers_of_a_name(self, db: vk.Database) -> None:
        store = store_of(db)
        over = threading.Event()

        def read() -> int:
            looks, last = 0, dict.fromkeys(("Low", "Middle", "Top"), -1)
            while not over.is_set():
                for name in last:
                    # A swap may come between the two looks; then the old one has no group any more.
                    state = group_of(store, store.catalog().known_view(name))
                    if state is None:
                        continue
                    assert state.filled is None
                    assert state.watermark >= last[name]
                    last[name] = state.watermark
                    looks += 1
            return looks

        def keep() -> None:
            keeping = maintainer(store, batch_changes=2)
            while not over.is_set():
                keeping.round()

        readers, keeper = [Thread(read) for _ in range(2)], Thread(keep)
        for number in range(8):
            db.execute(f"CREATE OR REPLACE VIEW Low AS SELECT id, g, n FROM T WHERE n > {number % 3}")
            write(db, 10 + number, 4)
        over.set()
        results = [thread.ended() for thread in readers]
        assert all(isinstance(result, int) and result > 0 for result in results), results
        assert keeper.ended() is None
        finish(maintainer(store))
        assert "n > 1" in store.catalog().known_view("Low").text
        check(db)


def check_at_head(store: EmbeddedStore, views: dict[str, int]) -> int:
    """How many of these views stand at the head."""
    states, objects = store.view_tables.objects()
    return sum(states[objects[number].group].watermark == store.offset(store.head()) for number in views.values())


class TestRefused:
    def test_a_shape_that_views_above_cannot_take_names_all_of_them(self, db: vk.Database) -> None:
        db.execute("CREATE VIEW Beside AS SELECT g FROM Low")
        db.execute("CREATE INDEX ById ON Low (id)")
        before = store_of(db).catalog().views
        with pytest.raises(ViewsDepend) as refused:
            db.execute("CREATE OR REPLACE VIEW Low AS SELECT id, n FROM T")
        # Top stands on Middle.
        assert refused.value.message == 'view "Low" cannot be replaced: Middle, Top, Beside would no longer hold'
        assert refused.value.detail.startswith('Middle: column "g" is not in "Low"')
        assert store_of(db).catalog().views == before

    def test_it_names_all_while_replacements_of_them_are_filled(self, db: vk.Database) -> None:
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        db.execute("CREATE VIEW Fresh AS SELECT many FROM Top")
        db.execute("CREATE VIEW Ids AS SELECT id FROM Low")
        with pytest.raises(ViewsDepend) as refused:
            db.execute("CREATE OR REPLACE VIEW Low AS SELECT id, n FROM T")
        assert refused.value.message == 'view "Low" cannot be replaced: Middle, Top, Fresh would no longer hold'

    def test_a_view_that_would_read_itself_is_refused(self, db: vk.Database) -> None:
        with pytest.raises(BadDefinition, match="Low"):
            db.execute("CREATE OR REPLACE VIEW Low AS SELECT c AS id, c AS g, c AS n FROM Middle")
        with pytest.raises(BadDefinition, match="Low"):
            db.execute("CREATE OR REPLACE VIEW Low AS SELECT id, g, n FROM Low")
        with pytest.raises(BadDefinition, match="Low"):
            db.explain("CREATE OR REPLACE VIEW Low AS SELECT c AS id, c AS g, c AS n FROM Middle")

    def test_if_not_exists_is_not_refused_for_what_it_does_not_make(self, db: vk.Database) -> None:
        db.execute("SET scale_independence = strict")
        made = db.execute("CREATE VIEW IF NOT EXISTS Low AS SELECT a.id FROM T a JOIN T b ON a.g = b.g")
        assert isinstance(made, Outcome)
        assert made.warnings == ()

    def test_so_is_one_that_would_through_a_replacement(self, db: vk.Database) -> None:
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        db.execute("CREATE VIEW Fresh AS SELECT id, g, n FROM Low")
        with pytest.raises(BadDefinition, match="Fresh"):
            db.execute("CREATE OR REPLACE VIEW Low AS SELECT id, g, n FROM Fresh")


class TestWhilePending:
    def test_replaced_again_the_last_definition_stays(self, db: vk.Database) -> None:
        store = store_of(db)
        for limit in (2, 3, 0):
            db.execute(f"CREATE OR REPLACE VIEW Low AS SELECT id, g, n FROM T WHERE n > {limit}")
            assert len(store.catalog().views) == 6
        finish(maintainer(store))
        assert "n > 0" in store.catalog().known_view("Low").text
        assert len(store.catalog().views) == 3
        check(db)

    def test_replaced_again_in_the_middle_of_its_fill(self, db: vk.Database) -> None:
        store = store_of(db)
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        again: list[Any] = []

        def replace(filled: Any) -> None:
            if not again:
                again.append(filled)
                db.execute("CREATE OR REPLACE VIEW Low AS SELECT id, g, n FROM T WHERE n > 3")

        finish(maintainer(store, progress=replace))
        finish(maintainer(store))
        assert "n > 3" in store.catalog().known_view("Low").text
        check(db)

    def test_a_view_made_meanwhile_reads_the_new_one(self, db: vk.Database) -> None:
        """The old one is about to go."""
        store = store_of(db)
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        db.execute("CREATE VIEW Fresh AS SELECT id FROM Low")
        finish(maintainer(store))
        assert store.catalog().known_view("Fresh").sources == (names(store)["Low"],)
        check(db)

    def test_a_view_above_that_is_replaced_meanwhile_goes_along(self, db: vk.Database) -> None:
        store = store_of(db)
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        db.execute("CREATE OR REPLACE VIEW Middle AS SELECT g, COUNT(*) AS c, SUM(n) AS s FROM Low GROUP BY g")
        finish(maintainer(store))
        assert store.catalog().known_view("Middle").column_names == ("g", "c", "s")
        assert store.catalog().known_view("Middle").sources == (names(store)["Low"],)
        assert store.catalog().known_view("Top").sources == (names(store)["Middle"],)
        assert pending(store) == set()
        check(db)

    def test_a_view_above_keeps_the_new_definition_when_the_lower_one_is_replaced_again(self, db: vk.Database) -> None:
        store = store_of(db)
        db.execute("CREATE OR REPLACE VIEW Middle AS SELECT g, COUNT(*) AS c, SUM(n) AS s FROM Low GROUP BY g")
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        db.execute("CREATE VIEW Fresh AS SELECT c FROM Middle")
        db.execute("CREATE OR REPLACE VIEW Low AS SELECT id, g, n FROM T WHERE n > 3")
        finish(maintainer(store))
        assert store.catalog().known_view("Middle").column_names == ("g", "c", "s")
        assert store.catalog().known_view("Fresh").sources == (names(store)["Middle"],)
        assert store.catalog().views.keys() == set(names(store).values())
        check(db)

    def test_a_view_that_is_about_to_stand_on_the_replaced_one_stands_on_the_new_one(self, db: vk.Database) -> None:
        store = store_of(db)
        db.execute("CREATE VIEW Beside AS SELECT id FROM T")
        finish(maintainer(store))
        db.execute("CREATE OR REPLACE VIEW Beside AS SELECT id FROM Low")
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        finish(maintainer(store))
        assert store.catalog().known_view("Beside").sources == (names(store)["Low"],)
        assert store.catalog().views.keys() == set(names(store).values())
        check(db)

    def test_what_the_new_one_lacks_cannot_be_read_any_more(self, db: vk.Database) -> None:
        db.execute("DROP VIEW Middle CASCADE")
        db.execute("CREATE OR REPLACE VIEW Low AS SELECT id, n FROM T")
        with pytest.raises(UnknownColumn):
            db.execute("CREATE VIEW Fresh AS SELECT g FROM Low")

    def test_drop_takes_the_replacement_along_but_no_view_that_it_does_not_name(self, db: vk.Database) -> None:
        store = store_of(db)
        db.execute("DROP VIEW Middle CASCADE")
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        db.execute("CREATE VIEW Fresh AS SELECT id FROM Low")
        with pytest.raises(ViewsDepend, match="Fresh"):
            db.execute("DROP VIEW Low")
        db.execute("DROP VIEW Low CASCADE")
        assert store.catalog().views == {}
        finish(maintainer(store))
        assert store.view_tables.objects() == ({}, {})


class TestKilled:
    def test_between_create_and_fill(self, db: vk.Database, path: Path) -> None:
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        assert run(maintain_and_die, path, "filled").status == -signal.SIGKILL
        assert pending(store_of(db)) == {"Low", "Middle", "Top"}
        check(db, at_head=False)
        db.maintain()
        assert pending(store_of(db)) == set()
        check(db)

    def test_in_the_middle_of_a_fill(self, db: vk.Database, path: Path) -> None:
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        assert run(fill_and_die, path, 1, 2).status == -signal.SIGKILL
        write(db, 30, 3)
        db.maintain()
        assert pending(store_of(db)) == set()
        check(db)

    def test_between_fill_and_swap(self, db: vk.Database, path: Path) -> None:
        db.execute(f"CREATE OR REPLACE {OTHER_LOW}")
        assert run(maintain_and_die, path, "begun").status == -signal.SIGKILL
        states, objects = store_of(db).view_tables.objects()
        new = [view.id for view in store_of(db).catalog().views.values() if view.replaces is not None]
        assert [states[objects[number].group].filled for number in new] == [None] * 3
        db.maintain()
        assert pending(store_of(db)) == set()
        check(db)
        assert shown(store_of(db), store_of(db).catalog().known_view("Top"))

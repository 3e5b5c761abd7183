"""A base that has lost its last transactions, as a power cut may leave it under "os": views that had seen them are
filled anew, and are right.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.faults.maintaining import VIEWS, check, prepare, store_of, write
from tests.views.kept import finish, group_of, maintainer
from viewkeeper.pipeline.clock import work_due
from viewkeeper.views import fill
from viewkeeper.write import views as statements


def lose(path: Path, meanwhile: Callable[[vk.Database], None]) -> vk.Database:
    """Open the database with its base as it was before `meanwhile`, and its views as they are after it."""
    with vk.open(path) as db:
        store = store_of(db)
        base, kept = Path(store.folder.base), path.parent / "kept"
        db.close()
        shutil.copytree(base, kept)
    with vk.open(path) as db:
        meanwhile(db)
    shutil.rmtree(base)
    shutil.copytree(kept, base)
    return vk.open(path)


def write_and_maintain(db: vk.Database) -> None:
    write(db, 50, 5)
    db.maintain()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with prepare(tmp_path / "db") as db:
        for text in VIEWS:
            db.execute(text)
        db.maintain()
    return tmp_path / "db"


def put(db: vk.Database, first: int, count: int) -> None:
    """One transaction of so many changes."""
    with db.transaction() as tx:
        for number in range(first, first + count):
            tx.put("T", {"id": number, "g": "lost", "n": number})


class TestLost:
    def test_nothing_is_lost_where_views_had_not_seen_it(self, path: Path) -> None:
        with lose(path, lambda db: write(db, 50, 5)) as db:
            before = store_of(db).view_tables.groups()
            db.maintain()
            assert store_of(db).view_tables.groups() == before
            check(db)

    def test_views_ahead_of_the_head_are_filled_anew(self, path: Path) -> None:
        with lose(path, write_and_maintain) as db:
            head = store_of(db).offset(db.head())
            assert any(state.watermark > head for state in store_of(db).view_tables.groups().values())
            db.maintain()
            check(db)

    def test_a_maintainer_that_goes_on_has_work_though_nobody_writes(self, path: Path) -> None:
        with lose(path, write_and_maintain) as db:
            assert work_due(store_of(db)) is not None
            db.maintain()
            assert work_due(store_of(db)) is None

    def test_a_view_that_was_lost_leaves_nothing_to_one_that_gets_its_id(self, path: Path) -> None:
        def meanwhile(db: vk.Database) -> None:
            db.execute("CREATE VIEW Lost AS SELECT g, n FROM T WHERE n < 2")
            db.execute("CREATE VIEW Gone AS SELECT g, n FROM T WHERE n < 3")

        with lose(path, meanwhile) as db:
            db.execute("CREATE VIEW Found AS SELECT g, n FROM T WHERE n > 1")
            db.maintain()
            check(db)

    def test_views_are_filled_anew_when_other_writes_came_instead(self, path: Path) -> None:
        def meanwhile(db: vk.Database) -> None:
            put(db, 100, 3)
            db.maintain()

        with lose(path, meanwhile) as db:
            # The same number of changes: the position is one where a transaction ends, but it is another one.
            put(db, 200, 3)
            db.maintain()
            check(db)

    @pytest.mark.parametrize("count", [5, 30])
    def test_views_are_filled_anew_when_no_transaction_ends_at_their_watermark(self, path: Path, count: int) -> None:
        def meanwhile(db: vk.Database) -> None:
            put(db, 100, 3)
            db.maintain()

        with lose(path, meanwhile) as db:
            put(db, 200, count)
            db.maintain()
            check(db)

    def test_views_above_are_filled_anew_with_those_below(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A view that lags was not ahead itself, but what it was to follow is gone."""
        monkeypatch.setattr(statements, "settle_views", lambda _: False)

        with vk.open(path) as db:
            write(db, 60, 4)
            db.execute("CREATE VIEW Late AS SELECT c, many FROM Sizes WHERE c > 0")
            store = store_of(db)
            below = [view.id for view in store.catalog().views.values() if view.name != "Late"]
            position = group_of(store, store.catalog().known_view("Late"))
            assert position is not None
            finish(maintainer(store, views=below))

        def ahead(db: vk.Database) -> None:
            put(db, 100, 3)
            store = store_of(db)
            finish(maintainer(store, views=below))
            late = group_of(store, store.catalog().known_view("Late"))
            assert late is not None
            assert late.watermark == position.watermark < store.offset(store.head())

        with lose(path, ahead) as db:
            db.maintain()
            check(db)

    def test_a_fill_that_had_begun_begins_anew(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(statements, "SMALL", -1)
        monkeypatch.setattr(fill, "STEP_ROWS", 2)

        class Stopped(BaseException):
            pass

        def stop(_: object) -> None:
            raise Stopped

        def meanwhile(db: vk.Database) -> None:
            put(db, 100, 3)
            with pytest.raises(Stopped):
                maintainer(store_of(db), progress=stop).round()

        with vk.open(path) as db:
            db.execute("CREATE VIEW Rows AS SELECT id, n FROM T")
        with lose(path, meanwhile) as db:
            put(db, 200, 3)
            db.maintain()
            check(db)

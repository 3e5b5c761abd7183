"""ALTER VIEW … SET MAINTAIN: rows go where the mode keeps them, and nothing is computed from base rows again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from typing import Any, NoReturn

import pytest

import viewkeeper as vk
from viewkeeper.errors import UnknownTable, Unsupported, ViewkeeperError
from viewkeeper.views import fill

MODES = ("DEFERRED", "SYNC", "LAZY", "EVERY 1 SECOND", "PERIODIC 1 HOUR", "LOCAL")
VIEWS = {
    "groups": "SELECT g, COUNT(*) AS n, SUM(v) AS total, MIN(v) AS least, COUNT(DISTINCT v) AS kinds FROM T GROUP BY g",
    "join": "SELECT T.id, T.v, U.name FROM T LEFT JOIN U ON T.g = U.g",
    "bag": "SELECT v FROM T",
}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute("CREATE TABLE T (id BIGINT PRIMARY KEY, g STRING, v BIGINT)")
        db.execute("CREATE TABLE U (g STRING PRIMARY KEY, name STRING)")
        write(db, 0)
        yield db


def write(db: vk.Database, seed: int) -> None:
    for number in range(seed, seed + 40):
        db.put("T", {"id": number * 7 % 61, "g": f"g{number % 5}", "v": number % 9})
    db.delete("T", seed % 61)
    db.put("U", {"g": f"g{seed % 6}", "name": f"u{seed}"})


def no_fill(*_: object, **__: object) -> NoReturn:
    raise AssertionError("a view was computed from base rows again")


def rows(db: vk.Database, name: str, **options: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in db.scan(name, **options))


@pytest.mark.parametrize("kind", VIEWS)
def test_every_mode_follows_every_other_without_a_fill(
    db: vk.Database, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = [mode for mode in MODES if kind != "join" or mode != "LOCAL"]
    db.execute(f"CREATE VIEW Wanted MAINTAIN SYNC AS {VIEWS[kind]}")
    db.execute(f"CREATE VIEW Moving AS {VIEWS[kind]}")
    db.execute("CREATE VIEW Above AS SELECT COUNT(*) AS n FROM Wanted")
    monkeypatch.setattr(fill, "leaf_input", no_fill)
    seed = 0
    for before, after in permutations(modes, 2):
        db.execute(f"ALTER VIEW Moving SET MAINTAIN {before}")
        seed += 11
        write(db, seed)
        db.execute(f"ALTER VIEW Moving SET MAINTAIN {after}")
        (status,) = (one for one in db.status() if one.view == "Moving")
        assert (status.mode, status.state) == (after, "live")
        if after.startswith("PERIODIC"):
            # It cannot be brought up but by computing it anew, which is what it is for.
            continue
        assert rows(db, "Moving", consistency="latest") == rows(db, "Wanted"), (before, after)
        assert db._shared.catalog().known_view("Moving").in_base == (after in ("SYNC", "LOCAL"))
    assert rows(db, "Above", consistency="latest") == [(len(rows(db, "Wanted")),)]


def test_what_views_share_is_copied_for_the_one_that_leaves(db: vk.Database) -> None:
    for name in ("One", "Two", "Three"):
        db.execute(f"CREATE VIEW {name} AS SELECT g, MIN(v) AS least, '{name}' AS named FROM T GROUP BY g")
    db.maintain()
    (group,) = db._shared.view_tables.groups().values()
    assert len(group.objects) == 6
    db.execute("ALTER VIEW Two SET MAINTAIN LAZY")
    assert sorted(len(state.objects) for state in db._shared.view_tables.groups().values()) == [2, 4]
    write(db, 100)
    assert [row["least"] for row in db.scan("Two")] == [row["least"] for row in db.scan("One", consistency="latest")]
    db.execute("ALTER VIEW One SET MAINTAIN SYNC")
    write(db, 200)
    db.maintain()
    for name in ("Two", "Three"):
        assert db.verify(name).ok
        assert [row["least"] for row in db.scan(name)] == [row["least"] for row in db.scan("One")]
    db.execute("ALTER VIEW Two SET MAINTAIN DEFERRED")
    db.maintain()
    assert sorted(len(state.objects) for state in db._shared.view_tables.groups().values()) == [4]


def test_what_reads_a_view_goes_on_where_that_is(db: vk.Database) -> None:
    db.execute(f"CREATE VIEW Below AS {VIEWS['groups']}")
    db.execute("CREATE VIEW Above AS SELECT n, COUNT(*) AS c FROM Below GROUP BY n")
    for seed, mode in enumerate(("SYNC", "LAZY", "SYNC", "EVERY 1 MINUTE", "DEFERRED", "SYNC")):
        write(db, 100 * seed)
        db.execute(f"ALTER VIEW Below SET MAINTAIN {mode}")
        write(db, 100 * seed + 50)
        db.maintain()
        counted = [row["n"] for row in db.scan("Below")]
        assert rows(db, "Above") == sorted((n, counted.count(n)) for n in set(counted)), mode
        assert db.verify("Above").ok


def test_an_index_has_modes_too(db: vk.Database) -> None:
    db.execute("CREATE INDEX ByV ON T (v) INCLUDE (g)")
    db.execute("CREATE JOIN INDEX Sides ON T (g), U (g)")
    for mode in ("SYNC", "LAZY", "DEFERRED"):
        db.execute(f"ALTER INDEX ByV SET MAINTAIN {mode}")
        db.execute(f"ALTER INDEX Sides SET MAINTAIN {mode}")
        write(db, 10)
        assert len(rows(db, "ByV", consistency="latest")) == len(rows(db, "T"))
        assert len(rows(db, "Sides", consistency="latest")) == len(rows(db, "T")) + len(rows(db, "U"))


@pytest.mark.parametrize(
    ("statement", "error", "words"),
    [
        ("ALTER VIEW Nothing SET MAINTAIN SYNC", UnknownTable, "does not exist"),
        ("ALTER VIEW T SET MAINTAIN SYNC", UnknownTable, "is a table"),
        ("ALTER INDEX Below SET MAINTAIN SYNC", UnknownTable, "is a view, not an index"),
        ("ALTER VIEW Top SET MAINTAIN DEFERRED", Unsupported, 'view "Top" can only be PERIODIC, not DEFERRED'),
        ("ALTER VIEW Above SET MAINTAIN SYNC", Unsupported, 'over view "Below", which is DEFERRED'),
        ("ALTER VIEW OnSync SET MAINTAIN LAZY", Unsupported, 'view "Higher" cannot be SYNC over view "OnSync"'),
        ("ALTER VIEW Joined SET MAINTAIN LOCAL", Unsupported, "no common partitioning"),
        ("ALTER VIEW Parted SET MAINTAIN LOCAL", Unsupported, "do not say which one they come from"),
    ],
)
def test_what_has_no_meaning_is_refused_and_nothing_is_changed(
    db: vk.Database, statement: str, error: type[ViewkeeperError], words: str
) -> None:
    db.execute("CREATE TABLE P (id BIGINT PRIMARY KEY, v BIGINT) PARTITIONED BY HASH (id) INTO 4")
    db.execute(f"CREATE VIEW Below AS {VIEWS['groups']}")
    db.execute("CREATE VIEW Above AS SELECT n, COUNT(*) AS c FROM Below GROUP BY n")
    db.execute("CREATE VIEW Top MAINTAIN PERIODIC 1 HOUR AS SELECT id, v FROM T ORDER BY v DESC LIMIT 3")
    db.execute(f"CREATE VIEW OnSync MAINTAIN SYNC AS {VIEWS['groups']}")
    db.execute("CREATE VIEW Higher MAINTAIN SYNC AS SELECT n, COUNT(*) AS c FROM OnSync GROUP BY n")
    db.execute(f"CREATE VIEW Joined AS {VIEWS['join']}")
    db.execute("CREATE VIEW Parted AS SELECT v, COUNT(*) AS n FROM P GROUP BY v")
    before = db._shared.catalog().views
    with pytest.raises(error) as refused:
        db.execute(statement)
    assert words in str(refused.value)
    assert db._shared.catalog().views == before


def test_a_mode_that_it_has_already_is_no_change(db: vk.Database) -> None:
    db.execute(f"CREATE VIEW Below MAINTAIN SYNC AS {VIEWS['groups']}")
    before = db._shared.catalog().version
    db.execute("ALTER VIEW Below SET MAINTAIN SYNC")
    assert db._shared.catalog().version == before


def test_what_is_left_beside_the_tables_is_removed(db: vk.Database) -> None:
    db.execute(f"CREATE VIEW Below MAINTAIN SYNC AS {VIEWS['groups']}")
    slots = set(db._shared.catalog().slots)
    db.execute("ALTER VIEW Below SET MAINTAIN LAZY")
    db.execute("ALTER VIEW Below SET MAINTAIN SYNC")
    # The slots that it had before are emptied while it is counted in its new ones.
    assert db._shared.clean().rows > 0
    assert set(db._shared.catalog().slots) == slots
    write(db, 5)
    db.execute("ALTER VIEW Below SET MAINTAIN DEFERRED")
    db.maintain()
    assert db.verify("Below").ok


def test_a_slot_that_went_to_another_table_is_not_taken_again(db: vk.Database) -> None:
    db.execute(f"CREATE VIEW Below MAINTAIN SYNC AS {VIEWS['groups']}")
    db.execute("ALTER VIEW Below SET MAINTAIN LAZY")
    db._shared.clean()
    for number in range(4):
        db.execute(f"CREATE TABLE Other{number} (id BIGINT PRIMARY KEY)")
        db.put(f"Other{number}", {"id": number})
    db.execute("ALTER VIEW Below SET MAINTAIN SYNC")
    write(db, 5)
    slots = list(db._shared.catalog().slots.values())
    assert len(slots) == len(set(slots))
    assert [list(db.scan(f"Other{number}")) for number in range(4)] == [[{"id": number}] for number in range(4)]
    db.execute("ALTER VIEW Below SET MAINTAIN DEFERRED")
    assert db.verify("Below").ok


def test_the_feed_of_a_view_that_left_the_tables_begins_where_it_left(
    db: vk.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    from viewkeeper.views import homes

    db.execute(f"CREATE VIEW Below MAINTAIN SYNC AS {VIEWS['groups']}")
    before = db.head()
    real = homes._begin_back

    def writing(*args: Any) -> bool:
        copied = real(*args)
        write(db, 70)
        return copied

    monkeypatch.setattr(homes, "_begin_back", writing)
    db.execute("ALTER VIEW Below SET MAINTAIN DEFERRED")
    assert db.oldest("Below") == db.head() != before
    with pytest.raises(vk.NotRetained):
        db.changes("Below", since=before)
    assert db.verify("Below").ok


@pytest.mark.parametrize("first", ["SYNC", "DEFERRED", "LAZY"])
@pytest.mark.parametrize("second", ["SYNC", "LAZY", "DEFERRED"])
def test_views_that_come_to_share_a_join_index_find_all_their_columns_in_it(
    db: vk.Database, first: str, second: str
) -> None:
    """One beside the tables holds there what the others use as well: it may be the one that stays."""
    db.execute(f"CREATE VIEW One MAINTAIN {first} AS SELECT T.id, U.name FROM T JOIN U ON T.g = U.g")
    db.execute(f"CREATE VIEW Two MAINTAIN {second} AS SELECT U.g, T.id, T.v FROM U LEFT JOIN T ON T.g = U.g")
    for seed, mode in enumerate(("DEFERRED", "SYNC", "LAZY", "SYNC", "DEFERRED")):
        for name in ("One", "Two"):
            db.execute(f"ALTER VIEW {name} SET MAINTAIN {mode}")
            write(db, 31 * seed + len(name))
            for one in ("One", "Two"):
                db.scan(one, consistency="latest").all()
        db.maintain()
        assert db.verify("One").ok
        assert db.verify("Two").ok
        names = {row["g"]: row["name"] for row in db.scan("U")}
        wanted = sorted((row["id"], names[row["g"]]) for row in db.scan("T") if row["g"] in names)
        assert rows(db, "One") == wanted


def test_what_is_about_to_take_its_place_gets_the_mode_too(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    from viewkeeper.write import views as statements

    db.execute(f"CREATE VIEW Below AS {VIEWS['groups']}")
    monkeypatch.setattr(statements, "SMALL", -1)
    db.execute("CREATE OR REPLACE VIEW Below MAINTAIN LAZY AS SELECT g, COUNT(*) AS n FROM T GROUP BY g")
    db.execute("ALTER VIEW Below SET MAINTAIN EVERY 5 SECONDS")
    db.maintain()
    (status,) = db.status()
    assert (status.mode, status.state) == ("EVERY 5 SECONDS", "live")
    assert set(next(iter(db.scan("Below")))) == {"g", "n"}


def test_what_is_left_to_a_maintainer_is_said(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    from viewkeeper.views import homes
    from viewkeeper.write import views as statements
    from viewkeeper.write.statements import Outcome

    with monkeypatch.context() as large:
        large.setattr(statements, "SMALL", -1)
        made = db.execute("CREATE VIEW Large MAINTAIN SYNC AS SELECT g, COUNT(*) AS n FROM T GROUP BY g")
        assert isinstance(made, Outcome)
        (warning,) = made.warnings
        assert warning.startswith('view "Large" is not filled yet')
    db.maintain()
    db.execute("CREATE VIEW Busy AS SELECT g, COUNT(*) AS n FROM T GROUP BY g")
    write(db, 3)
    monkeypatch.setattr(homes, "STEPS", 0)
    monkeypatch.setattr(homes, "MOST_HELD", 0)
    made = db.execute("ALTER VIEW Busy SET MAINTAIN SYNC")
    assert isinstance(made, Outcome)
    (warning,) = made.warnings
    assert warning.startswith('view "Busy" is not SYNC yet')
    monkeypatch.undo()
    db.maintain()
    assert db._shared.catalog().known_view("Busy").in_base


def test_a_mode_that_what_takes_its_place_cannot_have_is_refused(
    db: vk.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    from viewkeeper.write import views as statements

    db.execute(f"CREATE VIEW Below AS {VIEWS['groups']}")
    db.execute(f"CREATE VIEW Other AS {VIEWS['groups']}")
    monkeypatch.setattr(statements, "SMALL", -1)
    db.execute("CREATE OR REPLACE VIEW Other AS SELECT n, COUNT(*) AS c FROM Below GROUP BY n")
    with pytest.raises(Unsupported, match='cannot be SYNC over view "Below"'):
        db.execute("ALTER VIEW Other SET MAINTAIN SYNC")
    db.execute("ALTER VIEW Other SET MAINTAIN LAZY")
    db.maintain()
    assert [status.mode for status in db.status()] == ["DEFERRED", "LAZY"]

"""Repair: it writes what differs and nothing else, all of it or nothing, whoever works beside it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.pipeline.shop import (
    ABOVE,
    BELOW,
    VIEWS,
    Damage,
    bound_view,
    contents,
    damages,
    maintain,
    make_shop,
    sale,
    store_of,
)
from tests.pipeline.test_verify import ALL, maintaining, run_beside, writing
from viewkeeper.errors import Outrun, StoreDamaged, UnknownTable, ViewNotReady
from viewkeeper.model.types import Row
from viewkeeper.pipeline.repair import repair
from viewkeeper.pipeline.verify import verify
from viewkeeper.store import groups
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.groups import GroupState
from viewkeeper.store.scan import ALL as ALL_KEYS
from viewkeeper.store.viewrepair import Repair
from viewkeeper.views.batch import Timing, batch_by_rows
from viewkeeper.views.bound import bound_views


def group(store: EmbeddedStore, name: str = "V") -> GroupState:
    found = store.view_tables.standing(bound_view(store, name).view.id)
    assert found is not None
    return found[1]


def damage_to(store: EmbeddedStore, what: str, name: str = "V") -> Damage:
    return next(damage for damage in damages(store, name) if damage.what == what)


@pytest.mark.parametrize("kind", ALL)
def test_each_damage_is_mended_and_nothing_else_is_written(tmp_path: Path, kind: str) -> None:
    with make_shop(tmp_path / "db", *ALL[kind]) as db:
        store = store_of(db)
        for damage in damages(store):
            before, state = contents(store), group(store)
            damage.do(store)
            done = repair(store, "V")
            after = contents(store)
            written = (damage.before is not None and damage.after is not None, not damage.before, not damage.after)
            assert (done.rewritten, done.removed, done.added) == tuple(map(int, written)), damage.what
            assert not done.before.ok
            if kind in ("doubles", "having"):
                assert verify(store, "V").ok, damage.what
                after[damage.table.number].pop(damage.key, None)
                before[damage.table.number].pop(damage.key, None)
            assert after == before, damage.what
            assert replace(group(store), generation=state.generation) == state
            assert group(store).generation == state.generation + 1
        assert verify(store, "V").ok


def test_with_nothing_wrong_nothing_is_written(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", VIEWS["aggregates"]) as db:
        store = store_of(db)
        before, state = contents(store), group(store)
        done = repair(store, "V")
        assert (done.before.ok, done.written, done.above) == (True, 0, ())
        assert (contents(store), group(store)) == (before, state)
        assert "nothing to repair" in str(done)


def test_several_damages_at_once_are_mended(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", VIEWS["aggregates"]) as db:
        store = store_of(db)
        before = contents(store)
        for damage in damages(store):
            damage.do(store)
        done = repair(store, "V")
        assert contents(store) == before
        assert done.before.differences == done.written > 5
        assert store.view_tables.notes()[bound_view(store).view.id].verified_differences == 0


def test_counters_are_mended(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", VIEWS["errors"]) as db:
        store = store_of(db)
        number = bound_view(store).view.id
        with store.views.begin(write=True) as txn:
            place = groups.get_object(txn, store.view_tables.objects_db, number)
            assert place is not None
            groups.set_object(txn, store.view_tables.objects_db, number, replace(place, errors=9, extra=4))
        done = repair(store, "V")
        assert (done.written, done.before.errors) == (0, (9, 1))
        assert store.view_tables.objects()[1][number] == place


def test_views_above_in_the_group_are_mended_with_it(tmp_path: Path) -> None:
    higher = "CREATE MATERIALIZED VIEW Top AS SELECT n, shops FROM V"
    with make_shop(tmp_path / "db", BELOW, ABOVE["aggregate above"], higher) as db:
        store = store_of(db)
        true = {name: contents(store, name) for name in ("Below", "V", "Top")}
        assert group(store, "Below") == group(store, "V") == group(store, "Top")
        damage_to(store, "n of Below", "Below").do(store)
        # The views above then follow from the wrong rows, as after a maintainer's batch.
        _refill_from(store, "V")
        assert verify(store, "V").ok
        assert verify(store, "Top").ok
        state = group(store)
        done = repair(store, "Below")
        assert {name: contents(store, name) for name in true} == true
        assert [(one.view, one.written > 0) for one in done.above] == [("V", True), ("Top", True)]
        assert "V: repaired" in str(done)
        assert group(store).generation == state.generation + 1


def _refill_from(store: EmbeddedStore, name: str) -> None:
    """Make a view agree with the view below as it is stored, behind everyone's back."""
    assert repair(store, name).before.ok is False


def test_view_above_in_another_group_is_mended_too(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", BELOW) as db:
        store = store_of(db)
        damage_to(store, "n of Below", "Below").do(store)
        db.execute(ABOVE["selection above"].replace("VIEW V", "VIEW V MAINTAIN EVERY 1 HOUR"))
        assert group(store, "Below") != group(store, "V")
        assert verify(store, "V").ok
        done = repair(store, "Below")
        assert [(one.view, one.before.ok) for one in done.above] == [("V", False)]
        for name in ("Below", "V"):
            assert verify(store, name).ok


def test_view_above_that_is_being_filled_begins_anew(tmp_path: Path) -> None:
    from viewkeeper.views.fill import begin_fill, fill_by_rows

    with make_shop(tmp_path / "db", BELOW, ABOVE["selection above"]) as db:
        store = store_of(db)
        one = bound_view(store)
        store.view_tables.drop_objects(one.view.objects)
        begin_fill(store, bound_views(store), one)
        damage_to(store, "n of Below", "Below").do(store)
        repair(store, "Below")
        assert store.view_tables.standing(one.view.id) is None
        begin_fill(store, bound_views(store), one)
        fill_by_rows(store, bound_views(store), one)
        assert verify(store, "V").ok


def test_errors_are_those_of_verify(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", VIEWS["index"]) as db:
        store = store_of(db)
        with pytest.raises(UnknownTable):
            repair(store, "W")
        store.view_tables.drop_objects(bound_view(store).view.objects)
        with pytest.raises(ViewNotReady):
            repair(store, "V")


def test_claim_keeps_others_out_and_is_let_go(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", VIEWS["aggregates"]) as db:
        store = store_of(db)
        damage_to(store, "n of V").do(store)
        db.put("Sales", sale(40))
        state = group(store)
        number = bound_view(store).view.id
        batch = batch_by_rows(store, bound_views(store), number, state, store.offset(db.head()), Timing())
        refused: list[str] = []

        def step(name: str) -> None:
            if name != "writing":
                with pytest.raises(Outrun):
                    store.view_tables.apply(batch)
                refused.append(name)

        done = repair(store, "V", step=step)
        assert refused == ["claimed", "compared", "repaired"]
        assert store.offset(done.position) == state.watermark
        # What was computed from the damaged rows is refused for good.
        with pytest.raises(Outrun):
            store.view_tables.apply(batch)
        assert group(store).holder == ""
        maintain(store)
        assert verify(store, "V").ok
        assert group(store).watermark == store.offset(db.head())


def test_claim_of_another_is_waited_for_and_then_told(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", VIEWS["index"]) as db:
        store = store_of(db)
        number = bound_view(store).view.id
        damage_to(store, "item of V").do(store)
        assert store.view_tables.claim(number, "another", 30)
        with pytest.raises(Outrun, match='index "V" is claimed'):
            repair(store, "V", wait=0.05)
        assert store.view_tables.claim(number, "another", 0.2)
        began = time.monotonic()
        assert repair(store, "V", wait=30).rewritten == 1
        assert time.monotonic() - began > 0.1


def test_claim_is_renewed_while_it_works(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", VIEWS["index"]) as db:
        store = store_of(db)
        damage_to(store, "item of V").do(store)

        def step(name: str) -> None:
            if name == "compared":
                time.sleep(0.5)
                assert not store.view_tables.claim(bound_view(store).view.id, "another", 1)

        assert repair(store, "V", lease=0.3, step=step).rewritten == 1


def test_repair_of_a_group_that_moved_is_refused_whole_and_made_again(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", VIEWS["aggregates"]) as db:
        store = store_of(db)
        damage_to(store, "n of V").do(store)
        number = bound_view(store).view.id
        moved: list[bytes] = []

        def step(name: str) -> None:
            if name == "compared" and not moved:
                # As if the process had been stopped for longer than its claim lasts.
                state = group(store)
                with store.views.begin(write=True) as txn:
                    groups.set_group(txn, store.view_tables.groups_db, number, replace(state, holder="", deadline=0))
                db.put("Sales", sale(41))
                maintain(store)
                moved.append(b"")

        done = repair(store, "V", step=step)
        assert moved == [b""]
        assert done.position == db.head()
        assert verify(store, "V").ok


@pytest.mark.parametrize("change", [{"generation": 7}, {"watermark": 1}, {"holder": "another"}])
def test_repair_compares_what_it_sets(tmp_path: Path, change: dict[str, Any]) -> None:
    with make_shop(tmp_path / "db", VIEWS["index"]) as db:
        store = store_of(db)
        number = bound_view(store).view.id
        store.view_tables.claim(number, "me", 30)
        before, state = contents(store), group(store)
        made = Repair(
            group=number,
            generation=state.generation,
            watermark=state.watermark,
            holder="me",
            rows=[(number, key, None) for key in before[number]],
        )
        with pytest.raises(Outrun):
            store.view_tables.repair(replace(made, **change))
        assert contents(store) == before
        store.view_tables.repair(made)
        assert contents(store) == {number: {}}


def test_racing_maintainer_and_writer_do_no_harm(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", BELOW, ABOVE["aggregate above"]) as db:
        store = store_of(db)

        def patient(over: threading.Event) -> None:
            while not over.is_set():
                # What the views above hold does not fit damaged rows, and a maintainer says so until it is repaired.
                with suppress(StoreDamaged):
                    maintaining(store)(over)

        stop = run_beside(writing(db), patient)
        mended = 0
        try:
            for _ in range(8):
                damage_to(store, "top of Below", "Below").do(store)
                done = repair(store, "Below")
                mended += done.written
                assert verify(store, "Below").ok
        finally:
            raised = stop()
        assert raised == []
        assert mended > 0
        maintain(store)
        for name in ("Below", "V"):
            report = repair(store, name)
            assert report.before.ok, str(report.before)


# Feeds


def feed(
    store: EmbeddedStore, since: int, **options: int
) -> list[tuple[int, int, list[tuple[Row | None, Row | None]]]]:
    one = bound_view(store)
    codec = store.catalog().view_codecs[one.view.id]
    return [
        (block.start, upper, [pair for section in block.sections for pair in section.pairs(codec)])
        for upper, block in store.view_tables.feed(one.view.id, since, **options)
    ]


def shown(pairs: list[tuple[Row | None, Row | None]]) -> list[tuple[Any, Any]]:
    return [(before and before[:2], after and after[:2]) for before, after in pairs]


COUNTS = "CREATE MATERIALIZED VIEW V AS SELECT shop, COUNT(*) AS n FROM Sales GROUP BY shop"


def test_feed_corrects_what_it_told_and_the_past_stays_as_told(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", COUNTS) as db:
        store = store_of(db)
        first = store.offset(db.head())
        damage_to(store, "weight of V").do(store)
        damage_to(store, "n of V").do(store)
        victim = damage_to(store, "n of V").table.codec.decode(damage_to(store, "n of V").before or b"")[0]
        db.put("Sales", {"id": 100, "shop": victim})
        maintain(store)
        told = store.offset(db.head())
        ((_, _, ((_, wrong),)),) = feed(store, first)
        assert wrong is not None
        done = repair(store, "V")
        assert done.rewritten == 1
        fed = feed(store, first)
        right = (victim, wrong[1] - 1)  # type: ignore[operator]
        assert [(start, end) for start, end, _ in fed] == [(first, told), (told, told)]
        assert shown(fed[1][2]) == [(wrong[:2], right)]
        # Whoever had read up to the repaired position is told too, once.
        assert feed(store, told) == []
        ((start, end, pairs),) = feed(store, told, repaired_since=0)
        assert (start, end, shown(pairs)) == (told, told, [(wrong[:2], right)])
        assert feed(store, told, repaired_since=time.time_ns() // 1000) == []
        # As of the repaired position the view is right, before and after it has moved on.
        for _ in range(2):
            assert dict(_as_of(store, told))[victim] == right[1]
            db.put("Sales", {"id": 101, "shop": victim})
            maintain(store)
        assert feed(store, told, repaired_since=0)[-1][0] == told
        assert dict(_as_of(store, first))[victim] == wrong[1] - 1  # type: ignore[operator]


def _as_of(store: EmbeddedStore, offset: int) -> list[Any]:
    codec = store.catalog().view_codecs[bound_view(store).view.id]
    return [row[:2] for chunk in store.view_tables.as_of(codec, offset).scan(ALL_KEYS) for row in chunk]


def test_feed_says_nothing_of_damage_that_it_never_told(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", COUNTS) as db:
        store = store_of(db)
        number = bound_view(store).view.id
        before = dict(_as_of(store, store.offset(db.head())))
        blocks = len(store.view_tables.feed(number, 0))
        position = store.offset(db.head())
        db.put("Sales", {"id": 100, "shop": "another"})
        maintain(store)
        for what in ("n of V", "new row of V"):
            damage_to(store, what).do(store)
        repair(store, "V")
        assert len(store.view_tables.feed(number, 0)) == blocks + 1
        assert dict(_as_of(store, position)) == before


def test_feed_is_read_whole_across_the_blocks_of_a_repair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from viewkeeper.store import viewfeeds

    with make_shop(tmp_path / "db", COUNTS) as db:
        store = store_of(db)
        number = bound_view(store).view.id
        for sold in range(200, 203):
            damage_to(store, "weight of V").do(store)
            for shop in ("shop 0", "shop 1", "shop 2"):
                db.put("Sales", {"id": sold, "shop": shop})
            db.put("Sales", {"id": sold + 50, "shop": None})
            maintain(store)
            assert repair(store, "V").written == 1
        whole = [(upper, block.start) for upper, block in store.view_tables.feed(number, 0)]
        assert any(upper == start for upper, start in whole)
        monkeypatch.setattr(viewfeeds, "FEED_BLOCKS", 1)
        assert [(upper, block.start) for upper, block in store.view_tables.feed_between(number, 0)] == whole


# Kills

CHILD = """
import os, sys
import viewkeeper as vk
from viewkeeper.pipeline.repair import repair
path, last = sys.argv[1:]
def step(name):
    if name == last:
        os._exit(9)
repair(vk.open(path)._shared, "Below", lease=1.0, step=step)
"""


@pytest.mark.parametrize("last", ["claimed", "compared", "writing", "repaired"])
def test_killed_repair_has_done_everything_or_nothing_and_its_claim_runs_out(tmp_path: Path, last: str) -> None:
    path = tmp_path / "db"
    with make_shop(path, BELOW, ABOVE["aggregate above"]) as db:
        store = store_of(db)
        true = [contents(store, "Below"), contents(store, "V")]
        damage_to(store, "n of Below", "Below").do(store)
        _refill_from(store, "V")
        wrong = [contents(store, "Below"), contents(store, "V")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run([sys.executable, "-c", CHILD, str(path), last], env=environment, check=False)
    assert killed.returncode == 9
    with vk.open(path) as db:
        store = store_of(db)
        assert [contents(store, "Below"), contents(store, "V")] == (true if last == "repaired" else wrong)
        assert group(store).holder.startswith("repair")
        assert repair(store, "Below").before.ok is (last == "repaired")
        assert [contents(store, "Below"), contents(store, "V")] == true
        db.put("Sales", sale(60))
        maintain(store)
        assert group(store).watermark == store.offset(db.head())
        assert verify(store, "V").ok

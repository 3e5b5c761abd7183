"""View tables: an apply is all or nothing, counts once, and leaves a feed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import lmdb
import pytest

from viewkeeper.errors import Outrun, StoreFull, ViewNotReady
from viewkeeper.model.layout import Layout
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Column
from viewkeeper.model.types import BIGINT, STRING, Row
from viewkeeper.store import groups
from viewkeeper.store.applying import Apply, ObjectChanges
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.registry import close_store, open_store
from viewkeeper.store.scan import ALL

VIEW, AUXILIARY, GROUP = 101, 102, 7


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    store = open_store(tmp_path / "db", durability="os")
    yield store
    close_store(store)


def codec(number: int) -> RowCodec:
    columns = (Column(name="g", type=STRING), Column(name="n", type=BIGINT))
    return RowCodec(Layout(id=number, name="v", columns=columns, visible=2, key=(0,), descending=(True,)))


def change(number: int, *pairs: tuple[Row | None, Row | None], feed: bool = True) -> ObjectChanges:
    made = codec(number)
    changes = ObjectChanges(made, has_feed=feed)
    for before, after in pairs:
        row = before if after is None else after
        assert row is not None
        encoded = (None if before is None else made.encode(before), None if after is None else made.encode(after))
        changes.changes[made.key.encode(row)] = encoded
    return changes


def batch(lower: int, upper: int, generation: int = 1, **objects: ObjectChanges) -> Apply:
    return Apply(
        group=GROUP,
        generation=generation,
        lower=lower,
        upper=upper,
        transaction=upper,
        committed_at=1000 + upper,
        objects={changes.codec.table.id: changes for changes in objects.values()},
    )


def rows(store: EmbeddedStore, number: int) -> list[Row]:
    with store.view_tables.reading([number]) as reading:
        made = codec(number)
        return [made.decode(value) for _, value in reading.slice(made, ALL, 1000)]


def test_object_without_a_group_is_not_ready(store: EmbeddedStore) -> None:
    with pytest.raises(ViewNotReady):
        store.view_tables.reading([VIEW])


def test_apply_moves_rows_and_watermark_together(store: EmbeddedStore) -> None:
    views = store.view_tables
    views.create_group(GROUP, [VIEW, AUXILIARY], 0, 0)
    views.apply(
        batch(0, 5, view=change(VIEW, (None, ("a", 1)), (None, ("b", 2))), more=change(AUXILIARY, (None, ("x", 9))))
    )
    views.apply(batch(5, 9, view=change(VIEW, (("a", 1), ("a", 3)), (("b", 2), None), (None, (None, 4)))))
    assert rows(store, VIEW) == [("a", 3), (None, 4)]
    assert rows(store, AUXILIARY) == [("x", 9)]
    assert views.groups()[GROUP].watermark == 9
    with views.reading([VIEW]) as reading:
        assert (reading.group(VIEW).watermark, reading.rows(VIEW)) == (9, 2)


@pytest.mark.parametrize(("lower", "generation"), [(0, 1), (6, 1), (5, 2), (5, 0)])
def test_apply_for_another_watermark_or_generation_is_refused_whole(
    store: EmbeddedStore, lower: int, generation: int
) -> None:
    views = store.view_tables
    views.create_group(GROUP, [VIEW], 0, 0)
    views.apply(batch(0, 5, view=change(VIEW, (None, ("a", 1)))))
    with pytest.raises(Outrun):
        views.apply(batch(lower, 9, generation, view=change(VIEW, (None, ("b", 1)))))
    assert rows(store, VIEW) == [("a", 1)]
    assert views.groups()[GROUP].watermark == 5


def test_apply_twice_counts_once(store: EmbeddedStore) -> None:
    views = store.view_tables
    views.create_group(GROUP, [VIEW], 0, 0)
    once = batch(0, 5, view=change(VIEW, (None, ("a", 1))))
    views.apply(once)
    with pytest.raises(Outrun):
        views.apply(once)


def test_feed_gives_the_changes_behind_a_position(store: EmbeddedStore) -> None:
    views = store.view_tables
    views.create_group(GROUP, [VIEW, AUXILIARY], 0, 0)
    views.apply(batch(0, 5, view=change(VIEW, (None, ("a", 1))), more=change(AUXILIARY, (None, ("x", 9)), feed=False)))
    views.apply(batch(5, 9))
    views.apply(batch(9, 12, view=change(VIEW, (("a", 1), ("a", 2)))))
    made = codec(VIEW)

    def feed(since: int, upto: int | None = None) -> list[object]:
        return [
            (block.start, upper, section.pairs(made))
            for upper, block in views.feed(VIEW, since, upto)
            for section in block.sections
        ]

    first, second = (0, 5, [(None, ("a", 1))]), (9, 12, [(("a", 1), ("a", 2))])
    assert feed(0) == [first, second]
    assert feed(5) == feed(11) == [second]
    assert feed(12) == []
    assert feed(0, 9) == [first]
    assert list(views.feed(AUXILIARY, 0)) == []


def test_dropped_object_leaves_an_empty_slot_for_the_next(store: EmbeddedStore) -> None:
    views = store.view_tables
    views.create_group(GROUP, [VIEW, AUXILIARY], 0, 0)
    views.apply(batch(0, 5, view=change(VIEW, (None, ("a", 1))), more=change(AUXILIARY, (None, ("x", 9)))))
    views.drop_objects([VIEW])
    state = views.groups()[GROUP]
    assert (state.objects, state.generation, state.watermark) == ((AUXILIARY,), 2, 5)
    views.create_group(GROUP + 1, [VIEW], 5, 5)
    assert rows(store, VIEW) == []
    assert list(views.feed(VIEW, 0)) == []
    assert rows(store, AUXILIARY) == [("x", 9)]
    views.drop_objects([AUXILIARY])
    assert set(views.groups()) == {GROUP + 1}


def test_groups_survive_reopening(store: EmbeddedStore) -> None:
    store.view_tables.create_group(GROUP, [VIEW], 3, 3)
    store.view_tables.apply(batch(3, 4, view=change(VIEW, (None, ("a", 1)))))
    path = store.folder.path
    close_store(store)
    again = open_store(path)
    assert rows(again, VIEW) == [("a", 1)]
    assert again.view_tables.groups()[GROUP].watermark == 4


def test_a_group_that_could_not_be_made_leaves_no_handle_behind(
    store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LMDB gives the number of a handle that was never committed to the next one that is opened."""
    views = store.view_tables
    with monkeypatch.context() as patch:
        patch.setattr(groups, "set_group", refuse)
        with pytest.raises(StoreFull):
            views.create_group(GROUP, [VIEW], 0, 0)
    views.create_group(GROUP, [VIEW, AUXILIARY], 0, 0)
    views.apply(batch(0, 5, view=change(VIEW, (None, ("a", 1)))))
    assert rows(store, VIEW) == [("a", 1)]
    assert rows(store, AUXILIARY) == []


def refuse(*_: object) -> None:
    raise lmdb.MapFullError


@pytest.mark.parametrize("size", [600, 40_000])
def test_a_key_of_any_length_is_stored(store: EmbeddedStore, size: int) -> None:
    views = store.view_tables
    views.create_group(GROUP, [VIEW], 0, 0)
    first, second = ("x" * size, 1), ("x" * size + "y", 2)
    views.apply(batch(0, 5, view=change(VIEW, (None, first), (None, second))))
    assert rows(store, VIEW) == [second, first]
    views.apply(batch(5, 6, view=change(VIEW, (first, None))))
    assert rows(store, VIEW) == [second]
    assert views.get_row(VIEW, codec(VIEW).key.encode(second)) == codec(VIEW).encode(second)

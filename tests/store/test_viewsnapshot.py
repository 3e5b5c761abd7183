"""A view as of an earlier watermark is what it was there, however it is read and whatever was applied since."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.test_viewstore import GROUP, VIEW, batch, change, codec
from viewkeeper.errors import FuturePosition, NotRetained, ViewNotReady
from viewkeeper.model.types import Row
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.registry import close_store, open_store
from viewkeeper.store.scan import ALL, Interval
from viewkeeper.store.viewsnapshot import ViewSnapshot, split_view

Contents = dict[str | None, int]
_groups = st.one_of(st.none(), st.sampled_from("abcdefgh"))
_batches = st.lists(st.dictionaries(_groups, st.one_of(st.none(), st.integers(0, 9)), max_size=6), max_size=8)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    store = open_store(tmp_path / "db", durability="os")
    yield store
    close_store(store)


def _apply(store: EmbeddedStore, lower: int, upper: int, old: Contents, new: Contents) -> None:
    pairs: list[tuple[Row | None, Row | None]] = []
    for group in old.keys() | new.keys():
        before = (group, old[group]) if group in old else None
        after = (group, new[group]) if group in new else None
        if before != after:
            pairs.append((before, after))
    store.view_tables.apply(batch(lower, upper, view=change(VIEW, *pairs)))


def _after(contents: Contents, asked: dict[str | None, int | None]) -> Contents:
    changed = {**contents, **asked}
    return {group: number for group, number in changed.items() if number is not None}


def _sorted(contents: Contents) -> list[Row]:
    made = codec(VIEW)
    return sorted(((group, number) for group, number in contents.items()), key=made.key.encode)


def _read(snapshot: ViewSnapshot, interval: Interval = ALL) -> list[Row]:
    return [row for chunk in snapshot.scan(interval) for row in chunk]


@settings(max_examples=60)
@given(history=_batches, steps=st.lists(st.integers(1, 5), min_size=8, max_size=8), cut=st.sampled_from("abcdefgh"))
def test_every_watermark_can_be_read_again(
    history: list[dict[str | None, int | None]], steps: list[int], cut: str
) -> None:
    made = codec(VIEW)
    versions = list(accumulate(history, _after, initial={}))
    uppers = [0, *accumulate(steps[: len(history)])]
    upper_half = Interval(made.key.encode_key((cut,)))
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(folder + "/db", durability="os")
        store.view_tables.create_group(GROUP, [VIEW], 0, 0)
        early = ViewSnapshot(store, VIEW, made, 0)
        for number in range(len(history)):
            _apply(store, uppers[number], uppers[number + 1], versions[number], versions[number + 1])
            # Read between the applies, so that what is undone is taken in piece by piece.
            assert _read(early) == []
        for contents, upper in zip(versions, uppers, strict=True):
            snapshot = ViewSnapshot(store, VIEW, made, upper)
            expected = _sorted(contents)
            assert _read(snapshot, upper_half) == [row for row in expected if made.key.encode(row) >= upper_half.lower]
            assert _read(snapshot) == expected
            assert [row for chunk in snapshot.scan(ALL, reverse=True) for row in chunk] == expected[::-1]
            raw = [made.decode(value) for values in snapshot.raw_slices(ALL, size=2) for value in values]
            assert raw == expected
            assert [row for chunk in snapshot.scan(ALL, limit=2) for row in chunk] == expected[:2]
            for group in ("a", None):
                found = (group, contents[group]) if group in contents else None
                assert snapshot.get(made.key.encode_key((group,))) == found
        close_store(store)


def test_a_place_inside_a_batch_is_refused(store: EmbeddedStore) -> None:
    store.view_tables.create_group(GROUP, [VIEW], 0, 0)
    _apply(store, 0, 5, {}, {"a": 1})
    with pytest.raises(NotRetained, match="never stood at"):
        _read(ViewSnapshot(store, VIEW, codec(VIEW), 3))


def test_a_place_that_the_view_has_not_reached_is_refused(store: EmbeddedStore) -> None:
    store.view_tables.create_group(GROUP, [VIEW], 4, 0)
    with pytest.raises(FuturePosition):
        _read(ViewSnapshot(store, VIEW, codec(VIEW), 5))


def test_a_dropped_view_is_refused(store: EmbeddedStore) -> None:
    store.view_tables.create_group(GROUP, [VIEW], 0, 0)
    snapshot = ViewSnapshot(store, VIEW, codec(VIEW), 0)
    store.view_tables.drop_objects([VIEW])
    with pytest.raises(ViewNotReady):
        _read(snapshot)


def test_parts_of_a_view_hold_each_row_once(store: EmbeddedStore) -> None:
    made = codec(VIEW)
    store.view_tables.create_group(GROUP, [VIEW], 0, 0)
    contents: Contents = {f"{number:05}": number for number in range(5000)}
    _apply(store, 0, 9, {}, contents)
    parts = split_view(store, made, 4, ALL)
    found = [_read(ViewSnapshot(store, VIEW, made, 9), part) for part in parts]
    assert len(parts) == 4
    assert min(map(len, found)) > 1000
    assert [row for part in found for row in part] == _sorted(contents)

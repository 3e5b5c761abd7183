"""Signed rows are the changes: −before +after, less the updates that leave the wanted columns alone."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import viewkeeper as vk
from viewkeeper.errors import NotRetained
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Column
from viewkeeper.model.types import BIGINT
from viewkeeper.model.values import present
from viewkeeper.pipeline.signed import signed_rows
from viewkeeper.store import rawlog
from viewkeeper.store.blocks import COLUMNAR, ROWS
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.rawlog import cut_log, raw_sections
from viewkeeper.store.registry import close_store, open_store

TABLE = "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT, d DOUBLE, s STRING, p DECIMAL(30,2))"
_values = st.fixed_dictionaries(
    {},
    optional={
        "a": st.one_of(st.none(), st.integers(0, 2)),
        "d": st.sampled_from([None, 0.0, -0.0, float("nan"), 1.5]),
        "s": st.sampled_from([None, "", "x", "y"]),
        "p": st.sampled_from([None, 1, 2]),
    },
)
_write = st.tuples(st.integers(0, 90), st.one_of(st.none(), _values))
_few = st.lists(_write, max_size=4)
_many = st.builds(
    # Enough of one table for a columnar section.
    lambda first, values: [(key, None if key % 7 == 3 else values) for key in range(first, first + 75)],
    st.integers(0, 60),
    _values,
)
_transactions = st.lists(st.one_of(_few, _many), max_size=8)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLE)
        yield db


def _run(db: vk.Database, transaction: list[tuple[int, dict[str, Any] | None]]) -> None:
    with db.transaction() as tx:
        for key, values in transaction:
            if values is None:
                tx.delete("t", key)
            else:
                tx.put("t", {"id": key, **values})


def _expected(store: EmbeddedStore, codec: RowCodec, wanted: list[int]) -> Counter[str]:
    """By the sections' own pairs, in plain Python."""
    found: Counter[str] = Counter()
    for block in store.blocks(store.position(0), most=10_000):
        for section in block.sections:
            for before, after in section.pairs(codec):
                old = None if before is None else _shown([before[number] for number in wanted], codec, wanted)
                new = None if after is None else _shown([after[number] for number in wanted], codec, wanted)
                if old != new:
                    if old is not None:
                        found["-" + old] += 1
                    if new is not None:
                        found["+" + new] += 1
    return found


def _shown(cells: list[Any], codec: RowCodec, wanted: list[int]) -> str:
    types = [codec.table.columns[number].type for number in wanted]
    return repr([present(cell, type) for cell, type in zip(cells, types, strict=True)])


def _signed(store: EmbeddedStore, codec: RowCodec, wanted: list[int], parts: int = 1) -> Counter[str]:
    found: Counter[str] = Counter()
    head = store.offset(store.head())
    for lower, upper in cut_log(store, 0, head, parts):
        for batch in signed_rows(raw_sections(store, codec.table.id, lower, upper), codec, wanted):
            assert batch.schema.names == [*(f"c{number}" for number in wanted), "_w"]
            assert len(batch)
            for row in batch.to_pylist():
                weight = row.pop("_w")
                found["-+"[weight > 0] + repr(list(row.values()))] += abs(weight)
    return found


@settings(max_examples=40)
@given(
    transactions=_transactions,
    added=st.integers(0, 8),
    wanted=st.lists(st.integers(0, 5), unique=True).map(sorted),
    parts=st.integers(1, 5),
)
def test_signed_rows_are_the_pairs_of_the_log(
    transactions: list[Any], added: int, wanted: list[int], parts: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, vk.open(folder + "/db", durability="os") as db:
        db.execute(TABLE)
        store = open_store(folder + "/db")
        for number, transaction in enumerate(transactions):
            if number == added:
                store.add_column("t", Column(name="extra", type=BIGINT))
            _run(db, transaction)
        if len(transactions) <= added:
            store.add_column("t", Column(name="extra", type=BIGINT))
        codec = store.catalog().codec("t")
        assert _signed(store, codec, wanted, parts) == _expected(store, codec, wanted)
        close_store(store)


def test_both_kinds_of_sections_are_read(db: vk.Database, tmp_path: Path) -> None:
    store = open_store(tmp_path / "db")
    _run(db, [(key, {"a": key % 3, "s": "x"}) for key in range(100)])
    for key in range(50):
        db.put("t", {"id": key, "s": "y"})
    _run(db, [(key, None) for key in range(20, 100)])
    codec = store.catalog().codec("t")
    kinds = {section.kind for block in store.blocks(store.position(0)) for section in block.sections}
    assert kinds == {ROWS, COLUMNAR}
    # No update changed `a`: what is left are 100 inserts and 80 deletes.
    assert _signed(store, codec, [1]).total() == 180
    assert _signed(store, codec, [1, 3]).total() == 180 + 100
    assert _signed(store, codec, [], 3) == Counter({"+[]": 100, "-[]": 80})
    close_store(store)


def test_a_double_that_is_no_number_has_not_changed(db: vk.Database, tmp_path: Path) -> None:
    store = open_store(tmp_path / "db")
    for keys in (range(3), range(100, 200)):
        _run(db, [(key, {"d": float("nan")}) for key in keys])
        _run(db, [(key, {"s": "x"}) for key in keys])
    assert _signed(store, store.catalog().codec("t"), [2]) == Counter({"+[nan]": 103})
    close_store(store)


def test_the_log_is_read_by_many_short_transactions(
    db: vk.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path / "db")
    db.execute("CREATE TABLE other (id BIGINT PRIMARY KEY)")
    for key in range(20):
        with db.transaction() as tx:
            tx.put("other", {"id": key})
            tx.put("t", {"id": key})
        db.put("other", {"id": -1 - key})
    monkeypatch.setattr(rawlog, "BLOCKS", 3)
    assert _signed(store, store.catalog().codec("t"), [0]) == Counter({f"+[{key}]": 1 for key in range(20)})
    monkeypatch.setattr(rawlog, "BYTES", 1)
    assert _signed(store, store.catalog().codec("other"), []) == Counter({"+[]": 40})
    close_store(store)


def test_ranges_of_the_log_adjoin_at_transactions(db: vk.Database, tmp_path: Path) -> None:
    store = open_store(tmp_path / "db")
    boundaries = {0}
    for size in (1, 30, 1, 1, 80, 2, 5):
        _run(db, [(key, {"a": len(boundaries)}) for key in range(size)])
        boundaries.add(store.offset(store.head()))
    head = max(boundaries)
    for parts in range(1, 12):
        ranges = cut_log(store, 0, head, parts)
        assert 1 <= len(ranges) <= parts
        assert [lower for lower, _ in ranges] == [0, *(upper for _, upper in ranges[:-1])]
        assert ranges[-1][1] == head
        assert {upper for _, upper in ranges} <= boundaries
    assert cut_log(store, head, head, 3) == []
    close_store(store)


def test_a_position_inside_a_transaction_stands_for_its_end(db: vk.Database, tmp_path: Path) -> None:
    store = open_store(tmp_path / "db")
    _run(db, [(key, {}) for key in range(3)])
    _run(db, [(key, {}) for key in range(10, 14)])
    number = store.catalog().table("t").id

    def changes(lower: int, upper: int) -> int:
        return sum(changes for chunk in raw_sections(store, number, lower, upper) for _, _, changes, _ in chunk)

    assert [changes(0, 7), changes(1, 7), changes(0, 2), changes(3, 4), changes(4, 7)] == [7, 4, 3, 4, 0]
    close_store(store)


def test_a_log_that_was_truncated_is_told(db: vk.Database, tmp_path: Path) -> None:
    store = open_store(tmp_path / "db")
    store.configure(log_retention_ms=0)
    for key in range(3):
        db.put("t", {"id": key})
    store.clean()
    number = store.catalog().table("t").id
    with pytest.raises(NotRetained):
        list(raw_sections(store, number, 0, 3))
    close_store(store)

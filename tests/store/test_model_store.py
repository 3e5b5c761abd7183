"""Random histories of a store against the model: it holds what the model holds, now and at every retained position."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule, run_state_machine_as_test

from tests.store.machine import Used
from tests.store.machine_transactions import TransactionMachine
from tests.store.model import Write
from tests.store.shapes import column, table
from tests.strategies import cells, tables
from tests.strategies import rows as any_row
from viewkeeper.errors import Conflict, KeyExists, UnknownTable
from viewkeeper.model.arrow import from_cells
from viewkeeper.model.types import BIGINT, DOUBLE, INT, STRING, Cell
from viewkeeper.store import blocks, snapshot
from viewkeeper.store.interface import WriteSet

WORDS = table("Words", ("word", "n"), column("word", STRING), column("n", INT), column("note", STRING))
NUMBERS = table("Numbers", ("id",), column("id", BIGINT), column("value", DOUBLE), column("note", STRING))
long_words = st.builds(
    lambda size, tail: "w" * size + tail,
    st.sampled_from([0, 1, 480, 488, 490, 491, 492, 493, 500, 700]),
    st.sampled_from(["", "a", "b", "\0", "w", "ww", "é"]),
)


class StoreMachine(TransactionMachine):
    """Tables and writes, among the transactions."""

    def __init__(self) -> None:
        super().__init__()
        self.made = 0

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.create(data)

    @precondition(lambda self: len(self.used) < 3)
    @rule(data=st.data())
    def create(self, data: st.DataObject) -> None:
        self.made += 1
        drawn = data.draw(st.one_of(st.just(WORDS), st.just(NUMBERS), tables(max_columns=4)), label="made")
        columns = tuple(column(one.name, one.type) for one in drawn.columns)
        created = self.store.create_table(table(f"t{self.made}", drawn.primary_key, *columns))
        draw_rows = any_row(created)
        if drawn is WORDS:
            draw_rows = st.tuples(long_words, st.sampled_from([-1, 0, 7]), st.none())
        pool = data.draw(st.lists(draw_rows, min_size=1, max_size=10), label="pool")
        self.used.append(Used(self.store.catalog().codec(created.name), pool))
        self.model.now[created.id] = {}
        self.model.widths[created.id] = len(columns)

    @precondition(lambda self: self.used)
    @rule(data=st.data())
    def add_column(self, data: st.DataObject) -> None:
        used = self.a_table(data)
        if used.width >= 20:
            return
        number = used.width
        name = used.codec.table.name
        added = column(f"added{number}", data.draw(st.sampled_from([INT, STRING, DOUBLE])))
        changed = self.store.add_column(name, added)
        used.codec = self.store.catalog().codec(name)
        used.pool = [(*row, None) for row in used.pool]
        self.model.widths[used.id] = len(changed.columns)
        self.end_users_of(used.id, Conflict)

    @precondition(lambda self: len(self.used) > 1)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        used = self.a_table(data)
        self.store.drop_table(used.codec.table.name)
        self.used.remove(used)
        del self.model.now[used.id]
        with pytest.raises(UnknownTable):
            self.store.snapshot().get(used.codec, b"")
        self.end_users_of(used.id, UnknownTable)

    @precondition(lambda self: self.used)
    @rule(data=st.data(), whole=st.booleans())
    def put(self, data: st.DataObject, whole: bool) -> None:
        used = self.a_table(data)
        key, given = self.a_key(data, used)
        given = {**given, **self.some_cells(data, used, whole=whole)}
        position = self.store.put(used.codec, given)
        assert self.store.offset(position) == self.model.commit({used.id: {key: given}})

    @precondition(lambda self: self.used)
    @rule(data=st.data())
    def insert(self, data: st.DataObject) -> None:
        used = self.a_table(data)
        key, given = self.a_key(data, used)
        given = {**given, **self.some_cells(data, used, whole=False)}
        if key in self.model.now[used.id]:
            with pytest.raises(KeyExists):
                self.store.put(used.codec, given, insert=True)
        else:
            position = self.store.put(used.codec, given, insert=True)
            assert self.store.offset(position) == self.model.commit({used.id: {key: given}})

    @precondition(lambda self: self.used)
    @rule(data=st.data(), count=st.integers(1, 6))
    def write_several(self, data: st.DataObject, count: int) -> None:
        """A write set over several tables; each key once."""
        writes = WriteSet()
        wanted: dict[int, dict[bytes, Write]] = {}
        for _ in range(count):
            used = self.a_table(data)
            key, given = self.a_key(data, used)
            if key in wanted.get(used.id, {}):
                continue
            if data.draw(st.booleans(), label="removes"):
                writes.remove(used.codec, key)
                wanted.setdefault(used.id, {})[key] = None
            else:
                given = {**given, **self.some_cells(data, used, whole=False)}
                writes.put(used.codec, key, given)
                wanted.setdefault(used.id, {})[key] = given
        assert self.store.offset(self.store.commit(writes)) == self.model.commit(wanted)

    @precondition(lambda self: self.used)
    @rule(data=st.data(), size=st.integers(0, 8), rehearse=st.booleans())
    def load(self, data: st.DataObject, size: int, rehearse: bool) -> None:
        """A batch of the key columns and some others; keys may repeat."""
        used = self.a_table(data)
        columns = used.codec.table.columns
        others = [n for n in range(used.width) if n not in used.codec.key.columns and data.draw(st.booleans())]
        given = [*used.codec.key.columns, *others]
        batch: list[dict[int, Cell]] = []
        for _ in range(size):
            _, key_cells = self.a_key(data, used)
            batch.append({**key_cells, **{n: data.draw(cells(columns[n].type, nullable=True)) for n in others}})
        arrays = [from_cells([row[n] for row in batch], columns[n].type) for n in given]
        record = pa.record_batch(arrays, names=[columns[n].name for n in given])
        offset = self.store.offset(self.store.load(used.codec, record, rehearse=rehearse))
        if not rehearse:
            merged: dict[bytes, Write] = {}
            for row in batch:
                key = used.codec.key.encode_key([row[n] for n in used.codec.key.columns])
                merged[key] = {**(merged.get(key) or {}), **row}  # type: ignore[dict-item]
            self.model.commit({used.id: merged})
        assert offset == self.model.head


@pytest.mark.parametrize("pieces", ["as they are", "tiny"])
def test_store_equals_the_model_in_every_history(
    capsys: pytest.CaptureFixture[Any], monkeypatch: pytest.MonkeyPatch, pieces: str
) -> None:
    """Also with pieces so small that the few rows of a history fill several slices and columnar sections."""
    if pieces == "tiny":
        monkeypatch.setattr(snapshot, "FIRST_SLICE", 1)
        monkeypatch.setattr(snapshot, "LARGEST_SLICE", 2)
        monkeypatch.setattr(blocks, "COLUMNAR_FROM", 2)
    StoreMachine.steps.clear()
    for _ in range(5):
        run_state_machine_as_test(StoreMachine, settings=settings(stateful_step_count=50))
        # Which rules a history may use is drawn, too: seldom enough, none of a hundred has had a conflict.
        if StoreMachine.steps["conflicts"] > 0:
            break
    with capsys.disabled():
        tried = ", ".join(f"{count:,} {what}" for what, count in StoreMachine.steps.items())
        print(f"\nstore against model, pieces {pieces}: {tried}")
    assert StoreMachine.steps["commits"] > 0
    assert StoreMachine.steps["conflicts"] > 0

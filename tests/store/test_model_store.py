"""Random histories of a store against the model: it holds what the model holds, now and at every retained position."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from tests.store.harness import EMBEDDED
from tests.store.model import Model, Rows, Write, ordered, overlaid, same
from tests.store.shapes import column, table
from tests.strategies import cells, tables
from tests.strategies import rows as any_row
from viewkeeper.errors import Conflict, KeyExists, NotRetained, UnknownTable, ViewkeeperError
from viewkeeper.model.arrow import from_cells
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Table
from viewkeeper.model.types import BIGINT, DOUBLE, INT, STRING, Cell, Row
from viewkeeper.store.interface import Interval, StoreTransaction, WriteSet

HARNESS = EMBEDDED
WORDS = table("Words", ("word", "n"), column("word", STRING), column("n", INT), column("note", STRING))
NUMBERS = table("Numbers", ("id",), column("id", BIGINT), column("value", DOUBLE), column("note", STRING))
long_words = st.builds(
    lambda size, tail: "w" * size + tail,
    st.sampled_from([0, 1, 480, 488, 490, 491, 492, 493, 500, 700]),
    st.sampled_from(["", "a", "b", "\0", "w", "ww", "é"]),
)

STEPS = st.sampled_from(["put", "put", "insert", "remove", "get", "scan"])


@dataclass
class Used:
    """A table in use: its keys come from a small pool, so that writes meet."""

    codec: RowCodec
    pool: list[Row]

    @property
    def id(self) -> int:
        return self.codec.table.id

    @property
    def width(self) -> int:
        return len(self.codec.names)


@dataclass
class Open:
    """A transaction under way, with what it wrote, and what it must and may have read."""

    tx: StoreTransaction
    position: int
    writes: dict[int, dict[bytes, Write]] = field(default_factory=dict)
    must: list[tuple[int, Interval]] = field(default_factory=list)
    may: list[tuple[int, Interval]] = field(default_factory=list)

    def view(self, model: Model, used: Used) -> Rows:
        """A table as the transaction sees it."""
        seen = dict(model.at(used.id, self.position))
        for key, write in self.writes.get(used.id, {}).items():
            row = overlaid(seen.get(key), write, used.width)
            seen.pop(key, None)
            if row is not None:
                seen[key] = row
        return seen

    def read(self, table: int, needed: Interval, whole: Interval | None = None) -> None:
        self.must.append((table, needed))
        self.may.append((table, whole or needed))


def hit(model: Model, reads: list[tuple[int, Interval]], position: int) -> bool:
    return any(key in interval for table, interval in reads for key in model.changed_since(table, position))


class StoreMachine(RuleBasedStateMachine):
    steps: Counter[str] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="viewkeeper-model-"))
        self.store = HARNESS.open(self.folder)
        self.store.configure(log_retention_ms=0)
        self.model = Model()
        self.used: list[Used] = []
        self.open: list[Open] = []
        self.made = 0
        self.steps["histories"] += 1

    def teardown(self) -> None:
        try:
            for position in self.model.states:
                if position >= self.model.oldest:
                    self.compare_at(position)
            self.replay()
        finally:
            HARNESS.close(self.store)
            shutil.rmtree(self.folder)

    # Drawing

    def a_table(self, data: st.DataObject) -> Used:
        return data.draw(st.sampled_from(self.used), label="table")

    def a_key(self, data: st.DataObject, used: Used) -> tuple[bytes, dict[int, Cell]]:
        row = data.draw(st.sampled_from(used.pool), label="key")
        return used.codec.key.encode(row), {number: row[number] for number in used.codec.key.columns}

    def some_cells(self, data: st.DataObject, used: Used, *, whole: bool) -> dict[int, Cell]:
        """Cells of columns outside the key; all of them, or some."""
        found: dict[int, Cell] = {}
        for number, one in enumerate(used.codec.table.columns):
            if number not in used.codec.key.columns and (whole or data.draw(st.booleans())):
                found[number] = data.draw(cells(one.type, nullable=True))
        return found

    def an_interval(self, data: st.DataObject, used: Used) -> Interval:
        marks = [used.codec.key.encode(row) for row in used.pool]
        lower = data.draw(st.sampled_from([b"", *marks]), label="lower")
        return Interval(lower, data.draw(st.sampled_from([None, *marks]), label="upper"))

    # Tables

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.create(data)

    @precondition(lambda self: len(self.used) < 3)
    @rule(data=st.data())
    def create(self, data: st.DataObject) -> None:
        self.made += 1
        drawn = data.draw(st.one_of(st.just(WORDS), st.just(NUMBERS), tables(max_columns=4)), label="made")
        columns = tuple(column(one.name, one.type) for one in drawn.columns)
        created = self.store.create_table(Table(name=f"t{self.made}", columns=columns, primary_key=drawn.primary_key))
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
        changed = self.store.add_column(name, column(f"added{number}", data.draw(st.sampled_from([INT, STRING, DOUBLE]))))
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

    def end_users_of(self, table: int, error: type[ViewkeeperError]) -> None:
        """Transactions that wrote to a table whose definition has changed cannot commit any more."""
        for one in list(self.open):
            if one.writes.get(table):
                with pytest.raises((error, Conflict, NotRetained)):
                    one.tx.commit()
                self.open.remove(one)
            elif any(read == table for read, _ in one.may):
                one.tx.rollback()
                self.open.remove(one)

    # Writes

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

    # Transactions that overlap

    def open_transaction(self) -> Open:
        tx = self.store.transaction()
        assert self.store.offset(tx.position) == self.model.head
        self.open.append(Open(tx, self.model.head))
        return self.open[-1]

    @precondition(lambda self: self.used)
    @rule(data=st.data(), steps=st.lists(STEPS, min_size=1, max_size=4))
    def go_on_in_a_transaction(self, data: st.DataObject, steps: list[str]) -> None:
        """In one that is open, or in a new one."""
        others = self.open if len(self.open) == 3 else [*self.open, None]
        one = data.draw(st.sampled_from(others), label="transaction") or self.open_transaction()
        for step in steps:
            self.step(data, one, step)

    @precondition(lambda self: self.used)
    @rule(data=st.data(), turns=st.lists(st.tuples(st.booleans(), STEPS), max_size=6))
    def race(self, data: st.DataObject, turns: list[tuple[bool, str]]) -> None:
        """Two transactions begin together, take turns, and both commit."""
        pair = (self.open_transaction(), self.open_transaction())
        for which, step in turns:
            self.step(data, pair[which], step)
        for one in pair:
            if one in self.open:
                self.commit(one)

    def step(self, data: st.DataObject, one: Open, step: str) -> None:
        if one not in self.open:
            return
        used = self.a_table(data)
        key, given = self.a_key(data, used)
        own = one.writes.setdefault(used.id, {})
        point = Interval(key, key + b"\0")
        try:
            match step:
                case "put":
                    given = {**given, **self.some_cells(data, used, whole=data.draw(st.booleans()))}
                    one.tx.put(used.codec, key, given)
                    self.merge(own, key, given, used)
                case "remove":
                    one.tx.remove(used.codec, key)
                    own[key] = None
                case "insert":
                    self.insert_in(one, used, key, given)
                case "get":
                    found = one.tx.get(used.codec, key)
                    assert same(found, one.view(self.model, used).get(key))
                    if key not in own or isinstance(own[key], dict):
                        one.read(used.id, point)
                case "scan":
                    self.scan_in(data, one, used)
        except NotRetained:
            assert one.position < self.model.oldest
            self.open.remove(one)

    def merge(self, own: dict[bytes, Write], key: bytes, given: dict[int, Cell], used: Used) -> None:
        if key not in own:
            own[key] = given if len(given) < used.width else overlaid(None, given, used.width)
        elif isinstance(earlier := own[key], dict):
            own[key] = {**earlier, **given}
        else:
            own[key] = overlaid(earlier, given, used.width)

    def insert_in(self, one: Open, used: Used, key: bytes, given: dict[int, Cell]) -> None:
        own = one.writes[used.id]
        there = one.view(self.model, used).get(key) is not None
        if there:
            with pytest.raises(KeyExists):
                one.tx.insert(used.codec, key, given)
        else:
            one.tx.insert(used.codec, key, given)
        if key not in own or isinstance(own[key], dict):
            one.read(used.id, Interval(key, key + b"\0"))
        if not there:
            own[key] = overlaid(None, given, used.width)

    def scan_in(self, data: st.DataObject, one: Open, used: Used) -> None:
        interval = self.an_interval(data, used)
        limit = data.draw(st.sampled_from([None, 0, 1, 2, 5]), label="limit")
        reverse = data.draw(st.booleans(), label="reverse")
        seen = {key: row for key, row in one.view(self.model, used).items() if key in interval}
        keys = sorted(seen, reverse=reverse)[:limit]
        chunks = one.tx.scan(used.codec, interval, limit=limit, reverse=reverse)
        self.equal([row for chunk in chunks for row in chunk], [seen[key] for key in keys])
        needed = interval
        if limit is not None and len(keys) == limit:
            if not keys:
                needed = Interval(b"", b"")
            else:
                needed = Interval(keys[-1], interval.upper) if reverse else Interval(interval.lower, keys[-1] + b"\0")
        one.read(used.id, needed, interval)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def end_transaction(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(self.open), label="transaction")
        if data.draw(st.booleans(), label="gives up"):
            self.open.remove(one)
            one.tx.rollback()
        else:
            self.commit(one)

    def commit(self, one: Open) -> None:
        """Conflict exactly if something that it read has changed; else its writes, on top of what is there now."""
        self.open.remove(one)
        must, may = (hit(self.model, reads, one.position) for reads in (one.must, one.may))
        writes = {number: by_key for number, by_key in one.writes.items() if by_key}
        try:
            offset = self.store.offset(one.tx.commit())
        except Conflict:
            assert may
            self.steps["conflicts"] += 1
        except NotRetained:
            assert one.position < self.model.oldest
        else:
            assert not must
            self.steps["commits"] += 1
            assert offset == (self.model.commit(writes) if writes else one.position)

    # Life

    @rule()
    def clean(self) -> None:
        HARNESS.clean(self.store)
        self.model.truncate()

    @rule()
    def reopen(self) -> None:
        for one in self.open:
            one.tx.rollback()
        self.open.clear()
        HARNESS.close(self.store)
        self.store = HARNESS.open(self.folder)
        for used in self.used:
            used.codec = self.store.catalog().codec(used.codec.table.name)

    # Looking

    @precondition(lambda self: self.used)
    @rule(data=st.data(), reverse=st.booleans(), limit=st.sampled_from([None, 0, 1, 3]))
    def scan_now_or_then(self, data: st.DataObject, reverse: bool, limit: int | None) -> None:
        used = self.a_table(data)
        position = data.draw(st.integers(self.model.oldest, self.model.head), label="position")
        interval = self.an_interval(data, used)
        snapshot = self.store.snapshot(self.store.position(position))
        rows = {key: row for key, row in self.model.at(used.id, position).items() if key in interval}
        expected = [rows[key] for key in sorted(rows, reverse=reverse)][:limit]
        chunks = snapshot.scan(used.codec, interval, limit=limit, reverse=reverse)
        self.equal([row for chunk in chunks for row in chunk], expected)
        keys = [used.codec.key.encode(row) for row in used.pool]
        for key, found in zip(keys, snapshot.get_many(used.codec, keys), strict=True):
            assert same(found, self.model.at(used.id, position).get(key))
            assert same(snapshot.get(used.codec, key), found)

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        self.steps["steps"] += 1
        assert self.store.offset(self.store.head()) == self.model.head
        assert self.store.offset(self.store.oldest()) == self.model.oldest
        snapshot = self.store.snapshot()
        for used in self.used:
            expected = ordered(self.model.now[used.id])
            assert self.store.row_count(used.codec) == len(expected)
            for reverse in (False, True):
                chunks = snapshot.scan(used.codec, Interval(), reverse=reverse)
                self.equal([row for chunk in chunks for row in chunk], expected[::-1] if reverse else expected)

    def compare_at(self, position: int) -> None:
        self.steps["positions"] += 1
        snapshot = self.store.snapshot(self.store.position(position))
        assert self.store.offset(snapshot.position) == position
        for used in self.used:
            chunks = snapshot.scan(used.codec, Interval())
            self.equal([row for chunk in chunks for row in chunk], ordered(self.model.at(used.id, position)))

    @rule()
    def replay(self) -> None:
        """The log from the oldest position on: the changes of the model, and from the oldest state to the present."""
        wanted = [one for one in self.model.log if one.start >= self.model.oldest]
        blocks = self.store.blocks(self.store.position(self.model.oldest))
        assert [(block.start, block.end) for block in blocks] == [(one.start, one.end) for one in wanted]
        state = {used.id: dict(self.model.at(used.id, self.model.oldest)) for used in self.used}
        codecs = {used.id: used.codec for used in self.used}
        for block, one in zip(blocks, wanted, strict=True):
            assert {section.table: section.changes for section in block.sections} == {
                number: len(changes) for number, changes in one.changes.items()
            }
            for section in block.sections:
                codec = codecs.get(section.table)
                if codec is None:
                    continue
                for before, after in section.pairs(codec):
                    row = before or after
                    assert row is not None
                    key = codec.key.encode(row)
                    assert same(before, state[section.table].get(key))
                    assert all(map(same, (before, after), one.changes[section.table][key]))
                    state[section.table].pop(key, None)
                    if after is not None:
                        state[section.table][key] = after
        for number, rows in state.items():
            self.equal(ordered(rows), ordered(self.model.now[number]))

    def equal(self, found: list[Row], expected: list[Row]) -> None:
        assert len(found) == len(expected), (found, expected)
        assert all(map(same, found, expected)), (found, expected)


def test_store_equals_the_model_in_every_history(capsys: pytest.CaptureFixture[Any]) -> None:
    StoreMachine.steps.clear()
    chosen = settings(max_examples=2 * settings.default.max_examples, stateful_step_count=50)  # type: ignore[union-attr]
    run_state_machine_as_test(StoreMachine, settings=chosen)
    with capsys.disabled():
        tried = ", ".join(f"{count:,} {what}" for what, count in StoreMachine.steps.items())
        print(f"\nstore against model: {tried}")
    assert StoreMachine.steps["commits"] > 0
    assert StoreMachine.steps["conflicts"] > 0

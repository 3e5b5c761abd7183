"""A random history of a store beside its model: drawing, looking, and life. What happens in it is in the subclasses."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.store.harness import EMBEDDED
from tests.store.model import Model, ordered, same
from tests.strategies import cells
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Cell, Row
from viewkeeper.store.interface import Interval

HARNESS = EMBEDDED


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


class Machine(RuleBasedStateMachine):
    steps: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="viewkeeper-model-"))
        self.store = HARNESS.open(self.folder)
        self.store.configure(log_retention_ms=0)
        self.model = Model()
        self.used: list[Used] = []
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

    def give_up(self) -> None:
        """Forget what does not outlive a reopen."""

    @rule()
    def clean(self) -> None:
        HARNESS.clean(self.store)
        self.model.truncate()

    @rule()
    def reopen(self) -> None:
        self.give_up()
        HARNESS.close(self.store)
        self.store = HARNESS.open(self.folder)
        for used in self.used:
            used.codec = self.store.catalog().codec(used.codec.table.name)

    @precondition(lambda self: self.used)
    @rule(data=st.data(), reverse=st.booleans(), limit=st.sampled_from([None, 0, 1, 3]))
    def scan_now_or_then(self, data: st.DataObject, reverse: bool, limit: int | None) -> None:
        used = self.a_table(data)
        position = data.draw(st.integers(self.model.oldest, self.model.head), label="position")
        interval = self.an_interval(data, used)
        past = self.store.snapshot(self.store.position(position))
        rows = {key: row for key, row in self.model.at(used.id, position).items() if key in interval}
        expected = [rows[key] for key in sorted(rows, reverse=reverse)][:limit]
        chunks = past.scan(used.codec, interval, limit=limit, reverse=reverse)
        self.equal([row for chunk in chunks for row in chunk], expected)
        keys = [used.codec.key.encode(row) for row in used.pool]
        for key, found in zip(keys, past.get_many(used.codec, keys), strict=True):
            assert same(found, self.model.at(used.id, position).get(key))
            assert same(past.get(used.codec, key), found)

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        self.steps["steps"] += 1
        assert self.store.offset(self.store.head()) == self.model.head
        assert self.store.offset(self.store.oldest()) == self.model.oldest
        past = self.store.snapshot()
        for used in self.used:
            expected = ordered(self.model.now[used.id])
            assert self.store.row_count(used.codec) == len(expected)
            for reverse in (False, True):
                chunks = past.scan(used.codec, Interval(), reverse=reverse)
                self.equal([row for chunk in chunks for row in chunk], expected[::-1] if reverse else expected)

    def compare_at(self, position: int) -> None:
        self.steps["positions"] += 1
        past = self.store.snapshot(self.store.position(position))
        assert self.store.offset(past.position) == position
        for used in self.used:
            chunks = past.scan(used.codec, Interval())
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

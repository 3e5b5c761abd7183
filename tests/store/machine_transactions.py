"""Transactions of a random history that overlap: each sees one state and itself, and conflicts when it must."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.store.machine import Machine, Used
from tests.store.model import Model, Rows, Write, overlaid, same
from viewkeeper.errors import Conflict, KeyExists, NotRetained, ViewkeeperError
from viewkeeper.model.types import Cell
from viewkeeper.store.interface import Interval, StoreTransaction

STEPS = st.sampled_from(["put", "put", "insert", "remove", "get", "scan"])


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


class TransactionMachine(Machine):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[Open] = []

    def give_up(self) -> None:
        for one in self.open:
            one.tx.rollback()
        self.open.clear()

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

    @precondition(lambda self: self.used)
    @rule(data=st.data(), steps=st.lists(STEPS, max_size=2))
    def collide(self, data: st.DataObject, steps: list[str]) -> None:
        """Two transactions read a row, and both write it: only one can have been first."""
        used = self.a_table(data)
        key, given = self.a_key(data, used)
        pair = (self.open_transaction(), self.open_transaction())
        for one in pair:
            self.touch(data, one, "get", used, key, given)
        for one in pair:
            for step in steps:
                self.step(data, one, step)
            self.touch(data, one, "put", used, key, given)
        for one in pair:
            if one in self.open:
                self.commit(one)

    def step(self, data: st.DataObject, one: Open, step: str) -> None:
        used = self.a_table(data)
        self.touch(data, one, step, used, *self.a_key(data, used))

    def touch(self, data: st.DataObject, one: Open, step: str, used: Used, key: bytes, given: dict[int, Cell]) -> None:
        """One step; of a scan just the table is taken."""
        if one not in self.open:
            return
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
                    if key not in own or isinstance(own[key], Mapping):
                        one.read(used.id, point)
                case "scan":
                    self.scan_in(data, one, used)
        except NotRetained:
            assert one.position < self.model.oldest
            self.open.remove(one)

    def merge(self, own: dict[bytes, Write], key: bytes, given: dict[int, Cell], used: Used) -> None:
        if key not in own:
            own[key] = given if len(given) < used.width else overlaid(None, given, used.width)
        elif isinstance(earlier := own[key], Mapping):
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
        if key not in own or isinstance(own[key], Mapping):
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
        """Conflict exactly if it writes and something that it read has changed; else its writes, on what is there."""
        self.open.remove(one)
        must, may = (hit(self.model, reads, one.position) for reads in (one.must, one.may))
        writes = {number: by_key for number, by_key in one.writes.items() if by_key}
        try:
            offset = self.store.offset(one.tx.commit())
        except Conflict:
            assert writes
            assert may or one.position < self.model.oldest
            self.steps["conflicts"] += 1
        except NotRetained:
            assert one.position < self.model.oldest
        else:
            assert not (must and writes)
            self.steps["commits"] += 1
            assert offset == (self.model.commit(writes) if writes else one.position)

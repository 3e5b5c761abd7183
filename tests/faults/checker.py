"""What must hold after writers were killed: every acknowledged write is there, none is torn, log and tables agree.

Each check goes on where the last one ended, so that hundreds of rounds on one database stay cheap.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import viewkeeper as vk
from tests.faults.agreement import Changed, Replay, check_agreement, check_as_of, whole
from tests.faults.workload import ACCOUNTS, BALANCE
from viewkeeper.store.blocks import Block
from viewkeeper.store.embedded import EmbeddedStore

SPOT_CHECKS = 12
Note = dict[str, Any]


class Checker:
    """Remembers the tables of one database as of its last check."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.replay = Replay()
        self.blocks = 0
        self.acknowledged = 0
        self._random = random.Random(seed)
        self._balances = 0
        self._committed_at = 0
        self._pending: dict[int, list[Note]] = {}

    def check(self, notes: list[Note]) -> None:
        """Reopen the database and hold it against what its writers noted; AssertionError if anything is wrong."""
        for note in notes:
            assert "error" not in note, note["error"]
        writes = [note for note in notes if "position" in note]
        with vk.open(self.path) as db:
            store = db._shared
            check_as_of(store, self.replay.position, self.replay.tables)
            self._await(store, writes)
            self._settle(store, self.replay.position)
            check_agreement(store, self.replay, lambda block, changes: self._on_block(store, block, changes))
            assert not self._pending, f"acknowledged positions are no ends of transactions: {sorted(self._pending)}"
            self._check_definitions(db, notes)
            for note in self._random.sample(writes, min(SPOT_CHECKS, len(writes))):
                self._check_reads(db, note)
            assert db.info().readers <= 2, "slots of killed readers are still taken"
        self.acknowledged += len(writes)

    def _await(self, store: EmbeddedStore, writes: list[Note]) -> None:
        pending = defaultdict(list)
        for note in writes:
            offset = store.offset(vk.Position.parse(note["position"]))
            assert offset >= self.replay.position, "a write returned a position from before it began"
            pending[offset].append(note)
        self._pending = dict(pending)

    def _on_block(self, store: EmbeddedStore, block: Block, changes: list[Changed]) -> None:
        self.blocks += 1
        assert block.committed_at >= self._committed_at, "commit times run backwards"
        self._committed_at = block.committed_at
        tokens = Counter[tuple[str, int]]()
        for codec, before, after in changes:
            if codec.table.name == "accounts":
                self._balances += _balance(after) - _balance(before)
            if after is not None:
                row = codec.to_dict(after)
                tokens[row["token"], row["parts"]] += 1
        assert len(tokens) <= 1, f"one block holds several transactions: {tokens}"
        for (token, parts), found in tokens.items():
            assert found == parts, f"transaction {token} is torn: {found} of {parts} rows"
        assert self._balances in (0, ACCOUNTS * BALANCE), f"a transfer is torn: the balances sum to {self._balances}"
        self._settle(store, block.end)

    def _settle(self, store: EmbeddedStore, offset: int) -> None:
        """Hold what was acknowledged at an offset against the tables as replayed up to it."""
        catalog = store.catalog()
        for note in self._pending.pop(offset, ()):
            for name, key, expected in note["rows"]:
                if _is_scratch(name) and name.lower() not in catalog.names:
                    continue
                codec = catalog.codec(name)
                row = self.replay.tables.get(codec.table.id, {}).get(codec.key.encode_key(codec.key_cells(tuple(key))))
                found = None if row is None else codec.to_dict(whole(row, codec))
                assert _has(found, expected), f"{name} {key} at {note['position']}: {found}, acknowledged {expected}"

    def _check_definitions(self, db: vk.Database, notes: list[Note]) -> None:
        tables = {table.name: table for table in db.tables()}
        for note in notes:
            if "column" in note:
                assert note["column"] in tables["notes"].column_names, f"column {note['column']} is lost"
            if "dropped" in note:
                assert note["dropped"] not in tables, f"table {note['dropped']} is back"

    def _check_reads(self, db: vk.Database, note: Note) -> None:
        """The same through the API: as of the position of the write, and now."""
        catalog = db._shared.catalog()
        past = db.snapshot(vk.Position.parse(note["position"]))
        for name, key, expected in note["rows"]:
            if _is_scratch(name) and name.lower() not in catalog.names:
                continue
            assert _has(past.get(name, *key), expected), f"{name} {key} as of {note['position']} is not {expected}"
            codec = catalog.codec(name)
            row = self.replay.rows(codec).get(codec.key.encode_key(codec.key_cells(tuple(key))))
            assert db.get(name, *key) == (None if row is None else codec.to_dict(row))


def _has(found: dict[str, Any] | None, expected: dict[str, Any] | None) -> bool:
    """Whether a row has these columns; whether there is none, where none is expected."""
    if found is None or expected is None:
        return found is expected
    return all(found[name] == value for name, value in expected.items())


def _balance(row: Any) -> int:
    return 0 if row is None else int(row[1])


def _is_scratch(name: str) -> bool:
    return name.startswith("s")

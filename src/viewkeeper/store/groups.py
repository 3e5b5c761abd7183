"""The state of view groups, in the views environment: what the log must not lose yet.

"groups": group id (4 bytes) → msgpack [generation, watermark, id of the last transaction applied]
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import msgspec

from viewkeeper.store.environment import Database, Txn

NAME = b"groups"


@dataclass(frozen=True, slots=True)
class GroupState:
    """One generation, one watermark; all views of a group move together."""

    generation: int
    watermark: int
    transaction: int


def groups(txn: Txn, db: Database) -> dict[int, GroupState]:
    return {struct.unpack(">I", key)[0]: GroupState(*msgspec.msgpack.decode(value)) for key, value in txn.cursor(db=db)}


def set_group(txn: Txn, db: Database, group: int, state: GroupState) -> None:
    value = msgspec.msgpack.encode([state.generation, state.watermark, state.transaction])
    txn.put(struct.pack(">I", group), value, db=db)


def remove_group(txn: Txn, db: Database, group: int) -> None:
    txn.delete(struct.pack(">I", group), db=db)

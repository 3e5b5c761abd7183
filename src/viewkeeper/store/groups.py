"""Groups of views and their objects, in the views environment.

    "groups"    group id (4) → msgpack [generation, watermark, id of the last transaction applied, objects]
    "objects"   object id (4) → group id (4), slot (4)
    "slots"     "next" → slot (4); "f" slot (4) → "", a slot that is empty and free

An object is a view table or an auxiliary table; its rows are in the named database "v" + slot in hex. A group moves as
one: whoever applies to it compares and sets (generation, watermark).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import msgspec

from viewkeeper.store.environment import Database, Txn

NAME = b"groups"
OBJECTS = b"objects"
SLOTS = b"slots"
_id = struct.Struct(">I")
_object = struct.Struct(">II")


@dataclass(frozen=True, slots=True)
class GroupState:
    """One generation, one watermark; all objects of a group move together."""

    generation: int
    watermark: int
    transaction: int
    objects: tuple[int, ...] = ()


def groups(txn: Txn, db: Database) -> dict[int, GroupState]:
    return {_id.unpack(key)[0]: _decode(value) for key, value in txn.cursor(db=db)}


def get_group(txn: Txn, db: Database, group: int) -> GroupState | None:
    value = txn.get(_id.pack(group), db=db)
    return None if value is None else _decode(value)


def _decode(value: bytes) -> GroupState:
    generation, watermark, transaction, *objects = msgspec.msgpack.decode(value)
    return GroupState(generation, watermark, transaction, tuple(objects[0]) if objects else ())


def set_group(txn: Txn, db: Database, group: int, state: GroupState) -> None:
    value = msgspec.msgpack.encode([state.generation, state.watermark, state.transaction, state.objects])
    txn.put(_id.pack(group), value, db=db)


def remove_group(txn: Txn, db: Database, group: int) -> None:
    txn.delete(_id.pack(group), db=db)


def get_object(txn: Txn, db: Database, number: int) -> tuple[int, int] | None:
    """The group and the slot of an object; None if it has none yet."""
    value = txn.get(_id.pack(number), db=db)
    return None if value is None else _object.unpack(value)


def set_object(txn: Txn, db: Database, number: int, group: int, slot: int) -> None:
    txn.put(_id.pack(number), _object.pack(group, slot), db=db)


def remove_object(txn: Txn, db: Database, number: int) -> None:
    txn.delete(_id.pack(number), db=db)


def take_slot(txn: Txn, db: Database) -> int:
    """A free slot, or a new one."""
    cursor = txn.cursor(db=db)
    if cursor.set_range(b"f") and cursor.key().startswith(b"f"):
        slot: int = _id.unpack(cursor.key()[1:])[0]
        cursor.delete()
        return slot
    stored = txn.get(b"next", db=db)
    slot = _id.unpack(stored)[0] if stored else 1
    txn.put(b"next", _id.pack(slot + 1), db=db)
    return slot


def free_slot(txn: Txn, db: Database, slot: int) -> None:
    txn.put(b"f" + _id.pack(slot), b"", db=db)

"""Groups of views and their objects, in the views environment.

    "groups"    group id (4) → msgpack of GroupState, as an array
    "objects"   object id (4) → group id (4) slot (4) errors (8) late (8) extra (8) born (8)
    "slots"     "next" → slot (4); "f" slot (4) → "", a slot that is empty and free

An object is a view table or an auxiliary table; its rows are in the named database "v" + slot in hex. Objects of one
group that always hold the same rows share a slot. A group moves as one: whoever applies to it compares and sets
(generation, watermark).
"""

from __future__ import annotations

import struct
from dataclasses import astuple, dataclass, fields

import msgspec

from viewkeeper.store.environment import Database, Txn

NAME = b"groups"
OBJECTS = b"objects"
SLOTS = b"slots"
_id = struct.Struct(">I")
_object = struct.Struct(">IIqqqq")


@dataclass(frozen=True, slots=True)
class GroupState:
    """One generation, one watermark; all objects of a group move together.

    `transaction` and `committed_at` (µs) are those of the last transaction before the watermark. While a group is being
    filled as of its watermark, `filled` is where the fill goes on: the place of the source that it has reached, b"" at
    its beginning; None once it is whole. Until the deadline (µs) of a claim, only its holder may apply.
    """

    generation: int
    watermark: int
    transaction: int
    objects: tuple[int, ...] = ()
    committed_at: int = 0
    filled: bytes | None = None
    holder: str = ""
    deadline: int = 0


@dataclass(frozen=True, slots=True)
class ObjectState:
    """Where an object is, and what is counted of it.

    `errors`: the weight of rows on which an expression fails now. `late`: changes to epochs that had left the view.
    `extra`: by how much its rows, each as often as it weighs, are more than its entries. `born`: the position as of
    which it was filled; it has never stood before that, and its feed begins there.
    """

    group: int
    slot: int
    errors: int = 0
    late: int = 0
    extra: int = 0
    born: int = 0


_FILLED = [field.name for field in fields(GroupState)].index("filled")


def groups(txn: Txn, db: Database) -> dict[int, GroupState]:
    return {_id.unpack(key)[0]: _decode(value) for key, value in txn.cursor(db=db)}


def get_group(txn: Txn, db: Database, group: int) -> GroupState | None:
    value = txn.get(_id.pack(group), db=db)
    return None if value is None else _decode(value)


def _decode(value: bytes) -> GroupState:
    generation, watermark, transaction, objects, *rest = msgspec.msgpack.decode(value)
    return GroupState(generation, watermark, transaction, tuple(objects), *rest)


def set_group(txn: Txn, db: Database, group: int, state: GroupState) -> None:
    txn.put(_id.pack(group), msgspec.msgpack.encode(astuple(state)), db=db)


def remove_group(txn: Txn, db: Database, group: int) -> None:
    txn.delete(_id.pack(group), db=db)


def get_object(txn: Txn, db: Database, number: int) -> ObjectState | None:
    """Where an object is; None if it has not been made yet."""
    value = txn.get(_id.pack(number), db=db)
    return None if value is None else ObjectState(*_object.unpack(value))


def whole_slot(txn: Txn, objects_db: Database, groups_db: Database, number: int) -> int | None:
    """The slot of an object; None if it is not there, or not whole yet. What a read by key looks at, and no more."""
    value = txn.get(_id.pack(number), db=objects_db)
    if value is None:
        return None
    state = txn.get(value[: _id.size], db=groups_db)
    if state is None or msgspec.msgpack.decode(state)[_FILLED] is not None:
        return None
    slot: int = _id.unpack_from(value, _id.size)[0]
    return slot


def objects(txn: Txn, db: Database) -> dict[int, ObjectState]:
    return {_id.unpack(key)[0]: ObjectState(*_object.unpack(value)) for key, value in txn.cursor(db=db)}


def set_object(txn: Txn, db: Database, number: int, state: ObjectState) -> None:
    value = _object.pack(state.group, state.slot, state.errors, state.late, state.extra, state.born)
    txn.put(_id.pack(number), value, db=db)


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

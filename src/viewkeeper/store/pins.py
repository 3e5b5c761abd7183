"""Pins: leases that keep the log from a position on.

    pin id (16 bytes) → msgpack [position, deadline in µs since 1970, holder]

A pin that is not renewed runs out, so a reader killed with -9 holds the log up for a lease and no longer.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

import msgspec

from viewkeeper.store.environment import Database, Txn


@dataclass(frozen=True, slots=True)
class Pinned:
    position: int
    deadline: int
    holder: str


def set_pin(txn: Txn, db: Database, pin: bytes, position: int, seconds: float, holder: str) -> None:
    deadline = time.time_ns() // 1000 + int(seconds * 1_000_000)
    txn.put(pin, msgspec.msgpack.encode([position, deadline, holder]), db=db)


def new_pin() -> bytes:
    return os.urandom(16)


def pins(txn: Txn, db: Database) -> list[tuple[bytes, Pinned]]:
    return [(key, Pinned(*msgspec.msgpack.decode(value))) for key, value in txn.cursor(db=db)]

"""What does reading cost: a get by key, a scan?"""

from __future__ import annotations

from collections.abc import Iterator

import lmdb
import msgspec

import viewkeeper as vk
from benchmarks.harness import Figure, alternate, latencies, median, micros, rate, scratch, timed
from benchmarks.shop import DDL, items

ROWS = 300_000


def run() -> Iterator[Figure]:
    with scratch() as folder, vk.open(folder / "db") as db:
        db.execute(DDL)
        db.load("Items", items(0, ROWS))
        yield get(db)
        slot = db._shared.catalog().slots[db.tables()[0].id]
        yield scan(db, b"t%08x" % slot)


def get(db: vk.Database) -> Figure:
    keys = [number * 7919 % ROWS for number in range(30_000)]
    for key in keys[:3000]:
        db.get("Items", key)
    mine = median(latencies(lambda number: db.get("Items", keys[number]), len(keys)))
    return Figure(
        question=f"get by key from {ROWS:,} rows, warm, against 8 µs (median)",
        ours=micros(mine),
        reference="8 µs",
        ratio=mine / 8e-6,
        target="below 1.00",
        met=mine < 8e-6,
    )


def scan(db: vk.Database, name: bytes) -> Figure:
    base = db._shared.base
    decode = msgspec.msgpack.Decoder(tuple).decode

    def bare(_: int) -> float:
        def loop() -> None:
            with base.begin() as txn:
                cursor: lmdb.Cursor[bytes] = txn.cursor(db=base.database(name))
                for _, value in cursor:
                    decode(value)

        return ROWS / timed(loop)

    def ours(_: int) -> float:
        def loop() -> None:
            for _ in db.scan("Items"):
                pass

        return ROWS / timed(loop)

    mine, reference = alternate(ours, bare, 7)
    return Figure(
        question="scan into dicts, 6 columns with a DECIMAL, against a bare cursor loop with msgspec decode",
        ours=rate(mine),
        reference=rate(reference),
        ratio=mine / reference,
        target="at least 0.25",
        met=mine / reference >= 0.25,
    )

"""The process that the demo kills: an item and its tag a transaction, until it is ended."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from itertools import count

import viewkeeper as vk

FIRST = 1_000_000
"""Its items have keys from here on."""


def write(path: str) -> None:
    with vk.open(path) as db:
        print("ready", flush=True)
        for number in count(FIRST):
            with db.transaction() as tx:
                tx.put("Items", {"ItemID": number, "Name": f"new {number}", "Category": "lamp"})
                tx.put("Tags", {"docId": number, "tag": "new", "timestamp": datetime.now(UTC)})
            print(number, flush=True)


if __name__ == "__main__":
    write(sys.argv[1])

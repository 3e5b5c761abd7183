"""A writer that is killed leaves its SYNC and LOCAL views as far as its tables, and so does one that moves a view."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import viewkeeper as vk

KILLS = 6
WRITER = """
import random, sys
import viewkeeper as vk
db = vk.open(sys.argv[1])
chance = random.Random(int(sys.argv[2]))
print("writing", flush=True)
while True:
    if chance.random() < 0.1:
        mode = chance.choice(["SYNC", "DEFERRED", "LAZY"])
        db.execute(f"ALTER VIEW Moving SET MAINTAIN {mode}")
    with db.transaction() as tx:
        for _ in range(chance.randrange(1, 4)):
            key = chance.randrange(200)
            if chance.random() < 0.2:
                tx.delete("T", key)
            else:
                tx.put("T", {"id": key, "g": chance.randrange(9)})
"""


def test_views_are_as_far_as_their_tables_after_every_kill(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with vk.open(path) as db:
        db.execute("CREATE TABLE T (id BIGINT PRIMARY KEY, g BIGINT) PARTITIONED BY HASH (id) INTO 3")
        for name, mode in (("Synced", "SYNC"), ("Apart", "LOCAL"), ("Moving", "DEFERRED")):
            db.execute(
                f"CREATE VIEW {name} MAINTAIN {mode} AS SELECT g, COUNT(*) AS n, MAX(id) AS most FROM T GROUP BY g"
            )
    chance = random.Random(3)
    for kill in range(KILLS):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(kill)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"writing\n"
        time.sleep(0.1 + chance.random() * 0.3)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        with vk.open(path) as db:
            with db.snapshot() as moment:
                rows = list(moment.scan("T"))
                counted = Counter(row["g"] for row in rows)
                wanted = [
                    {"g": g, "n": n, "most": max(row["id"] for row in rows if row["g"] == g)}
                    for g, n in sorted(counted.items())
                ]
                assert list(moment.scan("Synced")) == wanted
                assert list(moment.scan("Apart")) == wanted
            assert list(db.scan("Moving", consistency="latest")) == wanted
            db.maintain()
            assert list(db.scan("Moving")) == wanted

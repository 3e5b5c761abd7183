"""Stores of a worker: kept open between tasks, but not any number of them."""

from __future__ import annotations

from pathlib import Path

import viewkeeper as vk
from viewkeeper.pipeline import workerstore
from viewkeeper.pipeline.workerstore import MOST, worker_store


def test_a_worker_keeps_the_stores_open_that_were_used_last(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"db{number}") for number in range(MOST + 2)]
    for path in paths:
        with vk.open(path, durability="os") as db:
            db.execute("CREATE TABLE T (k BIGINT PRIMARY KEY)")
    before = set(workerstore._opened)
    first = [worker_store(path) for path in paths[:MOST]]
    assert worker_store(paths[0]) is first[0]
    for path in paths[MOST:]:
        assert worker_store(path).catalog().tables
    known = {path for _, path in workerstore._opened.keys() - before}
    # The second and the third were used longest ago.
    assert known == set(paths) - {paths[1], paths[2]}
    assert worker_store(paths[1]).catalog().tables
    for place in workerstore._opened.keys() - before:
        workerstore.close_store(workerstore._opened.pop(place).store)

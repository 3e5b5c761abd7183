"""Copies of a loaded bookstore, each with indexes and views of its own."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import viewkeeper as vk
from benchmarks.harness import page_in
from examples.tpcw.shop import Mode, Shop, open_shop
from viewkeeper.pipeline.session import SparkSource


@contextmanager
def opened_copy(loaded: Path, name: str, mode: Mode, *, only: Collection[str] | None = None) -> Iterator[Shop]:
    """A shop over a copy of the folder `loaded`, which nobody has open; `only` is as for `open_shop`."""
    copy = loaded.with_name(f"{loaded.name}-{name}")
    shutil.copytree(loaded, copy)
    # One session each: Spark would take what it knows of one copy for the other, which has the same name.
    spark = SparkSource(master="local[2]")
    try:
        with vk.open(copy) as db:
            open_shop(db, mode, only=only, spark=spark)
    finally:
        spark.stop()
    page_in(copy, anew=True)
    with vk.open(copy) as db:
        shop = open_shop(db, mode, only=only)
        check(db)
        yield shop


def check(db: vk.Database) -> None:
    """No view has failed."""
    failed = [view.view for view in db.status() if view.error]
    assert not failed, failed

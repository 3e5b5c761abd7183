"""How fast is a backlog eaten, from the log to the applied view?"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack

import viewkeeper as vk
from benchmarks.events import DDL, ENDS, SELECTION, SUMS, events, mixed, write
from benchmarks.harness import Figure, median, note, rate, scratch
from viewkeeper.pipeline.session import SparkSource

ROWS = 500_000
CHANGES = 1_000_000
MANY = 50
SHARED_CHANGES = 200_000


def run() -> Iterator[Figure]:
    spark = SparkSource(master="local[2]")
    try:
        warm(spark)
        yield from backlog(spark)
        yield singles(spark)
        yield shared(spark)
    finally:
        spark.stop()


def warm(spark: SparkSource) -> None:
    """Start Spark and let its compilers see the work, as they have in a maintainer that has run for a while."""
    with scratch() as folder, vk.open(folder / "db", durability="os") as db:
        db.execute(DDL)
        db.load("Events", events(0, 60_000))
        make(db)
        for _ in range(3):
            write(db, mixed(60_000, 60_000, 1000))
            for name in ("sums", "ends", "selection", "by_cost"):
                db.maintain(views=[name], spark=spark)


def make(db: vk.Database) -> None:
    for name, query in (("sums", SUMS), ("ends", ENDS), ("selection", SELECTION)):
        db.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    db.execute("CREATE INDEX by_cost ON Events (Cost DESC) INCLUDE (ProdID)")


_GROUPS = ("ProdID", "ShopID", "Type", "ProdID, Type", "ShopID, Type")
_FILTERS = ("", "WHERE Type = 'buy'", "WHERE ShopID < 16", "WHERE Cost > 100", "WHERE ProdID >= 500")
_MEASURES = ("SUM(Cost)", "AVG(ShopID)")


def many(db: vk.Database) -> list[str]:
    """Fifty different aggregates of one table: by five groupings, five filters and two measures."""
    names: list[str] = []
    for group, which, measure in itertools.product(_GROUPS, _FILTERS, _MEASURES):
        name = f"many{len(names)}"
        db.execute(
            f"CREATE MATERIALIZED VIEW {name} AS SELECT {group}, COUNT(*) AS n, {measure} AS total"
            f" FROM Events {which} GROUP BY {group}"
        )
        names.append(name)
    return names


def different(db: vk.Database) -> list[str]:
    """Fifty aggregates that have no expression in common, of the slowest type to hand over."""
    names = []
    for number in range(MANY):
        group = _GROUPS[number % 5]
        name = f"different{number}"
        db.execute(
            f"CREATE MATERIALIZED VIEW {name} AS SELECT {group}, COUNT(*) AS n, SUM(Cost + {number}) AS total"
            f" FROM Events GROUP BY {group}"
        )
        names.append(name)
    return names


def backlog(spark: SparkSource) -> Iterator[Figure]:
    with scratch() as folder, vk.open(folder / "db", durability="os") as db:
        db.execute(DDL)
        db.load("Events", events(0, ROWS))
        make(db)
        sets = {"": many(db), ", each with a DECIMAL expression of its own": different(db)}
        db.maintain(spark=spark)
        note("writing the backlog")
        write(db, mixed(CHANGES, ROWS, 1000))
        one = _eaten(db, spark, ["sums"])
        yield _figure("COUNT and SUM over 1,000 groups, transactions of 1,000", one, 300_000)
        for name, what in (("ends", "MIN and MAX"), ("by_cost", "index"), ("selection", "selection")):
            yield _figure(f"{what}, transactions of 1,000", _eaten(db, spark, [name]), 80_000)
        for what, names in sets.items():
            all_of_them = _eaten(db, spark, names)
            yield Figure(
                question=f"{MANY} aggregate views over the same backlog{what}, against one",
                ours=f"{CHANGES / all_of_them:.1f} s",
                reference=f"{CHANGES / one:.1f} s",
                ratio=one / all_of_them,
                target="none" if what else "at most 6.00",
                met=bool(what) or one / all_of_them <= 6,
            )


def singles(spark: SparkSource) -> Figure:
    with scratch() as folder, vk.open(folder / "db", durability="os") as db:
        db.execute(DDL)
        db.load("Events", events(0, ROWS))
        make(db)
        db.maintain(spark=spark)
        note("writing the backlog, each change a transaction")
        write(db, mixed(CHANGES, ROWS, 1))
        return _figure(
            "COUNT and SUM over 1,000 groups, each change its own transaction", _eaten(db, spark, ["sums"]), 120_000
        )


def shared(spark: SparkSource) -> Figure:
    """The same backlogs into a view with a pre-aggregation, and into two views that share it."""
    with scratch() as folder, ExitStack() as opened:
        bases = [opened.enter_context(vk.open(folder / name, durability="os")) for name in ("one", "two")]
        for number, db in enumerate(bases):
            db.execute(DDL)
            db.load("Events", events(0, ROWS))
            db.execute(f"CREATE MATERIALIZED VIEW ends AS {ENDS}")
            if number:
                query = "SELECT ProdID, MAX(Cost) AS most, COUNT(DISTINCT Cost) AS costs FROM Events GROUP BY ProdID"
                db.execute(f"CREATE MATERIALIZED VIEW also AS {query}")
            db.maintain(spark=spark)
        found: tuple[list[float], list[float]] = ([], [])
        for seed in range(5):
            for db, seconds in zip(bases, found, strict=True):
                write(db, mixed(SHARED_CHANGES, ROWS, 1000, seed))
                seconds.append(db.maintain(spark=spark).seconds)
    one, two = median(found[0]), median(found[1])
    return Figure(
        question=f"{SHARED_CHANGES:,} mixed changes into two views that share a pre-aggregation, against one of them",
        ours=f"{two:.2f} s",
        reference=f"{one:.2f} s",
        ratio=two / one,
        target="at most 1.30",
        met=two / one <= 1.3,
    )


def _eaten(db: vk.Database, spark: SparkSource, views: list[str]) -> float:
    """Changes a second."""
    report = db.maintain(views=views, spark=spark)
    assert not report.failed, report.failed
    note(f"{', '.join(views[:3])}: {report}")
    notes = db._shared.view_tables.notes()
    note(str(notes[db._shared.catalog().known_view(views[0]).id].batch_seconds))
    return report.changes / len(views) / report.seconds if len(views) == 1 else CHANGES / report.seconds


def _figure(what: str, found: float, wanted: float) -> Figure:
    return Figure(
        question=f"{CHANGES:,} mixed changes into a view: {what}",
        ours=rate(found),
        reference=rate(wanted),
        ratio=found / wanted,
        target="at least 1.00",
        met=found >= wanted,
    )

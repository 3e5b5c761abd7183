"""What do eager, lazy and deferred views do to the response time of a statement and to the work in all, and what is
saved by taking in many small transactions at once?

The experiments of the talk on lazy maintenance, with its two views: V1 groups a join of four tables, V2 joins five.
Eager is SYNC, lazy is LAZY, and deferred is DEFERRED, brought up in this process as a maintainer would.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import viewkeeper as vk
from benchmarks.harness import Figure, median, millis, note, scratch, sized, timed
from benchmarks.lazy_condense import CUSTOMERS, VIEWS, condensed
from benchmarks.plot import Bar, Chart, Group, Panel, Table
from benchmarks.tpch import NATIONS, SEGMENTS, V1, V2, Shop, fill, nation, shop
from viewkeeper.pipeline.session import SparkSource

STATEMENTS = (1, 10, 100)
ROUNDS = sized(7, 2)
MODES = {"eager": "SYNC", "lazy": "LAZY", "deferred": "DEFERRED"}


@dataclass
class Cost:
    """Seconds of each round: of the statement, of the first read of each view behind it, and of what was left."""

    statement: list[float] = field(default_factory=list)
    read: list[float] = field(default_factory=list)
    rest: list[float] = field(default_factory=list)

    def medians(self) -> tuple[float, float, float]:
        return median(self.statement), median(self.read), median(self.rest)

    def total(self) -> float:
        return median([sum(one) for one in zip(self.statement, self.read, self.rest, strict=True)])


Costs = dict[tuple[str, int, str, str], Cost]
"""By statement, customers, mode and number of views."""
Bases = dict[tuple[str, str], vk.Database]


def run() -> Iterator[Figure | Table | Chart]:
    made = shop(CUSTOMERS)
    with scratch() as folder, ExitStack() as stack:
        spark = SparkSource(master="local[2]")
        try:
            for views in VIEWS:
                filled(spark, made, folder / views, views)
        finally:
            spark.stop()
        bases = {
            (mode, views): switched(stack, folder / views, folder / f"{mode} {views}", mode)
            for mode in MODES
            for views in VIEWS
        }
        note(f"{len(made.tables['lineitem']):,} line items; views filled")
        yield from statements(bases, made)
        yield from condensed({views: bases["deferred", views] for views in VIEWS})


def filled(spark: SparkSource, made: Shop, path: Path, views: str) -> None:
    """Leave a database with DEFERRED views."""
    with vk.open(path) as db:
        fill(db, made)
        for text in (V1, V2)[: VIEWS.index(views) + 1]:
            db.execute(text)
        db.maintain(spark=spark)


def switched(stack: ExitStack, filled: Path, path: Path, mode: str) -> vk.Database:
    """A copy of a database, with its views in another mode."""
    shutil.copytree(filled, path)
    db = stack.enter_context(vk.open(path))
    for view in db.views():
        db.execute(f"ALTER VIEW {view.name} SET MAINTAIN {MODES[mode]}")
    assert all(view.in_base == (mode == "eager") for view in db.views()), db.status()
    return db


def statements(bases: Bases, made: Shop) -> Iterator[Figure | Table | Chart]:
    kinds: dict[str, Callable[[vk.Database, Shop, range, int], None]] = {
        "customers": move_customers,
        "line items": change_lines,
    }
    costs: Costs = {}
    place = 0
    for kind, statement in kinds.items():
        for count in STATEMENTS:
            # The first round is not counted: code that runs for the first time is slower.
            for number in range(ROUNDS + 1):
                for (mode, views), db in bases.items():
                    cost = costs.setdefault((kind, count, mode, views), Cost()) if number else Cost()
                    first = place * max(STATEMENTS) % (made.customers - count)
                    measure(db, partial(statement, db, made, range(first, first + count), place), first, cost)
                place += 1
        note(f"statements on {kind} measured")
    answers = [db.scan("V1").all() for db in bases.values()]
    assert all(answer == answers[0] for answer in answers), "the same statements, and not the same view"
    yield from figures(costs)
    yield table(costs)
    for kind in kinds:
        yield response_chart(costs, kind)
        yield total_chart(costs, kind)


def move_customers(db: vk.Database, made: Shop, customers: range, place: int) -> None:
    """One UPDATE: customers move to one nation and segment, out of many."""
    assert customers.stop <= made.customers
    db.execute(
        "UPDATE customer SET c_nationkey = :nation, c_mktsegment = :segment WHERE c_custkey >= :a AND c_custkey < :b",
        {"nation": place % NATIONS, "segment": SEGMENTS[place % 5], "a": customers.start, "b": customers.stop},
    )


def change_lines(db: vk.Database, made: Shop, customers: range, place: int) -> None:
    """One transaction: all line items of some customers get another price."""
    with db.transaction() as tx:
        for customer in customers:
            for order, number in made.lines.get(customer, ()):
                tx.put("lineitem", {"l_orderkey": order, "l_linenumber": number, "l_extendedprice": 1000 + place})


def measure(db: vk.Database, statement: Callable[[], None], customer: int, cost: Cost) -> None:
    """The statement, then one read of each view, then whatever is left to be maintained.

    A DEFERRED view is maintained before it is read, since its reader takes it as it is.
    """
    views = db.views()
    cost.statement.append(timed(statement))
    maintained = bring_up(db) if views[0].mode == "DEFERRED" else 0.0
    row = db.get("customer", customer)
    assert row is not None
    group = nation(row["c_nationkey"]), row["c_mktsegment"]
    began = time.perf_counter()
    db.get("V1", *group, bring_up=True)
    if len(views) > 1:
        db.scan("V2", prefix=(customer,), bring_up=True).all()
    cost.read.append(time.perf_counter() - began)
    cost.rest.append(maintained + bring_up(db))


def bring_up(db: vk.Database) -> float:
    """Seconds that it takes to bring up what is behind; 0 if nothing is."""
    if not any(view.lag_changes for view in db.status()):
        return 0.0
    began = time.perf_counter()
    report = db.maintain()
    # A read may have left it to another thread, which has done it meanwhile.
    assert report.engine in ("", "rows"), report
    assert not report.failed, report
    return time.perf_counter() - began


def figures(costs: Costs) -> Iterator[Figure]:
    """Lazy against eager for customers that move, which is what the talk has; the table has the others."""
    for count in STATEMENTS:
        for views in VIEWS:
            eager, lazy = costs["customers", count, "eager", views], costs["customers", count, "lazy", views]
            ours, reference = median(lazy.statement), median(eager.statement)
            yield Figure(
                question=f"response of a statement on {of('customers', count)}, {views}: lazy against eager",
                ours=millis(ours),
                reference=millis(reference),
                ratio=ours / reference,
                target="below 1.00",
                met=ours < reference,
            )
            ours, reference = lazy.total(), eager.total()
            yield Figure(
                question=f"the same with reads and maintenance, {of('customers', count)}, {views}: lazy against eager",
                ours=millis(ours),
                reference=millis(reference),
                ratio=ours / reference,
                target="none",
                met=True,
            )


def of(kind: str, count: int) -> str:
    customers = f"{count} customer" + "s" * (count > 1)
    return customers if kind == "customers" else f"the line items of {customers}"


def table(costs: Costs) -> Table:
    rows: list[tuple[str, ...]] = [
        ("statement", "views", "mode", "response", "first read", "maintenance besides", "in all")
    ]
    for (kind, count, mode, views), cost in costs.items():
        rows.append((of(kind, count), views, mode, *map(millis, cost.medians()), millis(cost.total())))
    return Table(text="Medians; the first read is one of each view.", rows=tuple(rows))


def response_chart(costs: Costs, kind: str) -> Chart:
    return Chart(
        name=f"lazy-response-{kind.replace(' ', '-')}",
        text=f"Response time of one statement on {kind}",
        unit="ms",
        parts=("statement",),
        panels=tuple(_panel(costs, kind, count, 1) for count in STATEMENTS),
    )


def total_chart(costs: Costs, kind: str) -> Chart:
    return Chart(
        name=f"lazy-total-{kind.replace(' ', '-')}",
        text=f"Work in all for one statement on {kind}",
        unit="ms",
        parts=("statement", "first read of each view", "maintenance besides"),
        panels=tuple(_panel(costs, kind, count, 3) for count in STATEMENTS),
    )


def _panel(costs: Costs, kind: str, count: int, parts: int) -> Panel:
    def bar(mode: str, views: str) -> Bar:
        return Bar(mode, tuple(value * 1000 for value in costs[kind, count, mode, views].medians()[:parts]))

    return Panel(of(kind, count), tuple(Group(views, tuple(bar(mode, views) for mode in MODES)) for views in VIEWS))

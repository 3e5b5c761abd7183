"""What the analysis says: a level, bounds as numbers, the plan, what is still to be made, and why it has no bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from viewkeeper.analysis.schema import Stored
from viewkeeper.plan.access import QueryPlan

UNBOUNDED = "unbounded"
LEVELS = ("SI-0", "SI-1", "SI-2", "SI-3", UNBOUNDED)

ChangeCost: TypeAlias = tuple[int, int] | None
"""Reads and writes for one changed row; None without a bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A change that was tried: with it the level is another one."""

    text: str
    level: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaQuery:
    """What a row of a table that comes or goes looks up to bring a view up to date, as SQL.

    `reads` are those of its maintenance in all, and `rows` how many rows of the view come or go, at most; None if it
    may be any number. With `is_with_itself` the row is in several places of the view at once, and counted in those.
    """

    view: str
    table: str
    sql: str
    reads: int | None
    rows: int | None
    is_with_itself: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict on a query or a view.

    `level`: "SI-0" by primary keys, "SI-1" with indexes, "SI-2" with views that are maintained incrementally at a
    bounded cost, "SI-3" with views that are refreshed in parallel, or "unbounded". `operations_max` and `rows_max` are
    what one execution reads at most; None if there is no bound. `storage` are the rows of the views needed: at most a
    factor of a table's rows. `maintenance` are, by table, reads and writes for each changed row, over all indexes and
    views of the table, those in `needs` included; None without a bound. `added` are those of `needs` alone. `needs`
    are the statements still to be run, `made` what they make; until then, `meanwhile` runs the query where a view that
    there is answers it, whose maintenance has no bound.
    """

    level: str
    operations_max: int | None = None
    rows_max: int | None = None
    storage: tuple[int, str] | None = None
    maintenance: Mapping[str, ChangeCost] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    reason: str = ""
    plan: str = ""
    uses: tuple[str, ...] = ()
    delta_queries: tuple[DeltaQuery, ...] = ()
    dependencies: tuple[str, ...] = ()
    predicates: tuple[str, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    added: Mapping[str, ChangeCost] = field(default_factory=dict)
    latency: tuple[float, float] | None = None
    slo: float | None = None
    physical: QueryPlan | None = field(default=None, repr=False)
    meanwhile: QueryPlan | None = field(default=None, repr=False)
    made: tuple[Stored, ...] = field(default=(), repr=False)

    @property
    def now(self) -> QueryPlan | None:
        """What runs the query with what there is."""
        return self.meanwhile if self.needs else self.physical

    @property
    def is_bounded(self) -> bool:
        """Whether the work of one execution is bounded, whatever is said of maintenance."""
        return self.operations_max is not None

    @property
    def meets_slo(self) -> bool | None:
        """Whether the predicted 99th percentile is at most `slo`; None if there is none, False without a bound."""
        if self.slo is None:
            return None
        if not self.is_bounded:
            return False
        return None if self.latency is None else self.latency[1] <= self.slo

    def __str__(self) -> str:
        from viewkeeper.analysis.report import report

        return report(self)

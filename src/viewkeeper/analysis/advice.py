"""What a set of queries needs together: the indexes and views that they share, and what these cost each table.

The queries are analysed in their order, each over what there is and what those before it need. An index that another
one of the same table begins with is left out again if the queries that used it read no more without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from viewkeeper.analysis.invariants import INVARIANTS, invariants_of
from viewkeeper.analysis.latency import Predict, analyse_within
from viewkeeper.analysis.maintenance import totals
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.sqltext import quoted
from viewkeeper.analysis.verdict import LEVELS, UNBOUNDED, ChangeCost, Verdict
from viewkeeper.errors import ViewkeeperError
from viewkeeper.plan.relation import scans
from viewkeeper.sql.statements import Query

REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedQuery:
    """A query, or with `error` the reason why the text is none that could be analysed; `cause` as in `Advised`."""

    name: str
    sql: str
    query: Query | None = None
    error: str = ""
    cause: Exception | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Advised:
    """A query with its verdict over all that is needed; `needs` and `added` there are of what no query before it needs.

    `invariants` are in the order of INVARIANTS: "I" is independent of the size of the data, "D" depends on it, "-" is
    not needed. `where` is the file and line of its text, if it is from a file. `costs` are, by table, what a changed
    row costs over all indexes and views that the query is answered from, those that exist and those that others need
    as well included; how much of it is new is what does not exist yet. `cause` is there if it is a mistake of ours that
    the query was not analysed.
    """

    name: str
    sql: str
    verdict: Verdict | None = None
    error: str = ""
    cause: Exception | None = None
    where: str = ""
    costs: Mapping[str, TableCost] = field(default_factory=dict)
    invariants: tuple[str, ...] = ()

    @property
    def level(self) -> str:
        return REFUSED if self.verdict is None else self.verdict.level

    @property
    def is_good(self) -> bool:
        """Whether it has a bound and, where it was asked for, is predicted to be fast enough."""
        return self.verdict is not None and self.verdict.level != UNBOUNDED and self.verdict.meets_slo is not False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCost:
    """Of one changed row, over all indexes and views: how much, None without a bound, and how much of it is new."""

    reads: int | None
    writes: int | None
    new_reads: int
    new_writes: int

    @property
    def total(self) -> ChangeCost:
        return None if self.reads is None or self.writes is None else (self.reads, self.writes)

    @property
    def new(self) -> tuple[int, int]:
        return self.new_reads, self.new_writes


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """`ddl` are the statements to run, in this order. `notes` say what cannot be in the mode wanted, and why."""

    queries: tuple[Advised, ...]
    tables: Mapping[str, TableCost] = field(default_factory=dict)
    ddl: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    slo: float | None = None

    @property
    def is_good(self) -> bool:
        return all(one.is_good for one in self.queries)

    def __str__(self) -> str:
        from viewkeeper.analysis.advicetext import advice_text

        return advice_text(self)


def advise(
    queries: Sequence[NamedQuery], schema: Schema, *, slo: float | None = None, predict: Predict | None = None
) -> Advice:
    """The verdicts, the cost of each table and the statements. `predict` is asked only if there is an `slo`, in ms."""
    work = _Work(schema, slo, predict if slo is not None else None)
    failed: dict[int, NamedQuery] = {}
    for number, one in enumerate(queries):
        if one.query is not None:
            try:
                work.add(number, one.name, one.query)
            except ViewkeeperError:
                raise
            except Exception as cause:  # noqa: BLE001  (whatever is wrong with one, the others are told of)
                failed[number] = not_analysed(one.name, one.sql, cause)
    work.leave_out_prefixes()
    found, ddl = work.result()
    advised = [_advised(failed.get(number, one), found.get(number), work) for number, one in enumerate(queries)]
    return Advice(queries=tuple(advised), tables=work.costs(), ddl=ddl, slo=slo)


def not_analysed(name: str, sql: str, cause: Exception) -> NamedQuery:
    """A query whose analysis failed by a mistake of ours."""
    error = f"error[internal]: {type(cause).__name__}: {cause}\n  hint: This is a mistake in viewkeeper. Report it."
    return NamedQuery(name=name, sql=sql, error=error, cause=cause)


def _advised(one: NamedQuery, verdict: Verdict | None, work: _Work) -> Advised:
    if one.query is None or verdict is None:
        return Advised(name=one.name, sql=one.sql, error=one.error, cause=one.cause)
    try:
        invariants = invariants_of(one.query, verdict, work.schema, work.known)
        costs = work.costs_of(verdict)
    except Exception as cause:  # noqa: BLE001  (the same)
        return _advised(not_analysed(one.name, one.sql, cause), None, work)
    return Advised(name=one.name, sql=one.sql, verdict=verdict, costs=costs, invariants=invariants)


class _Work:
    """`known` is the schema with all that was found to be needed, as if it existed; `made` are these, by id."""

    def __init__(self, schema: Schema, slo: float | None, predict: Predict | None) -> None:
        self.schema = schema
        self.known = schema
        self.made: dict[int, Stored] = {}
        self.queries: dict[int, tuple[str, Query]] = {}
        self.verdicts: dict[int, Verdict] = {}
        self._slo, self._predict = slo, predict

    def add(self, number: int, name: str, query: Query) -> None:
        found = self._analysed(name, query, self.known)
        if found.made:
            # What fails over these fails here, where it is known which query needs them.
            totals(self.known.with_objects(*found.made))
        self.queries[number], self.verdicts[number] = (name, query), found
        self.made |= {one.id: one for one in found.made}
        self.known = self.known.with_objects(*found.made)

    def _analysed(self, name: str, query: Query, schema: Schema) -> Verdict:
        return analyse_within(query, schema, name=name, slo=self._slo, predict=self._predict)

    def leave_out_prefixes(self) -> None:
        for number, index in list(self.made.items()):
            others = [one for one in self.made.values() if one.id != number]
            if not any(_begins(one, index) for one in others) or any(number in _read_by(one) for one in others):
                continue
            less = Schema({key: one for key, one in self.known.objects.items() if key != number})
            places = [place for place, verdict in self.verdicts.items() if index.name in verdict.uses]
            try:
                again = {place: self._analysed(*self.queries[place], less) for place in places}
            except Exception:  # noqa: BLE001  (a mistake of ours: it is as well to keep the index)
                continue
            if all(self._is_as_good(one, self.verdicts[place]) for place, one in again.items()):
                del self.made[number]
                self.known = less
                self.verdicts |= again

    def _is_as_good(self, found: Verdict, before: Verdict) -> bool:
        """Whether a query is answered as well as before, by what is there already."""
        if found.operations_max is None or found.rows_max is None or any(one.id not in self.made for one in found.made):
            return False
        assert before.operations_max is not None
        assert before.rows_max is not None
        return (
            LEVELS.index(found.level) <= LEVELS.index(before.level)
            and found.operations_max <= before.operations_max
            and found.rows_max <= before.rows_max
            and (found.meets_slo is not False or before.meets_slo is False)
        )

    def result(self) -> tuple[dict[int, Verdict], tuple[str, ...]]:
        """The verdicts, in which what is to be made is told where it is used first."""
        costs = totals(self.known).costs
        taken: set[int] = set()
        ddl: list[str] = []
        for place, verdict in self.verdicts.items():
            listed = dict.fromkeys(one.id for one in (*verdict.made, *self._used(verdict)))
            own = [self.made[number] for number in listed if number in self.made and number not in taken]
            taken.update(one.id for one in own)
            texts = tuple(one.ddl for one in own if one.ddl is not None)
            ddl += texts
            added = totals(self.known, frozenset(one.id for one in own)).costs if own else {}
            self.verdicts[place] = replace(
                verdict,
                needs=texts,
                made=tuple(own),
                maintenance={table: costs[table] for table in verdict.maintenance},
                added={table: cost for table, cost in added.items() if cost != (0, 0)},
            )
        return self.verdicts, tuple(ddl)

    def costs_of(self, verdict: Verdict) -> dict[str, TableCost]:
        """What a changed row of each table costs over what a query is answered from; what costs nothing is left out."""
        used = frozenset(one.id for one in self._used(verdict) if not one.is_table)
        found = self._costs(used) if used else {}
        return {table: cost for table, cost in found.items() if cost.total != (0, 0)}

    def costs(self) -> dict[str, TableCost]:
        return self._costs(None)

    def _costs(self, wanted: frozenset[int] | None) -> dict[str, TableCost]:
        made = frozenset(self.made)
        new = totals(self.known, made if wanted is None else made & wanted).costs
        return {
            table: _table_cost(cost, new[table] or (0, 0)) for table, cost in totals(self.known, wanted).costs.items()
        }

    def _used(self, verdict: Verdict) -> list[Stored]:
        names = {one.name: one for one in self.known.objects.values()}
        return list(self._below([names[name] for name in verdict.uses if name in names]))

    def _below(self, used: Sequence[Stored]) -> Iterator[Stored]:
        """What is used, each behind what it reads itself."""
        for one in used:
            yield from self._below([self.known[number] for number in _read_by(one) if number in self.known.objects])
            yield from self._staging(one)
            yield one

    def _staging(self, view: Stored) -> Iterator[Stored]:
        """The staging view under a view that is to be made: its plan reads the table itself, its statement does not."""
        if view.ddl is not None and view.mode == "PERIODIC":
            yield from (one for one in self.known.views() if f"FROM {quoted(one.name)} ORDER BY" in view.ddl)


def _table_cost(total: ChangeCost, new: tuple[int, int]) -> TableCost:
    reads, writes = total or (None, None)
    return TableCost(reads=reads, writes=writes, new_reads=new[0], new_writes=new[1])


def _read_by(view: Stored) -> list[int]:
    return [] if view.plan is None else [scan.object for scan in scans(view.plan)]


def _begins(longer: Stored, index: Stored) -> bool:
    """Whether an index begins with another one of the same table."""
    if not (longer.kind == index.kind == "index") or _read_by(longer) != _read_by(index):
        return False
    if index.visible >= longer.visible:
        return False
    names = [column.name for column in index.columns[: index.visible]]
    return names == [column.name for column in longer.columns[: index.visible]] and (
        index.descending[: index.visible] == longer.descending[: index.visible]
    )


def table_one(advice: Advice) -> dict[str, dict[str, str]]:
    """For each invariant and level, whether it holds whatever the size of the data, over all queries of the level.

    "I" and "D" as in `Advised`; both, with a slash, if the queries differ. Levels without a query are left out.
    """
    found: dict[str, dict[str, str]] = {}
    for place, invariant in enumerate(INVARIANTS):
        row = found[invariant] = {}
        for level in LEVELS[:-1]:
            marks = {one.invariants[place] for one in advice.queries if one.level == level and one.invariants}
            if marks:
                row[level] = "/".join(sorted(marks, reverse=True))
    return found

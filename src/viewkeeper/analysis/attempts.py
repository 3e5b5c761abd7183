"""The ways to answer a query, tried one after the other: over what exists, then over what is made for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from viewkeeper.analysis.answer import answer, tables_of
from viewkeeper.analysis.block import Block, NotAnalysed
from viewkeeper.analysis.construct import Constructed, Refused, construct, has_more_to_keep
from viewkeeper.analysis.eager import grouped_first, pre_aggregated
from viewkeeper.analysis.flatten import block_of
from viewkeeper.analysis.groupsources import over_groups
from viewkeeper.analysis.hotspots import around, staged
from viewkeeper.analysis.inside import Inside, over_inside
from viewkeeper.analysis.levels import level_of, view_level
from viewkeeper.analysis.maintenance import totals
from viewkeeper.analysis.overviews import not_ranked, plans_over, ranked
from viewkeeper.analysis.partial import over_partial
from viewkeeper.analysis.planning import NotPlanned, Planned, plan_block
from viewkeeper.analysis.preaggregated import over_pre_aggregated
from viewkeeper.analysis.reasons import NO_HELP, reason_of
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.storage import storage_bound
from viewkeeper.analysis.testmatching import joined_tests
from viewkeeper.analysis.verdict import LEVELS, UNBOUNDED, Verdict
from viewkeeper.sql.statements import Query


def query_block(query: Query, schema: Schema) -> Block:
    """The normal form of a query with its order and limit."""
    block = block_of(query.plan, schema)
    return replace(block, order=query.order, limit=query.limit, limit_max=query.limit_max, offset=query.offset)


@dataclass(slots=True)
class Attempts:
    """A query, and the ways to answer it, one after the other. `refusals` say why no view would do.

    `below` are views in the schema that are to be made before anything else.
    """

    query: Query
    block: Block
    schema: Schema
    name: str
    widen: bool
    below: tuple[Stored, ...] = ()
    refusals: list[Refused] = field(default_factory=list)

    def verdict(self) -> Verdict:
        plain = plan_block(self.block, self.schema, allowed=lambda _: False)
        if isinstance(plain, Planned) and level_of(plain.uses(), self.schema) == "SI-0":
            return answer(self.query, plain, self.schema)
        existing = min(filter(self._may_stand_in, self._existing(plain)), key=self._rank, default=None)
        known = None if existing is None else answer(self.query, existing, self.schema)
        if known is not None and known.level != UNBOUNDED and not self.widen:
            return known
        indexed = plan_block(self.block, self.schema, allowed=self._is_bounded, propose=True, widen=self.widen)
        found = answer(self.query, indexed, self.schema) if isinstance(indexed, Planned) else None
        if self.widen:
            return self._fewest([known, found, self._over_new()]) or known or self._unbounded("")
        made = self._over_made(found)
        if made is None:
            return known or self._unbounded(self._reason(indexed, found))
        # Until that is made, the query is answered as it was.
        return made if known is None else replace(made, meanwhile=known.physical)

    def _is_bounded(self, view: Stored) -> bool:
        return view.mode != "PERIODIC" and view_level(view, self.schema)[0] != UNBOUNDED

    def _over_made(self, indexed: Verdict | None) -> Verdict | None:
        """The bounded verdict with indexes, else that with views that are made for the query; None if none helps.

        What costs a write any number of operations is not proposed.
        """
        if indexed is not None and indexed.level != UNBOUNDED:
            return indexed
        found = (made() for made in self._ways)
        return next((one for one in found if one is not None and one.level != UNBOUNDED), None)

    @property
    def _ways(self) -> Iterator[Callable[[], Verdict | None]]:
        """The ways to answer the block over what is made for it, the simplest first."""
        over_one = (self._over_indexed, self._over_new, self._over_joined, self._over_counts, self._over_partial)
        return iter((*over_one, self._over_groups, self._over_inside, self._staged))

    def _reason(self, indexed: Planned | NotPlanned, found: Verdict | None) -> str:
        """Why neither an index nor a view gives the query a bound."""
        if isinstance(indexed, NotPlanned):
            return reason_of(indexed, self.refusals)
        assert found is not None
        return self._too_dear(found)

    def _fewest(self, found: Sequence[Verdict | None]) -> Verdict | None:
        """Of several verdicts the one with the fewest operations, if one has a bound."""
        bounded = [one for one in found if one is not None and one.level != UNBOUNDED]
        return min(bounded, key=lambda one: (one.operations_max, one.rows_max, len(one.needs)), default=None)

    def _too_dear(self, found: Verdict) -> str:
        """Why what would answer the query is not proposed: it would cost a write any number of operations."""
        why = totals(self.schema.with_objects(*found.made)).unlimited
        text = next((why[one.id] for one in found.made if one.id in why), None)
        return (
            found.reason if text is None else f"An index that would answer it has no bound on its maintenance. {text}"
        )

    def _existing(self, plain: Planned | NotPlanned) -> Iterator[Planned]:
        """The plans over what exists: tables, indexes, and views that stand for some of its sources."""
        indexed = plan_block(self.block, self.schema, allowed=lambda view: view.mode != "PERIODIC")
        yield from (one for one in (plain, indexed) if isinstance(one, Planned))
        window = around(self.block)
        joined = joined_tests(self.block)
        blocks = [self.block, *([] if window is None else [window]), *grouped_first(self.block, self.schema)]
        blocks += [joined, *grouped_first(joined, self.schema)] if joined is not self.block else []
        over = over_groups(self.block, self.schema, self.name)
        if over is not None and not over.made:
            blocks += [over.block, *grouped_first(over.block, self.schema)]
        for block in blocks[1:]:
            planned = plan_block(block, self.schema, allowed=lambda view: view.mode != "PERIODIC")
            if isinstance(planned, Planned) and block is not window:
                yield planned
        for view in list(self.schema.views()):
            for block in blocks:
                yield from plans_over(block, view, self.schema)
        inside = over_inside(self.query.plan, self.block, self.schema, self.name, make=False)
        read = None if inside is None else self._planned_inside(inside, self.schema, make=False)
        if read is not None:
            yield read

    def _may_stand_in(self, planned: Planned) -> bool:
        """Whether a query may be answered by these reads: from a PERIODIC view whose refresh has no bound only if it
        is named. It was not made to stand for its tables, and is older than what is maintained.
        """
        return all(
            one.mode != "PERIODIC" or one.id in self.query.sources or view_level(one, planned.schema)[0] != UNBOUNDED
            for one in planned.uses()
        )

    def _rank(self, planned: Planned) -> tuple[int, tuple[int, int, int]]:
        return LEVELS.index(level_of(planned.uses(), self.schema)), planned.reads.cost

    def _over_indexed(self) -> Verdict | None:
        """The block over an index of a view that is there."""
        found: list[Planned] = []
        for view in list(filter(self._is_bounded, self.schema.views())):
            found += [*ranked(self.block, view, self.schema), *plans_over(self.block, view, self.schema, propose=True)]
        return self._fewest([answer(self.query, one, self.schema) for one in found])

    def _over_new(self) -> Verdict | None:
        """The block over a view that is made for it."""
        for keeps_all in (False, True) if has_more_to_keep(self.block) else (False,):
            for widen in self._widths:
                try:
                    made = construct(
                        self.block, self._view_name(), self.schema.next_id(), widen=widen, keeps_all=keeps_all
                    )
                except (Refused, NotAnalysed) as error:
                    self.refusals.append(error if isinstance(error, Refused) else Refused(str(error)))
                    break
                found = self._answered_by(made)
                if found is not None:
                    return found
        return None

    @property
    def _widths(self) -> tuple[bool, ...]:
        """Whether a view that is made has all columns that are read; groups have no others."""
        if self.widen or self.block.group is not None:
            return (self.widen,)
        return (False, True)

    def _over_joined(self) -> Verdict | None:
        """The block over a view that is made for it, what EXISTS asks for joined where that is one row at most."""
        joined = joined_tests(self.block)
        if joined is self.block:
            return None
        return replace(self, block=joined, refusals=[])._over_new()

    def _over_counts(self) -> Verdict | None:
        """The block over a view of the groups of one source, which is looked up for the rows of the others."""
        found: list[Verdict] = []
        for number, source in enumerate(self.block.sources):
            if source.stored is None or not source.stored.is_table:
                continue
            first = pre_aggregated(
                self.block, [number], self.schema, self.schema.name_for(self.name, source.name, "Counts")
            )
            if first is None:
                continue
            made, over = first
            planned = plan_block(
                over, self.schema.with_objects(made.stored), allowed=lambda view: view.mode != "PERIODIC", propose=True
            )
            if isinstance(planned, Planned):
                found.append(answer(self.query, planned, self.schema, made, self.below))
        return self._fewest(found)

    def _over_partial(self) -> Verdict | None:
        """The block over a view of those rows of one source that its own conditions keep."""
        found = over_partial(self.block, self.schema, self.name)
        return self._fewest([answer(self.query, one.planned, self.schema, one.made, self.below) for one in found])

    def _over_inside(self) -> Verdict | None:
        """The block with views that are made for queries in its FROM."""
        found = over_inside(self.query.plan, self.block, self.schema, self.name, make=True)
        made = () if found is None else tuple(one.stored for one in found.made)
        planned = None if found is None else self._planned_inside(found, self.schema.with_objects(*made), make=True)
        if found is None or planned is None:
            return None
        last = found.made[-1] if made else None
        return answer(self.query, planned, self.schema, last, made[:-1])

    def _planned_inside(self, inside: Inside, schema: Schema, *, make: bool) -> Planned | None:
        """The reads of the query with what stands for queries in its FROM."""
        try:
            block = query_block(replace(self.query, plan=inside.relation), schema)
        except NotAnalysed:
            return None
        found = plan_block(block, schema, allowed=lambda view: view.mode != "PERIODIC", propose=make)
        return found if isinstance(found, Planned) else None

    def _over_groups(self) -> Verdict | None:
        """The block over views of the groups in its FROM, by indexes that exist or are made, or by one more view."""
        found = over_groups(self.block, self.schema, self.name)
        if found is None:
            return None
        schema = self.schema.with_objects(*found.made)
        planned = plan_block(found.block, schema, allowed=lambda view: view.mode != "PERIODIC", propose=True)
        if isinstance(planned, Planned):
            verdict = answer(self.query, planned, self.schema, None, found.made)
            return verdict if verdict.level != UNBOUNDED else None
        rest = Attempts(self.query, found.block, schema, self.name, self.widen, found.made)
        made = rest._over_new()
        self.refusals += rest.refusals
        return made

    def _view_name(self) -> str:
        if self.name:
            return self.schema.free_name(f"{self.name}View")
        tables = "_".join(dict.fromkeys(source.name for source in self.block.sources))
        return self.schema.free_name(f"{tables}_view")

    def _answered_by(self, made: Constructed) -> Verdict | None:
        """The verdict with a view; None if its rows or its maintenance have no bound, or it would not help."""
        schema = self.schema.with_objects(made.stored)
        bound = storage_bound(made.stored, schema)
        if bound.factor is None:
            self.refusals.append(
                Refused(f"for one row of a table it may have any number: nothing limits {', '.join(bound.unreached)}")
            )
            return None
        unlimited = totals(schema).unlimited.get(made.stored.id)
        if unlimited is not None:
            self.refusals.append(Refused(f"its maintenance has no bound. {unlimited}"))
            return self._grouped_first()
        plans = [*plans_over(self.block, made.stored, schema), *ranked(self.block, made.stored, schema)]
        if not plans and made.block.group is None and len(made.block.sources) == 1:
            single = plan_block(self.block, schema, allowed=lambda _: True)
            plans += [single] if isinstance(single, Planned) else []
        if not plans:
            self.refusals.append(Refused(not_ranked(self.block, made.stored, schema) or NO_HELP))
            return None
        return answer(self.query, min(plans, key=lambda one: one.reads.cost[1:]), self.schema, made, self.below)

    def _grouped_first(self) -> Verdict | None:
        """The block over a view of groups over pre-aggregated views, where that makes its maintenance bounded."""
        found = over_pre_aggregated(self.block, self.schema, self.name, self._view_name())
        if found is None:
            return None
        return answer(self.query, found.planned, self.schema, found.made, (*self.below, *found.first))

    def _staged(self) -> Verdict | None:
        found = staged(self.block, self.schema, self.name, self._view_name())
        if found is None:
            return None
        made, staging, block = found
        schema = self.schema.with_objects(staging, made.stored)
        planned = min(plans_over(block, made.stored, schema), key=lambda one: one.reads.cost[1:], default=None)
        if planned is None:
            return None
        verdict = answer(self.query, planned, self.schema, made, (staging,))
        if verdict.level == UNBOUNDED:
            self.refusals.append(Refused("one that is refreshed has no bound on the work in one part of it"))
            return None
        return verdict

    def _unbounded(self, reason: str) -> Verdict:
        total = totals(self.schema)
        return Verdict(
            level=UNBOUNDED,
            maintenance={table: total.costs[table] for table in tables_of(self.query.plan, self.schema)},
            reason=reason,
        )

"""The verdict on a query: the lowest level at which it is answered with bounded work.

    SI-0    the primary keys of tables are enough
    SI-1    indexes are, those that exist or one that is made for it
    SI-2    a view that is maintained incrementally, whose rows and whose cost of a changed row are bounded
    SI-3    a view that is refreshed in parallel, with bounded work in each part

What exists is preferred to what is to be made, and of what is to be made that with the fewest reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from viewkeeper.analysis.answer import answer, tables_of
from viewkeeper.analysis.block import Block, NotAnalysed
from viewkeeper.analysis.construct import Constructed, Refused, construct
from viewkeeper.analysis.eager import grouped_first, pre_aggregated
from viewkeeper.analysis.flatten import block_of
from viewkeeper.analysis.hotspots import around, staged
from viewkeeper.analysis.levels import level_of
from viewkeeper.analysis.maintenance import totals
from viewkeeper.analysis.overviews import plans_over, ranked
from viewkeeper.analysis.planning import NotPlanned, Planned, plan_block
from viewkeeper.analysis.reasons import NO_HELP, reason_of
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.storage import storage_bound
from viewkeeper.analysis.verdict import LEVELS, UNBOUNDED, Verdict
from viewkeeper.sql.statements import Query


def analyse(query: Query, schema: Schema, *, name: str = "", widen: bool = False, suggest: bool = True) -> Verdict:
    """The verdict on a query. What is to be made for it is called after `name`.

    With `widen`, that has all columns that the query reads, and nothing is looked up behind it.
    """
    try:
        block = query_block(query, schema)
    except NotAnalysed as error:
        text = f"{error}: there is no bound on what is read."
        return Verdict(level=UNBOUNDED, reason=text[0].upper() + text[1:])
    found = _Attempts(query, block, schema, name, widen).verdict()
    if not suggest or found.level != UNBOUNDED or (found.is_bounded and not found.needs):
        return found
    from viewkeeper.analysis.suggestions import suggestions

    return replace(found, suggestions=tuple(suggestions(query, schema)))


def query_block(query: Query, schema: Schema) -> Block:
    """The normal form of a query with its order and limit."""
    block = block_of(query.plan, schema)
    return replace(block, order=query.order, limit=query.limit, limit_max=query.limit_max, offset=query.offset)


@dataclass(slots=True)
class _Attempts:
    """A query, and the ways to answer it, one after the other. `refusals` say why no view would do."""

    query: Query
    block: Block
    schema: Schema
    name: str
    widen: bool
    refusals: list[Refused] = field(default_factory=list)

    def verdict(self) -> Verdict:
        plain = plan_block(self.block, self.schema, allowed=lambda _: False)
        if isinstance(plain, Planned) and level_of(plain.uses(), self.schema) == "SI-0":
            return answer(self.query, plain, self.schema)
        existing = min(self._existing(plain), key=self._rank, default=None)
        if existing is not None:
            return answer(self.query, existing, self.schema)
        indexed = plan_block(
            self.block, self.schema, allowed=lambda view: view.mode != "PERIODIC", propose=True, widen=self.widen
        )
        if isinstance(indexed, Planned):
            return answer(self.query, indexed, self.schema)
        return self._over_new() or self._staged() or self._unbounded(indexed)

    def _existing(self, plain: Planned | NotPlanned) -> Iterator[Planned]:
        """The plans over what exists: tables, indexes, and views that stand for some of its sources."""
        indexed = plan_block(self.block, self.schema, allowed=lambda view: view.mode != "PERIODIC")
        yield from (one for one in (plain, indexed) if isinstance(one, Planned))
        window = around(self.block)
        blocks = [self.block, *([] if window is None else [window]), *grouped_first(self.block, self.schema)]
        for block in blocks[1:]:
            planned = plan_block(block, self.schema, allowed=lambda view: view.mode != "PERIODIC")
            if isinstance(planned, Planned) and block is not window:
                yield planned
        for view in list(self.schema.views()):
            for block in blocks:
                yield from plans_over(block, view, self.schema)

    def _rank(self, planned: Planned) -> tuple[int, tuple[int, int, int]]:
        return LEVELS.index(level_of(planned.uses(), self.schema)), planned.reads.cost

    def _over_new(self) -> Verdict | None:
        """The block over a view that is made for it."""
        for widen in (True,) if self.widen else (False, True):
            try:
                made = construct(self.block, self._view_name(), self.schema.next_id(), widen=widen)
            except (Refused, NotAnalysed) as error:
                self.refusals.append(error if isinstance(error, Refused) else Refused(str(error)))
                return None
            found = self._answered_by(made)
            if found is not None:
                return found
        return None

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
            self.refusals.append(Refused(NO_HELP))
            return None
        return answer(self.query, min(plans, key=lambda one: one.reads.cost[1:]), self.schema, made)

    def _grouped_first(self) -> Verdict | None:
        """The block over a view of groups over pre-aggregated views, where that makes its maintenance bounded."""
        pending: list[tuple[Block, Schema, tuple[Stored, ...]]] = [(self.block, self.schema, ())]
        while pending:
            block, schema, more = pending.pop(0)
            for number, source in enumerate(block.sources):
                if source.stored is None or not source.stored.is_table:
                    continue
                name = schema.free_name(f"{self.name or source.name}{source.name}Counts")
                first = pre_aggregated(block, number, schema, name)
                if first is None:
                    continue
                kept, over = first
                known = schema.with_objects(kept.stored)
                found = self._over_first(over, known, (*more, kept.stored))
                if found is not None:
                    return found
                pending.append((over, known, (*more, kept.stored)))
        return None

    def _over_first(self, block: Block, schema: Schema, more: tuple[Stored, ...]) -> Verdict | None:
        try:
            made = construct(block, self._view_name(), schema.next_id())
        except (Refused, NotAnalysed):
            return None
        whole = schema.with_objects(made.stored)
        bounds = [storage_bound(one, whole).factor for one in (*more, made.stored)]
        unlimited = totals(whole).unlimited
        if None in bounds or any(one.id in unlimited for one in (*more, made.stored)):
            return None
        plans = [*plans_over(block, made.stored, whole), *ranked(block, made.stored, whole)]
        if not plans:
            return None
        return answer(self.query, min(plans, key=lambda one: one.reads.cost[1:]), self.schema, made, more)

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

    def _unbounded(self, failed: Planned | NotPlanned) -> Verdict:
        assert isinstance(failed, NotPlanned)
        total = totals(self.schema)
        return Verdict(
            level=UNBOUNDED,
            maintenance={table: total.costs[table] for table in tables_of(self.query.plan, self.schema)},
            reason=reason_of(failed, self.refusals),
        )

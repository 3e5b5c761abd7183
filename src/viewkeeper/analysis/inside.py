"""Queries in FROM, and sides of UNION, over views that are made for them: each is answered as a query by itself.

    SELECT COUNT(*) FROM (SELECT id FROM notes WHERE usr = :u AND read_at IS NULL LIMIT 100)

has a view of the notes that are not read, by user; what is around it stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from viewkeeper.analysis.block import Block, NotAnalysed
from viewkeeper.analysis.construct import Constructed, Refused, construct
from viewkeeper.analysis.maintenance import totals
from viewkeeper.analysis.matching import rewritten
from viewkeeper.analysis.planning import Planned, narrowed, plan_block
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.storage import storage_bound
from viewkeeper.plan.relation import Relation, below, with_below
from viewkeeper.plan.whole import TopN


@dataclass(frozen=True, slots=True)
class Inside:
    """A relation over views that are to be made for queries in its FROM."""

    relation: Relation
    made: tuple[Constructed, ...]


def over_inside(relation: Relation, block: Block, schema: Schema, name: str, *, make: bool) -> Inside | None:
    """The relation of a block with a view for each query in FROM that is better read from one; None if there is none.

    With `make`, one that has no bound gets a view that is made for it; None if there is no such view.
    """
    found = Inside(relation, ())
    for source in block.sources:
        if source.derived is None:
            continue
        for part in source.derived.parts:
            known = schema.with_objects(*(one.stored for one in found.made))
            own = narrowed(block, source, source.derived, part)
            again = _over_existing(own, part, known, propose=make)
            if again is None and make:
                again = _over_new(own, part, known, name)
            if again is None:
                return None
            changed = _replaced(found.relation, part.relation, again.relation)
            found = Inside(changed, (*found.made, *again.made))
    return None if found.relation == relation else found


def _over_existing(own: Block, part: Block, schema: Schema, *, propose: bool) -> Inside | None:
    """A part as it is, or over a view that there is, whichever has fewer operations; None if it has no bound."""
    plain = plan_block(own, schema, allowed=_is_kept, propose=propose)
    best = plain if isinstance(plain, Planned) else None
    found = Inside(part.relation, ())
    for view in list(filter(_is_kept, schema.views())):
        over = _cheapest(own, view, schema)
        if over is not None and (best is None or over.reads.cost < best.reads.cost):
            best, found = over, Inside(_whole(part, over), ())
    return None if best is None else found


def _over_new(own: Block, part: Block, schema: Schema, name: str) -> Inside | None:
    """A part over a view that is made for it."""
    tables = "_".join(dict.fromkeys(one.name for one in own.sources))
    wanted = schema.name_for(name, own.sources[0].name if name else tables, "Rows")
    found: list[tuple[Planned, Constructed]] = []
    for widen, keeps_all in product((False, True), (False, True)):
        try:
            made = construct(own, wanted, schema.next_id(), widen=widen, keeps_all=keeps_all)
        except (Refused, NotAnalysed):
            continue
        known = schema.with_objects(made.stored)
        if storage_bound(made.stored, known).factor is None or made.stored.id in totals(known).unlimited:
            continue
        over = _cheapest(own, made.stored, known)
        if over is not None:
            found.append((over, made))
    if not found:
        return None
    over, best = min(found, key=lambda one: one[0].reads.cost)
    return Inside(_whole(part, over), (best,))


def _cheapest(own: Block, view: Stored, schema: Schema) -> Planned | None:
    """The reads of a part over a view with the fewest operations; None if it does not stand for its rows."""
    plans = (plan_block(again, schema, allowed=_is_kept) for again in rewritten(own, view, schema))
    return min((one for one in plans if isinstance(one, Planned)), key=lambda one: one.reads.cost, default=None)


def _whole(part: Block, over: Planned) -> Relation:
    """What stands for a part, with its limit."""
    cut, rows = part.relation, over.block.relation
    return replace(cut, input=rows) if isinstance(cut, TopN) else rows


def _is_kept(view: Stored) -> bool:
    return view.mode != "PERIODIC"


def _replaced(relation: Relation, old: Relation, new: Relation) -> Relation:
    if relation == old:
        return new
    return with_below(relation, [_replaced(part, old, new) for part in below(relation)])

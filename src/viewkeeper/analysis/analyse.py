"""The verdict on a query: the lowest level at which it is answered with bounded work.

    SI-0    the primary keys of tables are enough
    SI-1    indexes are, those that exist or one that is made for it
    SI-2    a view that is maintained incrementally, whose rows and whose cost of a changed row are bounded
    SI-3    a view that is refreshed in parallel, with bounded work in each part

What exists is preferred to what is to be made, and of what is to be made that with the fewest reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from viewkeeper.analysis.attempts import Attempts, query_block
from viewkeeper.analysis.averages import averages_divided
from viewkeeper.analysis.behindgroups import excluded_behind, having_outside
from viewkeeper.analysis.block import NotAnalysed
from viewkeeper.analysis.computed import with_computed
from viewkeeper.analysis.extremes import better, of_first_row
from viewkeeper.analysis.keycounts import keys_counted
from viewkeeper.analysis.missing import partners_missing
from viewkeeper.analysis.partnergroups import partners_grouped
from viewkeeper.analysis.schema import Schema
from viewkeeper.analysis.verdict import UNBOUNDED, Verdict
from viewkeeper.plan.relation import Relation
from viewkeeper.sql.query.prune import prune
from viewkeeper.sql.statements import Query


def analyse(query: Query, schema: Schema, *, name: str = "", widen: bool = False, suggest: bool = True) -> Verdict:
    """The verdict on a query. What is to be made for it is called after `name`.

    With `widen`, fewer operations count for more than what exists, and what is made has all columns that are read.
    """
    query = replace(query, plan=with_computed(query.plan))
    found = _verdict(query, schema, name, widen)
    first = of_first_row(query.plan)
    if first is not None:
        found = better(found, _verdict(replace(query, plan=first), schema, name, widen), widen=widen)
    for other in _written_otherwise(query.plan, schema) if found.level == UNBOUNDED else ():
        again = _verdict(replace(query, plan=other), schema, name, widen)
        if again.level != UNBOUNDED:
            found = again
            break
    if not suggest or found.level != UNBOUNDED:
        return found
    from viewkeeper.analysis.suggestions import suggestions

    return replace(found, suggestions=tuple(suggestions(query, schema)))


def _written_otherwise(plan: Relation, schema: Schema) -> Iterator[Relation]:
    """Plans that give the same rows: what is asked of partners can be kept in these, and aggregates put together."""
    tried = [plan]
    plain = keys_counted(plan, schema)
    with_partners = partners_grouped(prune(partners_missing(plain, schema)), schema)
    for other in (plain, with_partners, averages_divided(plain), excluded_behind(plain), having_outside(plain)):
        if other not in tried:
            tried.append(other)
            yield other


def _verdict(query: Query, schema: Schema, name: str, widen: bool) -> Verdict:
    try:
        block = query_block(query, schema)
    except NotAnalysed as error:
        text = f"{error}: there is no bound on what is read."
        return Verdict(level=UNBOUNDED, reason=text[0].upper() + text[1:])
    return Attempts(query, block, schema, name, widen).verdict()

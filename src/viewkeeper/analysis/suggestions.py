"""What would give a query a bound: each is tried before it is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import combinations, islice

from viewkeeper.analysis import orderchanges, querychanges, rangechanges, tablechanges
from viewkeeper.analysis.block import NotAnalysed
from viewkeeper.analysis.change import Change
from viewkeeper.analysis.flatten import block_of
from viewkeeper.analysis.schema import Schema
from viewkeeper.analysis.verdict import LEVELS, UNBOUNDED, Suggestion, Verdict
from viewkeeper.plan.relation import scans
from viewkeeper.sql.statements import Query

SCAN = "allow_scan=True reads all rows."
MOST_TRIED = 60
"""Single changes, and again pairs of them, that are tried: a hopeless query is to be refused soon."""
MOST_PAIRS = 480
"""Pairs of changes that are tried of a query of one table. Of one of n it is n² times as much work, so fewer are."""


def suggestions(query: Query, schema: Schema) -> Iterator[Suggestion]:
    """The single changes that bound a query; where none does, other keys of its tables, or pairs of changes."""
    single = list(islice(changes(query, schema), MOST_TRIED))
    found = list(_tried(single, query, schema))
    if not found:
        keys = list(_keys(query, schema))
        found = list(_tried(keys, query, schema))
        single += keys
    if not found:
        pairs = (one.and_then(other) for one, other in combinations(single, 2))
        joined = sum(1 for _ in scans(query.plan))
        found = list(_tried(islice(pairs, min(MOST_TRIED, MOST_PAIRS // max(1, joined) ** 2)), query, schema))
    yield from found


def changes(query: Query, schema: Schema) -> Iterator[Change]:
    """Those that may help, from the smallest on."""
    try:
        block = block_of(query.plan, schema)
    except NotAnalysed:
        yield from querychanges.full(query)
        yield from querychanges.limits(query, None)
        return
    yield from querychanges.lists(query)
    yield from querychanges.limits(query, block)
    yield from querychanges.left(query)
    yield from querychanges.inner(query)
    yield from tablechanges.not_null(block)
    yield from querychanges.sides(query)
    yield from tablechanges.words(block)
    yield from tablechanges.by_word(block)
    yield from tablechanges.cardinalities(query, schema)
    yield from orderchanges.orders(query, block)
    yield from rangechanges.whole_groups(block)
    yield from rangechanges.equalities(block)
    yield from rangechanges.classes(block)
    yield from querychanges.averages(query)
    yield from tablechanges.not_temporal(query, schema)


def _keys(query: Query, schema: Schema) -> Iterator[Change]:
    with suppress(NotAnalysed):
        yield from tablechanges.keys(block_of(query.plan, schema), schema)


def _tried(changed: Iterable[Change], query: Query, schema: Schema) -> Iterator[Suggestion]:
    for one in changed:
        levels = [_level(asked, one.schema(schema)) for asked in one.queries(query)]
        if UNBOUNDED not in levels:
            yield Suggestion(text=one.text, level=max(levels, key=LEVELS.index))


def _level(query: Query, schema: Schema) -> str:
    from viewkeeper.analysis.analyse import analyse

    verdict = analyse(query, schema, suggest=False)
    return verdict.level if verdict.is_bounded else UNBOUNDED


def hint_of(verdict: Verdict) -> str:
    """What to do about a query without a bound."""
    if not verdict.suggestions:
        return SCAN
    told = "".join(f"\n    {one.text} ({one.level})" for one in verdict.suggestions)
    return f"Any one of these gives it a bound:{told}\n  Or {SCAN}"

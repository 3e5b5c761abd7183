"""What would give a query a bound: each is tried before it is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, islice

from viewkeeper.analysis.changes import Change, changes
from viewkeeper.analysis.schema import Schema
from viewkeeper.analysis.verdict import UNBOUNDED, Suggestion, Verdict
from viewkeeper.sql.statements import Query

SCAN = "allow_scan=True reads all rows."
MOST_TRIED = 60
"""Single changes, and again pairs of them, that are tried: a hopeless query is to be refused soon."""


def suggestions(query: Query, schema: Schema) -> Iterator[Suggestion]:
    """The single changes that bound a query; where none does, the pairs of them."""
    single = list(islice(changes(query, schema), MOST_TRIED))
    found = list(_tried(single, query, schema))
    if not found:
        pairs = (one.and_then(other) for one, other in combinations(single, 2))
        found = list(_tried(islice(pairs, MOST_TRIED), query, schema))
    yield from found


def _tried(changed: Iterable[Change], query: Query, schema: Schema) -> Iterator[Suggestion]:
    from viewkeeper.analysis.analyse import analyse

    for one in changed:
        verdict = analyse(one.query(query), one.schema(schema), suggest=False)
        if verdict.is_bounded and verdict.level != UNBOUNDED:
            yield Suggestion(text=one.text, level=verdict.level)


def hint_of(verdict: Verdict) -> str:
    """What to do about a query without a bound."""
    if not verdict.suggestions:
        return SCAN
    told = "".join(f"\n    {one.text} ({one.level})" for one in verdict.suggestions)
    return f"Any one of these gives it a bound:{told}\n  Or {SCAN}"

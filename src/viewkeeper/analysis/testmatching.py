"""What EXISTS and NOT EXISTS ask: kept by a view, so that it need not be asked of its rows again, or as a join."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from viewkeeper.analysis.block import Block, NotAnalysed, Source, SourceKind
from viewkeeper.analysis.build import placed, relation_of
from viewkeeper.analysis.conditions import equal_pair
from viewkeeper.plan.expr import Expr, Input, inputs, rewrite


def without_tests(view: Block, block: Block, starts: Mapping[int, int]) -> Block | None:
    """The block without the tests that the view keeps; None if it does not have all of them.

    `starts` says for each inner source of the view, by its start, where the source starts that it stands for.
    """
    gone: list[int] = []
    for test in view.sources:
        if test.kind not in (SourceKind.SEMI, SourceKind.ANTI):
            continue
        same = next((one for one in block.sources if one.start not in gone and _is_same(test, one, view, starts)), None)
        if same is None:
            return None
        gone.append(same.start)
    return block if not gone else replace(block, sources=tuple(one for one in block.sources if one.start not in gone))


def _is_same(test: Source, other: Source, view: Block, starts: Mapping[int, int]) -> bool:
    if test.kind is not other.kind or test.stored is None or other.stored is None or test.stored.id != other.stored.id:
        return False
    to = {**starts, test.start: other.start}

    def moved(one: Input) -> Input:
        source = view.sources[view.source_at(one.index)]
        return Input(one.index - source.start + to[source.start], one.type)

    return _asked(rewrite(one, moved) for one in test.on) == _asked(other.on)


def _asked(conjuncts: Iterable[Expr]) -> set[object]:
    """What is asked, whichever side of an equality is which."""
    found: set[object] = set()
    for one in conjuncts:
        pair = equal_pair(one)
        found.add(one if pair is None else frozenset(pair))
    return found


def joined_tests(block: Block) -> Block:
    """The block with an inner join for each EXISTS that finds one row at most: it gives the same rows.

    The same block if there is none, or if such a join has no equality.
    """
    found = [source for source in block.sources if source.kind is SourceKind.SEMI and _finds_one(source)]
    if not found:
        return block
    starts = {source.start for source in found}
    made = replace(
        block,
        sources=tuple(
            replace(one, kind=SourceKind.INNER, on=()) if one.start in starts else one for one in block.sources
        ),
        conjuncts=(*block.conjuncts, *(conjunct for one in found for conjunct in one.on)),
    )
    sources, moved = placed(made.sources)
    if [source.start for source in sources] != list(moved):
        return block
    try:
        return replace(made, relation=relation_of(made))
    except NotAnalysed:
        return block


def _finds_one(source: Source) -> bool:
    """Whether its key equals constants, or columns of what it is asked for."""
    stored = source.stored
    if stored is None or stored.unique is None:
        return False
    pairs = [pair for pair in map(equal_pair, source.on) if pair is not None]
    either = [*pairs, *((right, left) for left, right in pairs)]
    fixed = {left for left, right in either if not any(map(source.has, inputs(right)))}
    return all(Input(source.start + place, stored.columns[place].type) in fixed for place in stored.unique)

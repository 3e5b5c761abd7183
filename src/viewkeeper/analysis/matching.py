"""Queries over views: a block in which a view stands for some or all of its sources.

A view can, if its sources are among those of the block, if the block's conditions imply all of its conditions, and if
it shows what the block reads of them, or the key by which that is looked up. A view of groups stands for a block of
groups over the same rows whose groups are made of its groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import permutations

from viewkeeper.analysis.block import Block, Derived, NotAnalysed, Source, SourceKind
from viewkeeper.analysis.build import relation_of
from viewkeeper.analysis.conditions import core
from viewkeeper.analysis.groupmatching import GroupRewriting
from viewkeeper.analysis.paths import Definition, definition_of
from viewkeeper.analysis.rowmatching import RowRewriting
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.testmatching import without_tests

MOST = 60
"""Ways of a view's sources to stand for those of a block that are tried."""


def rewritten(block: Block, view: Stored, schema: Schema) -> Iterator[Block]:
    """The block over a view, in every way in which that is possible; not where the view is an index of one table."""
    known = definition_of(view, schema)
    if known is None or known.block.limit_max is not None or known.block.having or known.block.distinct:
        return
    if known.block.factor > 1 or block.factor > 1:
        # A row is there once for each grouping set, or epoch.
        return
    if any(source.kind is SourceKind.LEFT for source in known.block.sources):
        return
    rows = [source for source in known.block.sources if source.kind is SourceKind.INNER]
    is_whole = len(known.block.sources) < 2 and not known.block.conjuncts and rows[0].stored is not None
    if known.block.group is None and is_whole:
        return
    inner = replace(known, block=replace(known.block, sources=tuple(rows)))
    for count, chosen in enumerate(mappings(inner.block, block)):
        if count >= MOST:
            return
        starts = {row.start: block.sources[n].start for row, n in zip(rows, chosen, strict=True)}
        rest = without_tests(known.block, block, starts)
        if rest is not None:
            places = tuple(rest.sources.index(block.sources[n]) for n in chosen)
            yield from _over(rest, view, inner, places)


def _over(block: Block, view: Stored, known: Definition, chosen: tuple[int, ...]) -> Iterator[Block]:
    """The block over a view whose sources stand for these, in the ways in which it can be."""
    if known.block.group is not None:
        ways = [GroupRewriting(block, view, known, chosen).groups]
    else:
        rows = RowRewriting(block, view, known, chosen)
        ways = [rows.rows, *([partial(rows.rows, keeps=True)] if block.rows_wanted is not None else [])]
    for way in ways:
        with suppress(NotAnalysed):
            made = way()
            if made is not None:
                yield replace(made, relation=relation_of(made))


def mappings(inner: Block, block: Block) -> Iterator[tuple[int, ...]]:
    """For each source of a view, a different source of the block that is the same table, or the same query."""
    candidates = [n for n, source in enumerate(block.sources) if source.kind is SourceKind.INNER]
    for chosen in permutations(candidates, len(inner.sources)):
        if all(_is_same(one, block.sources[n]) for one, n in zip(inner.sources, chosen, strict=True)):
            yield chosen


def _is_same(one: Source, other: Source) -> bool:
    if one.stored is not None and other.stored is not None:
        return one.stored.id == other.stored.id
    if one.derived is None or other.derived is None:
        return False
    return same_window(one.derived, other.derived)


def same_window(one: Derived, other: Derived) -> bool:
    """Whether two queries in FROM are the first rows of one table in one order, whatever they show of them."""
    if len(one.parts) != 1 or len(other.parts) != 1:
        return False
    left, right = one.parts[0], other.parts[0]
    return _window(left) is not None and _window(left) == _window(right)


def _window(block: Block) -> tuple[object, ...] | None:
    """What makes a window: the table, the conditions, the order, and how many rows."""
    if block.group is not None or block.distinct or len(block.sources) != 1 or block.sources[0].stored is None:
        return None
    if block.limit_max is None or not isinstance(block.limit, int):
        return None
    order = tuple((core(block.outputs[sort.column]), sort.descending) for sort in block.order)
    return block.sources[0].stored.id, frozenset(block.conjuncts), order, block.limit, block.offset

"""A block planned: its own reads, those of the queries in its FROM, and the rows that come out at most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from viewkeeper.analysis.block import Block, Derived, Source, SourceKind, equality
from viewkeeper.analysis.conditions import Conditions, core
from viewkeeper.analysis.indexes import proposed
from viewkeeper.analysis.paths import Path, index_path, paths_of
from viewkeeper.analysis.reads import Reads, Stuck, moved_known, renumbered
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.search import Search
from viewkeeper.plan.expr import Expr, Input, inputs, rewrite
from viewkeeper.plan.whole import Sort, Window

Allowed = Callable[[Stored], bool]


@dataclass(frozen=True, slots=True)
class Planned:
    """The reads of a block; the objects among them that are to be made are in `schema`."""

    block: Block
    reads: Reads
    schema: Schema

    @property
    def made(self) -> list[Stored]:
        return [self.schema[number] for number in sorted(self.reads.made)]

    def uses(self) -> list[Stored]:
        """What is read, each once, in the order of the reads."""
        return [self.schema[number] for number in dict.fromkeys(access.object for access in self.reads.accesses)]


@dataclass(frozen=True, slots=True)
class NotPlanned:
    """Where the search for reads has ended."""

    block: Block
    stuck: tuple[Stuck, ...]


def plan_block(
    block: Block,
    schema: Schema,
    *,
    allowed: Allowed,
    propose: bool = False,
    hot: bool = False,
    widen: bool = False,
) -> Planned | NotPlanned:
    """The cheapest reads of a block over the views that are allowed; with `propose`, over indexes to be made, too.

    With `hot`, these are also indexes that a TEMPORAL column leads. With `widen`, they have all columns that are read.
    """
    conditions = Conditions(block.conjuncts)
    derived: dict[int, Reads] = {}
    for number, source in enumerate(block.sources):
        if source.derived is None:
            continue
        inner = _plan_derived(block, source, source.derived, schema, allowed, propose=propose, hot=hot, widen=widen)
        if isinstance(inner, NotPlanned):
            return inner
        derived[number] = inner.reads
        schema = inner.schema
    paths: dict[int, list[Path]] = {}
    for number, source in enumerate(block.sources):
        if source.stored is None:
            continue
        known = conditions_on(block, number)
        found = [
            path
            for path in paths_of(block, number, schema, known)
            if path.is_table or path.stored.id == source.stored.id or allowed(path.stored)
        ]
        if propose:
            given = known if source.kind is SourceKind.INNER else conditions
            new = proposed(block, number, schema, given, widen=widen)
            new += proposed(block, number, schema, given, hot=True, widen=widen) if hot else []
            schema = schema.with_objects(*new)
            for index in new:
                path = index_path(block, number, index, schema, known)
                if path is not None:
                    found.append(path)
        paths[number] = found
    search = Search(block, schema, paths, conditions, derived, widen=widen)
    best = search.run()
    if best is None:
        return NotPlanned(block, tuple(search.stuck))
    return Planned(block, replace(best, rows=_shown(block, best.rows)), schema)


def conditions_on(block: Block, number: int) -> Conditions:
    """What is true of the rows of a source that matter.

    Where it is not joined inside, WHERE may ask that it has no partner, so it says nothing of those that are: ON does.
    """
    source = block.sources[number]
    if source.kind is SourceKind.INNER:
        # And a row has a partner in each source that EXISTS asks of.
        asked = (one for other in block.sources if other.kind is SourceKind.SEMI for one in other.on)
        return Conditions((*block.conjuncts, *asked))
    return Conditions((*(one for one in block.conjuncts if number not in block.reads(one)), *source.on))


def _shown(block: Block, rows: int) -> int:
    """How many rows a block shows at most, of so many that it reads."""
    if block.group is not None and not block.group:
        return 1
    found = rows * block.factor
    return found if block.rows_wanted is None else min(found, block.rows_wanted)


def _plan_derived(
    block: Block,
    source: Source,
    derived: Derived,
    schema: Schema,
    allowed: Allowed,
    *,
    propose: bool,
    hot: bool,
    widen: bool,
) -> Planned | NotPlanned:
    """The reads of a query in FROM, all of its parts one after the other."""
    reads = Reads()
    rows = 0
    for part in derived.parts:
        inner = plan_block(
            narrowed(block, source, derived, part), schema, allowed=allowed, propose=propose, hot=hot, widen=widen
        )
        if isinstance(inner, NotPlanned):
            return inner
        schema = inner.schema
        by = len(reads.accesses)
        reads = Reads(
            accesses=(*reads.accesses, *(renumbered(access, by) for access in inner.reads.accesses)),
            known={number: moved_known(one, by) for number, one in inner.reads.known.items()},
            rows=1,
            made=reads.made | inner.reads.made,
        )
        rows += inner.reads.rows * derived.factor
    return Planned(block, replace(reads, rows=rows), schema)


def narrowed(block: Block, source: Source, derived: Derived, part: Block) -> Block:
    """A query in FROM with the conditions around it that are on its rows, or on its groups."""
    part = _cut(block, source, derived, part)
    if part.limit_max is not None or part.offset or len(derived.parts) != 1 or not derived.outputs:
        return part
    more: list[Expr] = []
    known = conditions_on(block, block.sources.index(source))
    for conjunct in known.conjuncts:
        places = set(inputs(conjunct))
        if places and all(map(source.has, places)):
            fields = {place: derived.outputs[place - source.start] for place in places}
            if all(field is not None for field in fields.values()):
                more.append(rewrite(conjunct, lambda one: fields[one.index] or Input(one.index, one.type)))  # noqa: B023
    for place, output in enumerate(derived.outputs):
        column = Input(source.start + place, derived.relation.fields[place].type)
        if output is not None and (given := known.constants(column)):
            more.append(equality(output, given[0]))
    return replace(part, conjuncts=tuple(dict.fromkeys((*part.conjuncts, *more))))


def _cut(block: Block, source: Source, derived: Derived, part: Block) -> Block:
    """A side of UNION, or a query in FROM, of which the first rows are enough where only those are shown.

    Of UNION without ALL only if its own rows differ, so that each of the first ones counts.
    """
    # A window function is computed from all rows.
    is_whole = isinstance(derived.relation, Window)
    if (
        block.rows_wanted is None
        or (block.group is not None and not (is_distinct(block) and _differs(part)))
        or block.conjuncts
        or len(block.sources) > 1
        or is_whole
        or part.limit_max is not None
        or part.order
    ):
        return part
    order: list[Sort] = []
    for sort in block.order:
        shown = core(block.outputs[sort.column])
        if block.group is not None and isinstance(shown, Input):
            shown = core(block.group[shown.index])
        if not isinstance(shown, Input):
            return part
        order.append(replace(sort, column=shown.index - source.start))
    limit = block.limit if block.offset == 0 and block.limit is not None else block.rows_wanted
    return replace(part, order=tuple(order), limit=limit, limit_max=block.rows_wanted)


def is_distinct(block: Block) -> bool:
    """Whether a block shows each different row once, and no aggregates."""
    return bool(block.group) and not block.calls and not block.having and len(block.outputs) == len(block.group or ())


def _differs(part: Block) -> bool:
    """Whether no two rows of a block are the same: it shows the keys of all that it reads."""
    shown = {core(one) for one in part.outputs}
    return part.group is None and all(
        source.kind is SourceKind.INNER
        and source.stored is not None
        and source.stored.unique is not None
        and all(
            Input(source.start + place, source.stored.columns[place].type) in shown for place in source.stored.unique
        )
        for source in part.sources
    )

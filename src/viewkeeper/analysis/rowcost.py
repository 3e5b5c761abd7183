"""What a row that comes or goes costs in one view, step by step as the executor takes it.

    inner join      the row is kept in each index of its side; the other sides are looked up one after the other
    outer, semi     the row is kept in the index of its side; the other side is looked up, and whether its rows change
    and anti join   from being alone to having a partner, or back
    groups          a group is read and written, and so is each value that MIN, MAX or COUNT DISTINCT keeps
    stored rows     each is read before it is written

A lookup reads a few rows first, and then ever more; each time counts as one read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from viewkeeper.analysis.block import WORD, Block, NotAnalysed, Source, SourceKind, equality
from viewkeeper.analysis.conditions import Conditions, core, is_constant
from viewkeeper.analysis.dependencies import Dependency, of_source, reach
from viewkeeper.analysis.paths import rows_under
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.plan.aggregate import HOLISTIC
from viewkeeper.plan.expr import Call, Expr, Input, inputs, substitute
from viewkeeper.plan.join import InnerJoin, PartnerJoin
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Filter, Project, Relation, Scan, Tokens, scans

FIRST, TIMES, MOST = 4, 8, 4096
"""How many rows a lookup reads first, how many times as many next, and the most at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCost:
    """Of one row that comes or goes: reads, writes, and how many rows of the view come or go."""

    reads: int
    writes: int
    rows: int


class NoLimit(Exception):
    """A lookup may find any number of rows: of which source, by which of its columns."""

    def __init__(self, source: int, columns: Sequence[int]) -> None:
        super().__init__(source)
        self.source = source
        self.columns = tuple(columns)


def slices(rows: int) -> int:
    """How many reads a lookup is that finds so many rows.

    >>> [slices(rows) for rows in (0, 3, 4, 35, 36)]
    [1, 1, 2, 2, 3]
    """
    found, count = 1, FIRST
    while rows >= count:
        rows, count, found = rows - count, min(count * TIMES, MOST), found + 1
    return found


def row_cost(view: Stored, block: Block, changed: int, schema: Schema) -> RowCost:
    """What a row of one source costs. NoLimit if a lookup has none, NotAnalysed for what is not known."""
    costs = _Costs(block, changed, schema)
    reads, writes, rows = costs.of(block.relation, 0)
    if _is_merged(view, block):
        return RowCost(reads=reads, writes=writes, rows=rows)
    return RowCost(reads=reads + rows, writes=writes + rows, rows=rows)


def _is_merged(view: Stored, block: Block) -> bool:
    """Whether the rows of a view are the groups themselves, and not stored apart from them."""
    if block.group is None:
        return block.distinct
    if block.having or block.distinct:
        return block.distinct
    outputs = [*block.outputs[: len(view.columns)]]
    return all(
        column < len(outputs) and isinstance(expr := outputs[column], Input) and expr.index < len(block.group)
        for column in view.key
    )


Cost = tuple[int, int, int]
"""Reads, writes, and rows that come or go."""


class _Costs:
    def __init__(self, block: Block, changed: int, schema: Schema) -> None:
        self.block = block
        self.schema = schema
        self.changed = changed
        self.by_leaf = {source.leaf: number for number, source in enumerate(block.sources)}
        self.constants = self._constants()

    def _constants(self) -> set[Expr]:
        """The columns that equal a constant in all rows of their side."""
        found: set[Expr] = set()
        for number, source in enumerate(self.block.sources):
            given = source.on or self.block.conjuncts
            conditions = Conditions(one for one in given if self.block.reads(one) <= {number})
            found |= {one for one in self.columns(number) if any(map(is_constant, conditions.same(one)))}
        return found

    def columns(self, number: int) -> list[Expr]:
        source = self.block.sources[number]
        if source.stored is None:
            raise NotAnalysed("a view has a query in FROM")
        return [Input(source.start + place, column.type) for place, column in enumerate(source.stored.columns)]

    def of(self, node: Relation, leaf: int) -> Cost:
        """Of a relation whose first scan has this number."""
        match node:
            case Scan():
                return 0, 0, 1
            case Filter(input=below) | Project(input=below):
                return self.of(below, leaf)
            case Tokens(input=below):
                reads, writes, rows = self.of(below, leaf)
                return reads, writes, rows * self._words(self.fields(node, leaf)[-1])
            case Expand(input=below, projections=projections):
                reads, writes, rows = self.of(below, leaf)
                return reads, writes, rows * len(projections)
            case Distinct(input=below):
                reads, writes, rows = self.of(below, leaf)
                return reads + rows, writes + rows, rows
            case Aggregate(input=below):
                return self._grouped(node, self.of(below, leaf))
            case InnerJoin():
                return self._inner(node, leaf)
            case PartnerJoin():
                return self._partners(node, leaf)
        raise NotAnalysed(f"{type(node).__name__} is not taken apart")

    def _words(self, word: Expr) -> int:
        place = next(iter(inputs(word)))
        number = self.block.source_at(place)
        source = self.block.sources[number]
        limit = None if source.stored is None else source.stored.words.get(place - source.start)
        if limit is None:
            raise NoLimit(number, ())
        return limit

    def _grouped(self, node: Aggregate, below: Cost) -> Cost:
        reads, writes, rows = below
        kept = len({call.argument for call in node.calls if call.kind in HOLISTIC})
        # A value that goes may be the least and the greatest one: both are looked for anew. None is for one that comes,
        # and as many come as go.
        return reads + rows * (1 + kept + kept), writes + rows * (1 + kept), rows * 2

    def fields(self, node: Relation, leaf: int) -> tuple[Expr, ...]:
        """The fields of a relation over the attributes of the block."""
        match node:
            case Scan(columns=columns):
                own = self.columns(self.by_leaf[leaf])
                return tuple(own[column] for column in columns)
            case Filter(input=below):
                return self.fields(below, leaf)
            case Project(input=below, exprs=exprs):
                under = self.fields(below, leaf)
                return tuple(substitute(expr, under) for expr in exprs)
            case Tokens(input=below, text=text):
                under = self.fields(below, leaf)
                return (*under, Call(WORD, (substitute(text, under),), text.type))
            case InnerJoin(inputs=parts):
                return tuple(one for part, first in _placed(parts, leaf) for one in self.fields(part, first))
            case PartnerJoin(left=left, right=right):
                shown = self.fields(left, leaf)
                if not node.kind.shows_pairs:
                    return shown
                return (*shown, *self.fields(right, leaf + _width(left)))
        raise NotAnalysed(f"{type(node).__name__} below a join is not taken apart")

    def _members(self, node: Relation, leaf: int) -> list[int]:
        return [self.by_leaf[leaf + place] for place in range(_width(node))]

    # Inner joins

    def _inner(self, node: InnerJoin, leaf: int) -> Cost:
        parts = _placed(node.inputs, leaf)
        members = [self._members(part, first) for part, first in parts]
        fields = self.fields(node, leaf)
        pairs = [(substitute(a, fields), substitute(b, fields)) for a, b in node.equalities]
        side = next(place for place, one in enumerate(members) if self.changed in one)
        terms = _Terms(self, members, pairs)
        reads, writes, rows = self.of(*parts[side])
        kept = sum(place == side for place, _ in terms.indexes)
        if self._repeats(members[side]):
            reads += rows * kept
        writes += rows * kept
        for place, by in terms.orders[side]:
            under = self.under(members[place], by)
            reads += rows * slices(under)
            rows *= under
        return reads, writes, rows

    def _repeats(self, members: Iterable[int]) -> bool:
        """Whether rows of a side may be the same: then how often each is there is kept, and read."""
        stored = (self.block.sources[number].stored for number in self._shown(members))
        return any(one is None or one.unique is None for one in stored)

    def under(self, members: Sequence[int], by: Iterable[Expr]) -> int:
        """How many rows of a side have given values in some columns."""
        given = {core(one) for one in by} | {
            one for number in members for one in self.columns(number) if one in self.constants
        }
        found = self._rows_of(members, given)
        if found is None:
            raise self._no_limit(members, given)
        return found

    def _shown(self, members: Iterable[int]) -> list[int]:
        """The members whose rows a side shows: EXISTS only asks of others."""
        asked = (SourceKind.SEMI, SourceKind.ANTI)
        found = list(members)
        return [number for number in found if len(found) == 1 or self.block.sources[number].kind not in asked]

    def _rows_of(self, members: Sequence[int], given: set[Expr]) -> int | None:
        members = self._shown(members)
        if len(members) == 1:
            source = self.block.sources[members[0]]
            assert source.stored is not None
            return rows_under(source.stored, frozenset(_places(source, given)), self.schema)
        targets: list[Expr] = []
        steps: list[Dependency] = []
        for number in members:
            source = self.block.sources[number]
            if source.stored is None or source.stored.unique is None:
                return None
            columns = self.columns(number)
            steps += of_source(source)
            targets += [columns[place] for place in sorted(source.stored.unique)]
            for left, right, conjunct in Conditions((*self.block.conjuncts, *source.on)).equalities:
                if self.block.reads(conjunct) <= set(members):
                    steps.append(Dependency(frozenset({left}), frozenset({right})))
                    steps.append(Dependency(frozenset({right}), frozenset({left})))
        found = reach(given, targets, steps)
        return None if found is None else found.factor

    def _no_limit(self, members: Sequence[int], given: set[Expr]) -> NoLimit:
        number = next((one for one in members if self._rows_of([one], given) is None), members[0])
        return NoLimit(number, sorted(_places(self.block.sources[number], given)))

    # Joins by partner

    def _partners(self, node: PartnerJoin, leaf: int) -> Cost:
        first = leaf + _width(node.left)
        left, right = self._members(node.left, leaf), self._members(node.right, first)
        fields = (*self.fields(node.left, leaf), *self.fields(node.right, first))
        by_left = [substitute(one, fields) for one, _ in node.equalities]
        by_right = [substitute(other, fields) for _, other in node.equalities]
        counts = node.condition is not None
        if self.changed in left:
            reads, writes, rows = self.of(node.left, leaf)
            reads += rows * self._repeats(left)
            writes += rows * (1 + counts)
            if not counts and not node.kind.shows_pairs:
                return reads + rows, writes, rows
            under = self.under(right, by_right)
            reads += rows * (slices(under) + (counts and self._repeats(left)))
            return reads, writes, rows * max(1, under) if node.kind.shows_pairs else rows
        reads, writes, rows = self.of(node.right, first)
        reads += rows * self._repeats(right)
        writes += rows
        under = self.under(left, by_left)
        # Whether there is another partner is looked for; with a condition, partners are counted for each row found.
        reads += rows * (slices(under) + (under if counts else 1))
        writes += rows * under * counts
        return reads, writes, rows * under * (2 if node.kind.shows_pairs else 1)


class _Terms:
    """The order in which the sides of an inner join are looked up from each, and the indexes for that."""

    def __init__(self, costs: _Costs, members: Sequence[Sequence[int]], pairs: Sequence[tuple[Expr, Expr]]) -> None:
        self._costs = costs
        self._members = members
        sides = {number: place for place, one in enumerate(members) for number in one}
        conditions = Conditions(equality(*pair) for pair in pairs)
        self._classes: list[dict[int, Expr]] = []
        for exprs in conditions.classes():
            one: dict[int, Expr] = {}
            for expr in exprs:
                reads = {sides[number] for number in costs.block.reads(expr)}
                if len(reads) == 1:
                    one.setdefault(reads.pop(), expr)
            self._classes.append(one)
        self.indexes: dict[tuple[int, tuple[Expr, ...]], None] = {}
        self.orders = [self._order(start) for start in range(len(members))]

    def _order(self, start: int) -> list[tuple[int, tuple[Expr, ...]]]:
        known, found = [start], []
        while len(known) < len(self._members):
            candidates = []
            for place in range(len(self._members)):
                by = tuple(one[place] for one in self._classes if place in one and any(other in one for other in known))
                if place not in known and by:
                    candidates.append((place, by))
            if not candidates:
                raise NotAnalysed("a side of a join is not compared with the others")
            chosen = min(candidates, key=self._preference)
            self.indexes[chosen] = None
            found.append(chosen)
            known.append(chosen[0])
        return found

    def _preference(self, candidate: tuple[int, tuple[Expr, ...]]) -> tuple[bool, bool, int]:
        """As the executor does: at most one row first, then what is indexed already, then the order of the text."""
        place, by = candidate
        given, single = {core(one) for one in by}, True
        for number in self._members[place]:
            source = self._costs.block.sources[number]
            unique = None if source.stored is None else source.stored.unique
            single = single and unique is not None and unique <= set(_places(source, given))
        return not single, candidate not in self.indexes, place


def _places(source: Source, exprs: Iterable[Expr]) -> list[int]:
    return [one.index - source.start for one in exprs if isinstance(one, Input) and source.has(one.index)]


def _width(node: Relation) -> int:
    return sum(1 for _ in scans(node))


def _placed(parts: Sequence[Relation], leaf: int) -> list[tuple[Relation, int]]:
    """Parts with the numbers of their first scans."""
    found = []
    for part in parts:
        found.append((part, leaf))
        leaf += _width(part)
    return found

"""Ways to read the rows of one source: the table itself, a view or index of it, or an index that could be made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from viewkeeper.analysis.block import WORD, Block, NotAnalysed, Source
from viewkeeper.analysis.conditions import Conditions, is_constant
from viewkeeper.analysis.dependencies import dependencies, of_source, reach
from viewkeeper.analysis.flatten import block_of
from viewkeeper.analysis.kept import kept_by_view
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.plan.expr import Call, Expr, Input, rewrite
from viewkeeper.plan.join import UnionAll
from viewkeeper.plan.relation import Project, Relation, Scan, below, scans, with_below
from viewkeeper.plan.staging import parts_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """An object that has the rows of a source. `shown` says what its columns are over the attributes of the block.

    `misses` are the columns of the source that it lacks and that are read; `key` then says which of its columns are the
    primary key of the table. `holds` are conditions of the block that are true of all of its rows.
    """

    stored: Stored
    shown: tuple[Expr | None, ...]
    misses: frozenset[int] = frozenset()
    key: tuple[int, ...] = ()
    holds: frozenset[Expr] = frozenset()

    @property
    def is_table(self) -> bool:
        return self.stored.is_table

    def columns(self) -> dict[Expr, int]:
        """Where each expression is in the stored row."""
        found: dict[Expr, int] = {}
        for number, expr in enumerate(self.shown):
            if expr is not None:
                found.setdefault(expr, number)
        return found


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of a view in normal form. `columns` are what is stored, over its attributes; None if hidden."""

    block: Block
    columns: tuple[Expr | None, ...]


@kept_by_view
def definition_of(stored: Stored, schema: Schema) -> Definition | None:
    """None for a table, and for a view that has no normal form."""
    if stored.plan is None or any(scan.object not in schema.objects for scan in scans(stored.plan)):
        return None
    try:
        block = _block(unstaged(stored.plan, schema), Frozen(schema))
    except NotAnalysed:
        return None
    outputs: list[Expr | None] = list(block.outputs)
    if block.group is not None:
        width = len(block.group)
        outputs = [
            block.group[expr.index] if isinstance(expr, Input) and expr.index < width else None
            for expr in block.outputs
        ]
    outputs += [None] * (len(stored.columns) - len(outputs))
    return Definition(block, tuple(outputs[: len(stored.columns)]))


def branches(stored: Stored) -> list[Stored]:
    """A view by itself; one that is a UNION ALL, as a join index is, in its parts."""
    if not isinstance(stored.plan, UnionAll):
        return [stored]
    return [branch for part in stored.plan.inputs for branch in branches(replace(stored, plan=part))]


def unstaged(plan: Relation, schema: Schema) -> Relation:
    """A definition with every staging view that it reads replaced by what that is of its table."""
    if isinstance(plan, Scan):
        view = schema[plan.object]
        if view.plan is None or parts_of(view.plan) is None:
            return plan
        shown = tuple(Input(column, view.columns[column].type) for column in plan.columns)
        return Project(view.plan, shown, tuple(field.name for field in plan.fields))
    parts = below(plan)
    made = [unstaged(part, schema) for part in parts]
    if all(new is old for new, old in zip(made, parts, strict=True)):
        return plan
    return with_below(plan, made)


class Frozen:
    """A schema that is looked up by identity: blocks of one schema are made once."""

    __slots__ = ("schema",)

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return hash(id(self.schema.objects))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frozen) and self.schema.objects is other.schema.objects


@lru_cache(maxsize=256)
def _block(plan: Relation, frozen: Frozen) -> Block:
    return block_of(plan, frozen.schema)


def paths_of(block: Block, number: int, schema: Schema, conditions: Conditions) -> Iterator[Path]:
    """The ways to read a stored source that exist."""
    source = block.sources[number]
    stored = source.stored
    assert stored is not None
    yield Path(stored=stored, shown=_own(source, stored))
    for view in schema.views():
        if isinstance(view.plan, UnionAll):
            yield from _sides(block, number, view, schema, conditions)
            continue
        path = index_path(block, number, view, schema, conditions)
        if path is not None:
            yield path


def _sides(block: Block, number: int, view: Stored, schema: Schema, conditions: Conditions) -> Iterator[Path]:
    """The sides of a join index that have the rows of a source, each under its tag."""
    assert isinstance(view.plan, UnionAll)
    for part in view.plan.inputs if view.kind == "join index" else ():
        side = replace(view, plan=part)
        path = index_path(block, number, side, schema, conditions)
        if path is not None:
            yield replace(path, stored=view)


def _own(source: Source, stored: Stored) -> tuple[Expr, ...]:
    return tuple(Input(source.start + place, column.type) for place, column in enumerate(stored.columns))


def index_path(block: Block, number: int, view: Stored, schema: Schema, conditions: Conditions) -> Path | None:
    """A view as a way to read a source that it has all rows of which matter; None if it is none.

    All that it may leave out is what the conditions leave out, too.
    """
    source = block.sources[number]
    if source.stored is None or view.mode == "PERIODIC" or view.id == source.stored.id:
        return None
    known = definition_of(view, schema)
    if known is None or len(known.block.sources) != 1 or known.block.group is not None or known.block.distinct:
        return None
    if known.block.factor > 1:
        return None
    inner = known.block.sources[0]
    if inner.stored is None or inner.stored.id != source.stored.id or known.block.limit_max is not None:
        return None
    shift = source.start - inner.start

    def moved(expr: Expr) -> Expr:
        return rewrite(expr, lambda column: Input(column.index + shift, column.type))

    conjuncts = frozenset(map(moved, known.block.conjuncts))
    if not all(map(conditions.implies, conjuncts)):
        return None
    shown = tuple(None if expr is None else moved(expr) for expr in known.columns)
    places = {expr.index - source.start: place for place, expr in enumerate(shown) if isinstance(expr, Input)}
    wanted = {place - source.start for place in block.used() if source.has(place)}
    table = source.stored
    if wanted <= places.keys() and not _repeats(known, view):
        return Path(stored=view, shown=shown, holds=conjuncts)
    if not table.is_table or any(column not in places for column in table.key):
        return None
    key = tuple(places[column] for column in table.key)
    misses = frozenset(wanted - places.keys()) or frozenset(wanted)
    return Path(stored=view, shown=shown, misses=misses, key=key, holds=conjuncts)


def _repeats(known: Definition, view: Stored) -> bool:
    """Whether one row of the table may have several entries: one for each word."""
    return view.unique is None or any(isinstance(expr, Call) and expr.name == WORD for expr in known.columns)


def rows_under(stored: Stored, fixed: frozenset[int], schema: Schema) -> int | None:
    """How many rows there are at most with one value each in some columns; None if there is no limit."""
    known = definition_of(stored, schema)
    if stored.unique is None:
        return None if known is None else window_rows(known.block, schema)
    if stored.unique <= fixed:
        return 1
    if known is None:
        columns: list[Expr | None] = list(_own(_alone(stored), stored))
        steps = of_source(_alone(stored))
    else:
        columns, steps = list(known.columns), dependencies(known.block)
    begin = [expr for number in fixed if (expr := columns[number]) is not None]
    targets = [columns[number] for number in stored.unique]
    reached = None
    if None not in targets:
        reached = reach(begin, [target for target in targets if target is not None], steps)
    if reached is not None:
        # Grouping sets, and epochs that overlap, show what is of one row several times.
        return reached.factor * (1 if known is None else known.block.factor)
    return None if known is None else window_rows(known.block, schema)


def path_rows(path: Path, source: Source, fixed: frozenset[int], schema: Schema) -> int | None:
    """How many rows of a path there are at most with one value each in some of its columns."""
    table = source.stored
    if table is None or path.stored.id == table.id or not table.is_table or table.unique is None:
        return rows_under(path.stored, fixed, schema)
    own = _own(source, table)
    words = [one for one in path.shown if isinstance(one, Call) and one.name == WORD]
    begin = [expr for number in fixed if (expr := path.shown[number]) is not None]
    reached = reach(begin, [*(own[number] for number in table.unique), *words], of_source(source))
    return None if reached is None else reached.factor


def window_rows(block: Block, schema: Schema) -> int | None:
    """How many rows a block gives at most because of a window in its FROM, the rest being looked up from there.

    None if it has none, or if something else may be found any number of times.
    """
    windows = [n for n, one in enumerate(block.sources) if one.derived is not None and _rows_of(one) is not None]
    if len(windows) != 1:
        return None
    rows = _rows_of(block.sources[windows[0]]) or 0
    known = set(windows)
    conditions = Conditions(block.conjuncts)
    while len(known) < len(block.sources):
        for number, source in enumerate(block.sources):
            if number in known or source.stored is None:
                continue
            fixed = fixed_by(block, number, known, conditions)
            under = rows_under(source.stored, frozenset(fixed), schema)
            if under is not None:
                rows *= under
                known.add(number)
                break
        else:
            return None
    return rows * block.factor


def _rows_of(source: Source) -> int | None:
    assert source.derived is not None
    parts = source.derived.parts
    return parts[0].rows_wanted if len(parts) == 1 else None


def fixed_by(block: Block, number: int, known: set[int], conditions: Conditions) -> list[int]:
    """The columns of a source that equal a constant, or something of sources that are known."""
    source = block.sources[number]
    assert source.stored is not None
    found = []
    for place, column in enumerate(source.stored.columns):
        same = conditions.same(Input(source.start + place, column.type))
        if any(map(is_constant, same)) or any(
            isinstance(one, Input) and block.source_at(one.index) in known for one in same
        ):
            found.append(place)
    return found


def _alone(stored: Stored) -> Source:
    return Source(start=0, leaf=0, width=len(stored.columns), name=stored.name, stored=stored)

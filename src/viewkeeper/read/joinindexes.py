"""Join indexes as queries use them: which columns of which table are under which key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from weakref import WeakKeyDictionary

from viewkeeper.execute.rows.expr import Failures, compile_row
from viewkeeper.model.types import Cell, Row
from viewkeeper.model.view import View
from viewkeeper.plan.casts import keeps_all
from viewkeeper.plan.expr import Cast, Expr, Input, Literal
from viewkeeper.plan.join import UnionAll
from viewkeeper.plan.relation import Project, Relation, Scan, scans
from viewkeeper.read.facts import converted
from viewkeeper.read.fixedkeys import Leaf
from viewkeeper.sql.maintain import ViewKind
from viewkeeper.sql.sources import finder
from viewkeeper.store.interface import Catalog, Store
from viewkeeper.views.bound import bind_text


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a join index. `key` are the columns of its source that are joined, each with what is stored of it.

    `columns` says how each column of the source that the index has is computed from a row of the index.
    """

    source: int
    tag: str
    key: tuple[tuple[int, Expr], ...]
    columns: Mapping[int, Expr]

    def lacks(self, scan: Scan) -> list[int]:
        """The columns of a scan of its source that the index does not have."""
        return [column for column in scan.columns if column not in self.columns]

    def keys(self, leaf: Leaf) -> set[Row]:
        """The keys of the index under one of which all rows are that matter; empty if no one is known."""
        if leaf.scan.object != self.source:
            return set()
        return set(product(*([_stored(value, expr) for value in leaf.values(column)] for column, expr in self.key)))

    def row_of(self, scan: Scan) -> Callable[[Row], Row]:
        """What makes a row of the source, its columns by their ids, of a row of the index; unread ones are NULL."""
        width = max(scan.columns, default=-1) + 1
        unread = Literal(None, scan.fields[0].type) if scan.fields else None
        exprs = [self.columns[column] if column in scan.columns else unread for column in range(width)]
        compute = compile_row([expr for expr in exprs if expr is not None])
        return lambda row: compute(row, Failures())


def _stored(value: Cell, expr: Expr) -> Cell:
    """A value of a join column as the key has it."""
    return converted(value, expr.arg.type, expr.type) if isinstance(expr, Cast) else value


@dataclass(frozen=True, slots=True)
class JoinIndex:
    view: View
    sides: tuple[Side, ...]

    @property
    def width(self) -> int:
        """How many columns its key has; the next one says which side a row is of."""
        return len(self.sides[0].key)


@dataclass(frozen=True, slots=True)
class Lookup:
    """A key of a join index, and for each leaf of a query the side that has its rows; None where none matter.

    Without a key there are none at all.
    """

    index: JoinIndex
    key: Row | None
    sides: tuple[Side | None, ...]


_known: WeakKeyDictionary[Store, dict[int, JoinIndex]] = WeakKeyDictionary()


def join_indexes(store: Store, catalog: Catalog, sources: Iterable[int]) -> Iterator[JoinIndex]:
    """The join indexes that have all of these tables and views, older ones first."""
    wanted = set(sources)
    known = _known.setdefault(store, {})
    for number, view in sorted(catalog.views.items()):
        if view.kind == ViewKind.JOIN_INDEX and view.replaces is None and wanted <= set(view.sources):
            found = known.get(number)
            if found is None or found.view != view:
                statement = bind_text(view.text, finder(catalog, view.sources))
                found = known[number] = JoinIndex(view, _sides(statement.plan))
            yield found


def _sides(plan: Relation) -> tuple[Side, ...]:
    assert isinstance(plan, UnionAll)
    return tuple(map(_side, plan.inputs))


def _side(part: Relation) -> Side:
    assert isinstance(part, Project)
    (scan,) = scans(part)
    width = next(place for place, expr in enumerate(part.exprs) if isinstance(expr, Literal))
    tag = part.exprs[width]
    assert isinstance(tag, Literal)
    key: list[tuple[int, Expr]] = []
    columns: dict[int, Expr] = {}
    for place, expr in enumerate(part.exprs):
        field = expr.arg if isinstance(expr, Cast) else expr
        if not isinstance(field, Input):
            continue
        column, stored = scan.columns[field.index], Input(place, expr.type)
        if place < width:
            key.append((column, expr))
        if keeps_all(field.type, expr.type):
            columns[column] = stored if expr is field else Cast(stored, field.type)
    return Side(scan.object, str(tag.value), tuple(key), columns)


def lookup(index: JoinIndex, leaves: Iterable[Leaf]) -> Lookup | None:
    """How an index has all rows that matter, under one key; None if it has not."""
    choices = [
        {key: side for side in index.sides if not side.lacks(leaf.scan) for key in side.keys(leaf)} for leaf in leaves
    ]
    # A comparison with NULL is never true, whatever the other conditions say.
    matter = [not any(None in key for key in choice) for choice in choices]
    needed = [choice for choice, matters in zip(choices, matter, strict=True) if matters]
    if not needed:
        return Lookup(index, None, (None,) * len(choices))
    for key in needed[0]:
        if all(key in choice for choice in needed):
            sides = (choice[key] if matters else None for choice, matters in zip(choices, matter, strict=True))
            return Lookup(index, key, tuple(sides))
    return None

"""What a statement asks for, bound to its table: columns by id, values as cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from viewkeeper.model.schema import Column, Table
from viewkeeper.model.types import Cell, Row
from viewkeeper.plan.expr import Parameter
from viewkeeper.plan.relation import Relation
from viewkeeper.plan.whole import Sort
from viewkeeper.sql.maintain import Maintain, Mode, ViewKind

__all__ = [
    "AddColumn",
    "AlterView",
    "CreateTable",
    "CreateView",
    "Delete",
    "DropTable",
    "DropView",
    "Insert",
    "JoinSelect",
    "KeyRange",
    "Maintain",
    "Mode",
    "Query",
    "Retain",
    "Select",
    "SetOption",
    "Sorting",
    "Statement",
    "TableStatement",
    "Update",
    "ViewKind",
    "ViewStatement",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRange:
    """The rows whose key begins with `prefix` and whose next key column lies between the bounds.

    `prefix` holds cells in key order; empty, it is every row. A bound that is None is open. Key columns of a table are
    never NULL; those of a view may be: a None in `prefix` is NULL itself, and with `not_null` the next key column has
    to have a value. `lower` is the lower value also where the key column descends.
    """

    prefix: Row
    lower: Cell | None = None
    lower_inclusive: bool = True
    upper: Cell | None = None
    upper_inclusive: bool = True
    not_null: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable:
    """`table` has no id yet; the catalog gives it one."""

    table: Table
    if_not_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumn:
    table: str
    column: Column


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTable:
    """`name` as the text has it; whether there is such a table is not checked yet."""

    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """New rows as cells by column id. Every key and NOT NULL column is there; a column left out is NULL."""

    table: str
    rows: tuple[dict[int, Cell], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """`cells` replace those of every row in `where`; none is of the key."""

    table: str
    where: tuple[KeyRange, ...]
    cells: dict[int, Cell]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    table: str
    where: tuple[KeyRange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Select:
    """Rows of one table or view in the order in which they are stored, or with `descending` in its reverse.

    `columns` are (output name, column id). The ranges of `where` are disjoint and in stored order, whatever
    `descending` says; no range means no row. `limit` counts over all ranges.
    """

    table: str
    columns: tuple[tuple[str, int], ...]
    where: tuple[KeyRange, ...]
    descending: bool
    limit: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorting:
    """A column of the answer, by its place, that rows are sorted by."""

    column: int
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinSelect:
    """Rows of several tables and views, joined; which index has them is not decided yet.

    The fields of `plan` begin with `columns`. The rows are sorted by `order`, the first column of it first, and cut at
    `limit`. `place` is where the join stands in the text, for errors.
    """

    plan: Relation
    columns: tuple[Column, ...]
    order: tuple[Sorting, ...]
    limit: int | None
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Any SELECT, with its parameters still open; how it is answered is not decided yet.

    The fields of `plan` begin with `columns`; behind them come those that are only sorted by. Rows are sorted by
    `order` and, where that leaves them equal, in any way. `limit_max` is the number of LIMIT, or the one that
    `LIMIT :n MAX 50` declares; None if there is no limit, or no bound of it. ORDER BY, LIMIT and OFFSET of sub-queries
    are in the plan.

    `parameters` are in order of appearance, each place of each list once. `lists` says how many values a list may
    have; one that is not there is of any length, and has the one place `plan.filling.ANY_LENGTH`.
    """

    plan: Relation
    columns: tuple[Column, ...]
    order: tuple[Sort, ...]
    limit: int | Parameter | None
    limit_max: int | None
    offset: int
    parameters: tuple[Parameter, ...]
    lists: Mapping[str | int, int]
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retain:
    """Epochs that began more than `retain_ms` ago leave the view.

    `column` is the place of the epoch's start, a TIMESTAMP, among the fields of the topmost Aggregate of the plan; it
    is one of its group columns, and so below `len(aggregate.group)`. `length_ms` is the length of an epoch.
    """

    column: int
    length_ms: int
    retain_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView:
    """A view or an index.

    The fields of `plan` begin with `visible`; hidden ones, such as a grouping id, come behind them. `key` are places in
    `visible`, each with whether it descends; empty if the text has none. `approximate` are the places that hold sums of
    DOUBLE. Only a PERIODIC view has a plan with what is computed whole, see plan/whole.py.

    `text` is a CREATE statement that gives the same view when it is bound again, also after columns were added to
    its sources: each * is written out. `sources` are the ids of the tables and views that are read, each once.
    """

    name: str
    or_replace: bool
    if_not_exists: bool
    kind: ViewKind
    key: tuple[tuple[int, bool], ...]
    maintain: Maintain
    plan: Relation
    visible: tuple[Column, ...]
    approximate: frozenset[int]
    retain: Retain | None
    text: str
    sources: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DropView:
    """`name` as the text has it; whether there is such a view, of this kind, is not checked yet."""

    name: str
    kind: ViewKind
    if_exists: bool
    cascade: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterView:
    name: str
    kind: ViewKind
    maintain: Maintain


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOption:
    """An option of the database, and one of its values; bind_options.py has them all."""

    name: str
    value: str


TableStatement = CreateTable | AddColumn | DropTable | Insert | Update | Delete | Select | JoinSelect
ViewStatement = CreateView | DropView | AlterView
Statement = TableStatement | ViewStatement | SetOption

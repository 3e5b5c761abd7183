"""Relations that need all rows at once: the first rows of an order, and window functions.

One change can move any row of them, so they are computed whole; only PERIODIC views have them. Rows that are equal in
an order are told apart by all of their columns, from left to right, so that every computation gives the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from viewkeeper.model.types import Cell, Type
from viewkeeper.plan.aggregate import WHOLE, AggregateKind

if TYPE_CHECKING:
    from viewkeeper.plan.relation import Field, Relation


@dataclass(frozen=True, slots=True)
class Sort:
    """A column of an order; NULL is below every value: it comes first, or last if the order descends."""

    column: int
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Single:
    """One row without columns: what SELECT without FROM reads."""

    @property
    def fields(self) -> tuple[Field, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class TopN:
    """The rows from `offset` on, at most `limit` of them (None: all), in an order."""

    input: Relation
    order: tuple[Sort, ...]
    limit: int | None
    offset: int = 0

    def __post_init__(self) -> None:
        if (self.limit is not None and self.limit < 0) or self.offset < 0:
            raise ValueError("rows are counted from 0")
        _check_columns(self.input, [sort.column for sort in self.order])

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


class WindowKind(StrEnum):
    """Functions that are called with OVER alone."""

    ROW_NUMBER = "ROW_NUMBER"
    RANK = "RANK"
    DENSE_RANK = "DENSE_RANK"
    NTILE = "NTILE"
    PERCENT_RANK = "PERCENT_RANK"
    CUME_DIST = "CUME_DIST"
    LAG = "LAG"
    LEAD = "LEAD"
    FIRST_VALUE = "FIRST_VALUE"
    LAST_VALUE = "LAST_VALUE"
    NTH_VALUE = "NTH_VALUE"


FRAMED = frozenset({WindowKind.FIRST_VALUE, WindowKind.LAST_VALUE, WindowKind.NTH_VALUE})
"""Those that look at a frame; the aggregates do, too."""


@dataclass(frozen=True, slots=True)
class Frame:
    """From which row to which, both included, a function looks: places relative to its own row, None without end.

    With `by_rows` rows are counted. Without, 0 stands for the row and all that are equal to it in the order.
    """

    by_rows: bool
    start: int | None
    end: int | None

    def __post_init__(self) -> None:
        if not self.by_rows and {self.start, self.end} - {None, 0}:
            raise ValueError("only rows are counted")

    def __str__(self) -> str:
        ends = [_end(self.start, "PRECEDING"), _end(self.end, "FOLLOWING")]
        return f"{'ROWS' if self.by_rows else 'RANGE'} BETWEEN {' AND '.join(ends)}"


def _end(place: int | None, beyond: str) -> str:
    if place is None:
        return f"UNBOUNDED {beyond}"
    return "CURRENT ROW" if place == 0 else f"{abs(place)} {'PRECEDING' if place < 0 else 'FOLLOWING'}"


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A function over the rows around a row: those that are equal to it in the columns of `partition`, in an order.

    `source` is the type of its argument. `count`: how far LAG and LEAD look, how many parts NTILE makes, which row
    NTH_VALUE shows. `default` is what LAG and LEAD show where there is no row.
    """

    kind: WindowKind | AggregateKind
    argument: int | None
    partition: tuple[int, ...]
    order: tuple[Sort, ...]
    frame: Frame
    type: Type
    source: Type | None = None
    count: int = 1
    default: Cell = None

    @property
    def read(self) -> list[int]:
        """The input columns that it looks at."""
        argument = [] if self.argument is None else [self.argument]
        return [*argument, *self.partition, *(sort.column for sort in self.order)]


@dataclass(frozen=True, slots=True)
class Window:
    """Each row with what functions give for it behind its columns."""

    input: Relation
    calls: tuple[WindowCall, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.calls):
            raise ValueError("a window has a name for each call")
        _check_columns(self.input, [column for call in self.calls for column in call.read])

    @property
    def fields(self) -> tuple[Field, ...]:
        from viewkeeper.plan.relation import Field

        own = (Field(name, call.type) for name, call in zip(self.names, self.calls, strict=True))
        return (*self.input.fields, *own)


def _check_columns(relation: Relation, columns: list[int]) -> None:
    width = len(relation.fields)
    if any(not 0 <= column < width for column in columns):
        raise ValueError("a column is named that the input lacks")


def is_whole(relation: Relation) -> bool:
    """Whether a relation, or one below it, can only be computed whole."""
    from viewkeeper.plan.relation import below

    return needs_all(relation) or any(map(is_whole, below(relation)))


def needs_all(relation: Relation) -> bool:
    """Whether a relation needs all rows of those below it at once."""
    from viewkeeper.plan.relation import Aggregate

    match relation:
        case TopN() | Window() | Single():
            return True
        case Aggregate():
            return any(call.kind in WHOLE for call in relation.calls)
    return False

"""How a query is answered with bounded work: which rows are read, by which keys, and what is made of them.

The reads come one after the other. Each is by key columns of a table or view, whose values are constants, parameters,
or columns of rows that an earlier read found. What they found are the rows of the scans of a relation, over which the
answer is then computed in memory:

    lookup              one row, by its whole key
    index scan          the rows under a key, or the first of them in stored order
    lookup join         the same for each row that an earlier read found
    sorted index join   the first rows under each key that an earlier read found
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from viewkeeper.model.schema import Column
from viewkeeper.model.types import Type
from viewkeeper.plan.expr import Expr, Literal, Parameter
from viewkeeper.plan.relation import Relation
from viewkeeper.plan.whole import Sort


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A column, by its place in the stored row, of the rows that an earlier read of the same plan found."""

    access: int
    column: int
    type: Type


Operand = Literal | Parameter | Found
"""What a key column is compared with. If its type is another one, it is converted; what does not convert is nowhere."""
Count = int | Parameter
"""How many rows; a parameter is at most what the bounds were computed with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """What lies on one side of a row, in stored order, of the values of some key columns; with the row, if `inclusive`.

    `before`: what is stored before it. Where a value is NULL, nothing that begins as the row does before it is meant.
    """

    values: tuple[Literal | Parameter, ...]
    before: bool
    inclusive: bool


class AccessKind(StrEnum):
    LOOKUP = "lookup"
    INDEX_SCAN = "index scan"
    LOOKUP_JOIN = "lookup join"
    SORTED_INDEX_JOIN = "sorted index join"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One read of a plan: of `object`, a table or a view, by its stored key.

    `equal` has for each of the first key columns the values that it may have: one, or those of an IN list. The next key
    column lies between `lower` and `upper`, each with whether it is included, or begins with `starts`, a pattern of
    LIKE that ends in %; it and those behind it lie `beyond` some values. It has a value if any of these is given, or
    `not_null`. The key columns at the places in `words` have
    words, in lower case. At most `limit` rows are read under each key, in stored order, or against it in `reverse`.

    `leaf` is the number of the scan, from left to right, that gets the rows, by column ids of the object; None if
    they are only there to be looked up by: entries of an index. Where an index has all that is needed of a table,
    `leaf` is a scan of the table, and `shows` says for each of its columns which column of the index has it. Rows for
    which `condition`, over the fields of that scan, is not true are not needed.

    `operations` and `rows`: how many there are at most.
    """

    kind: AccessKind
    object: int
    name: str
    leaf: int | None
    shows: tuple[int | None, ...] | None = None
    equal: tuple[tuple[Operand, ...], ...] = ()
    lower: tuple[Operand, bool] | None = None
    upper: tuple[Operand, bool] | None = None
    starts: Operand | None = None
    beyond: Beyond | None = None
    not_null: bool = False
    limit: Count | None = None
    reverse: bool = False
    words: frozenset[int] = frozenset()
    condition: Expr | None = None
    operations: int
    rows: int

    def fed_by(self) -> frozenset[int]:
        """The accesses of whose rows it has values for its key columns."""
        return frozenset(one.access for values in self.equal for one in values if isinstance(one, Found))


def with_fed_by(accesses: Sequence[Access], numbers: Iterable[int]) -> list[int]:
    """Some accesses, and all that feed these, directly or not, in their order."""
    found: set[int] = set()
    pending = [*numbers]
    while pending:
        number = pending.pop()
        if number not in found:
            found.add(number)
            pending += accesses[number].fed_by()
    return sorted(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryPlan:
    """The reads, and the answer: the rows of `relation`, sorted by `order`, cut at `limit`.

    The fields of `relation` begin with `columns`; those behind them are there to be sorted by. `computed` are the
    parameters that follow from those that are given.
    """

    accesses: tuple[Access, ...]
    relation: Relation
    columns: tuple[Column, ...]
    order: tuple[Sort, ...] = ()
    limit: Count | None = None
    offset: int = 0
    computed: tuple[Parameter, ...] = ()

    @property
    def operations(self) -> int:
        return sum(access.operations for access in self.accesses)

    @property
    def rows(self) -> int:
        return sum(access.rows for access in self.accesses)

"""The normal form of a query: sources, conditions joined by AND, groups, what is shown, the order, a limit.

    SELECT outputs FROM sources WHERE conjuncts GROUP BY group HAVING having ORDER BY order LIMIT limit

All expressions but those behind the groups are over one row: the columns of the first source, then those of the second,
and so on. A place in that row is an attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from viewkeeper.analysis.schema import Stored
from viewkeeper.model.types import BOOLEAN
from viewkeeper.plan.access import Count
from viewkeeper.plan.aggregate import AggregateCall
from viewkeeper.plan.casts import keeps_all
from viewkeeper.plan.expr import Call, Cast, Expr, inputs
from viewkeeper.plan.relation import (
    Relation,
)
from viewkeeper.plan.whole import Sort

WORD = "word of"
"""The function that stands for a word of a text: what an index by TOKENS is stored by."""


class SourceKind(StrEnum):
    """How a source is joined. INNER drops rows without a partner, LEFT keeps them, SEMI and ANTI only ask for one."""

    INNER = "inner"
    LEFT = "left"
    SEMI = "semi"
    ANTI = "anti"


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A query in FROM. `parts` are the blocks that it is made from; each of their rows gives at most `factor` rows.

    With one part whose rows are its own, `outputs` says what each of its fields is over the attributes of that; None
    for what is computed from several rows.
    """

    relation: Relation
    parts: tuple[Block, ...]
    factor: int = 1
    outputs: tuple[Expr | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One table, view or query in FROM. `start` is the place of its first column, `leaf` the number of its first scan.

    `on` are the conditions of a join that is not inner.
    """

    start: int
    leaf: int
    width: int
    name: str
    stored: Stored | None
    derived: Derived | None = None
    kind: SourceKind = SourceKind.INNER
    on: tuple[Expr, ...] = ()

    @property
    def end(self) -> int:
        return self.start + self.width

    def has(self, place: int) -> bool:
        return self.start <= place < self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One SELECT. `relation` is what it was made from.

    `group` is None without GROUP BY and aggregates; with them, `arguments` are what the calls are over, and `outputs`
    and `having` are over the group columns, then the calls. `order` are places in `outputs`. `limit_max` is None where
    no limit is known. Each row is shown at most `factor` times: once for each grouping set, or epoch.
    """

    relation: Relation
    sources: tuple[Source, ...]
    conjuncts: tuple[Expr, ...]
    outputs: tuple[Expr, ...]
    names: tuple[str, ...]
    group: tuple[Expr, ...] | None = None
    calls: tuple[AggregateCall, ...] = ()
    arguments: tuple[Expr | None, ...] = ()
    having: tuple[Expr, ...] = ()
    distinct: bool = False
    order: tuple[Sort, ...] = ()
    limit: Count | None = None
    limit_max: int | None = None
    offset: int = 0
    factor: int = 1

    def source_at(self, place: int) -> int:
        """The number of the source that an attribute is of."""
        return next(number for number, source in enumerate(self.sources) if source.has(place))

    def reads(self, expr: Expr) -> frozenset[int]:
        """The sources that an expression reads."""
        return frozenset(map(self.source_at, inputs(expr)))

    def name(self, place: int) -> str:
        """An attribute with the name of its source."""
        source = self.sources[self.source_at(place)]
        if source.stored is None:
            assert source.derived is not None
            return f"{source.name}.{source.derived.relation.fields[place - source.start].name}"
        return f"{source.name}.{source.stored.columns[place - source.start].name}"

    @property
    def rows_wanted(self) -> int | None:
        """How many of the first rows are wanted at most; None for all."""
        return None if self.limit_max is None else self.limit_max + self.offset

    def used(self) -> frozenset[int]:
        """The attributes that anything reads."""
        found: set[int] = set()
        exprs: list[Expr] = [*self.conjuncts, *(expr for source in self.sources for expr in source.on)]
        if self.group is None:
            exprs += self.outputs
        else:
            exprs += [*self.group, *(argument for argument in self.arguments if argument is not None)]
        for expr in exprs:
            found.update(inputs(expr))
        return frozenset(found)


class NotAnalysed(Exception):
    """A construct for which no bound is known; the text says which."""


def conjuncts_of(condition: Expr) -> Iterator[Expr]:
    """The conditions that AND joins."""
    if isinstance(condition, Call) and condition.name == "and":
        for arg in condition.args:
            yield from conjuncts_of(arg)
    else:
        yield condition


def equality(left: Expr, right: Expr) -> Expr:
    """Two expressions compared; where their types differ, that of fewer values is converted."""
    if left.type != right.type:
        is_narrow = keeps_all(left.type, right.type)
        left, right = (Cast(left, right.type), right) if is_narrow else (left, Cast(right, left.type))
    return Call("=", (left, right), BOOLEAN)


def aliases(names: Sequence[str]) -> list[str]:
    """Short names of sources for SQL: the first letter, numbered where several have it.

    >>> aliases(["Tags", "Tags", "Documents"])
    ['t1', 't2', 'd']
    """
    letters = [next((c for c in name.lower() if c.isalpha()), "t") for name in names]
    counts = {letter: letters.count(letter) for letter in letters}
    seen: dict[str, int] = {}
    found = []
    for letter in letters:
        seen[letter] = seen.get(letter, 0) + 1
        found.append(letter if counts[letter] == 1 else f"{letter}{seen[letter]}")
    return found

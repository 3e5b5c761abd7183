"""A change of a query or of its tables that may give it a bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from viewkeeper.analysis.block import Block
from viewkeeper.analysis.schema import Schema
from viewkeeper.plan.expr import Expr, Input
from viewkeeper.plan.join import InnerJoin, PartnerJoin
from viewkeeper.plan.relation import Filter, Project, Relation, Scan, below, scans, with_below
from viewkeeper.sql.statements import Query

Place = tuple[int, int]
"""A column of a scan: which of the scans, from the left, and the column of what it reads."""

MANY = 20
"""The length of a list, and the number of values, that are tried: for a bound, any number is as good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A sentence, and what it makes of a query and of a schema; two can be made one after the other.

    If several queries take the place of one, `others` make those but the first.
    """

    text: str
    query: Callable[[Query], Query] = lambda query: query
    others: tuple[Callable[[Query], Query], ...] = ()
    schema: Callable[[Schema], Schema] = lambda schema: schema

    def queries(self, query: Query) -> list[Query]:
        return [self.query(query), *(one(query) for one in self.others)]

    def and_then(self, more: Change) -> Change:
        return Change(
            text=f"{self.text} And {more.text[0].lower()}{more.text[1:]}",
            query=lambda query: more.query(self.query(query)),
            others=(
                *(partial(_both, one, more.query) for one in self.others),
                *(partial(_both, self.query, one) for one in more.others),
            ),
            schema=lambda schema: more.schema(self.schema(schema)),
        )


def _both(first: Callable[[Query], Query], then: Callable[[Query], Query], query: Query) -> Query:
    return then(first(query))


def place_of(block: Block, attribute: int) -> Place | None:
    """The column of a scan that an attribute is; None for one of a query in FROM."""
    source = block.sources[block.source_at(attribute)]
    return None if source.derived is not None else (source.leaf, attribute - source.start)


def short_name(block: Block, attribute: int) -> str:
    """The name of an attribute without that of its source."""
    return block.name(attribute).split(".", 1)[1]


def mapped(relation: Relation, change: Callable[[Expr, Sequence[Place | None]], Expr], first: int = 0) -> Relation:
    """A relation with every condition of a Filter changed; `first` is the number of its first scan."""
    parts = []
    for part, number in _numbered(below(relation), first):
        parts.append(mapped(part, change, number))
    made = with_below(relation, parts)
    if isinstance(made, Filter):
        return replace(made, condition=change(made.condition, columns_of(made.input, first)))
    return made


def _numbered(parts: Sequence[Relation], first: int) -> Iterator[tuple[Relation, int]]:
    """Relations with the numbers of their first scans."""
    for part in parts:
        yield part, first
        first += sum(1 for _ in scans(part))


def columns_of(relation: Relation, first: int) -> list[Place | None]:
    """Which columns of scans the fields of a relation are; None for what is computed."""
    match relation:
        case Scan(columns=columns):
            return [(first, column) for column in columns]
        case Filter(input=under):
            return columns_of(under, first)
        case Project(input=under, exprs=exprs):
            known = columns_of(under, first)
            return [known[one.index] if isinstance(one, Input) else None for one in exprs]
        case InnerJoin() | PartnerJoin():
            found = [one for part, number in _numbered(below(relation), first) for one in columns_of(part, number)]
            return found[: len(relation.fields)]
    return [None] * len(relation.fields)

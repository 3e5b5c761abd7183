"""Relations: what a view is defined as, operator by operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from viewkeeper.model.types import BOOLEAN, Type
from viewkeeper.plan.aggregate import AggregateCall
from viewkeeper.plan.expr import Expr, inputs
from viewkeeper.plan.join import InnerJoin, PartnerJoin, UnionAll
from viewkeeper.plan.whole import Single, TopN, Window


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a relation."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Scan:
    """All rows of a base table or of another view, with the given columns of it."""

    object: int
    name: str
    columns: tuple[int, ...]
    fields: tuple[Field, ...]
    is_view: bool = False

    def __post_init__(self) -> None:
        if len(self.columns) != len(self.fields):
            raise ValueError("a scan has a field for each column")


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows for which the condition is true; NULL is not true."""

    input: Relation
    condition: Expr

    def __post_init__(self) -> None:
        if self.condition.type != BOOLEAN:
            raise ValueError("a condition is BOOLEAN")
        _check_inputs(self.input, self.condition)

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


@dataclass(frozen=True, slots=True)
class Project:
    """Each row as these expressions give it."""

    input: Relation
    exprs: tuple[Expr, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.exprs) != len(self.names):
            raise ValueError("a projection has a name for each expression")
        for expr in self.exprs:
            _check_inputs(self.input, expr)

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(name, expr.type) for name, expr in zip(self.names, self.exprs, strict=True))


@dataclass(frozen=True, slots=True)
class Expand:
    """Each row once for each projection, in which it is shown that way. All projections have the same types.

    GROUPING SETS, CUBE and ROLLUP are an Expand below an Aggregate; so is a time window longer than its slide.
    """

    input: Relation
    projections: tuple[tuple[Expr, ...], ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        shapes = {tuple(expr.type for expr in projection) for projection in self.projections}
        if len(shapes) != 1 or len(self.names) != len(next(iter(shapes))):
            raise ValueError("the projections of an expand differ in shape")
        for projection in self.projections:
            for expr in projection:
                _check_inputs(self.input, expr)

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(Field(name, expr.type) for name, expr in zip(self.names, self.projections[0], strict=True))


@dataclass(frozen=True, slots=True)
class Tokens:
    """Each row once for each different word of a text, which is appended as a column; no word, no row."""

    input: Relation
    text: Expr
    name: str

    def __post_init__(self) -> None:
        _check_inputs(self.input, self.text)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (*self.input.fields, Field(self.name, self.text.type))


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One row for each group: the group columns, then the aggregates.

    With no group columns there is always exactly one row. `group` are input columns.
    """

    input: Relation
    group: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.group) + len(self.calls):
            raise ValueError("an aggregate has a name for each group column and call")
        width = len(self.input.fields)
        used = [*self.group, *(call.argument for call in self.calls if call.argument is not None)]
        if any(not 0 <= column < width for column in used):
            raise ValueError("an aggregate names a column that its input lacks")

    @property
    def fields(self) -> tuple[Field, ...]:
        types = [self.input.fields[column].type for column in self.group] + [call.type for call in self.calls]
        return tuple(Field(name, type) for name, type in zip(self.names, types, strict=True))


@dataclass(frozen=True, slots=True)
class Distinct:
    """Each different row once."""

    input: Relation

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.input.fields


Maintained = Scan | Filter | Project | Expand | Tokens | Aggregate | Distinct | InnerJoin | PartnerJoin | UnionAll
"""What can be maintained incrementally, but for an Aggregate with a percentile."""
Relation = Maintained | TopN | Window | Single


def _check_inputs(relation: Relation, expr: Expr) -> None:
    width = len(relation.fields)
    if any(not 0 <= column < width for column in inputs(expr)):
        raise ValueError("an expression names a column that its input lacks")


def below(relation: Relation) -> tuple[Relation, ...]:
    """The relations that this one is made from."""
    match relation:
        case Scan() | Single():
            return ()
        case Filter() | Project() | Expand() | Tokens() | Aggregate() | Distinct() | TopN() | Window():
            return (relation.input,)
        case InnerJoin() | UnionAll():
            return relation.inputs
        case PartnerJoin():
            return (relation.left, relation.right)
    assert_never(relation)


def with_below(relation: Relation, parts: Sequence[Relation]) -> Relation:
    """The relation over others, of the same fields, in place of those that it is made from."""
    match relation:
        case Scan() | Single():
            return relation
        case InnerJoin() | UnionAll():
            return replace(relation, inputs=tuple(parts))
        case PartnerJoin():
            return replace(relation, left=parts[0], right=parts[1])
        case _:
            return replace(relation, input=parts[0])


def scans(relation: Relation) -> Iterator[Scan]:
    if isinstance(relation, Scan):
        yield relation
    for part in below(relation):
        yield from scans(part)

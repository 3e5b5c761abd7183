"""Statements as they are written: names and places, nothing looked up yet. Expressions inside are sqlglot's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from viewkeeper.model.schema import PartitionKind
from viewkeeper.model.types import Type
from viewkeeper.sql.maintain import Maintain, ViewKind

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """An identifier, without its quotes, and its offset in the text."""

    text: str
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnTree:
    name: Name
    type: Type
    primary_key: bool
    not_null: bool
    temporal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTree:
    """`splits` holds a tuple of values for each bound; empty without SPLIT AT."""

    kind: PartitionKind
    columns: tuple[Name, ...]
    count: int
    splits: tuple[tuple[exp.Expr, ...], ...]
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CardinalityTree:
    columns: tuple[Name, ...]
    limit: int
    words: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTableTree:
    """`keys` are the PRIMARY KEY (…) lists; more than one is refused when it is bound."""

    name: Name
    if_not_exists: bool
    columns: tuple[ColumnTree, ...]
    keys: tuple[tuple[Name, ...], ...]
    partitioning: PartitionTree | None
    cardinalities: tuple[CardinalityTree, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumnTree:
    table: Name
    column: ColumnTree


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTableTree:
    name: Name
    if_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesTree:
    """One (…) of VALUES and the offset of its parenthesis."""

    values: tuple[exp.Expr, ...]
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertTree:
    """`columns` is None where the text has no column list."""

    table: Name
    columns: tuple[Name, ...] | None
    rows: tuple[ValuesTree, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateTree:
    table: Name
    assignments: tuple[tuple[Name, exp.Expr], ...]
    where: exp.Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteTree:
    table: Name
    where: exp.Expr | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectTree:
    """Any query that sqlglot reads; what of it can be answered is decided when it is bound.

    `words` are the offsets of the words outside parentheses, in upper case, each where it first stands.
    """

    query: exp.Expr
    words: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyColumnTree:
    """A column of KEY (…) and whether it is DESC."""

    name: Name
    descending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateViewTree:
    """`begin` and `end` are where the query stands in the text, end not included."""

    name: Name
    or_replace: bool
    if_not_exists: bool
    key: tuple[KeyColumnTree, ...]
    maintain: Maintain
    query: exp.Expr
    begin: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexItemTree:
    """An indexed expression, the name behind AS if there is one, and whether it is DESC."""

    value: exp.Expr
    alias: Name | None
    descending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateIndexTree:
    """`begin` and `end` are where the text has what comes behind ON, up to MAINTAIN; end not included."""

    name: Name
    or_replace: bool
    if_not_exists: bool
    source: Name
    items: tuple[IndexItemTree, ...]
    include: tuple[Name, ...]
    maintain: Maintain
    begin: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinSideTree:
    """A source of a join index and its join columns; `include` is None where the text has no INCLUDE."""

    source: Name
    columns: tuple[Name, ...]
    include: tuple[Name, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateJoinIndexTree:
    name: Name
    or_replace: bool
    if_not_exists: bool
    sides: tuple[JoinSideTree, ...]
    maintain: Maintain


@dataclass(frozen=True, slots=True, kw_only=True)
class DropViewTree:
    kind: ViewKind
    name: Name
    if_exists: bool
    cascade: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterViewTree:
    kind: ViewKind
    name: Name
    maintain: Maintain


ViewTree = CreateViewTree | CreateIndexTree | CreateJoinIndexTree | DropViewTree | AlterViewTree
"""Statements about views. Several sources may be looked up to bind one, or none."""

TableTree = AddColumnTree | InsertTree | UpdateTree | DeleteTree | SelectTree
"""Statements that are about one table, or one view, that is there already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTree:
    option: Name
    value: Name


Tree = CreateTableTree | DropTableTree | TableTree | ViewTree | SetTree

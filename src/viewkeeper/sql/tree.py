"""Statements as they are written: names and places, nothing looked up yet. Expressions inside are sqlglot's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from viewkeeper.model.schema import PartitionKind
from viewkeeper.model.types import Type

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


Tree = CreateTableTree | AddColumnTree | DropTableTree | InsertTree | UpdateTree | DeleteTree | SelectTree

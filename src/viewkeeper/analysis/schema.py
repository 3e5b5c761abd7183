"""What the analysis knows of a database: tables and views as they are stored."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from viewkeeper.model.schema import Column, Table
from viewkeeper.plan.relation import Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """At most `limit` combinations of the columns `counted` for one of the columns `given`."""

    given: frozenset[int]
    counted: frozenset[int]
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A table, view or index.

    `columns` are all that is stored, those that users do not see behind the `visible` ones; `key` are the columns by
    which rows are stored, in that order, each with whether it descends. `unique` are columns of which no two rows have
    the same values; None if rows may repeat. `words` says of columns how many words a text in them has at most.
    `approximate` are the columns that come from sums of DOUBLE: no index is made by one.

    `plan` is the definition of a view; the fields that it begins with are the stored columns, as far as there are some.
    `ddl` is the statement that makes it, if it does not exist yet. One that `is_pending` cannot be read by queries, but
    views may stand on it: it is about to take the place of another, or still to be filled.
    """

    id: int
    name: str
    kind: str
    columns: tuple[Column, ...]
    visible: int
    key: tuple[int, ...]
    descending: tuple[bool, ...]
    unique: frozenset[int] | None
    limits: tuple[Limit, ...] = ()
    words: Mapping[int, int] = field(default_factory=dict)
    approximate: frozenset[int] = frozenset()
    mode: str = ""
    copies: int = 1
    plan: Relation | None = None
    parts: int | None = None
    ddl: str | None = None
    is_pending: bool = False

    @property
    def is_table(self) -> bool:
        return self.kind == "table"

    @property
    def is_temporal(self) -> bool:
        """Whether new rows are all written at one end of it."""
        return bool(self.key) and self.columns[self.key[0]].temporal

    def column(self, name: str) -> int:
        return next(number for number, column in enumerate(self.columns) if column.name == name)


def stored_table(table: Table) -> Stored:
    """A base table."""
    pairs = [({table.column_id(name) for name in one.columns}, one) for one in table.cardinalities]
    key = frozenset(table.key_ids)
    return Stored(
        id=table.id,
        name=table.name,
        kind="table",
        columns=table.columns,
        visible=len(table.columns),
        key=table.key_ids,
        descending=table.descending,
        unique=key,
        limits=tuple(
            Limit(given=key - counted, counted=frozenset(counted), limit=one.limit)
            for counted, one in pairs
            if not is_of_words(one)
        ),
        words={next(iter(counted)): one.limit for counted, one in pairs if is_of_words(one)},
    )


def is_of_words(limit: object) -> bool:
    """Whether a CARDINALITY is of the words of a text."""
    return bool(getattr(limit, "words", False))


@dataclass(frozen=True, slots=True)
class Schema:
    """Tables and views by their ids."""

    objects: Mapping[int, Stored]

    def __getitem__(self, number: int) -> Stored:
        return self.objects[number]

    def tables(self) -> Iterator[Stored]:
        return (one for one in self.objects.values() if one.is_table)

    def views(self) -> Iterator[Stored]:
        """Those that can be read or are to be made."""
        return (one for one in self.objects.values() if not one.is_table and not one.is_pending)

    def with_objects(self, *more: Stored) -> Schema:
        """The schema as if these existed, too; one with a known id takes its place."""
        return Schema({**self.objects, **{one.id: one for one in more}})

    def hiding(self, numbers: Collection[int]) -> Schema:
        """The schema with these views read only by the views that stand on them, and where they are named."""
        return self.with_objects(*(replace(self.objects[number], is_pending=True) for number in numbers))

    def next_id(self) -> int:
        return max(self.objects, default=0) + 1

    def is_free(self, name: str) -> bool:
        return all(one.name.lower() != name.lower() for one in self.objects.values())

    def name_for(self, query: str, of: str, what: str) -> str:
        """A name that nothing has yet for a view of something, made for a query, or for one without a name."""
        return self.free_name(f"{query}{of[0].upper()}{of[1:]}{what}" if query else f"{of}_{what.lower()}")

    def free_name(self, wanted: str) -> str:
        """A name that nothing has yet."""
        name, number = wanted, 1
        while not self.is_free(name):
            number += 1
            name = f"{wanted}{number}"
        return name

    def limited(self, number: int, limit: Limit) -> Schema:
        """The schema with one more CARDINALITY."""
        table = self.objects[number]
        return self.with_objects(replace(table, limits=(*table.limits, limit)))

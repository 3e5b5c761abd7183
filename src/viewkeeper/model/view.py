"""A view as the catalog keeps it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from viewkeeper.model.layout import Layout
from viewkeeper.model.schema import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Definition and stored shape of a view or an index; what can be read off without binding its text again.

    `text` is the CREATE statement that gives this view whenever it is bound over `sources`, which are ids of tables
    and views. `auxiliary` are the ids of its auxiliary tables, in the order in which its program numbers them. `key`
    are the visible columns that make a row unique, in stored order; empty if they do not. `repeats`: equal rows are
    stored once, with a weight. A view that `replaces` another is filled beside it and takes its name when both are
    swapped. `in_base`: its rows are beside those of the tables, and follow in the transaction of each write,
    `since` a position. `is_lazy`: a plain read of it is up to date although it may lag; the catalog sees to that.

    `ages`: it changes with time alone, since epochs leave it.

    A LOCAL view of a table in partitions is kept once for each: `parts` are the ids for all but the first of them, each
    as `id` and `auxiliary` are for that one.
    """

    id: int
    name: str
    kind: str
    text: str
    mode: str
    interval_ms: int | None
    sources: tuple[int, ...]
    layout: Layout
    key: tuple[int, ...]
    repeats: bool
    approximate: tuple[int, ...]
    auxiliary: tuple[int, ...]
    replaces: int | None = None
    in_base: bool = False
    since: int = 0
    parts: tuple[tuple[int, ...], ...] = ()
    ages: bool = False
    is_lazy: bool = False

    @property
    def objects(self) -> tuple[int, ...]:
        """The ids of everything that is stored for it, the view itself first."""
        return (self.id, *self.auxiliary, *(number for part in self.parts for number in part))

    @property
    def tables(self) -> tuple[int, ...]:
        """The ids of the tables that have its rows: one, or one for each partition."""
        return (self.id, *(part[0] for part in self.parts))

    def part(self, partition: int) -> View:
        """The view of one partition, by itself."""
        number, *auxiliary = self.parts[partition - 1] if partition else (self.id, *self.auxiliary)
        layout = replace(self.layout, id=number)
        return replace(self, id=number, auxiliary=tuple(auxiliary), layout=layout, parts=())

    @property
    def columns(self) -> tuple[Column, ...]:
        """What its SELECT shows."""
        return self.layout.columns[: self.layout.visible]

    @property
    def order(self) -> tuple[tuple[int, bool], ...]:
        """The visible columns by which its rows are stored, each with whether it descends."""
        found: list[tuple[int, bool]] = []
        for number, descending in zip(self.layout.key, self.layout.descending, strict=True):
            if number >= self.layout.visible:
                break
            found.append((number, descending))
        return tuple(found)

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The names of `key`; empty if nothing visible makes a row unique."""
        return tuple(self.columns[number].name for number in self.key)

    def __str__(self) -> str:
        return self.text


def with_article(kind: str) -> str:
    """The kind of a table or view as a sentence names one of it.

    >>> with_article("index"), with_article("join index")
    ('an index', 'a join index')
    """
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def named_by_kind(views: Iterable[View]) -> str:
    """The names of views in the order of the alphabet, behind what they are: views a, b and index c; each name once."""
    found: dict[str, set[str]] = {}
    for view in views:
        found.setdefault(view.kind, set()).add(view.name)
    return " and ".join(
        f"{kind if len(names) == 1 else _PLURAL[kind]} {', '.join(sorted(names))}"
        for kind, names in sorted(found.items(), reverse=True)
    )


_PLURAL = {"view": "views", "index": "indexes", "join index": "join indexes"}

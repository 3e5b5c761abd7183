"""The text under which a view is kept: it gives the same view whenever it is bound again.

OR REPLACE and IF NOT EXISTS are left out, each * is written out, an output name in GROUP BY becomes its number, and a
column that could be of several sources names its own: one that is added to a source later changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from viewkeeper.sql.maintain import Maintain, Mode
from viewkeeper.sql.names import written
from viewkeeper.sql.parse import Parsed, parse
from viewkeeper.sql.tree import CreateIndexTree, CreateJoinIndexTree, CreateViewTree, Name

Edits = Mapping[int, tuple[int, str]]
"""Pieces of the text to replace, by offset: the end, not included, and the new piece."""


def view_text(parsed: Parsed, tree: CreateViewTree, edits: Edits) -> str:
    words = [f"CREATE MATERIALIZED VIEW {written(tree.name.text)}"]
    if tree.key:
        columns = (written(column.name.text) + " DESC" * column.descending for column in tree.key)
        words.append(f"KEY ({', '.join(columns)})")
    words += [*_maintain(tree.maintain), "AS", _edited(parsed.source, tree.begin, tree.end, edits)]
    return " ".join(words)


def index_text(parsed: Parsed, tree: CreateIndexTree) -> str:
    on = parsed.source[tree.begin : tree.end]
    return " ".join([f"CREATE INDEX {written(tree.name.text)} ON {on}", *_maintain(tree.maintain)])


def join_index_text(tree: CreateJoinIndexTree) -> str:
    """`tree` has INCLUDE on each side."""
    sides = (
        f"{written(side.source.text)} ({_names(side.columns)}) INCLUDE ({_names(side.include or ())})"
        for side in tree.sides
    )
    return " ".join([f"CREATE JOIN INDEX {written(tree.name.text)} ON {', '.join(sides)}", *_maintain(tree.maintain)])


def with_maintain(text: str, maintain: Maintain) -> str:
    """The text of a view after ALTER VIEW … SET MAINTAIN. Whether it can be bound in that mode is found out by binding.

    >>> with_maintain("CREATE MATERIALIZED VIEW v AS SELECT a FROM t", Maintain(mode=Mode.LAZY))
    'CREATE MATERIALIZED VIEW v MAINTAIN LAZY AS SELECT a FROM t'
    """
    (parsed,) = parse(text)
    tree = parsed.tree
    if isinstance(tree, CreateViewTree):
        return view_text(parsed, replace(tree, maintain=maintain), {})
    if isinstance(tree, CreateIndexTree):
        return index_text(parsed, replace(tree, maintain=maintain))
    if isinstance(tree, CreateJoinIndexTree):
        return join_index_text(replace(tree, maintain=maintain))
    raise ValueError(f"not the text of a view: {text}")


def _names(names: Iterable[Name]) -> str:
    return ", ".join(written(name.text) for name in names)


def _maintain(maintain: Maintain) -> list[str]:
    return [] if maintain.mode is Mode.DEFERRED else [f"MAINTAIN {maintain}"]


def _edited(text: str, begin: int, end: int, edits: Edits) -> str:
    pieces: list[str] = []
    for start in sorted(edits):
        stop, piece = edits[start]
        pieces += [text[begin:start], piece]
        begin = stop
    return "".join([*pieces, text[begin:end]])

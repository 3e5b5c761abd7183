"""Why a query with joins cannot be answered, and what would answer it."""

from __future__ import annotations

from collections.abc import Sequence

from viewkeeper.errors import Unsupported
from viewkeeper.read.fixedkeys import Leaf, leaves_of
from viewkeeper.read.joinindexes import JoinIndex, Side
from viewkeeper.sql.names import written
from viewkeeper.sql.sources import Source, source_of
from viewkeeper.sql.statements import JoinSelect
from viewkeeper.store.interface import Catalog

_VIEW = "create a view of the join and read that by its key"
Keys = list[tuple[int, ...]]
"""For each leaf the columns that it is joined by."""


def refusal(
    catalog: Catalog, statement: JoinSelect, leaves: Sequence[Leaf], indexes: Sequence[JoinIndex]
) -> Unsupported:
    """The error of a query that none of these join indexes, which have all of its sources, can answer."""
    fixed = _joined_by(leaves)
    if fixed is None:
        return _not_fixed(catalog, statement, leaves_of(statement.plan, supposed=True), indexes)
    for index in indexes:
        sides = [_side(index, leaf, key) for leaf, key in zip(leaves, fixed, strict=True)]
        lacking = [(leaf, side.lacks(leaf.scan)) for leaf, side in zip(leaves, sides, strict=True) if side is not None]
        if len(lacking) == len(leaves):
            return _lacks(catalog, statement, index, leaves, fixed, lacking)
    half = _half_fixed(catalog, statement, indexes)
    if half is not None:
        return half
    return _refuse(
        statement,
        leaves,
        "without a join index",
        detail="A query reads rows by key, and no join index has all rows of this one under one key.",
        hint=_made(_ddl(catalog, leaves, fixed)),
    )


def _not_fixed(
    catalog: Catalog, statement: JoinSelect, leaves: Sequence[Leaf], indexes: Sequence[JoinIndex]
) -> Unsupported:
    keys = _joined_by(leaves)
    if keys is None:
        return _refuse(
            statement,
            leaves,
            "by more than one attribute",
            detail="A join index has rows under one key, and no key that is fixed by equality reaches all of them.",
            hint=f"{_VIEW.capitalize()}.",
        )
    first = leaves[0].scan
    names = [_name(catalog, first.object, column) for column in keys[0]]
    test = " AND ".join(f"{written(name)} = :{name}" for name in names)
    missing = not any(
        all(_side(index, leaf, key) is not None for leaf, key in zip(leaves, keys, strict=True)) for index in indexes
    )
    made = _ddl(catalog, leaves, keys) if missing else ""
    return _refuse(
        statement,
        leaves,
        "whose key is not fixed",
        detail="Rows are read by key, and nothing in WHERE says by equality with a value which one.",
        hint=f'Fix the key of "{first.name}" or of its partner in WHERE, as in {test}'
        + (f", and run {made}" if made else "")
        + f"; or {_VIEW}.",
    )


def _half_fixed(catalog: Catalog, statement: JoinSelect, indexes: Sequence[JoinIndex]) -> Unsupported | None:
    """The error if an index has the rows by more columns than are fixed; None if there is none."""
    leaves = leaves_of(statement.plan, supposed=True)
    keys = _joined_by(leaves)
    for index in indexes:
        if keys is None or any(_side(index, leaf, key) is None for leaf, key in zip(leaves, keys, strict=True)):
            continue
        first = leaves[0].scan
        side = _side(index, leaves[0], keys[0])
        assert side is not None
        names = [_name(catalog, first.object, column) for column, _ in side.key]
        test = " AND ".join(f"{written(name)} = :{name}" for name in names)
        return _refuse(
            statement,
            leaves,
            "of whose key only a part is fixed",
            detail=f'Join index "{index.view.name}" has the rows of "{first.name}" by ({", ".join(names)}).',
            hint=f"Fix all of it by equality in WHERE, as in {test}; or {_VIEW}.",
        )
    return None


def _lacks(
    catalog: Catalog,
    statement: JoinSelect,
    index: JoinIndex,
    leaves: Sequence[Leaf],
    keys: Keys,
    lacking: Sequence[tuple[Leaf, list[int]]],
) -> Unsupported:
    columns = dict.fromkeys(
        f"{leaf.scan.name}.{_name(catalog, leaf.scan.object, column)}"
        for leaf, missing in lacking
        for column in missing
    )
    if not columns:
        return _refuse(
            statement,
            leaves,
            "by different keys",
            detail=f'Join index "{index.view.name}" is read at one key, and the sources are fixed to several.',
            hint=f"Write a query for each key, or {_VIEW}.",
        )
    return _refuse(
        statement,
        leaves,
        "with columns that no join index has",
        detail=f'Join index "{index.view.name}" does not have {", ".join(columns)}.',
        hint=_made(_ddl(catalog, leaves, keys, index)),
    )


def _refuse(statement: JoinSelect, leaves: Sequence[Leaf], what: str, *, detail: str, hint: str) -> Unsupported:
    names = list(dict.fromkeys(f'"{leaf.scan.name}"' for leaf in leaves))
    shown = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else f"{names[0]} with itself"
    return Unsupported(f"a join of {shown} {what} is not supported, {statement.place}", detail=detail, hint=hint)


def _made(ddl: str) -> str:
    return f"Run {ddl}, or {_VIEW}." if ddl else f"{_VIEW.capitalize()}."


def _joined_by(leaves: Sequence[Leaf]) -> Keys | None:
    """The columns of each leaf that facts of one origin are about, as far as there are such in all; None if not."""
    origins = dict.fromkeys(fact.origin for fact in leaves[0].facts)
    columns: dict[tuple[int, ...], None] = {}
    for origin in origins:
        of_all = [
            next(
                (column for fact in leaf.facts if fact.origin is origin and (column := leaf.column(fact)) is not None),
                None,
            )
            for leaf in leaves
        ]
        if None not in of_all:
            columns[tuple(column for column in of_all if column is not None)] = None
    # A column is in a key once.
    chosen: list[tuple[int, ...]] = []
    for candidate in columns:
        if all(candidate[place] != taken[place] for taken in chosen for place in range(len(leaves))):
            chosen.append(candidate)
    return [tuple(one[place] for one in chosen) for place in range(len(leaves))] if chosen else None


def _side(index: JoinIndex, leaf: Leaf, key: tuple[int, ...]) -> Side | None:
    """The side of an index that has a leaf by columns that are among these."""
    for side in index.sides:
        if side.source == leaf.scan.object and {column for column, _ in side.key} <= set(key):
            return side
    return None


def _ddl(catalog: Catalog, leaves: Sequence[Leaf], keys: Keys, replaced: JoinIndex | None = None) -> str:
    """The join index that would answer a query; empty if it would have one side alone."""
    sides: dict[tuple[int, tuple[int, ...]], set[int]] = {}
    for side in () if replaced is None else replaced.sides:
        sides[side.source, tuple(column for column, _ in side.key)] = set(side.columns)
    for leaf, key in zip(leaves, keys, strict=True):
        known = next((one for one in sides if one[0] == leaf.scan.object and set(one[1]) <= set(key)), None)
        sides.setdefault(known or (leaf.scan.object, key), set()).update(leaf.scan.columns)
    if len(sides) == 1:
        return ""
    parts = []
    for (number, key), columns in sides.items():
        source = _source(catalog, number)
        shown = sorted(columns - {*key, *source.key}) or source.key or key
        names = [", ".join(written(source.columns[place].name) for place in places) for places in (key, shown)]
        parts.append(f"{written(source.name)} ({names[0]}) INCLUDE ({names[1]})")
    if replaced is not None:
        return f"CREATE OR REPLACE JOIN INDEX {written(replaced.view.name)} ON {', '.join(parts)}"
    name = "".join(dict.fromkeys(leaf.scan.name for leaf in leaves))
    while name.lower() in catalog.names or catalog.view(name) is not None:
        name += "Index"
    return f"CREATE JOIN INDEX {written(name)} ON {', '.join(parts)}"


def _source(catalog: Catalog, number: int) -> Source:
    found = catalog.tables.get(number)
    return source_of(catalog.views[number] if found is None else found)


def _name(catalog: Catalog, number: int, column: int) -> str:
    return _source(catalog, number).columns[column].name

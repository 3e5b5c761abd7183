"""Random texts of views that join tables, views and sub-queries in all ways, within what the oracle can compute."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.views.joinconditions import comparable, conditions, equalities, existences, is_number
from tests.views.joinschemas import Columns

Sources = Mapping[str, Columns]
"""What can be read, by name: tables and views."""

KINDS = ("JOIN", "INNER JOIN", "LEFT JOIN", "LEFT OUTER JOIN", "RIGHT JOIN", "FULL JOIN", "FULL OUTER JOIN")
SELECTS = ("rows", "rows", "distinct", "grouped", "grouped")
DEEPEST = 2
OTHERS = 100
"""Names in a second view of one FROM start here; the first has fewer."""


@dataclass(frozen=True)
class From:
    """FROM …, the columns there by their whole names, and conditions without which it would not be what it is."""

    text: str
    columns: Columns
    where: tuple[str, ...] = ()


@dataclass(frozen=True)
class Query:
    """A SELECT, its columns, and what it reads; None if that is more than one FROM."""

    text: str
    columns: Columns
    read: From | None = None


def views(sources: Sources, *, failing: bool = False) -> st.SearchStrategy[Query]:
    """The SELECT of a view. `failing`: also with expressions that fail on some rows."""
    return st.builds(itertools.count).flatmap(lambda numbers: _queries(sources, failing, 0, numbers))


def views_over(sources: Sources, read: From) -> st.SearchStrategy[Query]:
    """Another view of what one reads."""
    return st.builds(itertools.count, st.just(OTHERS)).flatmap(
        lambda numbers: st.sampled_from(SELECTS).flatmap(lambda kind: _selects(sources, read, kind, True, numbers))
    )


@st.composite
def _queries(draw: st.DrawFn, sources: Sources, failing: bool, depth: int, numbers: Iterator[int]) -> Query:
    kind = draw(st.sampled_from([*SELECTS, "union"]))
    if kind == "union" and depth < DEEPEST:
        return draw(_unions(sources, depth, numbers))
    return draw(_selects(sources, draw(_froms(sources, depth, numbers)), kind, failing, numbers))


@st.composite
def _selects(draw: st.DrawFn, sources: Sources, read: From, kind: str, failing: bool, numbers: Iterator[int]) -> Query:
    more = draw(st.sampled_from([0, 0, 1, 1, 2]))
    where = [*read.where, *(draw(_wheres(sources, read.columns, numbers)) for _ in range(more))]
    tail = f" FROM {read.text}" + (f" WHERE {' AND '.join(where)}" if where else "")
    if kind == "grouped":
        text, columns = draw(_grouped(read.columns, tail))
        return Query(text, columns, read)
    items = draw(st.lists(_items(read.columns, failing), min_size=1, max_size=4))
    shown = ", ".join(f"{text} AS r{place}" for place, (text, _) in enumerate(items))
    columns = tuple((f"r{place}", type) for place, (_, type) in enumerate(items))
    return Query(f"SELECT {'DISTINCT ' if kind == 'distinct' else ''}{shown}{tail}", columns, read)


@st.composite
def _unions(draw: st.DrawFn, sources: Sources, depth: int, numbers: Iterator[int]) -> Query:
    """Two or three SELECTs of one shape; a branch that has no column of some type shows NULL there."""
    branches = [draw(_froms(sources, depth + 1, numbers)) for _ in range(draw(st.sampled_from([2, 2, 3])))]
    shape = [type for _, type in draw(st.lists(st.sampled_from(branches[0].columns), min_size=1, max_size=3))]
    texts = []
    for read in branches:
        items = []
        for place, type in enumerate(shape):
            fitting = [name for name, found in read.columns if found == type]
            text = draw(st.sampled_from(fitting)) if fitting else f"CAST(NULL AS {type})"
            items.append(f"{text} AS u{place}")
        where = [*read.where, *draw(st.lists(_wheres(sources, read.columns, numbers), max_size=1))]
        texts.append(f"SELECT {', '.join(items)} FROM {read.text}" + (f" WHERE {' AND '.join(where)}" if where else ""))
    text = texts[0]
    for other in texts[1:]:
        text += f" {draw(st.sampled_from(['UNION ALL', 'UNION ALL', 'UNION']))} {other}"
    return Query(text, tuple((f"u{place}", type) for place, type in enumerate(shape)))


@st.composite
def _froms(draw: st.DrawFn, sources: Sources, depth: int, numbers: Iterator[int]) -> From:
    """Up to four inputs, joined one after the other, or behind commas; one that has nothing to compare is left out."""
    count = draw(st.sampled_from([2, 2, 3, 3, 4, 1] if depth == 0 else [2, 1, 1]))
    leaves = [draw(_leaves(sources, depth, numbers)) for _ in range(count)]
    return draw(_comma(leaves)) if draw(st.integers(0, 3)) == 0 else draw(_joined(leaves))


@st.composite
def _leaves(draw: st.DrawFn, sources: Sources, depth: int, numbers: Iterator[int]) -> From:
    alias = f"t{next(numbers)}"
    if depth < DEEPEST and draw(st.integers(0, 4)) == 0:
        query = draw(_queries(sources, False, depth + 1, numbers))
        text, columns = f"({query.text}) AS {alias}", query.columns
    else:
        # Views twice: what stands on them, also on two sides at once, is to come up often.
        names = sorted(sources)
        name = draw(st.sampled_from([*names, *(name for name in names if name.startswith("V"))]))
        text, columns = f"{name} AS {alias}", sources[name]
    return From(text, tuple((f"{alias}.{column}", type) for column, type in columns))


@st.composite
def _joined(draw: st.DrawFn, leaves: Sequence[From]) -> From:
    """A chain, a star or something between, of all kinds of joins; with more than one condition often."""
    text, columns = leaves[0].text, leaves[0].columns
    for leaf in leaves[1:]:
        if not comparable(columns, leaf.columns):
            continue
        on = draw(equalities(columns, leaf.columns))
        together = (*columns, *leaf.columns)
        if draw(st.integers(0, 2)) == 0:
            on.append(draw(conditions(together)))
        text += f" {draw(st.sampled_from(KINDS))} {leaf.text} ON {' AND '.join(draw(st.permutations(on)))}"
        columns = together
    return From(text, columns)


@st.composite
def _comma(draw: st.DrawFn, leaves: Sequence[From]) -> From:
    """Each input is equal in something to one that may come before or behind it."""
    order = draw(st.permutations(leaves))
    taken, where = [order[0]], list[str]()
    for leaf in order[1:]:
        partners = [other for other in taken if comparable(other.columns, leaf.columns)]
        if partners:
            where += draw(equalities(draw(st.sampled_from(partners)).columns, leaf.columns))
            taken.append(leaf)
    kept = [leaf for leaf in leaves if leaf in taken]
    columns = tuple(column for leaf in kept for column in leaf.columns)
    return From(", ".join(leaf.text for leaf in kept), columns, tuple(where))


@st.composite
def _wheres(draw: st.DrawFn, sources: Sources, columns: Columns, numbers: Iterator[int]) -> str:
    name = draw(st.sampled_from(sorted(sources)))
    alias = f"t{next(numbers)}"
    inside = tuple((f"{alias}.{column}", type) for column, type in sources[name])
    if draw(st.booleans()) and comparable(columns, inside):
        return draw(existences(columns, f"{name} AS {alias}", inside))
    return draw(conditions(columns))


@st.composite
def _items(draw: st.DrawFn, columns: Columns, failing: bool) -> tuple[str, str]:
    """A value and its type."""
    name, type = draw(st.sampled_from(columns))
    same = [other for other, found in columns if found == type]
    match draw(st.sampled_from(["column", "column", "column", "coalesce", "case", "sum", "fails"])):
        case "coalesce":
            return f"COALESCE({name}, {draw(st.sampled_from(same))})", type
        case "case":
            return f"CASE WHEN {draw(conditions(columns))} THEN 1 ELSE 0 END", "INT"
        case "sum" if type == "INT":
            return f"({name} + {draw(st.sampled_from(same))})", type
        case "fails" if type == "INT" and failing:
            return f"({name} DIV {draw(st.sampled_from(same))})", "BIGINT"
    return name, type


@st.composite
def _grouped(draw: st.DrawFn, columns: Columns, tail: str) -> tuple[str, Columns]:
    groups = draw(st.lists(st.sampled_from(columns), max_size=2, unique=True))
    calls = draw(st.lists(_calls(columns), min_size=0 if groups else 1, max_size=3))
    items = [f"{name} AS g{place}" for place, (name, _) in enumerate(groups)]
    items += [f"{text} AS a{place}" for place, (text, _) in enumerate(calls)]
    text = f"SELECT {', '.join(items)}{tail}"
    if groups:
        text += f" GROUP BY {', '.join(name for name, _ in groups)}"
    if draw(st.integers(0, 3)) == 0:
        text += f" HAVING {draw(_havings(columns))}"
    shown = [(f"g{place}", type) for place, (_, type) in enumerate(groups)]
    return text, (*shown, *((f"a{place}", type) for place, (_, type) in enumerate(calls)))


@st.composite
def _calls(draw: st.DrawFn, columns: Columns) -> tuple[str, str]:
    """An aggregate and its type; none that depends on the order of additions."""
    name, type = draw(st.sampled_from(columns))
    match draw(st.sampled_from(["rows", "count", "distinct", "ends", "ends", "sum", "sum"])):
        case "rows":
            return "COUNT(*)", "BIGINT"
        case "count":
            return f"COUNT({name})", "BIGINT"
        case "distinct":
            return f"COUNT(DISTINCT {name})", "BIGINT"
        case "sum" if is_number(type) and type != "DOUBLE":
            return f"SUM({name})", _sum_type(type)
    return f"{draw(st.sampled_from(['MIN', 'MAX']))}({name})", type


def _sum_type(type: str) -> str:
    if not type.startswith("DECIMAL"):
        return "BIGINT"
    precision, scale = type[len("DECIMAL(") : -1].split(",")
    return f"DECIMAL({min(38, int(precision) + 10)},{scale})"


@st.composite
def _havings(draw: st.DrawFn, columns: Columns) -> str:
    name, type = draw(st.sampled_from(columns))
    match draw(st.sampled_from(["rows", "rows", "ends", "sum"])):
        case "ends":
            return f"MAX({name}) IS {draw(st.sampled_from(['', 'NOT ']))}NULL"
        case "sum" if is_number(type) and type != "DOUBLE":
            return f"SUM({name}) > 1"
    return f"COUNT(*) > {draw(st.integers(0, 2))}"

"""Queries of views put together in Python. A definition is a text in the making: what it means is what its SQL means.

    table("Events").join("Products", on={"ProdID": "ID"}).group_by("CatID").agg(n="COUNT(*)", total="SUM(Cost)")

Each step gives a new definition and leaves the old one as it was. Expressions and conditions are SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from viewkeeper.errors import BadDefinition
from viewkeeper.sql.names import written

HOWS = {
    "inner": "JOIN",
    "left": "LEFT JOIN",
    "right": "RIGHT JOIN",
    "full": "FULL JOIN",
    "semi": "LEFT SEMI JOIN",
    "anti": "LEFT ANTI JOIN",
}

On = str | Iterable[str] | Mapping[str, str]
"""A condition; the columns that both sides have; or columns of the left side and those of the right one they equal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """What stands in FROM, and what may stand before the dot of its columns."""

    text: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The definition of a view; `sql()` is its text. Made by `table`."""

    _sources: tuple[_Source, ...]
    _joins: tuple[str, ...] = ()
    _conditions: tuple[str, ...] = ()
    _columns: tuple[str, ...] = ()
    _groups: tuple[str, ...] | None = None
    _having: tuple[str, ...] = ()
    _distinct: bool = False
    _unions: tuple[tuple[str, Query], ...] = ()

    def join(self, other: str | Query, on: On, *, how: str = "inner", alias: str | None = None) -> Query:
        """With another table, view or query. `how`: inner, left, right, full, semi or anti.

        `on` is a condition in SQL; the name of a column that both sides have, or several; or what of the left side
        equals what of the right one, as a mapping of columns.
        """
        self._check_open("join")
        word = HOWS.get(how)
        if word is None:
            raise BadDefinition(f'"{how}" is no kind of join', hint=f"Write one of {', '.join(HOWS)}.")
        source = _source(other, alias)
        if any(source.name.lower() == known.name.lower() for known in self._sources):
            raise BadDefinition(
                f'"{source.name}" is joined with itself under one name', hint="Give it another with alias=…."
            )
        joined = f"{word} {source.text} {self._on(source, on)}"
        return replace(self, _sources=(*self._sources, source), _joins=(*self._joins, joined))

    def _on(self, source: _Source, on: On) -> str:
        if isinstance(on, str) and not _is_name(on):
            return f"ON {on}"
        if isinstance(on, Mapping):
            left = self._sources[-1] if len(self._sources) == 1 else None
            pairs = (f"{_column(mine, left)} = {_column(theirs, source)}" for mine, theirs in on.items())
            return f"ON {' AND '.join(pairs)}"
        names = [on] if isinstance(on, str) else list(on)
        return f"USING ({', '.join(map(written, names))})"

    def where(self, condition: str) -> Query:
        """Only rows for which the condition, in SQL, is true; several are joined by AND."""
        self._check_open("where")
        return replace(self, _conditions=(*self._conditions, condition))

    def select(self, *columns: str, **named: str) -> Query:
        """The columns of the view: SQL expressions, those given by keyword under that name."""
        self._check_open("select")
        return replace(self, _columns=(*self._columns, *columns, *_named(named)))

    def group_by(self, *columns: str) -> Query:
        """One row for each different combination; `agg` says what is computed of it."""
        self._check_open("group_by")
        return replace(self, _groups=columns)

    def agg(self, *columns: str, **named: str) -> Query:
        """The aggregates of each group, in SQL, those given by keyword under that name. Without group_by, of all."""
        self._check_open("agg")
        # The group is shown first, unless the columns were chosen.
        shown = self._columns or (self._groups or ())
        return replace(self, _columns=(*shown, *columns, *_named(named)), _groups=self._groups or ())

    def having(self, condition: str) -> Query:
        """Only groups for which the condition is true."""
        self._check_open("having")
        return replace(self, _having=(*self._having, condition))

    def distinct(self) -> Query:
        """Each different row once."""
        self._check_open("distinct")
        return replace(self, _distinct=True)

    def union(self, other: Query, *, all: bool = True) -> Query:
        """The rows of both; with all=False each different row once."""
        return replace(self, _unions=(*self._unions, ("UNION ALL" if all else "UNION", other)))

    def _check_open(self, step: str) -> None:
        if self._unions:
            raise BadDefinition(
                f"{step} of a union",
                detail="The queries of a union are complete.",
                hint="Take the union as a source: table(query, alias=…).",
            )

    def sql(self) -> str:
        """The query as a text."""
        columns = ", ".join(self._columns or self._groups or ("*",))
        lines = [f"SELECT {'DISTINCT ' if self._distinct else ''}{columns}", f"FROM {self._sources[0].text}"]
        lines += self._joins
        if self._conditions:
            lines.append(f"WHERE {_all_of(self._conditions)}")
        if self._groups:
            lines.append(f"GROUP BY {', '.join(self._groups)}")
        if self._having:
            lines.append(f"HAVING {_all_of(self._having)}")
        for word, other in self._unions:
            lines += [word, other.sql()]
        return "\n".join(lines)

    __str__ = sql


def table(source: str | Query, *, alias: str | None = None) -> Query:
    """A definition that reads a table, a view or another definition.

    >>> print(table("Events").where("Type = 'buy'").group_by("ProdID").agg(n="COUNT(*)").sql())
    SELECT ProdID, COUNT(*) AS n
    FROM Events
    WHERE Type = 'buy'
    GROUP BY ProdID
    """
    return Query(_sources=(_source(source, alias),))


def _source(source: str | Query, alias: str | None) -> _Source:
    if isinstance(source, str):
        text = written(source) + (f" AS {written(alias)}" if alias is not None else "")
        return _Source(text=text, name=alias or source)
    if alias is None:
        raise BadDefinition("a query in FROM has no name", hint="Give it one with alias=….")
    return _Source(text=f"({source.sql()}) AS {written(alias)}", name=alias)


def _named(named: Mapping[str, str]) -> Iterable[str]:
    return (f"{expression} AS {written(name)}" for name, expression in named.items())


def _column(text: str, source: _Source | None) -> str:
    """A column, with its source in front of it where that is known and not written."""
    if source is None or not _is_name(text):
        return written(text) if _is_name(text) else text
    return f"{written(source.name)}.{written(text)}"


def _is_name(text: str) -> bool:
    return text.isidentifier()


def _all_of(conditions: tuple[str, ...]) -> str:
    return conditions[0] if len(conditions) == 1 else " AND ".join(f"({condition})" for condition in conditions)


def create_text(
    name: str, query: Query | str, *, maintain: str | None = None, key: Sequence[str] = (), or_replace: bool = False
) -> str:
    """The statement that creates a view of a definition.

    >>> print(create_text("V", table("T").select("a", "b"), maintain="LAZY", key=["b DESC"]))
    CREATE MATERIALIZED VIEW V KEY (b DESC) MAINTAIN LAZY AS
    SELECT a, b
    FROM T
    """
    words = ["CREATE OR REPLACE" if or_replace else "CREATE", "MATERIALIZED VIEW", written(name)]
    if key:
        words.append(f"KEY ({', '.join(map(_key_column, key))})")
    if maintain is not None:
        words.append(f"MAINTAIN {maintain}")
    return f"{' '.join(words)} AS\n{query if isinstance(query, str) else query.sql()}"


def _key_column(text: str) -> str:
    column, _, direction = text.rpartition(" ")
    return f"{written(column)} {direction}" if direction.upper() in ("ASC", "DESC") and column else written(text)

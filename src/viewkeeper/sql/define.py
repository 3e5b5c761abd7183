"""Queries of views put together in Python. A definition is a text in the making: what it means is what its SQL means.

    table("Events").join("Products", on={"ProdID": "ID"}).group_by("CatID").agg(n="COUNT(*)", total="SUM(Cost)")

Each step gives a new definition and leaves the old one as it was. Steps come in the order in which SQL takes them, so
that reading them from left to right is no other query; what goes on from a result takes that as a source.

Tables, columns of `on` and `key`, and new names are names: they need no quotes. Everything else is SQL, but a column
that is written alone needs no quotes either.
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

_STEPS = ("join", "where", "group_by", "select", "having", "distinct", "union")
_CONSTANTS = ("TRUE", "FALSE", "NULL")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """What stands in FROM, and what may stand before the dot of its columns."""

    text: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The definition of a view; `sql()` is its text. Made by `table`.

    A step that comes too late is a BadDefinition: `table(query, alias=…)` is how to go on from a whole query.
    """

    _sources: tuple[_Source, ...]
    _joins: tuple[str, ...] = ()
    _conditions: tuple[str, ...] = ()
    _groups: tuple[str, ...] | None = None
    _shown: tuple[str, ...] = ()
    _columns: tuple[str, ...] = ()
    _having: tuple[str, ...] = ()
    _distinct: bool = False
    _unions: tuple[tuple[str, Query], ...] = ()

    def join(self, other: str | Query, on: On, *, how: str = "inner", alias: str | None = None) -> Query:
        """With another table, view or query. `how`: inner, left, right, full, semi or anti.

        `on` is a condition in SQL; the name of a column that both sides have, or a list of such; or a mapping of
        columns of the left side to those of the right one that they equal. Where several sources on the left have a
        column of that name, the source stands in front of it: {"Events.ShopID": "ID"}.
        """
        word = HOWS.get(how.lower())
        if word is None:
            raise BadDefinition(f'"{how}" is no kind of join', hint=f"Write one of {', '.join(HOWS)}.")
        # What WHERE leaves of the left side is the same before and after the other kinds.
        self._check_order("join", "where" if how.lower() in ("right", "full") else "group_by")
        source = _source(other, alias)
        if any(source.name.lower() == known.name.lower() for known in self._sources):
            raise BadDefinition(
                f'two sources are called "{source.name}"', hint="Give one of them another name with alias=…."
            )
        joined = f"{word} {source.text} {self._on(source, on)}"
        return replace(self, _sources=(*self._sources, source), _joins=(*self._joins, joined))

    def _on(self, source: _Source, on: On) -> str:
        if isinstance(on, str) and on.strip() and not on.isidentifier():
            return f"ON {on}"
        columns = [on] if isinstance(on, str) else list(on)
        if not columns or not all(isinstance(one, str) and one.strip() for one in columns):
            raise BadDefinition(
                f'the join with "{source.name}" is on {on!r}',
                detail="A join has an equality between its sides, by which partners are found.",
                hint='Write a condition in SQL, columns of one name, or {"left column": "right column"}.',
            )
        if not isinstance(on, Mapping):
            return f"USING ({', '.join(map(written, columns))})"
        pairs = (f"{_column(mine, self._sources)} = {_column(theirs, (source,))}" for mine, theirs in on.items())
        return f"ON {' AND '.join(pairs)}"

    def where(self, condition: str) -> Query:
        """Only rows for which the condition, in SQL, is true; several are joined by AND."""
        self._check_order("where", "group_by")
        return replace(self, _conditions=(*self._conditions, condition))

    def group_by(self, *columns: str, **named: str) -> Query:
        """One row for each different combination of columns or expressions; `agg` says what is computed of it."""
        given = tuple(map(_expression, columns))
        self._check_plain(given)
        shown = (*given, *_named(named))
        return self._grouped("group_by", (*given, *map(_expression, named.values())), shown)

    def cube(self, *columns: str) -> Query:
        """As group_by, for every subset of the columns: CUBE."""
        given = tuple(map(_expression, columns))
        return self._grouped("cube", (f"CUBE ({', '.join(given)})",), given)

    def rollup(self, *columns: str) -> Query:
        """As group_by, for all of the columns, all but the last, and so on to none: ROLLUP."""
        given = tuple(map(_expression, columns))
        return self._grouped("rollup", (f"ROLLUP ({', '.join(given)})",), given)

    def grouping_sets(self, *sets: Sequence[str]) -> Query:
        """As group_by, for each of these sets of columns: grouping_sets(["a", "b"], ["a"], []).

        All of the columns are shown, each once.
        """
        given = [tuple(map(_expression, [one] if isinstance(one, str) else one)) for one in sets]
        shown = tuple(dict.fromkeys(column for one in given for column in one))
        text = ", ".join(f"({', '.join(one)})" for one in given)
        return self._grouped("grouping_sets", (f"GROUPING SETS ({text})",), shown)

    def _check_plain(self, columns: Iterable[str]) -> None:
        for column in columns:
            if column.lstrip().upper().startswith(("CUBE", "ROLLUP", "GROUPING SETS")) and "(" in column:
                raise BadDefinition(
                    f"group_by of {column}", hint="Write cube(…), rollup(…) or grouping_sets(…) in place of group_by."
                )

    def _grouped(self, step: str, groups: tuple[str, ...], shown: tuple[str, ...]) -> Query:
        self._check_order(step, "group_by")
        return replace(self, _groups=groups, _shown=shown)

    def select(self, *columns: str, **named: str) -> Query:
        """The columns of the view: SQL expressions, those given by keyword under that name; * if nothing says so."""
        self._check_order("select", "distinct")
        return replace(self, _columns=(*self._columns, *map(_expression, columns), *_named(named)))

    def agg(self, *columns: str, **named: str) -> Query:
        """The aggregates of each group, in SQL, those given by keyword under that name. Without group_by, of all.

        The columns of the group come first, unless `select` has said which columns there are.
        """
        self._check_order("agg", "distinct")
        shown = self._columns or self._shown
        return replace(self, _columns=(*shown, *map(_expression, columns), *_named(named)))

    def having(self, condition: str) -> Query:
        """Only groups for which the condition is true."""
        self._check_order("having", "distinct")
        return replace(self, _having=(*self._having, condition))

    def distinct(self) -> Query:
        """Each different row once."""
        self._check_order("distinct", "union")
        return replace(self, _distinct=True)

    def union(self, other: str | Query, *, all: bool = True) -> Query:
        """The rows of both; with all=False each different row once."""
        query = other if isinstance(other, Query) else table(other)
        return replace(self, _unions=(*self._unions, ("UNION ALL" if all else "UNION", query)))

    def _check_order(self, step: str, closed: str) -> None:
        """BadDefinition if the step called `closed` has been made, or one behind it."""
        made = (self._joins, self._conditions, self._groups, self._columns, self._having, self._distinct, self._unions)
        first = _STEPS.index(closed)
        late = [word for word, done in list(zip(_STEPS, made, strict=True))[first:] if done not in ((), None, False)]
        if late:
            raise BadDefinition(
                f"{step} comes after {late[-1]}",
                detail=f"Steps come in this order: {', '.join(_STEPS)}.",
                hint="To go on from what a query gives, take it as a source: table(query, alias=…).",
            )

    def sql(self) -> str:
        """The query as a text."""
        columns = ", ".join(self._columns or self._shown or ("*",))
        lines = [f"SELECT {'DISTINCT ' if self._distinct else ''}{columns}", f"FROM {self._sources[0].text}"]
        lines += self._joins
        if self._conditions:
            lines.append(f"WHERE {_all_of(self._conditions)}")
        if self._groups:
            lines.append(f"GROUP BY {', '.join(self._groups)}")
        if self._having:
            lines.append(f"HAVING {_all_of(self._having)}")
        for word, other in self._unions:
            lines += [word, f"({other.sql()})" if other._unions else other.sql()]
        return "\n".join(lines)

    __str__ = sql


def table(source: str | Query, *, alias: str | None = None) -> Query:
    """A definition that reads a table, a view or another definition, which needs a name then.

    >>> print(table("Events").where("Type = 'buy'").group_by("ProdID").agg(n="COUNT(*)").sql())
    SELECT ProdID, COUNT(*) AS n
    FROM Events
    WHERE Type = 'buy'
    GROUP BY ProdID
    """
    return Query(_sources=(_source(source, alias),))


def _source(source: object, alias: str | None) -> _Source:
    if isinstance(source, str):
        text = written(source) + (f" AS {written(alias)}" if alias is not None else "")
        return _Source(text=text, name=alias or source)
    if not isinstance(source, Query):
        raise BadDefinition(f"{source!r} is not a source", hint="Write the name of a table or view, or a query.")
    if alias is None:
        raise BadDefinition("a query in FROM has no name", hint="Give it one with alias=….")
    return _Source(text=f"({source.sql()}) AS {written(alias)}", name=alias)


def _named(named: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{_expression(expression)} AS {written(name)}" for name, expression in named.items())


def _expression(text: str) -> str:
    """An expression as it is written; a name alone is quoted if SQL would not take it for one.

    >>> _expression("date"), _expression("order"), _expression("größe"), _expression("a + 1"), _expression("NULL")
    ('date', '"order"', '"größe"', 'a + 1', 'NULL')
    """
    from viewkeeper.sql.reader import RESERVED

    if not text.isidentifier() or text.upper() in _CONSTANTS:
        return text
    return written(text) if text.upper() in RESERVED or not text.isascii() else text


def _column(text: str, sources: Sequence[_Source]) -> str:
    """A column by its name, with its source in front of it where that is written or there is only one."""
    before, dot, after = text.partition(".")
    if dot and any(before.lower() == source.name.lower() for source in sources):
        return f"{written(before)}.{written(after)}"
    return f"{written(sources[0].name)}.{written(text)}" if len(sources) == 1 else written(text)


def _all_of(conditions: tuple[str, ...]) -> str:
    return conditions[0] if len(conditions) == 1 else " AND ".join(f"({condition})" for condition in conditions)


def create_text(
    name: str,
    query: Query | str,
    *,
    maintain: str | None = None,
    key: str | Sequence[str] = (),
    or_replace: bool = False,
) -> str:
    """The statement that creates a view of a definition.

    >>> print(create_text("V", table("T").select("a", "b"), maintain="LAZY", key=["b DESC"]))
    CREATE MATERIALIZED VIEW V KEY (b DESC) MAINTAIN LAZY AS
    SELECT a, b
    FROM T
    """
    words = ["CREATE OR REPLACE" if or_replace else "CREATE", "MATERIALIZED VIEW", written(name)]
    if key:
        words.append(f"KEY ({', '.join(map(_key_column, [key] if isinstance(key, str) else key))})")
    if maintain is not None:
        words.append(f"MAINTAIN {maintain}")
    return f"{' '.join(words)} AS\n{query if isinstance(query, str) else query.sql()}"


def _key_column(text: str) -> str:
    column, _, direction = text.rpartition(" ")
    return f"{written(column)} {direction}" if direction.upper() in ("ASC", "DESC") and column else written(text)

"""Random SELECTs with joins of all kinds, as texts: for us, and for SQLite where it writes them otherwise.

SQLite gives a comma the rank of JOIN, so there the sources between commas stand in parentheses; it has no LEFT SEMI and
LEFT ANTI JOIN, which are EXISTS and NOT EXISTS there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count

from hypothesis import strategies as st

INT, TEXT = "INT", "STRING"
TABLES: dict[str, tuple[tuple[str, str], ...]] = {
    "t0": (("id", INT), ("x", INT), ("s", TEXT)),
    "t1": (("id", INT), ("x", INT), ("y", INT), ("u", TEXT)),
    "t2": (("id", INT), ("y", INT), ("z", INT), ("s", TEXT)),
    "t3": (("id", INT), ("x", INT), ("w", TEXT)),
}
CONSTANTS = {INT: ("0", "1", "2"), TEXT: ("'a'", "'b'", "''")}
Column = tuple[str, str, str]
"""Source, name, type."""


@dataclass(frozen=True)
class Texts:
    """One piece of a query, as it is written for us and for SQLite."""

    ours: str
    theirs: str

    @classmethod
    def same(cls, text: str) -> Texts:
        return cls(text, text)

    def put(self, form: str, *others: Texts) -> Texts:
        """A form with {} for each of the texts."""
        parts = (self, *others)
        return Texts(form.format(*(part.ours for part in parts)), form.format(*(part.theirs for part in parts)))


@dataclass(frozen=True)
class From:
    """Sources that are joined. `conditions` belong into WHERE; `merged` are columns of USING, by name and type."""

    texts: Texts
    columns: tuple[Column, ...]
    conditions: tuple[Texts, ...] = ()
    merged: tuple[tuple[str, str], ...] = ()

    @property
    def in_parentheses(self) -> str:
        """For SQLite, if it is a join."""
        sources = {source for source, _, _ in self.columns}
        return f"({self.texts.theirs})" if len(sources) > 1 else self.texts.theirs


@dataclass(frozen=True)
class Select:
    """A query and the types of its columns, which are called c0, c1, …"""

    texts: Texts
    types: tuple[str, ...]

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        return tuple((f"c{number}", type) for number, type in enumerate(self.types))


class Writer:
    """Draws one query; the names of its sources all differ."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._names = count()

    def query(self, depth: int = 2, types: tuple[str, ...] | None = None) -> Select:
        if depth > 0 and self._chance(3):
            return self._union(depth, types)
        source = self._from(depth)
        where = self._where(source)
        if self._chance(4):
            return self._grouped(source, where, types)
        shown = types or tuple(self._draw(st.lists(st.sampled_from([INT, TEXT]), min_size=1, max_size=3)))
        items = ", ".join(f"{self._value(source, type)} AS c{number}" for number, type in enumerate(shown))
        distinct = "DISTINCT " if self._chance(6) else ""
        head = Texts.same(f"SELECT {distinct}{items} FROM ")
        return Select(head.put("{}{}{}", source.texts, where), shown)

    def _union(self, depth: int, types: tuple[str, ...] | None) -> Select:
        left = self.query(depth - 1, types)
        right = self.query(depth - 1, left.types)
        word = self._draw(st.sampled_from(["UNION ALL", "UNION"]))
        return Select(left.texts.put(f"{{}} {word} {{}}", right.texts), left.types)

    def _grouped(self, source: From, where: Texts, types: tuple[str, ...] | None) -> Select:
        shown = types or (*self._draw(st.lists(st.sampled_from([INT, TEXT]), max_size=2)), INT)
        items, groups = [], []
        for number, type in enumerate(shown):
            grouped = self._draw(st.booleans())
            value = self._value(source, type, constants=False)
            if grouped:
                groups.append(value)
            elif type == TEXT:
                value = f"MIN({value})"
            else:
                value = self._draw(st.sampled_from(["COUNT(*)", f"SUM({value})", f"MAX({value})", f"COUNT({value})"]))
            items.append(f"{value} AS c{number}")
        if not groups:
            items[0] = f"{'COUNT(*)' if shown[0] == INT else 'MAX(' + self._value(source, TEXT) + ')'} AS c0"
        tail = f" GROUP BY {', '.join(groups)}" if groups else ""
        if groups and self._chance(4):
            tail += " HAVING COUNT(*) > 1"
        head = Texts.same(f"SELECT {', '.join(items)} FROM ")
        return Select(head.put(f"{{}}{{}}{{}}{tail}", source.texts, where), shown)

    def _from(self, depth: int) -> From:
        """One to four sources: between commas joins, then an equality in WHERE for each comma."""
        found = self._joins(depth, self._draw(st.integers(1, 3)))
        if self._chance(4):
            right = self._joins(depth, self._draw(st.integers(1, 2)))
            right = self._semi(right, depth) if self._chance(4) else right
            ours = f"{found.texts.ours}, {right.texts.ours}"
            together = Texts(ours, f"{found.in_parentheses}, {right.in_parentheses}")
            condition = Texts.same(self._equality(found.columns, right.columns))
            conditions = (*found.conditions, *right.conditions, condition)
            return From(together, (*found.columns, *right.columns), conditions)
        return self._semi(found, depth) if self._chance(5) else found

    def _joins(self, depth: int, sources: int, *, in_outer: bool = False) -> From:
        """`in_outer`: below an outer join, where no equality of WHERE would reach a product."""
        if sources == 1:
            return self._source(depth)
        inner = ["JOIN", "INNER JOIN", "CROSS JOIN"][: 2 if in_outer else 3]
        kind = self._draw(st.sampled_from([*inner, "LEFT JOIN", "RIGHT OUTER JOIN", "FULL JOIN"]))
        in_outer = in_outer or kind not in inner
        on_left = self._draw(st.integers(1, sources - 1))
        left = self._joins(depth, on_left, in_outer=in_outer)
        right = self._joins(depth, sources - on_left, in_outer=in_outer)
        form = "{} " + kind + (" {}" if sources - on_left == 1 else " ({})")
        columns = (*left.columns, *right.columns)
        conditions = (*left.conditions, *right.conditions)
        if kind == "CROSS JOIN":
            equality = Texts.same(self._equality(left.columns, right.columns))
            return From(left.texts.put(form, right.texts), columns, (*conditions, equality))
        shared = self._shared(left, right) if sources == 2 and self._chance(3) else []
        if shared:
            names = ", ".join(name for name, _ in shared)
            return From(left.texts.put(f"{form} USING ({names})", right.texts), columns, conditions, tuple(shared))
        on = " AND ".join(self._conjuncts(left.columns, right.columns))
        return From(left.texts.put(f"{form} ON {on}", right.texts), columns, conditions)

    def _shared(self, left: From, right: From) -> list[tuple[str, str]]:
        names = {name: type for _, name, type in left.columns}
        both = [(name, type) for _, name, type in right.columns if names.get(name) == type]
        return self._draw(st.lists(st.sampled_from(both), min_size=1, max_size=2, unique=True)) if both else []

    def _source(self, depth: int) -> From:
        name = f"q{next(self._names)}"
        if depth > 0 and self._chance(5):
            # With a column of each type, so that any two sources can be compared.
            inner = self.query(depth - 1, self._draw(st.sampled_from([(INT, TEXT), (TEXT, INT), (INT, TEXT, INT)])))
            columns = tuple((name, column, type) for column, type in inner.columns)
            return From(inner.texts.put(f"({{}}) AS {name}"), columns)
        table = self._draw(st.sampled_from(sorted(TABLES)))
        columns = tuple((name, column, type) for column, type in TABLES[table])
        return From(Texts.same(f"{table} AS {name}"), columns)

    def _semi(self, left: From, depth: int) -> From:
        right = self._source(depth)
        kind = self._draw(st.sampled_from(["SEMI", "ANTI"]))
        on = " AND ".join(self._conjuncts(left.columns, right.columns))
        word = "EXISTS" if kind == "SEMI" else "NOT EXISTS"
        exists = f"{word} (SELECT 1 FROM {right.texts.theirs} WHERE {on})"
        found = Texts(f"{left.texts.ours} LEFT {kind} JOIN {right.texts.ours} ON {on}", left.texts.theirs)
        return replace(left, texts=found, conditions=(*left.conditions, Texts("1 = 1", exists)))

    def _where(self, source: From) -> Texts:
        found = [*source.conditions, *(self._filter(source) for _ in range(self._draw(st.sampled_from([0, 0, 1, 2]))))]
        if not found:
            return Texts.same("")
        return Texts(" WHERE " + " AND ".join(one.ours for one in found), " WHERE " + _theirs(found))

    def _filter(self, source: From) -> Texts:
        return self._partner(source) if self._chance(3) else Texts.same(self._condition(source.columns))

    def _partner(self, source: From) -> Texts:
        """EXISTS, NOT EXISTS or IN."""
        inner = self._joins(0, self._draw(st.integers(1, 2)))
        kind = self._draw(st.sampled_from(["EXISTS", "NOT EXISTS", "IN", "IN PAIR", "IN QUERY"]))
        if kind == "IN QUERY":
            outer = self._draw(st.sampled_from(source.columns))
            query = self.query(0, (outer[2],))
            return query.texts.put(f"{outer[0]}.{outer[1]} IN ({{}})")
        outers, values, conditions = [], [], list(inner.conditions)
        for _ in range(2 if kind == "IN PAIR" else 1):
            one, other = self._pair(source.columns, inner.columns)
            outers.append(one)
            values.append(other)
        if self._chance(2):
            conditions += [Texts.same(one) for one in self._conjuncts(inner.columns, source.columns, least=0)]
        if "EXISTS" in kind:
            conditions.append(Texts.same(f"{values[0]} = {outers[0]}"))
        tail = Texts.same("")
        if conditions:
            tail = Texts(" WHERE " + " AND ".join(one.ours for one in conditions), " WHERE " + _theirs(conditions))
        if "EXISTS" in kind:
            return inner.texts.put(f"{kind} (SELECT 1 FROM {{}}{{}})", tail)
        left = f"({', '.join(outers)})" if len(outers) > 1 else outers[0]
        return inner.texts.put(f"{left} IN (SELECT {', '.join(values)} FROM {{}}{{}})", tail)

    def _conjuncts(self, left: tuple[Column, ...], right: tuple[Column, ...], least: int = 1) -> list[str]:
        found = [self._equality(left, right) for _ in range(self._draw(st.sampled_from([least, least, 1, 2])))]
        found += [self._condition((*left, *right)) for _ in range(self._draw(st.sampled_from([0, 1, 1, 2])))]
        return self._draw(st.permutations(found))

    def _equality(self, left: tuple[Column, ...], right: tuple[Column, ...]) -> str:
        pair = self._pair(left, right)
        return " = ".join(pair if self._draw(st.booleans()) else pair[::-1])

    def _pair(self, left: tuple[Column, ...], right: tuple[Column, ...]) -> tuple[str, str]:
        pairs = [(one, other) for one in left for other in right if one[2] == other[2]]
        one, other = self._draw(st.sampled_from(pairs))
        return _written(one), _written(other)

    def _condition(self, columns: tuple[Column, ...]) -> str:
        one = self._draw(st.sampled_from(columns))
        others = [other for other in columns if other[2] == one[2]]
        other = _written(self._draw(st.sampled_from(others)))
        value = self._draw(st.sampled_from([other, other, *CONSTANTS[one[2]]]))
        forms = ["{0} {2} {1}", "{0} IS NULL", "{0} IS NOT NULL", "({0} {2} {1} OR {1} IS NULL)", "NOT {0} = {1}"]
        if one[2] == INT:
            forms += ["{0} + 1 {2} {1}", "COALESCE({0}, 1) {2} {1}"]
        forms += ["{0} IS NOT DISTINCT FROM {1}"]
        operator = self._draw(st.sampled_from(["=", "<>", "<=", ">="]))
        return self._draw(st.sampled_from(forms)).format(_written(one), value, operator)

    def _value(self, source: From, type: str, *, constants: bool = True) -> str:
        names = [_written(column) for column in source.columns if column[2] == type]
        counts = [name for _, name, _ in source.columns]
        # A name that only one source has needs no source in front of it, and neither does a column of USING.
        names += [name for _, name, found in source.columns if found == type and counts.count(name) == 1]
        names += [name for name, found in source.merged if found == type] * 3
        return self._draw(st.sampled_from([*names, *names, *(CONSTANTS[type] if constants else ())]))

    def _chance(self, of: int) -> bool:
        return self._draw(st.integers(1, of)) == 1


def _written(column: Column) -> str:
    return f"{column[0]}.{column[1]}"


def _theirs(conditions: list[Texts]) -> str:
    return " AND ".join(one.theirs for one in conditions)


@st.composite
def join_queries(draw: st.DrawFn) -> Select:
    return Writer(draw).query(draw(st.integers(0, 2)))

"""Random texts of views over one small table and over each other, within what the oracle can compute."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

TABLE = """
CREATE TABLE Events (
  id BIGINT PRIMARY KEY, kind STRING, n BIGINT, m INT, price DECIMAL(10,2), x DOUBLE, words STRING,
  moment TIMESTAMP, live BOOLEAN
)
"""
CELLS: dict[str, st.SearchStrategy[Any]] = {
    "id": st.integers(0, 9),
    "kind": st.sampled_from(["a", "b", "", None]),
    "n": st.sampled_from([None, 0, 1, 2, 3, -1, 2**62, 2**63 - 1, -(2**63)]),
    "m": st.sampled_from([None, 0, 1, -2, 3, 2**31 - 1]),
    "price": st.sampled_from([None, 0, 125, 999, -250, 10**10 - 1]),
    "x": st.sampled_from([None, 0.0, -0.0, 0.5, 2.25, -8.0, float("nan"), float("inf"), float("-inf")]),
    "words": st.sampled_from([None, "", "red fish", "Red, red fish!", "12", " 7 ", "99999999999999999999"]),
    "moment": st.sampled_from([None, 0, 29_999_999, 30_000_000, 60_000_000, -1, 3_600_000_000]),
    "live": st.sampled_from([None, True, False]),
}
Columns = tuple[tuple[str, str], ...]
"""Names and kinds of types."""


@dataclass(frozen=True)
class Text:
    """A CREATE statement in pieces; with another condition it still shows the same columns."""

    head: str
    source: str
    where: str
    tail: str

    def create(self, name: str, *, replacing: bool = False) -> str:
        begin = "CREATE OR REPLACE" if replacing else "CREATE"
        where = f" WHERE {self.where}" if self.where else ""
        return f"{begin} {self.head.format(name=name)} FROM {self.source}{where}{self.tail}"


@st.composite
def texts(draw: st.DrawFn, source: str, columns: Columns) -> Text:
    """A view of a table or view that has these columns."""
    where = draw(st.one_of(st.just(""), conditions(columns)))
    kind = draw(st.sampled_from(["rows", "groups", "groups", "nested"]))
    if kind == "rows":
        return draw(_rows(source, columns, where))
    if kind == "nested":
        text, shown = draw(_grouped(source, columns, where))
        inner = f"({text.create('inner').split(' AS ', 1)[1]}) AS inner_rows"
        if shown:
            return draw(_rows(inner, shown, draw(st.one_of(st.just(""), conditions(shown)))))
        return text
    return draw(_grouped(source, columns, where))[0]


def with_condition(text: Text, columns: Columns) -> st.SearchStrategy[Text]:
    """The same view of fewer, or other, rows."""
    return conditions(columns).map(lambda where: replace(text, where=where))


@st.composite
def indexes(draw: st.DrawFn, source: str, columns: Columns) -> str:
    """What comes behind the name of a CREATE INDEX."""
    names = draw(st.lists(st.sampled_from([name for name, _ in columns]), min_size=1, max_size=3, unique=True))
    keys = [name + draw(st.sampled_from(["", " DESC"])) for name in names]
    strings = [name for name, type in columns if type == "STRING"]
    if strings and draw(st.booleans()):
        taken = {name for name, _ in columns}
        word = next(name for name in map("word{}".format, range(100)) if name not in taken)
        keys.insert(0, f"TOKENS({draw(st.sampled_from(strings))}) AS {word}")
    others = [name for name, _ in columns if name not in names]
    included: list[str] = draw(st.lists(st.sampled_from(others), max_size=2, unique=True)) if others else []
    return f"ON {source} ({', '.join(keys)})" + (f" INCLUDE ({', '.join(included)})" if included else "")


@st.composite
def _rows(draw: st.DrawFn, source: str, columns: Columns, where: str) -> Text:
    exprs = draw(st.lists(values(columns), min_size=1, max_size=3))
    items = ", ".join(f"{text} AS r{number}" for number, (text, _) in enumerate(exprs))
    distinct = draw(st.sampled_from(["", "", "DISTINCT "]))
    ordered = [f"r{number}" for number, (_, type) in enumerate(exprs) if type != "DOUBLE"]
    key = ""
    if ordered and draw(st.booleans()):
        key = f" KEY ({', '.join(draw(st.lists(st.sampled_from(ordered), min_size=1, unique=True)))})"
    return Text(f"MATERIALIZED VIEW {{name}}{key} AS SELECT {distinct}{items}", source, where, "")


@st.composite
def _grouped(draw: st.DrawFn, source: str, columns: Columns, where: str) -> tuple[Text, Columns]:
    """The view, and those of its columns that another one may read: no sums of DOUBLE."""
    groups = [
        (f"g{number}", type, text)
        for number, (text, type) in enumerate(draw(st.lists(values(columns), max_size=2)))
        if any(name in text for name, _ in columns)
    ]
    moments = [name for name, type in columns if type == "TIMESTAMP"]
    if moments and draw(st.integers(0, 3)) == 0:
        slide = draw(st.sampled_from(["", ", '30 s'", ", '45 s'"]))
        groups.append(("epoch", "TIMESTAMP", f"WINDOW({moments[0]}, '1 minute'{slide})"))
    calls = draw(st.lists(_aggregates(columns), min_size=0 if groups else 1, max_size=3))
    items = [f"{text} AS {name}" for name, _, text in groups]
    items += [f"{text} AS a{number}" for number, (text, _) in enumerate(calls)]
    tail = ""
    if groups:
        sets = draw(st.sampled_from(["{}", "{}", "{}", "CUBE ({})", "ROLLUP ({})"]))
        tail = " GROUP BY " + sets.format(", ".join(text for _, _, text in groups))
    if draw(st.integers(0, 2)) == 0:
        tail += f" HAVING {draw(_having(columns))}"
    shown = [(name, type) for name, type, _ in groups]
    shown += [(f"a{number}", type) for number, (_, type) in enumerate(calls) if type]
    return Text(f"MATERIALIZED VIEW {{name}} AS SELECT {', '.join(items)}", source, where, tail), tuple(shown)


def _having(columns: Columns) -> st.SearchStrategy[str]:
    exact = [name for name, type in columns if type in ("BIGINT", "INT", "DECIMAL")]
    least = st.integers(0, 2).map("COUNT(*) > {}".format)
    if not exact:
        return least
    return st.one_of(
        least,
        st.sampled_from(exact).map("MAX({}) IS NULL".format),
        st.sampled_from(exact).map("SUM({}) > 1".format),
        st.sampled_from(exact).map("COUNT(DISTINCT {}) <> 1".format),
    )


_RESULT = {"INT": "BIGINT", "BIGINT": "BIGINT", "DECIMAL": "DECIMAL"}


@st.composite
def _aggregates(draw: st.DrawFn, columns: Columns) -> tuple[str, str]:
    """An aggregate and the kind of its type; "" where others may not read it."""
    if draw(st.integers(0, 3)) == 0:
        return "COUNT(*)", "BIGINT"
    text, type = draw(values(columns))
    if not any(name in text for name, _ in columns):
        return "COUNT(*)", "BIGINT"
    holistic = ["COUNT({})", "COUNT(DISTINCT {})", "MIN({})", "MAX({})"]
    additive = ["SUM({})", "AVG({})", "VARIANCE({})", "STDDEV_POP({})"]
    chosen = draw(st.sampled_from(holistic + additive if type in (*_RESULT, "DOUBLE") else holistic))
    if chosen.startswith("COUNT"):
        result = "BIGINT"
    elif chosen.startswith("M"):
        result = type
    elif chosen.startswith("SUM"):
        result = _RESULT.get(type, "")
    else:
        result = ""
    return chosen.format(text), result


@st.composite
def values(draw: st.DrawFn, columns: Columns) -> tuple[str, str]:
    """An expression and the kind of its type. Some fail on some rows: division by zero, overflow, bad casts."""
    whole = [(name, type) for name, type in columns if type in ("BIGINT", "INT")]
    strings = [name for name, type in columns if type == "STRING"]
    moments = [name for name, type in columns if type == "TIMESTAMP"]
    kind = draw(st.sampled_from(["column", "column", "column", "number", "case", "cast", "epoch"]))
    if kind == "number" and whole:
        (left, left_type), (right, right_type) = draw(st.sampled_from(whole)), draw(st.sampled_from(whole))
        type = "BIGINT" if "BIGINT" in (left_type, right_type) else "INT"
        operator = draw(st.sampled_from(["+", "-", "*", "%", "DIV"]))
        return f"({left} {operator} {right})", "BIGINT" if operator == "DIV" else type
    if kind == "case" and whole:
        name, type = draw(st.sampled_from(whole))
        condition = draw(conditions(columns))
        return f"CASE WHEN {condition} THEN {name} ELSE {name} + 1 END", type
    if kind == "cast" and strings:
        return f"CAST({draw(st.sampled_from(strings))} AS BIGINT)", "BIGINT"
    if kind == "epoch" and moments:
        name = draw(st.sampled_from(moments))
        return f"({name} - {name} % 60000)", "TIMESTAMP"
    return draw(st.sampled_from(columns))


@st.composite
def conditions(draw: st.DrawFn, columns: Columns) -> str:
    """Comparisons, IS NULL, AND, OR, NOT; a division may fail in it."""
    kind = draw(st.sampled_from(["null", "compare", "compare", "both", "not", "failing"]))
    if kind == "both":
        return f"({draw(conditions(columns))} {draw(st.sampled_from(['AND', 'OR']))} {draw(conditions(columns))})"
    if kind == "not":
        return f"(NOT {draw(conditions(columns))})"
    whole = [name for name, type in columns if type in ("BIGINT", "INT")]
    if kind == "compare" and whole:
        operator = draw(st.sampled_from(["=", "<>", "<", ">="]))
        return f"({draw(st.sampled_from(whole))} {operator} {draw(st.integers(-1, 3))})"
    if kind == "failing" and whole:
        return f"(5 DIV {draw(st.sampled_from(whole))} > 1)"
    name, _ = draw(st.sampled_from(columns))
    return f"({name} IS {draw(st.sampled_from(['', 'NOT ']))}NULL)"

"""Random SELECTs that can be maintained, over the tables of tables.py."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from hypothesis import strategies as st

NUMBERS = ("INT", "BIGINT", "DECIMAL", "DOUBLE")
TYPES = (*NUMBERS, "STRING", "BOOLEAN", "DATE", "TIMESTAMP")
SOURCES: dict[str, tuple[tuple[str, str], ...]] = {
    "Items": (
        ("ItemID", "BIGINT"),
        ("Name", "STRING"),
        ("Price", "DECIMAL"),
        ("Weight", "DOUBLE"),
        ("Made", "DATE"),
        ("Seen", "TIMESTAMP"),
        ("Live", "BOOLEAN"),
        ("Stock", "INT"),
    ),
    "Tags": (("docId", "BIGINT"), ("tag", "STRING"), ("timestamp", "TIMESTAMP")),
    "k": (("a", "INT"), ("b", "STRING"), ("c", "DOUBLE"), ("v", "INT")),
}
CONSTANTS = {
    "INT": ("0", "7", "-3"),
    "BIGINT": ("3000000000", "CAST(5 AS BIGINT)"),
    "DECIMAL": ("1.5", "-0.05"),
    "DOUBLE": ("1e0", "2.5e-1"),
    "STRING": ("'x'", "'it''s'", "''"),
    "BOOLEAN": ("TRUE", "FALSE"),
    "DATE": ("DATE '2024-05-01'",),
    "TIMESTAMP": ("TIMESTAMP '2024-05-01 12:00:00'",),
}


@dataclass(frozen=True)
class Query:
    """A text, and the names and types of its columns that another query may use: none is a sum of DOUBLE."""

    text: str
    columns: tuple[tuple[str, str], ...]


@cache
def values(columns: tuple[tuple[str, str], ...], type: str, depth: int = 2) -> st.SearchStrategy[str]:
    """Expressions of one type."""
    names = [name for name, found in columns if found == type]
    simple = st.sampled_from([*names, *names, *CONSTANTS[type]])
    if depth == 0:
        return simple

    def of(kind: str) -> st.SearchStrategy[str]:
        return values(columns, kind, depth - 1)

    number = st.sampled_from(NUMBERS).flatmap(of)
    any_type = st.sampled_from(TYPES)
    common = [
        simple,
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, of("BOOLEAN"), of(type), of(type)),
        st.builds("COALESCE({}, NULL, {})".format, of(type), of(type)),
        st.builds("NULLIF({}, {})".format, of(type), of(type)),
        of(type).map("({})".format),
    ]
    special: dict[str, list[st.SearchStrategy[str]]] = {
        "INT": [
            st.builds("({} {} {})".format, of("INT"), st.sampled_from("+-*%"), of("INT")),
            st.builds("LENGTH({})".format, of("STRING")),
            st.builds("YEAR({})".format, st.sampled_from(["DATE", "TIMESTAMP"]).flatmap(of)),
            st.builds("-{}".format, of("INT").map("({})".format)),
        ],
        "BIGINT": [
            st.builds("({} DIV {})".format, of("INT"), of("BIGINT")),
            st.builds("({} - {})".format, of("TIMESTAMP"), of("TIMESTAMP")),
            st.builds("UNIX_MILLIS({})".format, of("TIMESTAMP")),
        ],
        "DECIMAL": [
            st.builds("({} * {})".format, of("DECIMAL"), of("INT")),
            st.builds("CAST({} AS DECIMAL(10,2))".format, number),
        ],
        "DOUBLE": [st.builds("({} / {})".format, of("INT"), of("DOUBLE")), number.map("CAST({} AS DOUBLE)".format)],
        "STRING": [
            st.builds("UPPER({})".format, of("STRING")),
            st.builds("({} || {})".format, of("STRING"), st.sampled_from(["STRING", "INT", "DATE"]).flatmap(of)),
            st.builds("SUBSTR({}, {})".format, of("STRING"), of("INT")),
        ],
        "BOOLEAN": [
            st.builds("({} AND {})".format, of("BOOLEAN"), of("BOOLEAN")),
            st.builds("(NOT {})".format, of("BOOLEAN")),
            st.builds("({} {} {})".format, number, st.sampled_from(["=", "<>", "<", ">=", "<=>"]), number),
            st.builds("({} IS NULL)".format, any_type.flatmap(of)),
            st.builds("({} LIKE 'a%')".format, of("STRING")),
            st.builds("({} IN ({}, {}, NULL))".format, of("STRING"), of("STRING"), of("STRING")),
            st.builds("({} BETWEEN {} AND '2024-06-01')".format, of("DATE"), of("DATE")),
        ],
        "DATE": [st.builds("({} + {})".format, of("DATE"), of("INT")), of("TIMESTAMP").map("CAST({} AS DATE)".format)],
        "TIMESTAMP": [
            st.builds("({} - {} % 60000)".format, of("TIMESTAMP"), of("TIMESTAMP")),
            st.builds("DATE_TRUNC('hour', {})".format, of("TIMESTAMP")),
        ],
    }
    return st.one_of(*common, *special[type])


@st.composite
def queries(draw: st.DrawFn, depth: int = 1) -> Query:
    """A SELECT of one source, which may be a sub-query."""
    source, columns = _source(draw, depth)
    where = draw(st.one_of(st.just(""), values(columns, "BOOLEAN").map(" WHERE {}".format)))
    if draw(st.booleans()):
        return _grouped(draw, source, columns, where, depth)
    distinct = draw(st.sampled_from(["", "", "DISTINCT "]))
    if draw(st.integers(0, 4)) == 0:
        # A sub-query may show a sum of DOUBLE, which DISTINCT refuses.
        return Query(f"SELECT {distinct if source in SOURCES else ''}* FROM {source}{where}", columns)
    types = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=4))
    shown = tuple((f"x{depth}_{number}", type) for number, type in enumerate(types))
    items = ", ".join(f"{draw(values(columns, type))} AS {name}" for name, type in shown)
    return Query(f"SELECT {distinct}{items} FROM {source}{where}", shown)


def _source(draw: st.DrawFn, depth: int) -> tuple[str, tuple[tuple[str, str], ...]]:
    if depth > 0 and draw(st.booleans()):
        inner = draw(queries(depth - 1).filter(lambda query: bool(query.columns)))
        return f"({inner.text}) AS s", inner.columns
    name = draw(st.sampled_from(sorted(SOURCES)))
    return name, SOURCES[name]


def _grouped(draw: st.DrawFn, source: str, columns: tuple[tuple[str, str], ...], where: str, depth: int) -> Query:
    # Output names differ between levels: GROUP BY takes a column before an output name.
    moments = [name for name, type in columns if type == "TIMESTAMP"]
    grouped = draw(st.lists(st.sampled_from(TYPES), max_size=3))
    groups = [(f"g{depth}_{number}", type, draw(values(columns, type, 1))) for number, type in enumerate(grouped)]
    # A constant is no group, and one that is hidden in parentheses is none either.
    groups = [(name, type, text) for name, type, text in groups if text.strip("()") not in _CONSTANTS]
    groups = [(name, type, text) for name, type, text in groups if any(column in text for column, _ in columns)]
    if moments and draw(st.integers(0, 3)) == 0:
        slide = draw(st.sampled_from(["", ", '30 s'", ", '45 s'"]))
        groups.append((f"w{depth}", "TIMESTAMP", f"WINDOW({moments[0]}, '1 minute'{slide})"))
    aggregates = draw(st.lists(_aggregates(columns), min_size=0 if groups else 1, max_size=3))
    items = [f"{text} AS {name}" for name, _, text in groups]
    items += [f"{text} AS n{depth}_{number}" for number, (text, _) in enumerate(aggregates)]
    text = f"SELECT {', '.join(items)} FROM {source}{where}"
    if groups:
        sets = draw(st.sampled_from(["{}", "{}", "CUBE ({})", "ROLLUP ({})"]))
        ways = [[name, str(place), written] for place, (name, _, written) in enumerate(groups, start=1)]
        text += " GROUP BY " + sets.format(", ".join(draw(st.sampled_from(way)) for way in ways))
    if draw(st.integers(0, 2)) == 0:
        text += f" HAVING COUNT(*) > {draw(st.integers(0, 5))}"
    shown = [(name, type) for name, type, _ in groups]
    shown += [(f"n{depth}_{number}", type) for number, (_, type) in enumerate(aggregates) if type]
    return Query(text, tuple(shown))


_CONSTANTS = {text for texts in CONSTANTS.values() for text in texts}


def _aggregates(columns: tuple[tuple[str, str], ...]) -> st.SearchStrategy[tuple[str, str]]:
    """Aggregates and the types of those that are exact."""

    def of(type: str) -> st.SearchStrategy[str]:
        return values(columns, type, 1)

    exact = st.sampled_from(["INT", "BIGINT", "DECIMAL"])
    return st.one_of(
        st.just(("COUNT(*)", "BIGINT")),
        st.sampled_from(TYPES).flatmap(of).map(lambda text: (f"COUNT(DISTINCT {text})", "BIGINT")),
        st.sampled_from(TYPES).flatmap(lambda type: of(type).map(lambda text: (f"MAX({text})", type))),
        exact.flatmap(of).map(lambda text: (f"SUM({text}) FILTER (WHERE TRUE)", "")),
        st.sampled_from(NUMBERS).flatmap(of).map(lambda text: (f"AVG({text}) + 1", "")),
        of("INT").map(lambda text: (f"SUM({text})", "BIGINT")),
        of("INT").map(lambda text: (f"STDDEV({text})", "")),
    )

"""Random conditions of joins: equalities, what may stand beside them, and sub-queries that ask for a partner."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.views.joinschemas import Columns


def is_number(type: str) -> bool:
    return type != "STRING"


def comparable(left: Columns, right: Columns) -> list[tuple[str, str]]:
    """The pairs of a column of each that can be compared; those of one type three times."""
    return [
        (one, other)
        for one, type in left
        for other, found in right
        if is_number(type) == is_number(found)
        for _ in range(3 if type == found else 1)
    ]


@st.composite
def equalities(draw: st.DrawFn, left: Columns, right: Columns) -> list[str]:
    """One or two equalities of a column of each side, written either way round; now and then of more than a column."""
    types = dict((*left, *right))
    found = []
    for one, other in draw(st.lists(st.sampled_from(comparable(left, right)), min_size=1, max_size=2)):
        text = f"COALESCE({one}, 0)" if types[one] == "INT" and draw(st.integers(0, 7)) == 0 else one
        sides = [text, other] if draw(st.booleans()) else [other, text]
        found.append(" = ".join(sides))
    return found


@st.composite
def conditions(draw: st.DrawFn, columns: Columns) -> str:
    """A condition other than an equality of two columns."""
    name, type = draw(st.sampled_from(columns))
    alike = [other for other, found in columns if found == type and other != name]
    match draw(st.sampled_from(["compare", "compare", "constant", "null", "either", "not"])):
        case "compare" if alike:
            return f"{name} {draw(st.sampled_from(['<>', '<', '>=']))} {draw(st.sampled_from(alike))}"
        case "either":
            return f"({draw(conditions(columns))} OR {draw(conditions(columns))})"
        case "not":
            return f"(NOT {draw(conditions(columns))})"
        case "null":
            return f"{name} IS {draw(st.sampled_from(['', 'NOT ']))}NULL"
    constant = str(draw(st.integers(0, 2))) if is_number(type) else draw(st.sampled_from(["'a'", "'b'"]))
    return f"{name} {draw(st.sampled_from(['=', '<>', '<', '>=']))} {constant}"


@st.composite
def existences(draw: st.DrawFn, outside: Columns, source: str, inside: Columns) -> str:
    """EXISTS, NOT EXISTS or IN over a source with these columns."""
    local = draw(st.lists(conditions(inside), max_size=1))
    kind = draw(st.sampled_from(["EXISTS", "NOT EXISTS", "IN"]))
    if kind == "IN":
        one, other = draw(st.sampled_from(comparable(outside, inside)))
        return f"{one} IN (SELECT {other} FROM {source}{' WHERE ' if local else ''}{' AND '.join(local)})"
    where = draw(equalities(outside, inside))
    if draw(st.integers(0, 2)) == 0:
        where.append(draw(conditions((*outside, *inside))))
    return f"{kind} (SELECT 1 FROM {source} WHERE {' AND '.join([*where, *local])})"

"""Scripts cut into statements."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewkeeper.cli.statements import split, split_all

CUT: list[tuple[str, list[str], str]] = [
    ("", [], ""),
    (" ; ;\n", [], ""),
    ("a; b", ["a"], "b"),
    ("a ';' ; b", ["a ';'"], "b"),
    ("a 'it''s;' ;", ["a 'it''s;'"], ""),
    ('a ";" `;` ;', ['a ";" `;`'], ""),
    ("a -- ;\nb;", ["a -- ;\nb"], ""),
    ("a /* ; */ b;", ["a /* ; */ b"], ""),
    ("-- only\n/* this */", [], ""),
    ("a;\n-- rest", ["a"], ""),
    ("a 'open; b", [], "a 'open; b"),
    ("a; /* open; b", ["a"], "/* open; b"),
    ("a-b; c/d; e:f", ["a-b", "c/d"], "e:f"),
]


@pytest.mark.parametrize(("script", "statements", "rest"), CUT)
def test_semicolons_outside_of_quotes_and_comments_cut(script: str, statements: list[str], rest: str) -> None:
    found, left = split(script)
    assert ([statement.text for statement in found], left) == (statements, rest)


def test_the_line_is_that_of_the_first_word() -> None:
    script = "a;\n\n-- comment\n  b\n c; d;\ne"
    assert [(statement.text, statement.line) for statement in split_all(script)] == [
        ("a", 1),
        ("b\n c", 4),
        ("d", 5),
        ("e", 6),
    ]


def test_the_last_statement_needs_no_semicolon() -> None:
    assert [statement.text for statement in split_all("a; b :x -- end")] == ["a", "b :x -- end"]
    assert split_all("a; b :x")[1].names == {"x"}


def test_an_open_quote_ends_the_script_as_one_statement() -> None:
    assert [(s.text, s.line) for s in split_all("a;\nb 'c;\nd")] == [("a", 1), ("b 'c;\nd", 2)]


def test_parameters_are_found_outside_of_quotes_and_comments() -> None:
    found = split_all("SELECT :a, ':b', \":c\" -- :d\n, x = :e_1 /* :f */ ; :g")
    assert [set(statement.names) for statement in found] == [{"a", "e_1"}, {"g"}]


@given(st.lists(st.sampled_from(["a", ";", "'", "''", '"', "`", "--", "/*", "*/", "\n", " ", ":x", "-", "/", ":"])))
def test_nothing_is_lost(pieces: list[str]) -> None:
    script = "".join(pieces)
    found, rest = split(script)
    place = 0
    for statement in found:
        # A comment in front may hold the same characters, on another line.
        starts = [at for at in range(place, len(script)) if script.startswith(statement.text, at)]
        on_its_line = [at for at in starts if script.count("\n", 0, at) + 1 == statement.line]
        assert on_its_line
        place = on_its_line[0] + len(statement.text)
    assert script.endswith(rest)
    assert len(split_all(script)) == len(found) + bool(rest)

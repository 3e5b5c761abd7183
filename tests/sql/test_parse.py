"""A text to statements: where one ends, what belongs to it, what is kept."""

from __future__ import annotations

import subprocess
import sys

import pytest

from viewkeeper.errors import SqlSyntax
from viewkeeper.sql.parse import parse


def test_statements_end_at_semicolons_and_know_their_own_text() -> None:
    text = "SELECT a FROM t ;\n DELETE FROM t WHERE a = ';' ; DROP TABLE t"
    assert [one.text for one in parse(text)] == ["SELECT a FROM t", "DELETE FROM t WHERE a = ';'", "DROP TABLE t"]


@pytest.mark.parametrize("text", ["", "  \n", ";", " ; ;; ", "-- nothing", "/* nothing */ ;", "; -- nothing\n;"])
def test_empty_statements_are_skipped(text: str) -> None:
    assert parse(text) == ()


def test_comments_may_stand_anywhere() -> None:
    text = "SELECT /* all */ a -- ; not an end\nFROM t /* ; */ WHERE a = '--no comment'"
    (one,) = parse(text)
    assert one.text == text


def test_named_parameters_are_those_of_their_own_statement() -> None:
    first, second = parse("SELECT * FROM t WHERE a = :x AND b = :y; SELECT * FROM t WHERE a = :x")
    assert [set(first.names), set(second.names)] == [{"x", "y"}, {"x"}]


def test_question_marks_are_numbered_through_the_whole_text() -> None:
    first, second = parse("INSERT INTO t VALUES (?, '?', ?); DELETE FROM t WHERE a = ?")
    assert (first.numbers, second.numbers) == ((0, 1), (2,))


@pytest.mark.parametrize("name", ["id", "limit", "from", "order", "select", "Key", "n1", "_x", "é"])
def test_a_parameter_may_have_any_word_as_its_name(name: str) -> None:
    (one,) = parse(f"SELECT * FROM t WHERE a = :{name} LIMIT :{name}")
    assert one.names == {name}


FOREIGN = ["$1", "$name", "${id}", "@id", "%s", "%(id)s", "#{id}", "{id}", "{{id}}", ":1", "?1"]


@pytest.mark.parametrize("written", FOREIGN)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM t WHERE a = {}",
        "SELECT a FROM t WHERE a IN ({}, 2)",
        "UPDATE t SET a = {} WHERE b = 1",
        "INSERT INTO t VALUES ({}, 1)",
        "SELECT a FROM t WHERE a = 1 LIMIT {}",
    ],
)
def test_parameters_of_other_databases_are_told_how_to_write_them(text: str, written: str) -> None:
    with pytest.raises(SqlSyntax) as caught:
        parse(text.replace("{}", written))
    assert caught.value.hint.startswith(f"{written} is a parameter of another database; here it is written :name")


@pytest.mark.parametrize("text", ["SELECT a %s FROM t", "SELECT '%s', \"$1\" FROM t", "SELECT a FROM t WHERE a = ?"])
def test_what_looks_like_one_and_is_none_is_read(text: str) -> None:
    assert len(parse(text)) == 1
    with pytest.raises(SqlSyntax) as caught:
        parse(f"{text} FROM")
    assert "another database" not in caught.value.hint


def test_the_same_text_is_parsed_once() -> None:
    assert parse("SELECT a FROM once") is parse("SELECT a FROM once")


def test_a_long_text_is_not_kept() -> None:
    text = "INSERT INTO t VALUES " + ", ".join(f"({number})" for number in range(2000))
    assert parse(text) is not parse(text)


def test_a_long_chain_of_and_is_read() -> None:
    (one,) = parse("DELETE FROM t WHERE " + " AND ".join(["a = 1"] * 3000))
    assert one.text.endswith("a = 1")


@pytest.mark.parametrize("text", ["SELECT * FROM t WHERE a = " + "(" * 5000, "DELETE FROM t WHERE " + "NOT " * 5000])
def test_a_text_nested_too_deeply_is_a_syntax_error(text: str) -> None:
    with pytest.raises(SqlSyntax, match="nested too deeply"):
        parse(text + "1")


def test_a_long_line_is_cut_around_the_caret() -> None:
    with pytest.raises(SqlSyntax) as caught:
        parse("SELECT " + ", ".join(f"column_{number}" for number in range(200)) + ", FROM t")
    _, line, caret = caught.value.detail.split("\n")
    assert len(line) <= 100
    assert line[caret.index("^") :].startswith("FROM t")


def test_the_caret_stands_right_below_a_line_with_tabs() -> None:
    with pytest.raises(SqlSyntax) as caught:
        parse("SELECT *\n\tFROM\tt WHERE @x = 1")
    _, line, caret = caught.value.detail.split("\n")
    assert (line, caret) == ("    \tFROM\tt WHERE @x = 1", "    \t    \t        ^")


def test_sqlglot_is_imported_when_the_first_text_is_parsed_and_not_before() -> None:
    program = (
        "import sys, viewkeeper.sql.statements, viewkeeper.sql.bind, viewkeeper.sql.parse as p\n"
        "assert 'sqlglot' not in sys.modules\n"
        "p.parse('SELECT a FROM t')\n"
        "assert 'sqlglot' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)

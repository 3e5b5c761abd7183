"""Every refusal says what, where, why and what to write instead, in the words of golden/*.txt."""

from __future__ import annotations

import pytest

from tests.sql.golden import cases, error_of, files
from viewkeeper.model.schema import Table
from viewkeeper.sql.bind import bind
from viewkeeper.sql.parse import parse
from viewkeeper.sql.refused_statements import INSTEAD, OBJECTS

CASES = [
    pytest.param(text, file.stem, error, id=f"{file.stem}:{text}") for file in files() for text, error in cases(file)
]
UNSUPPORTED = [case for case in CASES if str(case.values[2]).startswith("sql.unsupported")]


@pytest.mark.parametrize(("text", "kind", "error"), CASES)
def test_a_refused_text_gives_its_error_word_for_word(text: str, kind: str, error: str) -> None:
    assert error_of(text, kind) == error


@pytest.mark.parametrize(("text", "kind", "error"), UNSUPPORTED)
def test_what_is_not_supported_has_a_place_a_reason_and_an_alternative(text: str, kind: str, error: str) -> None:
    _, message, detail, hint = error.split("\n")
    assert message[0] not in "\"'"
    assert ", at line " in message
    assert detail.startswith("  detail: ")
    assert hint.startswith("  hint: ")
    assert detail.endswith(".")
    assert hint.endswith(".")


@pytest.mark.parametrize("word", sorted(INSTEAD))
def test_a_statement_of_another_database_is_refused_by_name(word: str) -> None:
    code, message, *_ = error_of(f"{word.lower()} x").split("\n")
    assert (code, message) == ("sql.unsupported", f"{word} is not supported, at line 1, column 1")


@pytest.mark.parametrize("kind", sorted(OBJECTS))
@pytest.mark.parametrize("verb", ["CREATE", "ALTER", "DROP"])
def test_an_object_other_than_a_table_is_refused_by_name(verb: str, kind: str) -> None:
    code, message, *_ = error_of(f"{verb} {kind} x").split("\n")
    assert code == "sql.unsupported"
    assert message.startswith(f"{verb} {kind}")


def test_nothing_is_looked_up_for_a_query_that_no_table_could_answer() -> None:
    def never(name: str) -> Table:
        raise AssertionError(name)

    (parsed,) = parse("SELECT a FROM k GROUP BY a")
    with pytest.raises(Exception, match="GROUP BY is not supported"):
        bind(parsed, never, None)

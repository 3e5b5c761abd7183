"""What a query cannot join is refused in the words of golden/joins.txt, with what would answer it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import viewkeeper as vk
from tests.read.refusals import FILE, database, error_of
from tests.sql.golden import cases

CASES = [pytest.param(text, error, id=text) for text, error in cases(FILE)]
CURED = [(text, found[1]) for text, error in cases(FILE) if (found := re.search(r"[Rr]un (CREATE .*?)[,;] or ", error))]


@pytest.fixture(scope="module")
def db() -> Iterator[vk.Database]:
    with database() as opened:
        yield opened


@pytest.mark.parametrize(("text", "error"), CASES)
def test_a_join_that_cannot_be_answered_gives_its_error_word_for_word(db: vk.Database, text: str, error: str) -> None:
    assert error_of(db, text) == error


@pytest.mark.parametrize(("text", "ddl"), [pytest.param(text, ddl, id=text) for text, ddl in CURED])
def test_the_join_index_that_an_error_names_answers_the_query(text: str, ddl: str) -> None:
    with database() as db:
        db.execute(ddl)
        told = error_of(db, text)
        # Some have their key to be fixed as well, and no more than that.
        assert told == "accepted" or ("whose key is not fixed" in told and "CREATE" not in told)


def test_there_are_join_indexes_to_try() -> None:
    assert len(CURED) >= 6

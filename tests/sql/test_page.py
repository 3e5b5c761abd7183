"""docs/sql.md says what is so: its examples run, its refusals are refused, its lists are complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.sql.tables import Catalog
from viewkeeper.errors import Unsupported
from viewkeeper.sql.dialect import StatementParser
from viewkeeper.sql.parse import parse
from viewkeeper.sql.reader import RESERVED
from viewkeeper.sql.type_names import DECIMAL, SIMPLE

PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
REFUSED = re.findall(r"^\| `(.+?)` \| .+ \|$", PAGE.partition("## What is refused")[2], re.MULTILINE)
TEXTS_IN_PYTHON = re.findall(r'db\.\w+\("(.+?)"', PAGE)


@pytest.fixture(scope="module")
def tables() -> Catalog:
    """The tables of the page, after all of its examples."""
    return Catalog(*EXAMPLES)


def test_every_statement_has_an_example(tables: Catalog) -> None:
    begun = {tuple(one.text.upper().split()[:2]) for example in EXAMPLES for one in parse(example)}
    for words in StatementParser.READERS:
        assert any(first[: len(words)] == words for first in begun), words


@pytest.mark.parametrize("text", TEXTS_IN_PYTHON)
def test_an_example_in_python_is_sql_that_is_accepted(tables: Catalog, text: str) -> None:
    values = {"id": 3, "ids": [1, 2, 3], "n": 2}
    (parsed,) = parse(text)
    params = {name: values[name] for name in parsed.names} if parsed.names else [3, "it's", 9.99]
    tables.run(text, params)


@pytest.mark.parametrize("text", REFUSED)
def test_what_the_page_says_is_refused_is_refused(tables: Catalog, text: str) -> None:
    with pytest.raises(Unsupported):
        tables.run(text)


def test_the_page_lists_every_type_name() -> None:
    section = PAGE.partition("## Types")[2].partition("##")[0]
    named = {name.partition("(")[0] for name in re.findall(r"`([A-Z]+(?:\(p,s\))?)`", section)}
    assert named == {*SIMPLE, *DECIMAL}


def test_the_page_lists_every_reserved_word() -> None:
    listed = PAGE.partition("Reserved words:")[2].partition(".")[0]
    assert sorted(listed.replace(",", " ").split()) == sorted(RESERVED)

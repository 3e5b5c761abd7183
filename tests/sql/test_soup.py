"""Texts of words in no order: each is understood or refused with one of our errors, and never fails otherwise."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.sql import plans
from tests.sql.golden import cases, files
from tests.sql.tables import catalog
from viewkeeper.errors import ViewkeeperError
from viewkeeper.plan.filling import ANY_LENGTH, filled
from viewkeeper.plan.show import show
from viewkeeper.sql.bind import query_of
from viewkeeper.sql.parse import parse

WORD = re.compile(r"'[^']*'|X'\w*'|:\w+|[\w.]+|\S")
TEXTS = [WORD.findall(text) for file in files() for text, _ in cases(file)]
TEXTS += [WORD.findall(text) for file in plans.files() for text, _ in plans.cases(file)]
WORDS = sorted({word for text in TEXTS for word in text} | {"INTERVAL", "PIVOT", "->", "::", "||", "[", "]", "{", "}"})

QUERIES = [
    text[text.index("SELECT") :]
    for file in plans.files()
    for text in (WORD.findall(case) for case, _ in plans.cases(file))
    if text.count("CREATE") == text.count("SELECT") == 1
]
PARAMETERS = [":p", ":p", ":q", "?", "CAST ( :p AS INT )"]
CONDITIONS = [
    "Stock IN :r MAX 3",
    "( :p IS NULL OR Name = :p )",
    "TOKENS ( Name ) = :p",
    "a = :p",
    ":p < v",
    "docId > ?",
]


@st.composite
def _soups(draw: st.DrawFn) -> str:
    """A text of the golden files, refused or accepted, with a few words put in, taken out or exchanged."""
    words = list(draw(st.sampled_from(TEXTS)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(words)))
        words[place : place + draw(st.integers(0, 2))] = draw(st.lists(st.sampled_from(WORDS), max_size=2))
    return " ".join(words)


def _refusal(text: str) -> str:
    """The error of a text, or nothing if it is bound; anything but one of our errors is a failure."""
    try:
        parsed = parse(text)
        names = {name for one in parsed for name in one.names}
        count = sum(len(one.numbers) for one in parsed)
        catalog().run(text, dict.fromkeys(names, 1) if names else [1] * count)
    except ViewkeeperError as error:
        return str(error)
    return ""


@st.composite
def _queries(draw: st.DrawFn) -> str:
    """The query of a view with parameters in the place of some of its words, and one more condition."""
    words = list(draw(st.sampled_from(QUERIES)))
    values = [place for place, word in enumerate(words) if place and not word.isupper() and word[0] not in "(),=<>+*"]
    for place in draw(st.lists(st.sampled_from(values), max_size=2)):
        words[place] = draw(st.sampled_from(PARAMETERS))
    if "WHERE" in words:
        words.insert(words.index("WHERE") + 1, f"{draw(st.sampled_from(CONDITIONS))} AND")
    return " ".join([*words, draw(st.sampled_from(["", "LIMIT :n", "LIMIT :n MAX 5", "ORDER BY 1 DESC LIMIT 7"]))])


@given(_queries())
def test_a_query_with_parameters_anywhere_is_bound_or_refused(text: str) -> None:
    tables = catalog()
    try:
        (parsed,) = parse(text)
        found = query_of(parsed, tables.find)
    except ViewkeeperError:
        return
    keys = {parameter.key for parameter in found.parameters}
    assert keys == {*parsed.names, *parsed.numbers}
    used = [(parameter.key, parameter.element) for parameter in found.parameters]
    lists = {(key, ANY_LENGTH): (None, 1) for key, element in used if element is not None}
    values: dict[tuple[str | int, int | None], Any] = {**dict.fromkeys(used), **lists}
    assert ":p" not in show(filled(found.plan, values))
    assert len(found.plan.fields) >= len(found.columns)


@given(_soups())
def test_a_text_of_any_words_is_bound_or_refused(text: str) -> None:
    assert not re.search(r"sqlglot|TokenType|class '", _refusal(text))


@given(st.text(alphabet=st.sampled_from("ab1'\"`;:?().,*-/\\ \n\t\0é_=<>{}[]%#@$&|!~^xX")))
def test_a_text_of_any_characters_is_bound_or_refused(text: str) -> None:
    for beginning in ("", "SELECT ", "SELECT * FROM k WHERE a = "):
        assert "sqlglot" not in _refusal(beginning + text)

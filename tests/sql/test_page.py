"""docs/sql.md says what is so: its examples run, its refusals are refused, its lists are complete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

import viewkeeper as vk
from viewkeeper.errors import Unsupported
from viewkeeper.plan.functions import FUNCTIONS
from viewkeeper.sql.dialect import StatementParser
from viewkeeper.sql.maintain import Mode
from viewkeeper.sql.parse import parse
from viewkeeper.sql.query import over, refused, whole
from viewkeeper.sql.query.spellings import AGGREGATES, FORMS, NAMES, PARTS
from viewkeeper.sql.reader import RESERVED
from viewkeeper.sql.type_names import DECIMAL, SIMPLE

PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
REFUSED = re.findall(r"^\| `(.+?)` \| .+ \|$", PAGE.partition("## What is refused")[2], re.MULTILINE)
TEXTS_IN_PYTHON = re.findall(r'db\.\w+\("(.+?)"', PAGE)


def _section(heading: str) -> str:
    return re.split(r"^##+ ", PAGE.partition(heading + "\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[vk.Database]:
    """A database with the tables and views of the page, after all of its examples."""
    with vk.open(tmp_path_factory.mktemp("page") / "db", durability="os") as db:
        for example in EXAMPLES:
            db.execute(example)
        yield db


def test_every_statement_has_an_example(shop: vk.Database) -> None:
    begun = {tuple(one.text.upper().split()[:3]) for example in EXAMPLES for one in parse(example)}
    for words in StatementParser.READERS:
        assert any(first[: len(words)] == words for first in begun), words


@pytest.mark.parametrize("text", TEXTS_IN_PYTHON)
def test_an_example_in_python_is_sql_that_is_accepted(shop: vk.Database, text: str) -> None:
    values = {"id": 3, "ids": [1, 2, 3], "n": 2}
    (parsed,) = parse(text)
    params = {name: values[name] for name in parsed.names} if parsed.names else [3, "it's", Decimal("9.99")]
    shop.execute(text, params)


def _params(text: str) -> dict[str, int] | None:
    return {"id": 1} if ":id" in text else None


@pytest.mark.parametrize("text", REFUSED)
def test_what_the_page_says_is_refused_is_refused(shop: vk.Database, text: str) -> None:
    with pytest.raises(Unsupported):
        shop.execute(text, _params(text))


UNBOUNDED, MEANINGLESS = (
    re.findall(r"^\| `(.+?)` \| .+ \|$", part, re.MULTILINE)
    for part in _section("### Of queries").split("What has no meaning")
)


@pytest.mark.parametrize("text", UNBOUNDED)
def test_a_query_that_is_refused_for_its_work_runs_where_that_is_allowed(shop: vk.Database, text: str) -> None:
    with pytest.raises(vk.Unbounded):
        shop.query(text)
    assert shop.query(text, allow_scan=True).meta.path == "scan"


@pytest.mark.parametrize("text", MEANINGLESS)
def test_a_query_that_is_refused_for_its_meaning_is_refused_everywhere(shop: vk.Database, text: str) -> None:
    with pytest.raises(Unsupported) as told:
        shop.query(text, allow_scan=True)
    assert not isinstance(told.value, vk.Unbounded)


def test_the_queries_of_the_page_have_the_bounds_that_it_says(shop: vk.Database) -> None:
    first, as_stored = re.findall(r"^```sql\n(.*?)^```$", _whole("## SELECT"), re.MULTILINE | re.DOTALL)
    looked_up, side_by_side = re.findall(
        r"^```sql\n(.*?)^```$", _whole("## SELECT of several tables"), re.MULTILINE | re.DOTALL
    )
    bounded, *others = [one.text for one in parse(side_by_side) if one.text.startswith("SELECT")]
    for text in [one.text for one in (*parse(first), *parse(looked_up))] + [bounded]:
        shop.query(text).all()
    for text in (*others, as_stored):
        with pytest.raises(vk.Unbounded):
            shop.query(text)
        shop.query(text, allow_scan=True).all()


REASONS = re.findall(r"^\| `(.+?)` \| (.+?) \| .+ \|$", PAGE.partition("### Of views")[2], re.MULTILINE)


def test_every_refused_construct_of_views_has_its_reason() -> None:
    of_views = re.findall(r"^\| `(.+?)` \|", PAGE.partition("### Of views")[2], re.MULTILINE)
    assert [text for text, _ in REASONS] == of_views
    assert len(of_views) > 60


@pytest.mark.parametrize(("text", "reason"), REASONS)
def test_the_reason_on_the_page_is_the_one_that_the_error_gives(shop: vk.Database, text: str, reason: str) -> None:
    with pytest.raises(Unsupported) as told:
        shop.execute(text, _params(text))
    # Of a statement that is none of ours the error lists ours.
    assert told.value.detail == reason or told.value.detail.startswith("The statements are ")


def test_the_page_lists_every_type_name() -> None:
    section = PAGE.partition("## Types")[2].partition("##")[0]
    named = {name.partition("(")[0] for name in re.findall(r"`([A-Z]+(?:\(p,s\))?)`", section)}
    assert named == {*SIMPLE, *DECIMAL}


def _whole(heading: str) -> str:
    """A section with those below it."""
    return re.split(r"^## ", PAGE.partition(heading + "\n")[2], maxsplit=1, flags=re.MULTILINE)[0]


def _words(text: str) -> set[str]:
    return set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", text))


def test_the_page_lists_every_refused_function() -> None:
    listed = _section("### Functions")
    assert set(refused.FUNCTIONS) <= _words(listed)
    assert _words(listed) - set(refused.FUNCTIONS) <= {
        *{"MIN", "MAX", "COUNT", "DISTINCT", "KEY", "CASE", "CAST", "BUCKET", "CREATE", "INDEX", "NULL"}
    }


def test_the_page_lists_every_other_spelling_of_a_function() -> None:
    listed = _words(_section("### Expressions"))
    own = {name.upper() for name in FUNCTIONS}
    assert {*FORMS, *(NAMES.keys() - own), *PARTS} <= listed


def test_the_page_lists_every_aggregate() -> None:
    assert AGGREGATES.keys() <= _words(_section("### Groups"))


def test_the_page_lists_what_is_computed_whole() -> None:
    assert {*over.RANKS, *over.NEIGHBOURS, *whole.PERCENTILES} <= _words(_section("### Computed whole"))


def test_the_page_lists_every_mode() -> None:
    assert set(map(str, Mode)) <= _words(_section("## CREATE VIEW"))


@pytest.mark.parametrize("clause", sorted(refused.CLAUSES))
def test_the_page_has_an_example_of_every_refused_clause(clause: str) -> None:
    name = refused.CLAUSES[clause].name
    shown = {"a past version": "VERSION", "a qualified table name": "other.", "WINDOW clause": "WINDOW w"}
    unread = {"MATCH_RECOGNIZE", "CONNECT BY", "INTO"}
    assert name in unread or shown.get(name, name) in _section("### Of views")


def test_the_page_lists_every_reserved_word() -> None:
    listed = PAGE.partition("Reserved words:")[2].partition(".")[0]
    assert sorted(listed.replace(",", " ").split()) == sorted(RESERVED)

"""The queries of the paper on PIQL, over documents whose answers are counted by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import viewkeeper as vk
from examples.tpcw.shop import named_queries
from tests.repo.tree import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = ROOT / "examples" / "piql"
QUERIES = named_queries((FOLDER / "queries.sql").read_text(encoding="utf-8"))
LEVELS = {
    "tagsOfDocument": "SI-0",
    "newestOfTag": "SI-1",
    "twoTags": "SI-2",
    "countTags": "SI-2",
    "docsPerTagWindowed": "SI-2",
    "popularTags": "SI-3",
}
START = datetime(2024, 5, 1, tzinfo=UTC)
TAGS = {number: [tag for tag in ("a", "b", "c", "d") if number % (ord(tag) - 95) == 0] for number in range(100)}
"""Every second document has a, every third b, every fourth c, every fifth d; one comes every second."""


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute((FOLDER / "schema.sql").read_text(encoding="utf-8"))
        for number, tags in TAGS.items():
            when = START + timedelta(seconds=number)
            db.put("Documents", {"docId": number, "timestamp": when, "text": ""})
            db.load("Tags", [{"docId": number, "tag": tag, "timestamp": when} for tag in tags])
        yield db


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_has_its_level(db: vk.Database, name: str) -> None:
    assert db.explain(QUERIES[name]).level == LEVELS[name]


def test_queries_of_tags_are_answered(db: vk.Database) -> None:
    def ask(name: str, **params: object) -> list[tuple[object, ...]]:
        prepared = db.prepare(QUERIES[name], create=True, maintain="SYNC", name=name)
        return [tuple(row.values()) for row in prepared(**params)]

    both = [number for number, tags in TAGS.items() if {"a", "b"} <= set(tags)]
    assert ask("twoTags", tag1="a", tag2="b") == [(number,) for number in sorted(both, reverse=True)[:5]]
    assert ask("newestOfTag", tag="d") == [(number,) for number in range(95, 45, -5)]
    assert sorted(tag for tag, _ in ask("tagsOfDocument", doc=60)) == ["a", "b", "c", "d"]
    counted = Counter(tag for tags in TAGS.values() for tag in tags)
    assert ask("countTags", tag="c") == [(counted["c"],)]
    minute = START + timedelta(minutes=1)
    assert ask("docsPerTagWindowed", minute=minute, tag="a") == [(20,)]


def test_popular_tags_are_those_of_the_newest(db: vk.Database, spark: SparkSession) -> None:
    popular = db.prepare(QUERIES["popularTags"].replace("5000", "30"), create=True, name="popularTags")
    for number in range(100, 106):
        db.put("Tags", {"docId": number, "tag": "new", "timestamp": START + timedelta(seconds=number)})
    db.maintain(spark=spark)
    newest = [tag for number in sorted(TAGS, reverse=True) for tag in TAGS[number]][:24]
    assert {row["tag"]: row["cnt"] for row in popular()} == Counter([*newest, *["new"] * 6])

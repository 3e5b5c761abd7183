"""Documents with tags as the paper on PIQL has them: Zipf with n = 2000 and s = 0.1, four a document, ten at most."""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

import pyarrow as pa

import viewkeeper as vk

SCHEMA = (Path(__file__).parent.parent / "examples" / "piql" / "schema.sql").read_text(encoding="utf-8")
TAGS, SKEW, MEAN, MOST = 2_000, 0.1, 4, 10
START = datetime(2024, 5, 1, tzinfo=UTC)
SLICE = 50_000
_SUMS = list(accumulate(rank**-SKEW for rank in range(1, TAGS + 1)))


def draw_tag(draw: random.Random) -> str:
    return f"tag{bisect(_SUMS, draw.random() * _SUMS[-1]):04}"


def draw_tags(draw: random.Random) -> set[str]:
    """One for sure and nine that each come with a chance of a third: four on average."""
    count = 1 + sum(draw.random() < (MEAN - 1) / (MOST - 1) for _ in range(MOST - 1))
    chosen: set[str] = set()
    while len(chosen) < count:
        chosen.add(draw_tag(draw))
    return chosen


@dataclass
class Tagged:
    """What was loaded; `counts` has the number of tags of each document."""

    tags: int = 0
    counts: list[int] = field(default_factory=list)


def fill(db: vk.Database, tags: int, seed: int = 1) -> Tagged:
    """Tables with at least so many tags."""
    db.execute(SCHEMA)
    made = Tagged()
    for documents, tagged in _pieces(tags, made, random.Random(seed)):
        db.load("Documents", documents)
        db.load("Tags", tagged)
    return made


def _pieces(tags: int, made: Tagged, draw: random.Random) -> Iterator[tuple[pa.Table, pa.Table]]:
    while made.tags < tags:
        first = len(made.counts)
        pairs: list[tuple[int, str]] = []
        while made.tags + len(pairs) < tags and len(pairs) < SLICE:
            chosen = draw_tags(draw)
            pairs += [(len(made.counts), tag) for tag in sorted(chosen)]
            made.counts.append(len(chosen))
        made.tags += len(pairs)
        numbers = range(first, len(made.counts))
        yield (
            pa.table(
                {
                    "docId": pa.array(numbers, pa.int64()),
                    "timestamp": _moments(list(numbers)),
                    "text": [f"document {number}" for number in numbers],
                }
            ),
            pa.table(
                {
                    "docId": pa.array([number for number, _ in pairs], pa.int64()),
                    "tag": [tag for _, tag in pairs],
                    "timestamp": _moments([number for number, _ in pairs]),
                }
            ),
        )


def moment(document: int) -> datetime:
    return START + timedelta(seconds=document)


def _moments(documents: list[int]) -> pa.Array:
    first = int(START.timestamp())
    return pa.array([first + number for number in documents], pa.int64()).cast(pa.timestamp("s", "UTC"))

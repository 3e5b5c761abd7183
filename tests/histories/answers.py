"""What one answer says: of which keys it decides what is there, and which boundaries can explain it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tests.histories.history import Cells, Read, Row
from tests.histories.model import Definition, Timeline, Truth


def said(timeline: Timeline, read: Read) -> Iterator[tuple[Cells, list[Row]]]:
    """The keys that an answer decides, with the rows that it has there; also keys that never were, if it has them.

    A scan decides all keys of its interval, up to the last row that it gave if that was its limit. Where keys are not
    unique the limit may have cut the rows of that last one, so it is left out.
    """
    if read.kind == "get":
        assert read.key is not None
        yield read.key, list(read.rows)
        return
    definition = timeline.definition
    found: dict[Cells, list[Row]] = {}
    for row in read.rows:
        found.setdefault(definition.key_of(row), []).append(row)
    known = [key for key in timeline.keys if inside(definition, read, key)]
    if read.limit is not None and len(read.rows) >= read.limit:
        known = _before_cut(definition, read, known, found)
    yield from ((key, found.pop(key, [])) for key in known)
    yield from found.items()


def _before_cut(definition: Definition, read: Read, keys: list[Cells], found: dict[Cells, list[Row]]) -> list[Cells]:
    """The keys up to the last one of an answer that its limit has ended."""
    if not found:
        return []
    last = definition.stored(next(reversed(found)))
    sooner = [key for key in keys if (definition.stored(key) > last if read.reverse else definition.stored(key) < last)]
    cut = next(reversed(found))
    if definition.unique:
        return [*sooner, cut]
    del found[cut]
    return sooner


def inside(definition: Definition, read: Read, key: Cells) -> bool:
    """Whether a key is in the interval of a scan: begins with its prefix, lower <= what follows < upper."""
    start = definition.stored(read.prefix)
    stored = definition.stored(key)
    if stored[: len(start)] != start:
        return False
    if read.lower is not None:
        lower = definition.stored((*read.prefix, *read.lower))
        if stored[: len(lower)] < lower:
            return False
    if read.upper is not None:
        upper = definition.stored((*read.prefix, *read.upper))
        return stored[: len(upper)] < upper
    return True


def explaining(truth: Truth, read: Read) -> int:
    """The boundaries at which the whole answer is right."""
    timeline = truth.timeline(read.name)
    places = timeline.all
    if read.limit is not None and len(read.rows) > read.limit:
        return 0
    for key, rows in said(timeline, read):
        places &= timeline.with_rows(key, rows)
    if read.kind != "get" and not all(inside(timeline.definition, read, _key(timeline, row)) for row in read.rows):
        return 0
    return places


def is_sorted(truth: Truth, read: Read) -> bool:
    """Whether the rows of a scan are in stored order."""
    definition = truth.definitions[read.name]
    keys = [definition.stored(definition.key_of(row)) for row in read.rows]
    return all(one >= other if read.reverse else one <= other for one, other in pairwise(keys))


def _key(timeline: Timeline, row: Row) -> Cells:
    return timeline.definition.key_of(row)

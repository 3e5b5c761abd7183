"""What holds of several answers in a row: none is older than one that had ended when it began.

Which boundary an answer is of is not known, only which ones can explain it. Each takes the least of those that is not
before any that it follows; if even so there is none, time has run backwards. Answers that overlap follow neither way.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.histories.answers import said
from tests.histories.history import Cells, History, Opened, Read
from tests.histories.model import Truth, first_of


@dataclass(frozen=True, slots=True)
class Explained:
    """An answer, the boundaries at which it is right, and those that it may be of."""

    read: Read
    places: int
    allowed: int


@dataclass(frozen=True, slots=True)
class Step:
    """One place in a timeline."""

    started: int
    ended: int
    places: int
    words: str


def goes_back(
    truth: Truth, history: History, answers: Sequence[Explained], snapshots: Mapping[str, Opened]
) -> Iterator[str]:
    """Rows of views that go back through a handle, and anything that does through a session."""
    sessions = {opened.name: opened for opened in history.opened if opened.kind == "session"}
    rows: dict[tuple[str, str, Cells], list[Step]] = {}
    whole: dict[str, list[Step]] = {name: [] for name in sessions}
    for one in answers:
        read = one.read
        if read.stream in sessions and not read.snapshot:
            whole[read.stream].append(_in_session(truth, one))
            continue
        # What a snapshot shows was chosen when it was made.
        started = snapshots[read.snapshot].started if read.snapshot else read.started
        timeline = truth.timeline(read.name)
        for key, found in said(timeline, read):
            step = Step(started, read.ended, timeline.with_rows(key, found) & one.allowed, _words(read))
            rows.setdefault((read.stream, read.name, key), []).append(step)
    for write in history.writes:
        if write.stream in sessions:
            place = 1 << truth.reached(write.position)
            whole[write.stream].append(Step(write.started, write.ended, place, f"its write at {write.position}"))
    for name, steps in whole.items():
        opened = sessions[name]
        begun = Step(
            opened.started, opened.ended, 1 << truth.covering(opened.position), f"its start at {opened.position}"
        )
        for later, earlier, place in _backwards([begun, *steps] if opened.position else steps):
            yield f"session {name}: {later.words} is older than {earlier.words}, which is of {truth.ends[place]}"
    for (stream, name, key), steps in rows.items():
        for later, earlier, place in _backwards(steps):
            told = f"{later.words} is older than {earlier.words}, which is of {truth.ends[place]} or later"
            yield f"{stream}: row {key} of {name} goes back: {told}"


def _in_session(truth: Truth, one: Explained) -> Step:
    """A session goes by what an answer says of itself, where it does."""
    read, places = one.read, one.places & one.allowed
    place = None if read.position is None else truth.at(read.position)
    if place is not None and places >> place & 1:
        places = 1 << place
    return Step(read.started, read.ended, places, f"{read.kind} of {read.name}{_level(read)}")


def _backwards(steps: list[Step]) -> Iterator[tuple[Step, Step, int]]:
    """Steps that cannot be explained after an earlier one, with that and the least boundary that it is of."""
    ended: list[tuple[int, int, int, Step]] = []
    latest = 0
    by: Step | None = None
    for number, step in enumerate(sorted(steps, key=lambda step: step.started)):
        while ended and ended[0][0] <= step.started:
            _, _, place, earlier = heapq.heappop(ended)
            if place > latest or by is None:
                latest, by = max(latest, place), earlier
        place_of = first_of(step.places, latest)
        if place_of is None:
            assert by is not None, "an answer that nothing explains takes no part"
            yield step, by, latest
        else:
            heapq.heappush(ended, (step.ended, number, place_of, step))


def _words(read: Read) -> str:
    return f"{read.kind}{_level(read)}"


def _level(read: Read) -> str:
    if read.snapshot:
        return f" in snapshot {read.snapshot}"
    return f" at {read.level}" if read.level else ""

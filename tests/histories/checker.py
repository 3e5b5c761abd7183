"""Holds a history against the truth: every answer within its level, whole, and never older than one before it.

    commit    what was acknowledged is in the log, whole
    moment    an answer is the view or table at some transaction boundary, in its order: nothing is half done
    level     one of those boundaries is as late as was asked for, and not behind the head
    position  where an answer says of when it is, it is of then
    snapshot  answers of one snapshot are of one moment, and so are views of one group
    timeline  through a handle no row of a view goes back; through a session nothing does (timelines.py)
    error     nothing fails but what may

A read that is wrong by itself takes no part in what is said of several.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.histories.answers import explaining, is_sorted
from tests.histories.history import Cells, History, Opened, Operation, Read, Row, Write
from tests.histories.model import Definition, Tables, Truth, between, first_of
from tests.histories.timelines import Explained, goes_back

EXCUSED = frozenset({"read.view_behind", "read.view_not_ready", "definition.unknown_table.dropped"})
"""What a read may fail with while maintainers are killed and views are replaced."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a history breaks, and how."""

    rule: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.sentence}"


def check(
    history: History, definitions: Sequence[Definition], *, excused: Collection[str] = EXCUSED
) -> list[Violation]:
    """All that is wrong with a history."""
    truth = Truth(history.commits, definitions)
    snapshots = {opened.name: opened for opened in history.opened if opened.kind == "snapshot"}
    found = [Violation("commit", sentence) for sentence in _lost(truth, history)]
    sound: list[Explained] = []
    for read in history.reads:
        if read.error:
            # A snapshot from before a view was filled has never seen it.
            if read.error not in excused and not (read.snapshot and read.error == "position.not_retained"):
                found.append(
                    Violation("error", f"{told(read)}: failed with {read.error}{read.detail and f': {read.detail}'}")
                )
            continue
        places = explaining(truth, read)
        wrong = list(_wrong(truth, read, places, snapshots.get(read.snapshot)))
        found += wrong
        if not any(violation.rule in ("moment", "level") for violation in wrong):
            sound.append(Explained(read, places, allowed(truth, read, snapshots.get(read.snapshot))))
    for opened in snapshots.values():
        mine = [one for one in sound if one.read.snapshot == opened.name]
        found += [Violation("snapshot", sentence) for sentence in _torn(truth, opened, mine)]
    found += [Violation("timeline", sentence) for sentence in goes_back(truth, history, sound, snapshots)]
    return found


def _lost(truth: Truth, history: History) -> Iterator[str]:
    """Acknowledged writes that are not in the log, or not whole."""
    whole = {commit.end: _asked(commit.changes) for commit in history.commits}
    acknowledged: dict[int, list[Write]] = {}
    for write in history.writes:
        acknowledged.setdefault(write.position, []).append(write)
    for position, writes in acknowledged.items():
        place = truth.at(position)
        if place is None:
            yield from (f"{_write(write)}: no transaction ends there" for write in writes)
            continue
        there, before = truth.states[place], truth.states[max(0, place - 1)]
        missing = [write for write in writes if not _holds(there, _asked(write.operations))]
        yield from (f"{_write(write)}: it is not there" for write in missing)
        # A write that changes nothing is acknowledged where another one ended, but for it nothing has to be there.
        effects = [_asked(write.operations) for write in writes]
        changed = [{at: row for at, row in one.items() if before[at[0]].get(at[1]) != row} for one in effects]
        if position in whole and not missing and whole[position] not in changed and not _holds_all(before, effects):
            yield f"{_write(writes[0])}: the transaction that ends there is another one"


def _asked(operations: Sequence[Operation]) -> dict[tuple[str, Cells], Row | None]:
    return {(table, key): row for table, key, row in operations}


def _holds(tables: Tables, asked: Mapping[tuple[str, Cells], Row | None]) -> bool:
    return all(tables[table].get(key) == row for (table, key), row in asked.items())


def _holds_all(tables: Tables, effects: Sequence[Mapping[tuple[str, Cells], Row | None]]) -> bool:
    return all(_holds(tables, asked) for asked in effects)


def _wrong(truth: Truth, read: Read, places: int, snapshot: Opened | None) -> Iterator[Violation]:
    """What is wrong with one answer by itself."""
    first, last = needed(truth, read, snapshot), _upto(truth, read, snapshot)
    if not places:
        yield Violation("moment", f"{told(read)}: matches no moment: {list(read.rows)}")
    elif read.kind != "get" and read.kind != "query" and not is_sorted(truth, read):
        yield Violation("moment", f"{told(read)}: is not in the order of its key: {list(read.rows)}")
    elif not places & between(first, last):
        before = places & between(0, last)
        if not before:
            soonest = truth.ends[first_of(places) or 0]
            yield Violation("level", f"{told(read)}: is as of {soonest}, behind {truth.ends[last]}, where the head was")
        else:
            latest = truth.ends[before.bit_length() - 1]
            yield Violation("level", f"{told(read)}: is as of {latest}, and not of {truth.ends[first]} or later")
    if read.position is not None and places:
        yield from (Violation("position", text) for text in _misplaced(truth, read, places, first, last))


def _misplaced(truth: Truth, read: Read, places: int, first: int, last: int) -> Iterator[str]:
    assert read.position is not None
    place = truth.at(read.position)
    if place is None:
        yield f"{told(read)}: says {read.position}, where no transaction ends"
    elif not places >> place & 1:
        yield f"{told(read)}: says {read.position}, and is not what was there"
    elif not first <= place <= last:
        yield f"{told(read)}: says {read.position}, which is not from {truth.ends[first]} to {truth.ends[last]}"


def needed(truth: Truth, read: Read, snapshot: Opened | None) -> int:
    """The first boundary that an answer may be of."""
    definition = truth.definitions[read.name]
    head = truth.covering(read.before) if snapshot is None else truth.reached(snapshot.position)
    if definition.is_current or read.level == "latest" or (not read.level and definition.mode == "LAZY"):
        return head
    if read.level == "at_least":
        return max(map(truth.covering, read.asked))
    if read.level == "max_lag":
        return min(head, truth.older(read.clock - read.lag_ms * 1000))
    return 0


def _upto(truth: Truth, read: Read, snapshot: Opened | None) -> int:
    return truth.reached(read.after if snapshot is None else snapshot.position)


def allowed(truth: Truth, read: Read, snapshot: Opened | None) -> int:
    """The boundaries that an answer may be of."""
    return between(needed(truth, read, snapshot), _upto(truth, read, snapshot))


def _torn(truth: Truth, opened: Opened, answers: Sequence[Explained]) -> Iterator[str]:
    """What a snapshot shows of two moments."""
    place = truth.at(opened.position)
    if place is None or not opened.before <= opened.position <= opened.after:
        yield f"snapshot {opened.name}: is of {opened.position}; the head was {opened.before} to {opened.after}"
        return
    common: dict[str, int] = {}
    for one in answers:
        group = truth.definitions[one.read.name].group or one.read.name
        common[group] = common.get(group, one.allowed) & one.places
        if not common[group]:
            yield f"snapshot {opened.name}: reads of {group} are of different moments, the last one is {told(one.read)}"
            return


def _write(write: Write) -> str:
    return f"{write.stream}: write of {len(write.operations)} rows acknowledged at {write.position}"


def told(read: Read) -> str:
    """A read in words."""
    where = "" if read.key is None else f" {read.key}"
    where += f" from {read.prefix}" if read.prefix else ""
    where += "" if read.lower is None else f" from {read.lower}"
    where += "" if read.upper is None else f" to {read.upper}"
    where += "" if read.limit is None else f" limit {read.limit}"
    where += " in reverse" if read.reverse else ""
    level = f"at_least {', '.join(map(str, read.asked))}" if read.level == "at_least" else read.level
    level = f"max_lag {read.lag_ms} ms" if read.level == "max_lag" else level
    where += f" in snapshot {read.snapshot}" if read.snapshot else ""
    return f"{read.stream}: {read.kind} of {read.name}{where}{f' at {level}' if level else ''}"

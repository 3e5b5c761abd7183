"""What maintainers and readers leave word of for each other: notes on views, requests, and who is alive."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

from viewkeeper.store import groups, notes
from viewkeeper.store.environment import Database, Environment, explained
from viewkeeper.store.requests import Request, Requests


class ViewNotes:
    """Losing any of it loses no data."""

    _env: Environment
    objects_db: Database
    notes_db: Database
    groups_db: Database
    _requests: Requests

    @explained
    def note(self, number: int, **changed: object) -> notes.Note:
        """Change some of what is noted of a view; the note as it is then."""
        with self._env.begin(write=True) as txn:
            note = replace(notes.get_note(txn, self.notes_db, number), **changed)  # type: ignore[arg-type]
            notes.set_note(txn, self.notes_db, number, note)
        return note

    @explained
    def note_all(self, changed: Mapping[int, Mapping[str, object]]) -> None:
        """Change some of what is noted of several views, in one transaction."""
        with self._env.begin(write=True) as txn:
            for number, fields in changed.items():
                note = replace(notes.get_note(txn, self.notes_db, number), **fields)  # type: ignore[arg-type]
                notes.set_note(txn, self.notes_db, number, note)

    @explained
    def note_folds(self, folds: Mapping[int, tuple[int, int, float]]) -> None:
        """By view, how many reads were folded since this was noted, when the last one (µs), and in how many ms.

        A view that is gone gets no note: nobody would ever remove it.
        """
        with self._env.begin(write=True) as txn:
            for number, (count, at, took) in folds.items():
                if groups.get_object(txn, self.objects_db, number) is not None:
                    note = notes.get_note(txn, self.notes_db, number)
                    note = replace(note, folds=note.folds + count, folded_at=at, fold_ms=took)
                    notes.set_note(txn, self.notes_db, number, note)

    @explained
    def forget_notes(self, numbers: Iterable[int]) -> None:
        with self._env.begin(write=True) as txn:
            for number in numbers:
                notes.remove_note(txn, self.notes_db, number)

    @explained
    def notes(self) -> dict[int, notes.Note]:
        with self._env.begin() as txn:
            return notes.notes(txn, self.notes_db)

    # What readers and maintainers tell each other

    def ask(self, number: int, upto: int, *, priority: int, requester: str, seconds: float) -> None:
        """Say that a reader waits, for so long, until a view reflects every change before `upto`."""
        moment = time.time_ns() // 1000
        self._requests.ask(number, Request(upto, priority, requester, moment, moment + int(seconds * 1e6)))

    def asked(self, at: int | None = None) -> dict[int, Request]:
        """What is asked for now, or was at a moment (µs), by view; without what is past its deadline."""
        return self._requests.asked(at)

    def answered(self, numbers: Iterable[int]) -> None:
        """Forget the requests for these views that are met."""
        self._requests.answered(numbers, self.groups_db, self.objects_db)

    def beat(self, holder: str, seconds: float) -> None:
        """Say that a continuous maintainer is alive for so long; with 0, that it has ended."""
        self._requests.beat(holder, seconds)

    def maintainers(self) -> list[str]:
        """The holders of continuous maintainers that are alive."""
        return self._requests.maintainers()

    def note_reads(self, reads: Mapping[int, int]) -> None:
        """Note when views were last read (µs)."""
        self._requests.note_reads(reads, self.notes_db, self.objects_db)

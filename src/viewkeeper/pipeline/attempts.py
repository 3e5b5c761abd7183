"""Attempts at views: what fails is set aside with its error and tried again later, while the others go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import Lock

from viewkeeper.errors import BatchFailed, Outrun, ViewkeeperError, ViewNotReady
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.views.bound import BoundView, BoundViews

FIRST_RETRY = 1.0
LAST_RETRY = 300.0
NOTE_SECONDS = 1.0


@dataclass(slots=True)
class Round:
    """What one round did: groups moved, changes taken in, and by which executor; `left`: work is still to be done."""

    groups: int = 0
    changes: int = 0
    engine: str = ""
    filled: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    left: bool = False


class Attempts:
    """Runs what may fail, and leaves word of each view: in memory first, written when it is worth a transaction."""

    def __init__(self, store: EmbeddedStore) -> None:
        self._store = store
        # Fills may run in a thread of their own, and leave notes too.
        self._noting = Lock()
        self._noted = 0.0
        self._notes: dict[int, dict[str, object]] = {}

    def guard(self, views: list[BoundView], done: Round, action: Callable[[], object]) -> None:
        """Run something for a group; what fails is set aside, what was outrun or has to wait is left for later."""
        try:
            action()
        except (Outrun, ViewNotReady):
            done.left = True
        except ViewkeeperError as error:
            self.set_aside(views, error, done)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other views go on
            hint = "It is tried again by itself."
            self.set_aside(views, BatchFailed(f"{type(error).__name__}: {error}", hint=hint), done)

    def set_aside(self, views: Iterable[BoundView], error: ViewkeeperError, done: Round) -> None:
        known = self._store.view_tables.notes()
        now = time.time()
        for one in views:
            failures = (known[one.view.id].failures if one.view.id in known else 0) + 1
            pause = min(LAST_RETRY, FIRST_RETRY * 2 ** (failures - 1))
            done.failed[one.view.name] = str(error)
            self.note(one.view.id, error=str(error), failures=failures, retry_at=int((now + pause) * 1e6))
        self.write(force=True)

    def tell_unbound(self, bound: BoundViews, done: Round) -> None:
        """Leave word of views that cannot be bound any more; their groups stay where they are."""
        known = self._store.view_tables.notes() if bound.failed else {}
        for number, error in bound.failed.items():
            done.failed[bound.catalog.views[number].name] = str(error)
            if number not in known or known[number].error != str(error):
                self.note(number, error=str(error), failures=1, retry_at=0)

    def tell_filled(self, one: BoundView, done: Round) -> None:
        """Count a fill as done; an earlier failure of it is forgotten."""
        done.filled.append(one.view.name)
        self.note(one.view.id, error="", failures=0, retry_at=0)
        self.write(force=True)

    def aside(self) -> set[int]:
        """Views whose last attempt failed and that are to be left alone for now."""
        now = time.time_ns() // 1000
        return {number for number, note in self._store.view_tables.notes().items() if note.retry_at > now}

    def note(self, number: int, **changed: object) -> None:
        with self._noting:
            self._notes[number] = changed

    def write(self, *, force: bool = False) -> None:
        """Write the notes, if the last ones are a second old."""
        now = time.monotonic()
        with self._noting:
            if not self._notes or not (force or now - self._noted > NOTE_SECONDS):
                return
            noted, self._notes, self._noted = self._notes, {}, now
        # What was dropped meanwhile needs no note: nobody would ever remove it.
        views = self._store.catalog().views
        self._store.view_tables.note_all({number: note for number, note in noted.items() if number in views})

"""How fresh an answer has to be, and waiting until a view is that fresh.

any          the view as it is
at_least(p)  every change before p is in it
latest       every change committed before the read began is in it

A base table is always up to date, so only views are ever waited for. Waiting is looking again, in short transactions.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal

from viewkeeper.errors import BadPosition, FuturePosition, TableDropped, ViewBehind, ViewNotReady, WrongType
from viewkeeper.model.position import Position
from viewkeeper.model.view import View
from viewkeeper.store.groups import GroupState, ObjectState
from viewkeeper.store.interface import Store

TIMEOUT = 30.0
"""Seconds that a read waits for a view to come as far as it asks for, unless it says otherwise."""
FIRST_POLL, LONGEST_POLL = 0.001, 0.02
"""Seconds between two looks at a view, at first and later; a look costs microseconds."""


@dataclass(frozen=True, slots=True)
class Covering:
    """Every change before any of these positions has to be in the answer."""

    positions: tuple[Position, ...]


Consistency = Literal["any", "latest"] | Covering | None
"""None is the choice of the view's mode: "any" for a DEFERRED view."""


def at_least(position: Position, *more: Position) -> Covering:
    """The consistency of a read that must see what was written before these positions.

    A write returns such a position: `db.get("ByShop", "s1", consistency=vk.at_least(db.put(…)))`.
    """
    for one in (position, *more):
        if not isinstance(one, Position):
            raise BadPosition(f"{one!r} is not a position", hint="Read one from its text with vk.Position.parse.")
    return Covering((position, *more))


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a read asks of the view that answers it.

    `wait`: how long it waits for a view to be filled for the first time, in seconds; True is without end, False not at
    all. `timeout`: how long for a view that is whole to come as far as `consistency` says.
    """

    consistency: Consistency = None
    wait: bool | float = False
    timeout: float = TIMEOUT

    def __post_init__(self) -> None:
        if not (self.consistency in (None, "any", "latest") or isinstance(self.consistency, Covering)):
            raise WrongType(
                f"consistency is {self.consistency!r}", hint='It is "any", "latest", or vk.at_least(position).'
            )
        for name, value in (("wait", self.wait), ("timeout", self.timeout)):
            is_number = isinstance(value, int | float) and not (isinstance(value, bool) and name == "timeout")
            if not is_number or not value >= 0:
                raise WrongType(f"{name} is {value!r}", hint="It is a number of seconds, from 0 on.")


ANY = Asked()


def needed(store: Store, asked: Asked) -> int | None:
    """The position that an answer has to cover; None if any will do. BadPosition, ForeignPosition, FuturePosition."""
    match asked.consistency:
        case Covering(positions):
            wanted = max(store.offset(position) for position in positions)
            head = store.head()
            if wanted > store.offset(head):
                raise FuturePosition(
                    f"position {store.position(wanted)} is in the future", detail=f"The head is {head}."
                )
            return wanted
        case "latest":
            return store.offset(store.head())
        case _:
            return None


def standing(store: Store, view: View, asked: Asked = ANY) -> GroupState:
    """Where a view stands once it is as fresh as asked.

    ViewNotReady if it is not filled, ViewBehind if it does not come as far, each once the wait for it is over;
    TableDropped if the view goes meanwhile.
    """
    wanted = needed(store, asked)
    found = store.view_tables.standing(view.id)
    if found is None or found[1].filled is not None:
        found = _filled(store, view, asked.wait)
    if wanted is None or found[1].watermark >= wanted:
        return found[1]
    return _reached(store, view, wanted, asked.timeout, found[1].watermark)


class _Pause:
    """Sleeps between two looks, longer from time to time, and never beyond a deadline."""

    def __init__(self, seconds: float | None) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._next = FIRST_POLL

    def over(self) -> bool:
        """Whether the deadline has come; sleeps if it has not."""
        left = LONGEST_POLL if self._deadline is None else self._deadline - time.monotonic()
        if left <= 0:
            return True
        time.sleep(min(left, self._next))
        self._next = min(LONGEST_POLL, self._next * 1.5)
        return False


def _filled(store: Store, view: View, wait: bool | float) -> tuple[ObjectState, GroupState]:
    pause = _Pause(None if wait is True else float(wait))
    while True:
        found = store.view_tables.standing(view.id)
        if found is not None and found[1].filled is None:
            return found
        if view.id not in store.catalog().views:
            raise dropped(view)
        if pause.over():
            raise not_ready(store, view)


def _reached(store: Store, view: View, wanted: int, timeout: float, first: int) -> GroupState:
    pause = _Pause(timeout)
    while True:
        found = store.view_tables.standing(view.id)
        if found is None or found[1].filled is not None:
            raise dropped(view)
        state = found[1]
        if state.watermark >= wanted:
            return state
        if pause.over():
            raise _behind(store, view, wanted, timeout, first, state.watermark)


def _behind(store: Store, view: View, wanted: int, timeout: float, first: int, reached: int) -> ViewBehind:
    moved = reached - first
    if moved:
        hint = 'Give it more time with timeout=…, or take the view as it is with consistency="any".'
    else:
        hint = "No maintainer seems to run: call db.maintain(), or start one with viewkeeper maintain."
    return ViewBehind(
        f'view "{view.name}" did not reach position {store.position(wanted)} within {timeout:g} s',
        detail=f"It stands at {store.position(reached)}, {wanted - reached:,} changes before that, and has "
        + (f"moved on by {moved:,} changes meanwhile." if moved else "not moved meanwhile."),
        hint=hint,
    )


def not_ready(store: Store, view: View) -> ViewNotReady:
    """Why a view cannot be read yet, and how far its fill is."""
    found = store.view_tables.standing(view.id)
    if found is None:
        detail = "It waits for a maintainer to begin."
    else:
        detail = f"It is being filled as of position {store.position(found[1].watermark)}{_so_far(store, view)}."
    return ViewNotReady(
        f'view "{view.name}" has not been filled yet',
        detail=detail,
        hint="Run maintenance (db.maintain() or viewkeeper maintain), or read with wait=True.",
    )


def _so_far(store: Store, view: View) -> str:
    try:
        with store.view_tables.reading([view.id], filling=True) as reading:
            rows: Any = reading.rows(view.id)
    except ViewNotReady:
        return ""
    return f"; it has {rows:,} rows so far"


def dropped(view: View) -> TableDropped:
    return TableDropped(f'view "{view.name}" was dropped or replaced while it was read', hint="Read it again.")

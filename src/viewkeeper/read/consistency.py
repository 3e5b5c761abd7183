"""How fresh an answer has to be.

any          the view as it is
at_least(p)  every change before p is in it
max_lag(d)   as any, while what is missing was committed no longer ago than d; else as latest
latest       every change committed before the read began is in it

Without one the mode of the view decides: latest for LAZY, any for others. A base table is always up to date, and so is
a view that is kept in the transaction of the write.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

from viewkeeper.errors import BadPosition, FuturePosition, ViewBehind, WrongType
from viewkeeper.model.duration import milliseconds
from viewkeeper.model.position import Position
from viewkeeper.model.view import View
from viewkeeper.read.waiting import changes
from viewkeeper.store.groups import GroupState
from viewkeeper.store.interface import Store

TIMEOUT = 30.0
"""Seconds that a read waits for a view to come as far as it asks for, unless it says otherwise."""


@dataclass(frozen=True, slots=True)
class Covering:
    """Every change before any of these positions has to be in the answer."""

    positions: tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class MaxLag:
    """Of the transactions that are not in the answer, the first may be so old; with `or_fail`, or there is none."""

    milliseconds: int
    or_fail: bool = False


Consistency = Literal["any", "latest"] | Covering | MaxLag | None
"""None is the choice of the view's mode."""


def at_least(position: Position, *more: Position) -> Covering:
    """The consistency of a read that must see what was written before these positions.

    A write returns such a position: `db.get("ByShop", "s1", consistency=vk.at_least(db.put(…)))`.
    """
    for one in (position, *more):
        if not isinstance(one, Position):
            raise BadPosition(f"{one!r} is not a position", hint="Read one from its text with vk.Position.parse.")
    return Covering((position, *more))


def max_lag(duration: str, or_fail: bool = False) -> MaxLag:
    """The consistency of a read that takes a view as it is unless it is older than this.

    A view that is older is brought up for the read, as by "latest"; with `or_fail`, ViewBehind is raised at once.

    >>> max_lag("1.5s")
    MaxLag(milliseconds=1500, or_fail=False)
    """
    if not isinstance(or_fail, bool):
        raise WrongType(f"or_fail is {or_fail!r}", hint="It is True or False.")
    return MaxLag(milliseconds(duration), or_fail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a read asks of the view that answers it.

    `wait`: how long it waits for a view to be filled for the first time, in seconds; True is without end, False not at
    all. `timeout`: how long for a view that is whole to come as far as `consistency` says. `bring_up`: where much is
    missing and no maintainer runs, do its work here. `floor`: a position that the answer has to cover besides.
    """

    consistency: Consistency = None
    wait: bool | float = False
    timeout: float = TIMEOUT
    bring_up: bool = False
    floor: int = 0

    def __post_init__(self) -> None:
        if not (self.consistency in (None, "any", "latest") or isinstance(self.consistency, Covering | MaxLag)):
            raise WrongType(
                f"consistency is {self.consistency!r}",
                hint='It is "any", "latest", vk.at_least(position), or vk.max_lag("500ms").',
            )
        for name, value in (("wait", self.wait), ("timeout", self.timeout)):
            is_number = isinstance(value, int | float) and not (isinstance(value, bool) and name == "timeout")
            if not is_number or not value >= 0:
                raise WrongType(f"{name} is {value!r}", hint="It is a number of seconds, from 0 on.")
        if not isinstance(self.bring_up, bool):
            raise WrongType(f"bring_up is {self.bring_up!r}", hint="It is True or False.")


ANY = Asked()


def covered(store: Store, asked: Asked) -> int:
    """The position that any answer has to cover, 0 if none. BadPosition, ForeignPosition, FuturePosition.

    This is all that is asked of a table, which is up to date besides.
    """
    wanted = asked.floor
    if isinstance(asked.consistency, Covering):
        wanted = max(wanted, *(store.offset(position) for position in asked.consistency.positions))
        head = store.head()
        if wanted > store.offset(head):
            raise FuturePosition(
                f"position {store.position(wanted)} is in the future",
                detail=f"The head is {head}.",
                hint="A database that was restored from a backup may have lost it: start from its head.",
            )
    return wanted


def needed(store: Store, view: View, asked: Asked) -> int:
    """The position that the answer of a view has to cover, wherever it stands; 0 if any will do."""
    wanted = covered(store, asked)
    consistency = asked.consistency
    if consistency == "latest" or (consistency is None and view.is_lazy):
        wanted = max(wanted, store.offset(store.head()))
    return wanted


def lagging(store: Store, view: View, asked: Asked, state: GroupState) -> int:
    """The position that it has to cover because of its lag; 0 if that is small enough. ViewBehind if it is to fail."""
    if not isinstance(asked.consistency, MaxLag):
        return 0
    head = store.offset(store.head())
    if state.watermark >= head:
        return 0
    committed_at = store.committed_behind(state.watermark)
    age = 0 if committed_at is None else time.time_ns() // 1000 - committed_at
    if age <= asked.consistency.milliseconds * 1000:
        return 0
    if asked.consistency.or_fail:
        stands = f"It stands at {store.position(state.watermark)}"
        raise ViewBehind(
            f'view "{view.name}" lags behind by {age / 1000:,.0f} ms, more than {asked.consistency.milliseconds:,} ms',
            detail=f"{stands}, {changes(head - state.watermark)} before the head.",
            hint="Run maintenance (db.maintain() or viewkeeper maintain), or let the read bring it up: or_fail=False.",
        )
    return head

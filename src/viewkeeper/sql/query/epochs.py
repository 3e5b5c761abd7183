"""WINDOW(ts, 'length' [, 'slide']): the epochs that a moment lies in, as columns to group by.

An epoch begins at a multiple of `slide` after 1970 and is `length` long; its value is its start. A moment lies in
ceil(length / slide) of them, or, where slide does not divide length, in one less. A NULL lies in none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.errors import WrongType
from viewkeeper.model.duration import milliseconds
from viewkeeper.model.types import BIGINT, BOOLEAN, DATE, TIMESTAMP
from viewkeeper.plan.expr import Call, Cast, Expr, Input, Literal
from viewkeeper.sql.constructs import bare
from viewkeeper.sql.query.context import Context

MAX_EPOCHS = 1000
"""Epochs, and groups, that one row may be in: each of them is written when the row changes."""


@dataclass(frozen=True, slots=True)
class Window:
    moment: Expr
    length_ms: int
    slide_ms: int

    @property
    def count(self) -> int:
        """The epochs that a moment is in at most."""
        return -(-self.length_ms // self.slide_ms)

    def starts(self) -> list[Expr]:
        """The start of the last epoch that began at or before the moment, of the one before it, and so on."""
        slide = Literal(self.slide_ms, BIGINT)
        since = Call("epoch%", (self.moment, slide), BIGINT)
        last = Call("epoch-", (self.moment, since), TIMESTAMP)
        earlier = (Literal(number * self.slide_ms, BIGINT) for number in range(1, self.count))
        return [last, *(Call("epoch-", (last, back), TIMESTAMP) for back in earlier)]

    def has_moment(self) -> Expr:
        return Call("not", (Call("is_null", (self.moment,), BOOLEAN),), BOOLEAN)

    @property
    def is_even(self) -> bool:
        """Whether each epoch of `starts` lasts to the moment."""
        return self.length_ms % self.slide_ms == 0

    def covers(self, start: Expr, moment: Expr) -> Expr:
        """Whether an epoch lasts to a moment."""
        end = Call("epoch+", (start, Literal(self.length_ms, BIGINT)), TIMESTAMP)
        return Call(">", (end, moment), BOOLEAN)


class Epochs:
    """The one WINDOW of a query, which GROUP BY brings in. To expressions its value is the input at `place`."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.window: Window | None = None
        self.is_open = False
        """Whether GROUP BY is being bound, which may bring in a window."""

    def input(self, window: Window, node: exp.Expr, context: Context) -> Input:
        if self.window is None and self.is_open:
            self.window = window
        if self.window is None:
            raise context.refuse(
                node,
                "WINDOW outside GROUP BY",
                detail="An epoch is a group of rows.",
                hint="Write the same WINDOW(…) in GROUP BY too.",
            )
        if window != self.window:
            raise context.refuse(
                node,
                "a second WINDOW",
                detail="A view groups by the epochs of one window.",
                hint="Write the same WINDOW(…) everywhere, or create a view for each.",
            )
        return Input(self.place, TIMESTAMP)


def window(arguments: Sequence[exp.Expr], moment: Expr, node: exp.Expr, context: Context) -> Window:
    """A window whose first argument is bound already."""
    if not 2 <= len(arguments) <= 3:
        raise context.wrong_type(
            node,
            f"function WINDOW takes a TIMESTAMP, a length and a slide, found {len(arguments)} arguments",
            hint="Write WINDOW(ts, '1 minute') or WINDOW(ts, '1 minute', '30 seconds').",
        )
    if moment.type == DATE:
        moment = Cast(moment, TIMESTAMP)
    if moment.type != TIMESTAMP:
        raise context.wrong_type(arguments[0], f"function WINDOW takes a TIMESTAMP, found {moment.type}")
    length = duration(arguments[1], context)
    slide = duration(arguments[2], context) if len(arguments) == 3 else length
    if slide > length:
        raise context.bad(
            arguments[2],
            "the slide of WINDOW is longer than its length",
            detail="Rows between the epochs would be in none.",
            hint="Write a WHERE that takes the rows that are wanted.",
        )
    found = Window(moment, length, slide)
    if found.count > MAX_EPOCHS:
        raise context.bad(
            arguments[2],
            f"each row would be in {found.count:,} epochs, more than {MAX_EPOCHS:,}",
            hint="Write a longer slide, and add the epochs up when the view is read.",
        )
    return found


def duration(node: exp.Expr, context: Context) -> int:
    """The milliseconds of a text such as '1 minute'; WrongType if it is none, or not above 0."""
    node = bare(node)
    if isinstance(node, exp.Literal) and node.is_string:
        try:
            length = milliseconds(node.this)
        except WrongType:
            length = 0
        if length > 0:
            return length
    raise context.wrong_type(
        node, f"{node.sql()} is not a duration", hint="Write a number and a unit in quotes, such as '1 minute'."
    )

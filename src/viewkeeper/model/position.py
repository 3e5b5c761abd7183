"""A place in the log, opaque to everyone but the store."""

from __future__ import annotations

import re
from dataclasses import dataclass

from viewkeeper.errors import BadPosition, ForeignPosition

_OFFSET = "(?:0|[1-9][0-9]{0,19})"
_TEXT = re.compile(rf"([0-9a-z]{{8,40}})@({_OFFSET}(?:\.{_OFFSET})*)")


@dataclass(frozen=True, slots=True, order=False)
class Position:
    """A place in each log of one database.

    Positions of a store with several logs are only partially ordered: there is `covers` and `|`, and no `<`.

    >>> a, b = Position.parse("0123abcd@5"), Position.parse("0123abcd@7")
    >>> b.covers(a), a.covers(b), str(a | b)
    (True, False, '0123abcd@7')
    """

    database: str
    offsets: tuple[int, ...]

    def covers(self, other: Position) -> bool:
        """Whether every change before `other` is before this."""
        self._check(other)
        return all(mine >= theirs for mine, theirs in zip(self.offsets, other.offsets, strict=True))

    def __or__(self, other: Position) -> Position:
        """The least position that covers both."""
        self._check(other)
        pairs = zip(self.offsets, other.offsets, strict=True)
        return Position(self.database, tuple(max(pair) for pair in pairs))

    def __str__(self) -> str:
        return f"{self.database}@{'.'.join(map(str, self.offsets))}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """The position that `str` printed; BadPosition for any other text."""
        found = _TEXT.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise BadPosition(
                f"{text!r} is not a position", hint="A position is what str() of one prints, such as 0123abcd@42."
            )
        return cls(found[1], tuple(int(part) for part in found[2].split(".")))

    def _check(self, other: Position) -> None:
        if self.database != other.database or len(self.offsets) != len(other.offsets):
            raise ForeignPosition(
                f"position {other} belongs to another database than {self}",
                hint="Compare only positions of one database.",
            )

"""When a view is brought up to date."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Mode(StrEnum):
    DEFERRED = "DEFERRED"
    SYNC = "SYNC"
    LAZY = "LAZY"
    LOCAL = "LOCAL"
    EVERY = "EVERY"
    PERIODIC = "PERIODIC"


class ViewKind(StrEnum):
    VIEW = "view"
    INDEX = "index"
    JOIN_INDEX = "join index"


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintain:
    """The mode of a view; EVERY and PERIODIC have an interval, the others none.

    >>> str(Maintain(mode=Mode.EVERY, interval_ms=90_000)), str(Maintain(mode=Mode.SYNC))
    ('EVERY 90 SECONDS', 'SYNC')
    """

    mode: Mode
    interval_ms: int | None = None

    def __post_init__(self) -> None:
        if (self.interval_ms is not None) != (self.mode in (Mode.EVERY, Mode.PERIODIC)):
            raise ValueError(f"{self.mode} has the wrong interval: {self.interval_ms}")
        if self.interval_ms is not None and self.interval_ms < 1:
            raise ValueError(f"an interval is at least a millisecond, not {self.interval_ms}")

    def __str__(self) -> str:
        """As MAINTAIN has it."""
        if self.interval_ms is None:
            return str(self.mode)
        count, unit = self.interval_ms, "MILLISECOND"
        for length, longer in ((1000, "SECOND"), (60, "MINUTE"), (60, "HOUR")):
            if count % length:
                break
            count, unit = count // length, longer
        return f"{self.mode} {count} {unit}{'S' * (count != 1)}"


DEFERRED = Maintain(mode=Mode.DEFERRED)

"""How far a source has been read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class Meter:
    """Bytes of a file or rows of an Arrow source; `total` is None where the end is not known.

    `tell` takes the place of `done` for a file, which knows itself.
    """

    total: int | None = None
    done: int = 0
    tell: Callable[[], int] | None = None

    def fraction(self) -> float | None:
        """From 0 to 1, or None."""
        if self.total is None:
            return None
        done = self.tell() if self.tell is not None else self.done
        return min(done / self.total, 1.0) if self.total else 1.0

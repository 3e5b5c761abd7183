"""What the reads through one handle have in common, and what they owe each other.

Record timeline: a read may be answered ahead of the view's watermark, by a fold that nobody applied. From then on no
read of that view through the same handle may be answered from before that. The place is kept by name, so it holds also
where another definition takes the view's place; it is forgotten once the view itself has come so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from viewkeeper.model.position import Position
from viewkeeper.model.types import Row
from viewkeeper.model.view import View
from viewkeeper.store.interface import Store

BringUp = Callable[[View, int], None]
"""Brings a view up to a position by the pipeline, in this process."""


ScanQuery = Callable[[Any, Any], tuple[Iterator[list[Row]], Position]]
"""Answers a query by reading all rows, however many there are."""


@dataclass(slots=True, eq=False)
class Handle:
    """`floors`: by the name of a view in lower case, the furthest position that it was read at ahead of itself.

    `moments` are those of its queries, see moments.py, once there was one.
    """

    store: Store
    read_only: bool = False
    bring_up: BringUp | None = None
    floors: dict[str, int] = field(default_factory=dict)
    scan: ScanQuery | None = None
    moments: Any = None
    _lock: Lock = field(default_factory=Lock)

    def floor(self, view: View) -> int:
        """The position that a read of a view has to cover whatever it asks for; 0 if any will do."""
        return self.floors.get(view.name.lower(), 0) if self.floors else 0

    def served(self, view: View, offset: int) -> None:
        """A read of a view is answered as of a position where the view does not stand yet."""
        with self._lock:
            name = view.name.lower()
            self.floors[name] = max(offset, self.floors.get(name, 0))

    def reached(self, view: View, watermark: int) -> None:
        """A view stands here now."""
        if self.floors and self.floors.get(view.name.lower(), watermark + 1) <= watermark:
            with self._lock:
                name = view.name.lower()
                if self.floors.get(name, watermark + 1) <= watermark:
                    del self.floors[name]

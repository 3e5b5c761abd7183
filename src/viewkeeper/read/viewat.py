"""One view at one of its watermarks: by key and in stored order, each row as often as it weighs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, repeat
from typing import Any

from viewkeeper.errors import ViewNotReady
from viewkeeper.model.position import Position
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.model.view import View
from viewkeeper.read.waiting import dropped
from viewkeeper.store.interface import Interval, Store

REPEATED = 4096
"""Rows that are given at once where rows repeat: one that weighs a million does not become a list of them."""


class ViewAt:
    """A view as it stood at an offset. Holds nothing open: what was applied since is undone, slice by slice.

    TableDropped if the view goes while it is read, NotRetained if what is to be undone is gone.
    """

    def __init__(self, store: Store, view: View, codec: RowCodec, offset: int) -> None:
        self.position: Position = store.position(offset)
        self._view = view
        self._snapshot = store.view_tables.as_of(codec, offset)

    def get(self, codec: RowCodec, key: bytes) -> Row | None:  # noqa: ARG002  the same call as for tables
        """The stored row of an encoded key; None if it was absent."""
        try:
            return self._snapshot.get(key)
        except ViewNotReady:
            raise dropped(self._view) from None

    def scan(
        self,
        codec: RowCodec,  # noqa: ARG002  the same call as for tables
        interval: Interval,
        *,
        limit: int | None = None,
        reverse: bool = False,
    ) -> Iterator[list[Row]]:
        """The stored rows of an interval in key order, in lists; `limit` counts a row as often as it weighs."""
        # A row weighs at least one, so the limit is never more rows than have to be read.
        chunks = self._chunks(interval, limit, reverse)
        return repeated(chunks, limit) if self._view.repeats else chunks

    def _chunks(self, interval: Interval, limit: int | None, reverse: bool) -> Iterator[list[Row]]:
        try:
            yield from self._snapshot.scan(interval, limit=limit, reverse=reverse)
        except ViewNotReady:
            raise dropped(self._view) from None


def repeated(chunks: Iterator[list[Row]], limit: int | None) -> Iterator[list[Row]]:
    """Rows as often as their last column, the weight, says; at most `limit` of them.

    >>> list(repeated(iter([[("a", 2), ("b", 3)]]), 4))
    [[('a', 2), ('a', 2), ('b', 3), ('b', 3)]]
    """

    def times(row: Row) -> Iterator[Row]:
        weight: Any = row[-1]
        return repeat(row, weight)

    rows = islice(chain.from_iterable(times(row) for chunk in chunks for row in chunk), limit)
    while part := list(islice(rows, REPEATED)):
        yield part

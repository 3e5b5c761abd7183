"""Some columns of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter

from viewkeeper.model.types import Row


def picker(columns: Sequence[int]) -> Callable[[Row], Row]:
    """A function from a row to these columns of it, as a tuple.

    >>> picker([2, 0])(("a", "b", "c")), picker([1])(("a", "b")), picker([])(("a",))
    (('c', 'a'), ('b',), ())
    """
    if not columns:
        return lambda row: ()
    if len(columns) == 1:
        (only,) = columns
        return lambda row: (row[only],)
    return itemgetter(*columns)

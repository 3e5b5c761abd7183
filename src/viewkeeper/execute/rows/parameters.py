"""The values of the parameters of the query that a thread is running.

A compiled expression is shared by all runs of a query, so the values are not in it: it reads them here, once a row.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from viewkeeper.model.types import Cell

ParameterKey = tuple[str | int, int | None]
"""Which parameter, and the place in its list; None if it is no list."""


class _Given(threading.local):
    values: Mapping[ParameterKey, Cell] = {}


given = _Given()
"""What was given for the query of this thread; nothing outside of a run."""


@contextmanager
def parameters(values: Mapping[ParameterKey, Cell]) -> Iterator[None]:
    """Expressions that are evaluated inside have these values for their parameters; outside, what was there before."""
    before = given.values
    given.values = values
    try:
        yield
    finally:
        given.values = before

"""The values of the parameters of the query that a thread is running.

A compiled expression is shared by all runs of a query, so the values are not in it: it reads them here, once a row.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

ParameterKey = tuple[str | int, int | None]
"""Which parameter, and the place in its list; None if it is no list, `ANY_LENGTH` for a tuple of all its cells."""


class _Given(threading.local):
    values: Mapping[ParameterKey, Any] = {}


given = _Given()
"""What was given for the query of this thread; nothing outside of a run."""


@contextmanager
def parameters(values: Mapping[ParameterKey, Any]) -> Iterator[None]:
    """Expressions that are evaluated inside have these values for their parameters; outside, what was there before."""
    before = given.values
    given.values = values
    try:
        yield
    finally:
        given.values = before

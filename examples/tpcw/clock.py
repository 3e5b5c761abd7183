"""The time of the bookstore: it opens at NOW, whatever the time is outside, and goes on from there."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta

NOW = datetime(2024, 5, 1, 12, 30, tzinfo=UTC)
"""The hour that it is in began half an hour before."""
HOUR = 3_600_000


class Clock:
    """Runs as fast as other clocks, from NOW."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def now(self) -> datetime:
        """Whole milliseconds, as epochs have them."""
        return NOW + timedelta(milliseconds=int((time.monotonic() - self._began) * 1000))

    def hour(self) -> datetime:
        """When the hour began that it is in."""
        return self.now().replace(minute=0, second=0, microsecond=0)


def day_of(day: date) -> int:
    """Days since 1970."""
    return day.toordinal() - date(1970, 1, 1).toordinal()


def millis_of(moment: datetime) -> int:
    """Milliseconds since 1970."""
    return round(moment.timestamp() * 1000)

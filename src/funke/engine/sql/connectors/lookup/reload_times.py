"""The times at which a full cache is read again."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

__all__ = ["ReloadTimes"]


@dataclass(frozen=True)
class ReloadTimes:
    """An interval, from the start or the end of the last load; or a time of day, every so many days."""

    interval_ms: int | None = None
    is_fixed_rate: bool = False
    time_of_day: datetime.time | None = None
    days: int = 1

    def next_ms(self, started_ms: int, ended_ms: int) -> int:
        """The next time after a load that has started and ended.

        >>> ReloadTimes(1000).next_ms(5, 20), ReloadTimes(1000, is_fixed_rate=True).next_ms(5, 20)
        (1020, 1005)
        """
        if self.interval_ms is not None:
            return (started_ms if self.is_fixed_rate else ended_ms) + self.interval_ms
        assert self.time_of_day is not None
        zone = self.time_of_day.tzinfo
        now = datetime.datetime.fromtimestamp(ended_ms / 1000, zone)
        due = datetime.datetime.combine(now.date(), self.time_of_day)
        while due.timestamp() * 1000 <= ended_ms:
            due += datetime.timedelta(days=self.days)
        return round(due.timestamp() * 1000)

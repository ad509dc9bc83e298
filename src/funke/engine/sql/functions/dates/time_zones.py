"""The zone that instants are shown in, by the names that Flink takes."""

from __future__ import annotations

import datetime
import re
from zoneinfo import ZoneInfo

from funke.engine.errors import ConfigurationError

__all__ = ["zone_of"]

_OFFSET = re.compile(r"(?:GMT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")


def zone_of(name: str) -> datetime.tzinfo:
    """The zone of a name: `Europe/Berlin`, `UTC`, `GMT+08:00`, `+08:00`.

    >>> zone_of("GMT-03:30").utcoffset(None)
    datetime.timedelta(days=-1, seconds=73800)
    """
    match = _OFFSET.fullmatch(name)
    if match is not None:
        sign, *parts = match.groups()
        hours, minutes, seconds = (int(each or 0) for each in parts)
        distance = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return datetime.timezone(-distance if sign == "-" else distance)
    try:
        return ZoneInfo("UTC" if name in ("Z", "UT") else name)
    except (ValueError, OSError, KeyError):
        raise ConfigurationError(f"Unknown time-zone ID: {name}") from None

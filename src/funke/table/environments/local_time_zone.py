"""The zone that instants are shown in: the session's, or the machine's."""

from __future__ import annotations

import os
import re
from zoneinfo import ZoneInfo

from funke.engine.errors import ConfigurationError, at_user_line
from funke.engine.flink_exceptions import ValidationException

__all__ = ["machine_zone", "require_zone"]

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?[+-]\d{1,2}(?::?\d{2}){0,2}")
# Their sign is read in opposite ways by different readers, so Flink rejects them.
_AMBIGUOUS = re.compile(r"(?:UTC|UT)[+-].*")


def require_zone(zone: str) -> str:
    """Return the name of a zone if it is one: `Europe/Berlin`, `UTC`, `GMT+08:00`, `+08:00`."""
    if _AMBIGUOUS.fullmatch(zone):
        raise ValidationException(
            "Invalid time zone. The value should be a Time Zone Database (TZDB) ID such as "
            "'America/Los_Angeles' to include daylight saving time. Fixed offsets are supported using "
            "'GMT-03:00' or 'GMT+03:00'. Or use 'UTC' without time zone and daylight saving time."
        )
    if not (zone in ("Z", "UT") or _OFFSET.fullmatch(zone) or _is_known(zone)):
        raise ConfigurationError(at_user_line(f"Unknown time-zone ID: {zone}"))
    return zone


def machine_zone() -> str:
    """Return the zone of this machine."""
    zone = os.environ.get("TZ", "").lstrip(":") or _linked_zone()
    return zone if zone and _is_known(zone) else "UTC"


def _linked_zone() -> str:
    path = os.path.realpath("/etc/localtime")
    return path.rpartition("/zoneinfo/")[2] if "/zoneinfo/" in path else ""


def _is_known(zone: str) -> bool:
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, KeyError):
        return False
    return True

"""Event times as the wall clock of a zone shows them: windows of instants begin at local midnight."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = ["LocalTime"]

_EPOCH = datetime.datetime(1970, 1, 1)
_MILLISECOND = datetime.timedelta(milliseconds=1)
# Sums of times stay below 64 bits.
_FOREVER = 1 << 61
_LONGEST_REPEAT = 24 * 3_600_000
# The years that Python knows, less a day for the offset.
_LEAST, _MOST = -62_135_510_400_000, 253_402_214_399_999


class LocalTime:
    """Turns milliseconds since the epoch into those of a wall clock, and back."""

    def __init__(self, zone: datetime.tzinfo | None) -> None:
        self._zone = zone

    def to_local(self, stamps: Array) -> Array:
        """The local times of many instants (int64)."""
        if self._zone is None:
            return stamps
        if not isinstance(self._zone, ZoneInfo):
            # The same distance from UTC all the time.
            distance = self._zone.utcoffset(None)
            assert distance is not None
            return stamps + distance // _MILLISECOND
        instants = pa.array(stamps).view(pa.timestamp("ms", self._zone.key))
        return np.asarray(pc.local_timestamp(instants).view(pa.int64()))

    def last_shown(self, instant_ms: int) -> int:
        """The latest time that the clock has shown for the last time."""
        instant_ms = max(min(instant_ms, _FOREVER), -_FOREVER)
        if self._zone is None or not _LEAST <= instant_ms <= _MOST:
            return instant_ms
        local_ms = int(self.to_local(np.array([instant_ms]))[0])
        if self.to_instant(local_ms) <= instant_ms:
            return local_ms
        # The clock will be set back: what it shows now comes again.
        past, coming = local_ms - _LONGEST_REPEAT, local_ms
        while coming - past > 1:
            middle = (past + coming) // 2
            past, coming = (middle, coming) if self.to_instant(middle) <= instant_ms else (past, middle)
        return past

    def to_instant(self, local_ms: int) -> int:
        """The instant of a local time; the later one if the clock shows that time twice."""
        if self._zone is None or not _LEAST <= local_ms <= _MOST:
            return local_ms
        local = (_EPOCH + datetime.timedelta(milliseconds=local_ms)).replace(tzinfo=self._zone, fold=1)
        return (local.astimezone(datetime.UTC).replace(tzinfo=None) - _EPOCH) // _MILLISECOND

    def to_instants(self, local: Array) -> Array:
        """The instants of many local times (int64)."""
        if self._zone is None:
            return local
        distinct, indexes = np.unique(local, return_inverse=True)
        return np.array([self.to_instant(each) for each in distinct.tolist()], np.int64)[indexes]

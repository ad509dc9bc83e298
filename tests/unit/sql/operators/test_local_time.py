"""Local times of windows: days of 23 and 25 hours, zones without a name."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import numpy as np

from funke.engine.sql.operators.windows.local_time import LocalTime

HOUR = 3_600_000
BERLIN = LocalTime(ZoneInfo("Europe/Berlin"))
# 2024-10-27 03:00 in Berlin is 02:00 once more; 2024-03-31 02:00 is 03:00.
SET_BACK = int(datetime.datetime(2024, 10, 27, 1, tzinfo=datetime.UTC).timestamp() * 1000)
SET_FORWARD = int(datetime.datetime(2024, 3, 31, 1, tzinfo=datetime.UTC).timestamp() * 1000)


def test_local_times_and_back() -> None:
    stamps = np.array([SET_BACK - 2 * HOUR, SET_BACK - HOUR, SET_BACK, SET_FORWARD - 1, SET_FORWARD])
    offsets = np.array([2, 2, 1, 1, 2]) * HOUR
    assert BERLIN.to_local(stamps).tolist() == (stamps + offsets).tolist()
    # What is shown twice counts as the second time.
    assert BERLIN.to_instants(stamps + offsets).tolist() == [
        SET_BACK - 2 * HOUR,
        SET_BACK,
        SET_BACK,
        SET_FORWARD - 1,
        SET_FORWARD,
    ]


def test_time_that_comes_again_is_not_over() -> None:
    begin = SET_BACK + HOUR  # 02:00, for the second time
    assert BERLIN.last_shown(SET_BACK - HOUR - 1) == begin - 1
    assert BERLIN.last_shown(SET_BACK - HOUR) == begin - 1
    assert BERLIN.last_shown(SET_BACK - 1) == begin - 1
    assert BERLIN.last_shown(SET_BACK) == begin
    assert BERLIN.last_shown(SET_BACK + 5) == begin + 5


def test_other_zones() -> None:
    assert LocalTime(None).to_instant(5) == LocalTime(None).last_shown(5) == 5
    east = LocalTime(datetime.timezone(datetime.timedelta(hours=8)))
    assert east.to_local(np.array([0])).tolist() == [8 * HOUR]
    assert east.to_instant(8 * HOUR) == 0
    assert LocalTime(None).last_shown((1 << 63) - 1) < 1 << 62

"""Windows as values: comparison, covering, merging, binary form."""

from __future__ import annotations

import io
import pickle
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.engine.operators.windowing.windows import (
    MAX_LONG_VALUE,
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    TimeWindow,
    TimeWindowSerializer,
    mod_inverse,
)
from tests.unit.operators.windowing.recording_context import RecordingMerges

times = st.integers(-(10**6), 10**6)
windows = st.builds(lambda start, size: TimeWindow(start, start + size), times, st.integers(1, 50))


def merges_of(*bounds: tuple[int, int]) -> list[tuple[list[tuple[int, int]], tuple[int, int]]]:
    recorded = RecordingMerges()
    TimeWindow.merge_windows([TimeWindow(*each) for each in bounds], recorded)
    return recorded.merges


@pytest.mark.parametrize(
    ("timestamp", "offset", "size", "start"),
    [
        (0, 0, 5, 0),
        (4, 0, 5, 0),
        (5, 0, 5, 5),
        (-1, 0, 5, -5),
        (-5, 0, 5, -5),
        (-6, 0, 5, -10),
        (3, 2, 5, 2),
        (1, -2, 5, -2),
    ],
)
def test_window_start(timestamp: int, offset: int, size: int, start: int) -> None:
    assert TimeWindow.get_window_start_with_offset(timestamp, offset, size) == start


@given(times, st.integers(1, 100), st.data())
def test_a_timestamp_lies_in_its_window(timestamp: int, size: int, data: Any) -> None:
    offset = data.draw(st.integers(-size + 1, size - 1))
    start = TimeWindow.get_window_start_with_offset(timestamp, offset, size)

    assert start <= timestamp < start + size
    assert (start - offset) % size == 0


def test_touching_windows_merge() -> None:
    assert merges_of((0, 5), (5, 8)) == [([(0, 5), (5, 8)], (0, 8))]


def test_windows_with_a_gap_stay_apart() -> None:
    assert merges_of((0, 5), (6, 8)) == []


def test_a_chain_of_windows_becomes_one() -> None:
    assert merges_of((10, 15), (0, 5), (4, 11), (20, 25)) == [([(0, 5), (4, 11), (10, 15)], (0, 15))]


def test_a_window_within_another_is_covered() -> None:
    assert merges_of((0, 10), (2, 4), (9, 12)) == [([(0, 10), (2, 4), (9, 12)], (0, 12))]


@given(st.sets(windows, max_size=12))
def test_merging_leaves_windows_that_do_not_touch(given_windows: set[TimeWindow]) -> None:
    recorded = RecordingMerges()
    TimeWindow.merge_windows(given_windows, recorded)

    merged_away = {each for group, _ in recorded.merges for each in group}
    left = [(w.start, w.end) for w in given_windows if (w.start, w.end) not in merged_away]
    result = sorted(left + [cover for _, cover in recorded.merges])

    assert all(end < next_start for (_, end), (next_start, _) in pairwise(result))


def test_time_windows_order_by_start_then_end() -> None:
    assert sorted([TimeWindow(1, 3), TimeWindow(0, 9), TimeWindow(1, 2)]) == [
        TimeWindow(0, 9),
        TimeWindow(1, 2),
        TimeWindow(1, 3),
    ]
    with pytest.raises(TypeError, match="compared with another one"):
        _ = TimeWindow(0, 1) < 5  # type: ignore[operator]


def test_the_last_timestamp_of_windows() -> None:
    assert TimeWindow(0, 5).max_timestamp() == 4
    assert CountWindow(3).max_timestamp() == GlobalWindow.get().max_timestamp() == MAX_LONG_VALUE


@pytest.mark.parametrize("window", [TimeWindow(-5, 2**40), CountWindow(7), GlobalWindow()])
def test_windows_are_values(window: Any) -> None:
    copy = pickle.loads(pickle.dumps(window))

    assert copy == window
    assert hash(copy) == hash(window)
    assert window not in ("other", None)


def test_binary_forms() -> None:
    stream = io.BytesIO()
    TimeWindowSerializer().serialize(TimeWindow(-1, 5), stream)
    CountWindowSerializer().serialize(CountWindow(3), stream)
    GlobalWindowSerializer().serialize(GlobalWindow(), stream)

    # Big-endian longs, as Flink's own serializers write them.
    assert stream.getvalue().hex() == "ff" * 8 + "0000000000000005" + "0000000000000003" + "00"
    stream.seek(0)
    assert TimeWindowSerializer().deserialize(stream) == TimeWindow(-1, 5)
    assert CountWindowSerializer().deserialize(stream) == CountWindow(3)
    assert GlobalWindowSerializer().deserialize(stream) == GlobalWindow()


@given(st.integers(0, 2**62).map(lambda number: 2 * number + 1))
def test_mod_inverse(odd: int) -> None:
    assert odd * mod_inverse(odd) % 2**64 == 1

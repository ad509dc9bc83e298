"""How many records a slice has: by the time that was spent on the last ones."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest

from funke.engine.operators.records import slice_sizer
from funke.engine.operators.records.slice_sizer import SliceSizer
from funke.engine.types.columns.column_batch import ColumnBatch

BATCH = ColumnBatch(pa.record_batch({"n": list(range(5000))}))


@dataclass
class Clocks:
    """What a thread sees of time."""

    wall: float = 0.0
    cpu: float = 0.0
    waits: int = 0

    def perf_counter(self) -> float:
        return self.wall

    def thread_time(self) -> float:
        return self.cpu


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    sizes = Clocks()
    monkeypatch.setattr(slice_sizer, "time", sizes)
    monkeypatch.setattr(slice_sizer, "_waits", lambda: sizes.waits)
    return sizes


def lengths(sizer: SliceSizer, clocks: Clocks, wall: float, cpu: float, waits: int = 0, fixed: float = 0) -> list[int]:
    """The lengths of the slices of 5 000 rows of which each takes so long, and each slice `fixed` beside."""
    results = []
    for batch in sizer.column_slices(BATCH):
        results.append(len(batch))
        clocks.wall += wall * len(batch) + fixed
        clocks.cpu += cpu * len(batch) + fixed
        clocks.waits += waits
    return results


def test_a_function_that_waits_gets_few_records_at_a_time(clocks: Clocks) -> None:
    first, second, *others = lengths(SliceSizer(), clocks, wall=0.05, cpu=0, waits=1)
    # The second tells that time is spent on rows.
    assert (first, second) == (1, 2)
    assert set(others) == {1}


def test_a_slow_function_in_columns_gets_one_record_at_a_time(clocks: Clocks) -> None:
    _, _, *others = lengths(SliceSizer(), clocks, wall=1, cpu=1)
    assert set(others) == {1}


@pytest.mark.parametrize("fixed", [0.005, 0.05, 0.5, 3.0])
def test_calls_for_many_columns_take_as_long_for_one_row_as_for_many(clocks: Clocks, fixed: float) -> None:
    sizes = lengths(SliceSizer(), clocks, wall=1e-5, cpu=1e-5, fixed=fixed)
    assert len(sizes) <= 8
    assert max(sizes) > 1000


def test_rows_of_wide_tables_take_most_of_the_time(clocks: Clocks) -> None:
    sizer = SliceSizer()
    lengths(sizer, clocks, wall=1e-3, cpu=1e-3, fixed=0.1)
    sizes = lengths(sizer, clocks, wall=1e-3, cpu=1e-3, fixed=0.1)
    assert 3 * len(sizes) * 0.1 < 5000 * 1e-3
    assert max(sizes) * 1e-3 <= 1


def test_a_thread_that_others_keep_from_running_is_not_slow(clocks: Clocks) -> None:
    assert max(lengths(SliceSizer(), clocks, wall=0.05, cpu=1e-7)) > 1000


def test_what_others_do_between_two_pieces_does_not_count(clocks: Clocks) -> None:
    sizer = SliceSizer()
    for _ in range(4):
        with sizer.piece(sizer.most_rows):
            clocks.cpu += 1e-5
        clocks.wall += 1
        clocks.cpu += 1
    assert sizer.most_rows > 1000


def test_records_for_somebody_slow_come_in_short_slices(clocks: Clocks) -> None:
    sizer = SliceSizer()
    results = []
    for values, _ in sizer.slices(list(range(500)), None):
        results.append(len(values))
        clocks.wall += 0.2
    assert set(results) == {1}

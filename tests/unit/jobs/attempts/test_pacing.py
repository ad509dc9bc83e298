"""How much is read and processed at a time: by what records have taken so far."""

from __future__ import annotations

from typing import Any, cast

import pytest

from funke.engine.connectors.sequence import SequenceSource
from funke.engine.graph.job_graph import ChainedOperator, JobVertex
from funke.engine.graph.operations import ReadSource
from funke.engine.jobs.attempts.attempt import Attempt
from funke.engine.jobs.attempts.epoch_coordinator import EpochCoordinator
from funke.engine.jobs.attempts.epoch_sizer import EpochSizer
from funke.engine.jobs.checkpoints.checkpoint_coordinator import CheckpointCoordinator, CheckpointedJob
from funke.engine.jobs.checkpoints.checkpoint_settings import CheckpointSettings
from funke.engine.jobs.checkpoints.checkpoint_store import CheckpointStore
from funke.engine.jobs.sources.job_sources import JobSources
from funke.engine.jobs.sources.source_coordinator import SourceCoordinator
from funke.engine.operators.records import slice_sizer
from funke.engine.operators.records.slice_sizer import SliceSizer


class FakeTime:
    """A clock that moves when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def thread_time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    fake = FakeTime()
    monkeypatch.setattr(slice_sizer, "time", fake)
    return fake


def sizes(sizer: SliceSizer, clock: FakeTime, count: int, seconds_per_record: float) -> list[int]:
    results = []
    for values, timestamps in sizer.slices(list(range(count)), list(range(count))):
        assert timestamps == values
        results.append(len(values))
        clock.now += seconds_per_record * len(values)
    return results


def test_slices_of_quick_functions_grow_to_whole_batches(clock: FakeTime) -> None:
    sizer = SliceSizer()
    first = sizes(sizer, clock, 1000, 0.000_001)
    assert sum(first) == 1000
    assert first[:-1] == sorted(first[:-1])
    assert len(first) < 10
    assert sizes(sizer, clock, 1000, 0.000_001) == [1000]


def test_a_slow_function_is_given_one_record_at_a_time(clock: FakeTime) -> None:
    sizer = SliceSizer()
    sizes(sizer, clock, 1000, 0.000_001)
    sizes(sizer, clock, 10, 1.0)
    assert sizes(sizer, clock, 5, 1.0) == [1, 1, 1, 1, 1]


def test_slices_hold_every_record_once_and_in_order(clock: FakeTime) -> None:
    sizer = SliceSizer()
    seen: list[Any] = []
    for seconds in (0.0, 0.5, 0.001, 0.05):
        for values, timestamps in sizer.slices(list(range(100)), None):
            assert timestamps is None
            seen += values
            clock.now += seconds
    assert seen == list(range(100)) * 4


def test_an_empty_batch_has_no_slices(clock: FakeTime) -> None:
    assert list(SliceSizer().slices([], None)) == []


def test_epochs_grow_until_they_take_as_long_as_wanted() -> None:
    sizer = EpochSizer(wanted_ms=1000)
    first = sizer.max_records
    sizer.observe(first, busy_ms=10)
    assert sizer.max_records > first
    grown = sizer.max_records
    sizer.observe(grown, busy_ms=2000)
    assert sizer.max_records == grown // 2


def test_an_epoch_that_found_little_to_read_says_nothing() -> None:
    sizer = EpochSizer(wanted_ms=1000)
    before = sizer.max_records
    sizer.observe(10, busy_ms=5000)
    assert sizer.max_records == before


def test_an_epoch_that_was_cut_shows_how_slow_functions_are() -> None:
    sizer = EpochSizer(wanted_ms=1000)
    sizer.observe(3, busy_ms=1000, was_cut=True)
    assert sizer.max_records == 3
    assert not sizer.is_speed_known
    sizer.observe(0, busy_ms=1000, was_cut=True)
    assert sizer.max_records == 1, "never nothing"


def test_nothing_is_known_before_the_first_record() -> None:
    sizer = EpochSizer(wanted_ms=4000)
    sizer.observe(0, busy_ms=0)
    assert not sizer.is_speed_known
    assert sizer.deadline_ms < 4000
    sizer.observe(10, busy_ms=1)
    assert sizer.is_speed_known
    assert sizer.deadline_ms == 4000


def test_slow_functions_make_sources_read_less_and_fast_ones_more() -> None:
    source = SequenceSource(0, 10**9)
    head = ChainedOperator(1, "numbers", ReadSource(source), None, "id", False, None)
    coordinator = SourceCoordinator(
        JobVertex(1, (head,), 1, 128, "default"), 0, source, source.create_enumerator(1), None
    )
    checkpoint_coordinator = CheckpointCoordinator(
        CheckpointedJob("job"), CheckpointSettings(), CheckpointStore("/nowhere"), 0
    )
    nobody = cast(Any, None)
    attempt = Attempt(nobody, JobSources([coordinator]), checkpoint_coordinator, nobody, nobody, nobody)
    coordinator = EpochCoordinator(attempt, nobody, {}, 0, nobody, nobody)

    def read() -> int:
        ((_, splits),) = coordinator._poll()
        return sum(split.payload.end - split.payload.start for split in splits)

    first = read()
    coordinator._sizer.observe(first, busy_ms=100 * coordinator._epoch_ms())
    slow = read()
    assert 0 < slow <= first // 50
    coordinator._sizer.observe(slow, busy_ms=1)
    assert read() > slow

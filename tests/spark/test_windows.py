"""Windows on Spark: results depend neither on how the input is cut into epochs nor on parallelism."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from funke.common import Duration, Time, Types, WatermarkStrategy
from funke.common.watermark_strategy import TimestampAssigner, WatermarkGenerator
from funke.datastream import AggregateFunction, DataStream, OutputTag, WindowFunction
from funke.datastream.functions import AllWindowFunction
from funke.datastream.state import ReducingStateDescriptor
from funke.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from funke.engine.graph.operations import Window as WindowOperation
from tests.harness.operator_harness import OperatorHarness
from tests.harness.scripted_source import ScriptedSource, cut
from tests.spark.job_running import collect, new_environment

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

few = settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
# (key, event time), with at most 20 ms of disorder
records = some.lists(some.tuples(some.sampled_from("abcde"), some.integers(0, 20)), max_size=30).map(
    lambda pairs: [(key, position * 3 + shift) for position, (key, shift) in enumerate(pairs)]
)
indexes = some.lists(some.integers(0, 100), max_size=3)
parallelisms = some.integers(1, 2)


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Describe(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield key, window.start, window.end, sorted(time for _, time in inputs)


class CountAll(AllWindowFunction[Any, Any, Any]):
    def apply(self, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield window.start, len(list(inputs))


class Numbers(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield key, [time for _, time in inputs]


class Total(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def timed(pairs: list[Any], cuts: list[int], parallelism: int, strategy: WatermarkStrategy | None = None) -> DataStream:
    strategy = strategy or WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(25))
    stream = new_environment(parallelism).from_source(
        ScriptedSource(cut(pairs, cuts)), strategy.with_timestamp_assigner(SecondField()), "scripted"
    )
    return stream


def by_window(pairs: list[Any], size: int, slide: int) -> dict[Any, list[int]]:
    times_by_window: dict[Any, list[int]] = defaultdict(list)
    for key, time in pairs:
        for start in range(time - size + 1, time + 1):
            if start % slide == 0:
                times_by_window[key, start].append(time)
    return times_by_window


@few
@given(records, indexes, parallelisms)
def test_tumbling_windows(pairs: list[Any], cuts: list[int], parallelism: int) -> None:
    keyed = timed(pairs, cuts, parallelism).key_by(lambda pair: pair[0])
    results = collect(keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).apply(Describe()))
    expected = [(key, start, start + 10, sorted(times)) for (key, start), times in by_window(pairs, 10, 10).items()]
    assert sorted(results) == sorted(expected)


@few
@given(records, indexes, parallelisms)
def test_sliding_windows(pairs: list[Any], cuts: list[int], parallelism: int) -> None:
    keyed = timed(pairs, cuts, parallelism).key_by(lambda pair: pair[0])
    windows = keyed.window(SlidingEventTimeWindows.of(Time.milliseconds(20), Time.milliseconds(5)))
    expected = [(sum(times), len(times)) for times in by_window(pairs, 20, 5).values()]
    assert Counter(collect(windows.aggregate(Total()))) == Counter(expected)


@few
@given(records, indexes, parallelisms)
def test_session_windows(pairs: list[Any], cuts: list[int], parallelism: int) -> None:
    keyed = timed(pairs, cuts, parallelism).key_by(lambda pair: pair[0])
    results = collect(keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(8))).apply(Describe()))
    expected = []
    for key in {key for key, _ in pairs}:
        times = sorted(time for owner, time in pairs if owner == key)
        breaks = [0, *(at for at in range(1, len(times)) if times[at] - times[at - 1] > 8), len(times)]
        for start, end in pairwise(breaks):
            expected.append((key, times[start], times[end - 1] + 8, times[start:end]))
    assert sorted(results) == sorted(expected)


@few
@given(records, indexes, parallelisms)
def test_count_windows_and_an_evictor(pairs: list[Any], cuts: list[int], parallelism: int) -> None:
    keyed = timed(pairs, cuts, parallelism).key_by(lambda pair: pair[0])
    windows = keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(2)).evictor(CountEvictor.of(3))
    expected = []
    for key in {key for key, _ in pairs}:
        times = [time for owner, time in pairs if owner == key]
        expected += [(key, times[max(0, end - 3) : end]) for end in range(2, len(times) + 1, 2)]
    assert sorted(collect(windows.apply(Numbers()))) == sorted(expected)


@few
@given(records, indexes, parallelisms)
def test_windows_over_everything(pairs: list[Any], cuts: list[int], parallelism: int) -> None:
    windows = timed(pairs, cuts, parallelism).window_all(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    expected = Counter(time // 10 * 10 for _, time in pairs)
    assert sorted(collect(windows.apply(CountAll()))) == sorted(expected.items())


class AfterEachRecord(WatermarkGenerator):
    """Says after every record that time has come as far as the latest of them."""

    def __init__(self) -> None:
        self._latest = -(1 << 60)

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        self._latest = max(self._latest, event_timestamp)
        output.emit_watermark(self._latest - 1)


@few
@given(records, indexes)
def test_which_records_are_late_does_not_depend_on_the_cuts(pairs: list[Any], cuts: list[int]) -> None:
    late = OutputTag("late", Types.PICKLED_BYTE_ARRAY())
    strategy = WatermarkStrategy.for_generator(AfterEachRecord)
    windows = timed(pairs, cuts, 1, strategy).key_by(lambda pair: pair[0])
    ends = windows.window(TumblingEventTimeWindows.of(Time.milliseconds(5))).side_output_late_data(late)
    results = collect(ends.apply(Numbers()).get_side_output(late))
    expected, latest = [], -(1 << 60)
    for key, time in pairs:
        if time // 5 * 5 + 4 <= latest - 1:
            expected.append((key, time))
        latest = max(latest, time)
    assert results == expected


def replayed(operation: WindowOperation, pairs: list[Any], per_record: bool) -> list[Any]:
    """The results of the operator alone, given all records in one piece, with a watermark after each or at the end."""
    harness = OperatorHarness(operation)
    latest = -(1 << 60)
    for key, time in pairs:
        harness.process((key, time), time)
        latest = max(latest, time)
        if per_record:
            harness.watermark(latest - 1)
    harness.end_input()
    return harness.outputs()


@few
@given(records, indexes)
def test_sessions_that_late_records_fire_again(pairs: list[Any], cuts: list[int]) -> None:
    assigner = EventTimeSessionWindows.with_gap(Time.milliseconds(4))
    strategy = WatermarkStrategy.for_generator(AfterEachRecord)
    keyed = timed(pairs, cuts, 1, strategy).key_by(lambda pair: pair[0])
    results = collect(keyed.window(assigner).allowed_lateness(12).apply(Describe()))
    operation = WindowOperation(
        assigner, EventTimeTrigger(), lambda pair: pair[0], window_function=Describe(), allowed_lateness_ms=12
    )
    assert Counter(map(repr, results)) == Counter(map(repr, replayed(operation, pairs, per_record=True)))


@few
@given(records, indexes, parallelisms, some.sampled_from([(3, 0), (4, 2)]))
def test_count_windows(pairs: list[Any], cuts: list[int], parallelism: int, shape: tuple[int, int]) -> None:
    size, slide = shape
    keyed = timed(pairs, cuts, parallelism).key_by(lambda pair: pair[0])
    expected = []
    for key in {key for key, _ in pairs}:
        times = [time for owner, time in pairs if owner == key]
        starts = range(0, len(times) - size + 1, slide or size)
        expected += [(key, times[start : start + size]) for start in starts]
    assert sorted(collect(keyed.count_window(size, slide).apply(Numbers()))) == sorted(expected)


class EverySecond(Trigger[Any, Any]):
    """Fires at every second element of a window and at its end; counts in state of its own."""

    _count = ReducingStateDescriptor("seen", lambda left, right: left + right, Types.INT())

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        seen = ctx.get_partitioned_state(self._count)
        seen.add(1)
        return TriggerResult.FIRE if seen.get() % 2 == 0 else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(self._count)

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(self._count).clear()


@few
@given(records, indexes)
def test_a_trigger_with_state_and_timers(pairs: list[Any], cuts: list[int]) -> None:
    assigner = TumblingEventTimeWindows.of(Time.milliseconds(20))
    strategy = WatermarkStrategy.for_generator(AfterEachRecord)
    keyed = timed(pairs, cuts, 1, strategy).key_by(lambda pair: pair[0])
    results = collect(keyed.window(assigner).trigger(EverySecond()).apply(Numbers()))
    operation = WindowOperation(assigner, EverySecond(), lambda pair: pair[0], window_function=Numbers())
    assert Counter(map(repr, results)) == Counter(map(repr, replayed(operation, pairs, per_record=True)))


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingProcessingTimeWindows.of(Time.milliseconds(300)),
        SlidingProcessingTimeWindows.of(Time.milliseconds(400), Time.milliseconds(200)),
        ProcessingTimeSessionWindows.with_gap(Time.milliseconds(300)),
    ],
    ids=repr,
)
def test_processing_time_windows_count_every_record(assigner: Any) -> None:
    """Which window a record gets into depends on the clock, but each is counted once for every window it is in."""
    pairs = [(key, 1) for key in "abcabcab" * 5]
    env = new_environment(2)
    source = ScriptedSource(cut(pairs, [3, 11, 24]), is_endless=True)
    keyed = env.from_source(source, WatermarkStrategy.no_watermarks(), "endless").key_by(lambda pair: pair[0])
    counts = keyed.window(assigner).reduce(lambda left, right: (left[0], left[1] + right[1]))
    windows_of_a_record = 2 if isinstance(assigner, SlidingProcessingTimeWindows) else 1
    seen: Counter[str] = Counter()
    with counts.execute_and_collect() as results:
        for key, count in results:
            seen[key] += count
            if sum(seen.values()) >= len(pairs) * windows_of_a_record:
                break
    assert seen == {key: count * windows_of_a_record for key, count in Counter(key for key, _ in pairs).items()}

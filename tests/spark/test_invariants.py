"""A job's output depends neither on how its input is cut into epochs nor on parallelism; time follows Flink's rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from funke.common import Duration, Types, WatermarkStrategy
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import (
    BroadcastProcessFunction,
    DataStream,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from funke.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from funke.engine.connectors.source import Split
from funke.engine.operators.operator import MAX_WATERMARK
from funke.engine.types.keys.key_groups import KeyGroups
from tests.harness.scripted_source import ScriptedSource, cut
from tests.spark.job_running import collect, in_epochs, new_environment

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

# Each example is a job of half a second, so few of them, and none is shrunk for minutes.
few = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
parallelisms = some.integers(1, 3)
indexes = some.lists(some.integers(0, 100), max_size=3)
BOUND_MS = 20
WINDOW_MS = 10


class FirstField(TimestampAssigner):
    """The event time is the second field of a record."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def scripted(
    env: StreamExecutionEnvironment,
    epochs: list[list[Any]],
    strategy: WatermarkStrategy | None = None,
    splits: int = 1,
) -> DataStream:
    source = ScriptedSource(epochs, splits=splits)
    return env.from_source(source, strategy or WatermarkStrategy.no_watermarks(), "scripted")


class AddOne(MapFunction):
    """Not a lambda: it runs in a slot, behind an exchange."""

    def map(self, value: int) -> int:
        return value + 1


@few
@given(some.lists(some.integers(-50, 50), max_size=40), indexes, parallelisms, some.integers(1, 3))
def test_a_stateless_chain(numbers: list[int], cuts: list[int], parallelism: int, splits: int) -> None:
    stream = scripted(new_environment(parallelism), cut(numbers, cuts), splits=splits)
    doubled = stream.map(lambda number: number * 2).filter(lambda number: number % 3 != 0)
    results = collect(doubled.map(AddOne()).flat_map(lambda number: [number] * (number % 2)))
    expected = [number * 2 + 1 for number in numbers if number * 2 % 3]
    assert Counter(results) == Counter(expected)


class CountPerKey(KeyedProcessFunction):
    def open(self, context: Any) -> None:
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), count


@few
@given(some.lists(some.sampled_from(["a", "b", "c", "d", ""]), max_size=40), indexes, parallelisms, some.integers(1, 3))
def test_a_keyed_count_and_a_reduce(words: list[str], cuts: list[int], parallelism: int, splits: int) -> None:
    words_stream = scripted(new_environment(parallelism), cut(words, cuts), splits=splits)
    counted = words_stream.key_by(lambda word: word).process(CountPerKey())
    reduced = (
        words_stream.map(lambda word: (word, 1)).key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    expected = Counter((word, count) for word, total in Counter(words).items() for count in range(1, total + 1))
    assert Counter(collect(counted.union(reduced))) == expected + expected


class CountPerWindow(KeyedProcessFunction):
    """A window of its own making: counts per key and stretch of event time, given out by a timer."""

    def open(self, context: Any) -> None:
        self.counts = context.get_map_state(MapStateDescriptor("counts", Types.LONG(), Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if ctx.timestamp() <= ctx.timer_service().current_watermark():
            yield "late", value
        end = ctx.timestamp() // WINDOW_MS * WINDOW_MS + WINDOW_MS - 1
        self.counts.put(end, (self.counts.get(end) or 0) + 1)
        ctx.timer_service().register_event_time_timer(end)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        if ctx.timer_service().current_watermark() < timestamp:
            yield "early", timestamp
        yield ctx.get_current_key(), timestamp, self.counts.get(timestamp)
        self.counts.remove(timestamp)


@some.composite
def events_within_the_bound(draw: Any) -> list[tuple[str, int]]:
    """Events that are never further behind the latest one than the bound."""
    latest, events = 0, []
    for key, step, lag in draw(
        some.lists(some.tuples(some.sampled_from("xyz"), some.integers(0, 15), some.integers(0, BOUND_MS)), max_size=30)
    ):
        latest += step
        events.append((key, max(0, latest - lag)))
    return events


@few
@given(events_within_the_bound(), indexes, parallelisms, some.integers(1, 3))
def test_event_time_timers(events: list[tuple[str, int]], cuts: list[int], parallelism: int, splits: int) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND_MS))
    stream = scripted(
        new_environment(parallelism),
        cut(events, cuts),
        strategy.with_timestamp_assigner(FirstField()),
        splits,
    )
    results = collect(stream.key_by(lambda event: event[0]).process(CountPerWindow()))
    expected = Counter((key, time // WINDOW_MS * WINDOW_MS + WINDOW_MS - 1) for key, time in events)
    assert {(key, end): count for key, end, count in results} == expected
    assert len(results) == len(expected)
    for key in "xyz":
        ends = [result[1] for result in results if result[0] == key]
        assert ends == sorted(ends)


class JoinByKey(KeyedCoProcessFunction):
    def open(self, context: Any) -> None:
        self.left = context.get_list_state(ListStateDescriptor("left", Types.LONG()))
        self.right = context.get_list_state(ListStateDescriptor("right", Types.LONG()))

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.left.add(value[1])
        yield from ((value[0], value[1], other) for other in self.right.get())

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.right.add(value[1])
        yield from ((value[0], other, value[1]) for other in self.left.get())


pairs = some.lists(some.tuples(some.sampled_from("pq"), some.integers(0, 9)), max_size=12)


@few
@given(pairs, pairs, indexes, indexes, parallelisms)
def test_two_connected_streams_with_keyed_state(
    left: list[Any], right: list[Any], left_cuts: list[int], right_cuts: list[int], parallelism: int
) -> None:
    env = new_environment(parallelism)
    first, second = scripted(env, cut(left, left_cuts)), scripted(env, cut(right, right_cuts))
    joined = first.connect(second).key_by(lambda pair: pair[0], lambda pair: pair[0]).process(JoinByKey())
    expected = Counter((key, a, b) for key, a in left for other, b in right if key == other)
    assert Counter(collect(joined)) == expected


ODD = OutputTag("odd", Types.LONG())


class SplitOdd(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value % 2:
            yield ODD, value
        else:
            yield value


@few
@given(some.lists(some.integers(0, 99), max_size=40), indexes, parallelisms)
def test_side_outputs(numbers: list[int], cuts: list[int], parallelism: int) -> None:
    even = scripted(new_environment(parallelism), cut(numbers, cuts)).process(SplitOdd(), Types.LONG())
    odd = even.get_side_output(ODD).map(lambda number: -number, Types.LONG())
    expected = Counter(-number if number % 2 else number for number in numbers)
    assert Counter(collect(even.union(odd))) == expected


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


class ApplyRules(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        factor = ctx.get_broadcast_state(RULES).get(value[0])
        yield value[0], None if factor is None else factor * value[1]

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(value[0], value[1])


@few
@given(pairs, indexes, parallelisms)
def test_broadcast_rules_that_come_first(data: list[Any], cuts: list[int], parallelism: int) -> None:
    env = new_environment(parallelism)
    rules = scripted(env, [[("p", 3), ("q", 5)]]).broadcast(RULES)
    results = collect(scripted(env, [[], *cut(data, cuts)]).rebalance().connect(rules).process(ApplyRules()))
    assert Counter(results) == Counter((key, {"p": 3, "q": 5}[key] * number) for key, number in data)


class WatermarkSeen(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield value[0], ctx.timer_service().current_watermark()


def test_the_watermark_is_the_minimum_over_all_inputs_and_never_goes_back(env: StreamExecutionEnvironment) -> None:
    # Only in epochs do the sources take turns.
    in_epochs(env)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(FirstField())
    fast = scripted(
        env, [[("a", 1000)], [("probe-1", 1000)], [], [("probe-2", 1000)], [], [("probe-3", 1000)]], strategy
    )
    slow = scripted(env, [[("b", 500)], [], [("b", 700)], [], [("b", 90)], [("end", 90)]], strategy)
    seen = dict(collect(fast.union(slow).key_by(lambda event: 0).process(WatermarkSeen())))
    assert seen == {
        "a": -(1 << 63),
        "b": 699,
        "probe-1": 499,
        "probe-2": 699,
        "probe-3": 699,
        "end": 699,
    }


class FarTimer(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(1 << 50)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, ctx.timer_service().current_watermark()


@pytest.mark.parametrize("with_watermarks", [True, False])
def test_the_end_of_input_fires_all_event_time_timers(env: StreamExecutionEnvironment, with_watermarks: bool) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(FirstField())
    stream = scripted(env, [[("a", 1)], [("b", 2)]], strategy if with_watermarks else None)
    # Two exchanges: the last watermark travels all the way.
    keyed = stream.key_by(lambda event: event[0]).map(lambda event: event).rebalance().key_by(lambda event: event[0])
    fired = collect(keyed.process(FarTimer()))
    assert sorted(fired) == [("a", 1 << 50, MAX_WATERMARK), ("b", 1 << 50, MAX_WATERMARK)]


class EndlessScript(ScriptedSource):
    """Stays silent behind its last epoch instead of ending."""

    is_bounded = False

    def create_enumerator(self, parallelism: int, restored: Any = None) -> Any:
        enumerator = super().create_enumerator(parallelism, restored)

        class Endless(type(enumerator)):  # type: ignore[misc]
            is_finished = False

            def poll(self, max_records: int) -> list[Split]:
                return [Split(split.id, split.payload, is_last=False) for split in super().poll(max_records)]

        enumerator.__class__ = Endless
        return enumerator


class TimerAtItsTime(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_event_time_timer(value[1])

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield timestamp


def test_a_source_that_has_ended_does_not_hold_back_the_others(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(FirstField())
    endless = env.from_source(EndlessScript([[("on", 100)], [("on", 200)]]), strategy, "goes on")
    ended = scripted(env, [[("over", 10)]], strategy)
    without_time = env.from_collection([("never timed", 5)])
    stream = endless.union(ended, without_time).key_by(lambda event: event[0]).process(TimerAtItsTime())
    with stream.execute_and_collect() as results:
        assert {next(results) for _ in range(3)} == {5, 10, 100}


def test_a_source_that_falls_silent_does_not_hold_back_the_others(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(FirstField())
    silent = env.from_source(
        EndlessScript([[("silent", 10)]]), strategy.with_idleness(Duration.of_millis(300)), "silent"
    )
    endless = env.from_source(EndlessScript([[("on", 100)], [("on", 200)]]), strategy, "goes on")
    stream = endless.union(silent).key_by(lambda event: event[0]).process(TimerAtItsTime())
    with stream.execute_and_collect() as results:
        assert {next(results), next(results)} == {10, 100}


def test_branches_of_different_length_meet_again(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(FirstField())
    events = [("a", time) for time in range(0, 100, 10)]
    stream = scripted(env, cut(events, [3, 7]), strategy)
    long_way = stream.rebalance().map(lambda event: event).key_by(lambda event: event[0]).map(lambda event: event)
    met = stream.union(long_way.shuffle().map(lambda event: event)).key_by(lambda event: event[0])
    assert collect(met.process(CountPerWindow())) == [("a", time + WINDOW_MS - 1, 2) for _, time in events]


class SoonTimer(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        now = ctx.timer_service().current_processing_time()
        ctx.timer_service().register_processing_time_timer(now + 300)
        yield "set", now + 300

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "fired", timestamp, ctx.timer_service().current_processing_time()


def test_processing_time_timers_fire_while_no_data_arrives(env: StreamExecutionEnvironment) -> None:
    stream = env.from_source(EndlessScript([["x"]]), WatermarkStrategy.no_watermarks(), "silent")
    with stream.key_by(lambda value: value).process(SoonTimer()).execute_and_collect() as results:
        _, due = next(results)
        kind, timestamp, now = next(results)
    assert (kind, timestamp) == ("fired", due)
    assert due <= now < due + 5_000


class SubtaskOf(KeyedProcessFunction):
    def open(self, context: Any) -> None:
        self.subtask = context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, self.subtask


def test_workers_and_driver_agree_on_key_groups(env: StreamExecutionEnvironment) -> None:
    # The driver's hash seed is random, so this holds only if the seed does not matter.
    keys = ["a", "straße", 7, 2.5, ("t", 1), None, True, b"bytes", -1, 1 << 70]
    placed = collect(scripted(env, [keys, keys]).set_parallelism(1).key_by(lambda key: key).process(SubtaskOf()))
    expected = [(key, KeyGroups(128).of(key) * 2 // 128) for key in [*keys, *keys]]
    assert sorted(placed, key=repr) == sorted(expected, key=repr)

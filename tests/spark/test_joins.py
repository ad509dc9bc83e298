"""Joins of two streams on Spark: the pairs do not depend on epochs or parallelism."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from funke.common import Duration, WatermarkStrategy
from funke.common.time import Time
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import CoGroupFunction, DataStream, ProcessJoinFunction, StreamExecutionEnvironment
from funke.datastream.window import TumblingEventTimeWindows
from funke.engine.errors import JobExecutionError
from tests.harness.scripted_source import ScriptedSource, cut
from tests.spark.job_running import collect, new_environment

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

# Each example is a job of half a second, so few of them.
few = settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
BOUND_MS = 1000
events = some.lists(some.tuples(some.sampled_from("abc"), some.integers(0, 60), some.integers()), max_size=25)
indexes = some.lists(some.integers(0, 100), max_size=3)
parallelisms = some.integers(1, 3)
WINDOWS = TumblingEventTimeWindows.of(Time.milliseconds(10))


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def timed(env: StreamExecutionEnvironment, records: list[Any], cuts: list[int]) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND_MS))
    return env.from_source(
        ScriptedSource(cut(records, cuts)), strategy.with_timestamp_assigner(SecondField()), "scripted"
    )


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        yield left, right, ctx.get_timestamp()


@few
@given(events, events, indexes, parallelisms)
def test_an_interval_join(left: list[Any], right: list[Any], cuts: list[int], parallelism: int) -> None:
    env = new_environment(parallelism)
    keyed = [timed(env, records, cuts).key_by(lambda record: record[0]) for records in (left, right)]
    joined = keyed[0].interval_join(keyed[1]).between(Duration.of_millis(-5), Duration.of_millis(10))
    expected = Counter(
        (one, two, max(one[1], two[1]))
        for one, two in product(left, right)
        if one[0] == two[0] and one[1] - 5 <= two[1] <= one[1] + 10
    )
    assert Counter(collect(joined.process(Pair()))) == expected


@few
@given(events, events, indexes, parallelisms)
def test_a_window_join(left: list[Any], right: list[Any], cuts: list[int], parallelism: int) -> None:
    env = new_environment(parallelism)
    joined = (
        timed(env, left, cuts)
        .join(timed(env, right, cuts))
        .where(lambda record: record[0])
        .equal_to(lambda record: record[0])
        .window(WINDOWS)
        .apply(lambda one, two: (one, two))
    )
    expected = Counter(
        (one, two) for one, two in product(left, right) if one[0] == two[0] and one[1] // 10 == two[1] // 10
    )
    assert Counter(collect(joined)) == expected


class Sizes(CoGroupFunction):
    def co_group(self, first: Any, second: Any) -> Any:
        first, second = list(first), list(second)
        some_element = (first + second)[0]
        yield some_element[0], some_element[1] // 10, len(first), len(second)


@few
@given(events, events, indexes, parallelisms)
def test_a_co_group(left: list[Any], right: list[Any], cuts: list[int], parallelism: int) -> None:
    env = new_environment(parallelism)
    grouped = (
        timed(env, left, cuts)
        .co_group(timed(env, right, cuts))
        .where(lambda record: record[0])
        .equal_to(lambda record: record[0])
        .window(WINDOWS)
        .apply(Sizes())
    )
    counts = [Counter((record[0], record[1] // 10) for record in side) for side in (left, right)]
    expected = [(*group, counts[0][group], counts[1][group]) for group in counts[0] | counts[1]]
    assert sorted(collect(grouped)) == sorted(expected)


def test_a_join_without_timestamps_says_what_is_missing(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection([("a", 1)]).key_by(lambda record: record[0])
    joined = keyed.interval_join(keyed).between(Duration.of_millis(0), Duration.of_millis(0)).process(Pair())
    with pytest.raises(JobExecutionError, match="call assign_timestamps_and_watermarks"):
        collect(joined)

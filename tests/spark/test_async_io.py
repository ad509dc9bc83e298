"""Asynchronous functions in jobs: results however the input is cut, requests across epochs, failures."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from funke.common import Time, WatermarkStrategy
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import AsyncDataStream, AsyncFunction, ProcessFunction, StreamExecutionEnvironment
from funke.engine.connectors.source import Split
from funke.engine.errors import JobExecutionError
from tests.harness.scripted_source import ScriptedSource, cut
from tests.spark.job_running import collect, in_epochs, new_environment, wait_until

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

few = settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
TIMEOUT = Time.seconds(60)


class Tens(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value) * 10


class Lookup(AsyncFunction[int, int]):
    """Some requests are answered at once, some take longer than the end of an epoch waits."""

    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep((0, 0.01, 0.12)[value % 3])
        return [value, -value]


class Lateness(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timestamp(), ctx.timestamp() <= ctx.timer_service().current_watermark()


@few
@given(some.lists(some.integers(0, 100), max_size=3), some.booleans(), some.integers(1, 2))
def test_results_and_event_time_do_not_depend_on_epochs(cuts: list[int], is_ordered: bool, parallelism: int) -> None:
    numbers = list(range(1, 31))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Tens())
    stream = new_environment(parallelism).from_source(ScriptedSource(cut(numbers, cuts)), strategy, "scripted")
    wait = AsyncDataStream.ordered_wait if is_ordered else AsyncDataStream.unordered_wait
    result = collect(wait(stream, Lookup(), TIMEOUT, 4).process(Lateness()))
    expected = [(sign * number, number * 10, False) for number in numbers for sign in (1, -1)]
    assert Counter(result) == Counter(expected)
    if is_ordered and parallelism == 1:
        assert result == expected


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


class Timed(AsyncFunction[Any, Any]):
    """Tells when each request began and ended."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def async_invoke(self, value: Any) -> list[Any]:
        began = time.time()
        await asyncio.sleep(self._seconds)
        return [(value, began, time.time())]


def test_requests_of_several_epochs_overlap_and_are_answered_without_new_input() -> None:
    env = new_environment(1)
    stream = env.from_source(EndlessScript([[1], [2], [3]]), WatermarkStrategy.no_watermarks(), "silent")
    with AsyncDataStream.ordered_wait(stream, Timed(3.0), TIMEOUT).execute_and_collect() as results:
        values = [next(results) for _ in range(3)]
    assert [value for value, _, _ in values] == [1, 2, 3]
    assert max(began for _, began, _ in values) < min(ended for _, _, ended in values)


def test_waiting_for_an_answer_takes_few_epochs() -> None:
    env = in_epochs(new_environment(1))
    stream = env.from_source(EndlessScript([[1]]), WatermarkStrategy.no_watermarks(), "silent")
    AsyncDataStream.unordered_wait(stream, Timed(4.0), TIMEOUT).name("slow").print()
    client = env.execute_async("one slow request")
    try:
        assert wait_until(lambda: client.get_metrics().get("slow.0.numRecordsOut") == 1)
        assert 2 <= client.get_metrics()["epochs"] <= 25
    finally:
        client.cancel().result()


class Broken(AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> list[int]:
        raise LookupError(f"no such user: {value}")


class Stuck(AsyncFunction[int, int]):
    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(60)
        return [value]


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (Broken(), "LookupError: no such user: 7"),
        (Stuck(), "TimeoutError: Async function call has timed out for input: 7"),
    ],
)
def test_a_failure_names_the_operator_and_shows_the_exception(
    env: StreamExecutionEnvironment, function: AsyncFunction[Any, Any], text: str
) -> None:
    stream = AsyncDataStream.ordered_wait(env.from_collection([7]), function, Time.milliseconds(300)).name("find user")
    with pytest.raises(JobExecutionError) as caught:
        collect(stream)
    output = str(caught.value)
    assert text in output and "find user" in output and "test_async_io.py" in output
    assert "/funke/engine/" not in output

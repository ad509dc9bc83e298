"""What AsyncDataStream adds to the graph, and which arguments it rejects."""

from __future__ import annotations

from typing import Any

import pytest

from funke.common import Duration, Time, Types
from funke.datastream import AsyncDataStream, StreamExecutionEnvironment
from funke.datastream.async_retry_strategies import NO_RETRY_STRATEGY, FixedDelayRetryStrategy
from funke.datastream.functions import AsyncFunction
from funke.engine.errors import ConfigurationError
from funke.engine.graph.operations import AsyncWait


class Lookup(AsyncFunction[int, str]):
    async def async_invoke(self, value: int) -> list[str]:
        return [str(value)]


class NotAsync(AsyncFunction[int, str]):
    def async_invoke(self, value: int) -> list[str]:  # type: ignore[override]
        return [str(value)]


class WithoutPredicate(FixedDelayRetryStrategy[str]):
    def get_retry_predicate(self) -> Any:
        return None


RETRY = FixedDelayRetryStrategy[str](2, 10, None, None)


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def operation_of(stream: Any) -> AsyncWait:
    assert isinstance(stream._node.operation, AsyncWait)
    return stream._node.operation


@pytest.mark.parametrize("is_ordered", [True, False])
def test_the_node(env: StreamExecutionEnvironment, is_ordered: bool) -> None:
    numbers = env.from_collection([1, 2])
    wait = AsyncDataStream.ordered_wait if is_ordered else AsyncDataStream.unordered_wait
    stream = wait(numbers, Lookup(), Time.seconds(2), 7, Types.STRING())
    operation = operation_of(stream)
    assert (operation.timeout_ms, operation.capacity, operation.is_ordered) == (2_000, 7, is_ordered)
    assert operation.retry_strategy is NO_RETRY_STRATEGY
    assert (stream.get_name(), stream.get_type()) == ("async wait operator", Types.STRING())
    assert operation_of(wait(numbers, Lookup(), Time.seconds(2))).capacity == 100


@pytest.mark.parametrize("is_ordered", [True, False])
def test_the_node_with_retries(env: StreamExecutionEnvironment, is_ordered: bool) -> None:
    numbers = env.from_collection([1, 2])
    wait = AsyncDataStream.ordered_wait_with_retry if is_ordered else AsyncDataStream.unordered_wait_with_retry
    operation = operation_of(wait(numbers, Lookup(), Time.seconds(2), RETRY, capacity=3))
    assert (operation.retry_strategy, operation.capacity, operation.is_ordered) == (RETRY, 3, is_ordered)


@pytest.mark.parametrize(
    ("function", "timeout_ms", "retry", "capacity", "message"),
    [
        (
            NotAsync(),
            1,
            RETRY,
            1,
            "Method 'async_invoke' of class '.*NotAsync'>' should be declared as 'async def'.\n  in your job: ",
        ),
        (Lookup(), 0, RETRY, 1, "Timeout should be configured when do async with retry."),
        (Lookup(), 1, None, 1, "Async retry strategy should not be None."),
        (
            Lookup(),
            1,
            WithoutPredicate(1, 1, None, None),
            1,
            "Retry predicate of the async retry strategy '.*WithoutPredicate'>' is None.",
        ),
        (Lookup(), 1, RETRY, 0, "capacity of an asynchronous function must be at least 1, got 0"),
    ],
)
def test_rejected_arguments(
    env: StreamExecutionEnvironment, function: Any, timeout_ms: int, retry: Any, capacity: int, message: str
) -> None:
    numbers = env.from_collection([1, 2])
    with pytest.raises(ConfigurationError, match=message):
        AsyncDataStream.ordered_wait_with_retry(numbers, function, Time.milliseconds(timeout_ms), retry, capacity)


def test_a_timeout_is_a_time_or_a_duration(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1, 2])
    assert operation_of(AsyncDataStream.ordered_wait(numbers, Lookup(), Duration.of_seconds(3))).timeout_ms == 3_000
    with pytest.raises(TypeError, match=r"a Time or Duration is needed, such as Time.seconds\(5\), got 1000"):
        AsyncDataStream.ordered_wait(numbers, Lookup(), 1000)  # type: ignore[arg-type]

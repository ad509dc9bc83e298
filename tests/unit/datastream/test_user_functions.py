"""The classes users derive their functions from."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from funke.datastream import async_retry_predicates as predicates
from funke.datastream import functions
from funke.datastream.async_retry_strategies import (
    NO_RETRY_STRATEGY,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
)


class Doubling(functions.MapFunction):
    def map(self, value: int) -> int:
        return value * 2


class Remembering(functions.KeyedProcessFunction):
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def process_element(self, value: Any, ctx: functions.KeyedProcessFunction.Context) -> Iterator[Any]:
        yield ctx.get_current_key(), value


class Lookup(functions.AsyncFunction[int, str]):
    async def async_invoke(self, value: int) -> list[str]:
        return [str(value)]


def test_functions_need_no_constructor_open_or_close() -> None:
    function = Doubling()
    function.open(None)
    function.close()

    assert pickle.loads(pickle.dumps(function)).map(2) == 4
    assert pickle.loads(pickle.dumps(Remembering(3))).limit == 3


@pytest.mark.parametrize(
    "name", ["MapFunction", "ProcessFunction", "WindowFunction", "RuntimeContext", "KeyedBroadcastProcessFunction"]
)
def test_abstract_methods_must_be_written(name: str) -> None:
    with pytest.raises(TypeError, match="abstract"):
        getattr(functions, name)()


def test_timers_and_clearing_are_optional() -> None:
    assert Remembering(1).on_timer(0, None) is None  # type: ignore[arg-type]


def test_the_contexts_of_a_keyed_function() -> None:
    context = functions.KeyedProcessFunction.OnTimerContext

    assert issubclass(context, functions.KeyedProcessFunction.Context)
    assert {"time_domain", "get_current_key", "timer_service", "timestamp"} <= set(context.__abstractmethods__)


def test_pass_through_window_functions() -> None:
    assert list(functions.PassThroughWindowFunction[int, str, Any]().apply("k", None, [1, 2])) == [1, 2]
    assert list(functions.PassThroughAllWindowFunction[int, Any]().apply(None, [1, 2])) == [1, 2]


def test_a_call_that_takes_too_long_fails_by_default() -> None:
    assert asyncio.run(Lookup().async_invoke(5)) == ["5"]
    with pytest.raises(TimeoutError, match="Async function call has timed out for input: 5"):
        Lookup().timeout(5)


def test_retry_after_a_fixed_delay() -> None:
    strategy = functions.AsyncRetryStrategy.fixed_delay(2, 100, predicates.empty_result_predicate, None)

    assert isinstance(strategy, FixedDelayRetryStrategy)
    assert [strategy.can_retry(attempt) for attempt in (1, 2, 3)] == [True, True, False]
    assert strategy.get_backoff_time_millis(2) == 100
    assert strategy.get_retry_predicate().exception_predicate() is None


def test_retry_after_growing_delays() -> None:
    strategy = functions.AsyncRetryStrategy.exponential_backoff(
        5, 100, 500, 2, None, predicates.has_exception_predicate
    )

    assert isinstance(strategy, ExponentialBackoffDelayRetryStrategy)
    assert [strategy.get_backoff_time_millis(attempt) for attempt in (1, 2, 3, 4, 1)] == [100, 200, 400, 500, 100]


def test_no_retry() -> None:
    strategy = functions.AsyncRetryStrategy.no_restart()

    assert strategy is NO_RETRY_STRATEGY
    assert (strategy.can_retry(1), strategy.get_backoff_time_millis(1)) == (False, -1)


def test_predicates() -> None:
    assert predicates.empty_result_predicate([]) and not predicates.empty_result_predicate([1])
    assert predicates.has_exception_predicate(ValueError()) and not predicates.has_exception_predicate(None)
    assert predicates.exception_type_predicate(ValueError(), ValueError)
    assert not predicates.exception_type_predicate(ValueError(), KeyError)


def test_a_retry_needs_positive_numbers() -> None:
    with pytest.raises(AssertionError, match="max_attempts should be greater than zero"):
        FixedDelayRetryStrategy(0, 1, None, None)

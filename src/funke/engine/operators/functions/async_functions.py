"""Functions that call the outside world asynchronously, and when such a call is repeated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from funke.engine.types.functions import Function

__all__ = [
    "NO_RETRY_STRATEGY",
    "AsyncFunction",
    "AsyncFunctionDescriptor",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "RetryPredicate",
]

IN = TypeVar("IN")
OUT = TypeVar("OUT")


class AsyncFunction(Function, Generic[IN, OUT]):
    """Handles each element in a coroutine; many are under way at the same time.

    >>> from funke.common import Time
    >>> from funke.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
    >>> class LookUp(AsyncFunction):
    ...     async def async_invoke(self, value):
    ...         return [f"answer to {value}"]  # here `await` asks a server
    >>> questions = StreamExecutionEnvironment.get_execution_environment().from_collection(["a"])
    >>> list(AsyncDataStream.unordered_wait(questions, LookUp(), Time.seconds(5)).execute_and_collect())
    ['answer to a']
    """

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """Return the results for one element."""

    def timeout(self, value: IN) -> list[OUT]:
        """Return the results for an element whose coroutine took too long; by default the job fails."""
        raise TimeoutError(f"Async function call has timed out for input: {value}")


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Tells which outcomes of a call make it be repeated.

    >>> from funke.datastream import AsyncRetryPredicate
    >>> class OnTimeout(AsyncRetryPredicate):
    ...     def result_predicate(self):
    ...         return lambda results: not results
    ...     def exception_predicate(self):
    ...         return lambda error: isinstance(error, TimeoutError)
    >>> OnTimeout().result_predicate()([]), OnTimeout().exception_predicate()(ValueError())
    (True, False)
    """

    @abstractmethod
    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """Return the test for results, or None when results are never retried."""

    @abstractmethod
    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """Return the test for exceptions, or None when exceptions are never retried."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """Tells whether and when a call is repeated.

    >>> from funke.datastream import AsyncRetryStrategy
    >>> strategy = AsyncRetryStrategy.exponential_backoff(3, 100, 1000, 2.0, None, lambda error: True)
    >>> [strategy.get_backoff_time_millis(attempt) for attempt in (1, 2, 3)], strategy.can_retry(4)
    ([100, 200, 400], False)
    """

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Tell whether the call may be repeated for the `current_attempts`-th time."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return how long to wait before the next attempt."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return which outcomes make the call be repeated."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """Never repeat a call."""
        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[OUT]:
        """Repeat a call up to `max_attempts` times, always after the same delay."""
        return FixedDelayRetryStrategy(max_attempts, backoff_time_millis, result_predicate, exception_predicate)

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[OUT]:
        """Repeat a call up to `max_attempts` times, after delays that grow by `multiplier`."""
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


class RetryPredicate(AsyncRetryPredicate[OUT], Generic[OUT]):
    """A pair of tests."""

    def __init__(
        self,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        return self._result_predicate

    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """Never repeats a call."""

    def can_retry(self, current_attempts: int) -> bool:
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return -1: there is no next attempt."""
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        return RetryPredicate(None, None)


NO_RETRY_STRATEGY: AsyncRetryStrategy[Any] = NoRetryStrategy()


class FixedDelayRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """Repeats a call after always the same delay."""

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        _require_positive(max_attempts=max_attempts, backoff_time_millis=backoff_time_millis)
        self._max_attempts = max_attempts
        self._backoff_time_millis = backoff_time_millis
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return self._backoff_time_millis

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        return self._predicate


class ExponentialBackoffDelayRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """Repeats a call after delays that grow up to a maximum."""

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        _require_positive(
            max_attempts=max_attempts,
            initial_delay=initial_delay,
            max_retry_delay=max_retry_delay,
            multiplier=multiplier,
        )
        self._max_attempts = max_attempts
        self._initial_delay = initial_delay
        self._max_retry_delay = max_retry_delay
        self._multiplier = multiplier
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the delay after so many attempts; many elements share the strategy, so it remembers none."""
        delay = self._initial_delay
        for _ in range(current_attempts - 1):
            delay = int(min(delay * self._multiplier, self._max_retry_delay))
        return delay

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        return self._predicate


@dataclass
class AsyncFunctionDescriptor:
    """An asynchronous function with everything the operator has to know about it.

    >>> from funke.datastream import AsyncFunction, AsyncRetryStrategy
    >>> from funke.datastream.functions import AsyncFunctionDescriptor
    >>> class LookUp(AsyncFunction):
    ...     async def async_invoke(self, value):
    ...         return [value]
    >>> mode = AsyncFunctionDescriptor.OutputMode.ORDERED
    >>> AsyncFunctionDescriptor(LookUp(), 5000, 100, AsyncRetryStrategy.no_restart(), mode).output_mode.name
    'ORDERED'
    """

    class OutputMode(Enum):
        """Whether results keep the order of their elements."""

        ORDERED = 0
        UNORDERED = 1

    async_function: AsyncFunction[Any, Any]
    timeout: Any
    capacity: int
    async_retry_strategy: AsyncRetryStrategy[Any]
    output_mode: OutputMode


def _require_positive(**values: float) -> None:
    for name, value in values.items():
        # PyFlink raises AssertionError for these, so programs may rely on it.
        if value <= 0:
            raise AssertionError(f"{name} should be greater than zero.")

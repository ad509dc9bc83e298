"""Applies asynchronous functions to streams."""

from __future__ import annotations

import inspect
from typing import Any

from funke.datastream.data_stream import DataStream, KeyedStream
from funke.datastream.engine_values import OutputType, declared_type
from funke.engine.errors import ConfigurationError, at_user_line
from funke.engine.graph.operations import AsyncWait
from funke.engine.operators.functions.async_functions import (
    NO_RETRY_STRATEGY,
    AsyncFunction,
    AsyncFunctionDescriptor,
    AsyncRetryStrategy,
)
from funke.engine.operators.windowing.trigger import to_millis
from funke.engine.types.time import Duration, Time
from funke.passed_on_names import pass_on_names

__all__ = ["AsyncDataStream"]

pass_on_names(__name__)

OutputMode = AsyncFunctionDescriptor.OutputMode


class AsyncDataStream:
    """Adds an asynchronous function to a stream, with results in the order of the elements or as they come.

    >>> from funke.common import Time
    >>> from funke.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
    >>> class Square(AsyncFunction):
    ...     async def async_invoke(self, value):
    ...         return [value * value]
    >>> numbers = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1).from_collection([1, 2, 3])
    >>> list(AsyncDataStream.ordered_wait(numbers, Square(), Time.seconds(5)).execute_and_collect())
    [1, 4, 9]
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time | Duration,
        capacity: int = 100,
        output_type: OutputType = None,
    ) -> DataStream:
        """Emit results as they come; none overtakes a watermark."""
        return _async_wait(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type, OutputMode.UNORDERED
        )

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time | Duration,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: OutputType = None,
    ) -> DataStream:
        """Emit results as they come, and repeat calls as the strategy says."""
        return _async_wait(
            data_stream, async_function, timeout, async_retry_strategy, capacity, output_type, OutputMode.UNORDERED
        )

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time | Duration,
        capacity: int = 100,
        output_type: OutputType = None,
    ) -> DataStream:
        """Emit results in the order of the elements."""
        return _async_wait(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type, OutputMode.ORDERED
        )

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: Time | Duration,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: OutputType = None,
    ) -> DataStream:
        """Emit results in the order of the elements, and repeat calls as the strategy says."""
        return _async_wait(
            data_stream, async_function, timeout, async_retry_strategy, capacity, output_type, OutputMode.ORDERED
        )


def _async_wait(
    data_stream: DataStream,
    async_function: AsyncFunction[Any, Any],
    timeout: Time | Duration,
    async_retry_strategy: AsyncRetryStrategy[Any],
    capacity: int,
    output_type: OutputType,
    output_mode: AsyncFunctionDescriptor.OutputMode,
) -> DataStream:
    timeout_ms = to_millis(timeout)
    _validate(async_function, timeout_ms, async_retry_strategy, capacity)
    operation = AsyncWait(async_function, timeout_ms, capacity, async_retry_strategy, output_mode is OutputMode.ORDERED)
    # As in PyFlink, the function sees the elements of a keyed stream as rows of key and element.
    elements = data_stream._rows_with_key() if isinstance(data_stream, KeyedStream) else data_stream
    return elements._add(operation, "async wait operator", declared_type(output_type))


def _validate(
    async_function: AsyncFunction[Any, Any],
    timeout_ms: int,
    async_retry_strategy: AsyncRetryStrategy[Any],
    capacity: int,
) -> None:
    if not inspect.iscoroutinefunction(async_function.async_invoke):
        raise _rejected(f"Method 'async_invoke' of class '{type(async_function)}' should be declared as 'async def'.")
    if async_retry_strategy is None:
        raise _rejected("Async retry strategy should not be None.")
    if async_retry_strategy is not NO_RETRY_STRATEGY and timeout_ms <= 0:
        raise _rejected("Timeout should be configured when do async with retry.")
    if async_retry_strategy.get_retry_predicate() is None:
        raise _rejected(f"Retry predicate of the async retry strategy '{type(async_retry_strategy)}' is None.")
    if capacity < 1:
        raise _rejected(f"the capacity of an asynchronous function must be at least 1, got {capacity}")


def _rejected(text: str) -> ConfigurationError:
    return ConfigurationError(at_user_line(text))

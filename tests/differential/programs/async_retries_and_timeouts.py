# compare: ordered
# parallelism: 1
"""Calls that are repeated by their result or exception, and calls that take too long."""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial
from typing import Any

from pyflink.common import Time, Types
from pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)


class Counting(AsyncFunction):
    """Even numbers are answered at the third attempt; the answer tells the attempt."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.attempts: Counter[int] = Counter()

    def count(self, value: int) -> int:
        self.attempts[value] += 1
        return self.attempts[value]


class EmptyAtFirst(Counting):
    async def async_invoke(self, value: int) -> list[str]:
        attempt = self.count(value)
        return [] if value % 2 == 0 and attempt < 3 else [f"{value} at attempt {attempt}"]


class FailingAtFirst(Counting):
    async def async_invoke(self, value: int) -> list[str]:
        attempt = self.count(value)
        if value % 2 == 0 and attempt < 3:
            raise ConnectionError(f"{value} was reset")
        return [f"{value} at attempt {attempt}"]


class Slow(AsyncFunction):
    async def async_invoke(self, value: int) -> list[str]:
        if value % 2 == 0:
            await asyncio.sleep(30)
        return [f"answer {value}"]

    def timeout(self, value: int) -> list[str]:
        return [f"no answer for {value}", "sorry"]


class NeverReady(Counting):
    async def async_invoke(self, value: int) -> list[str]:
        self.count(value)
        return []

    def timeout(self, value: int) -> list[str]:
        return [f"gave up on {value}, tried again: {self.attempts[value] > 1}"]


class SlowAndSilent(Slow):
    def timeout(self, value: int) -> list[str]:
        return []


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_collection([1, 2, 3, 4, 5], type_info=Types.INT())

    def show(name: str, function: AsyncFunction, timeout: Time, retry: Any = None) -> None:
        if retry is None:
            stream = AsyncDataStream.ordered_wait(numbers, function, timeout, 100, Types.STRING())
        else:
            stream = AsyncDataStream.ordered_wait_with_retry(numbers, function, timeout, retry, 100, Types.STRING())
        print(name, list(stream.execute_and_collect()))

    long, short = Time.seconds(20), Time.milliseconds(600)
    fixed, growing = AsyncRetryStrategy.fixed_delay, AsyncRetryStrategy.exponential_backoff
    is_connection = partial(exception_type_predicate, expected_error_type=ConnectionError)
    show("by result", EmptyAtFirst(), long, fixed(5, 20, empty_result_predicate, None))
    show("too few attempts", EmptyAtFirst(), long, fixed(1, 20, empty_result_predicate, None))
    show("just enough attempts", EmptyAtFirst(), long, fixed(2, 20, empty_result_predicate, None))
    show("by exception", FailingAtFirst(), long, fixed(5, 20, None, has_exception_predicate))
    show("by type", FailingAtFirst(), long, growing(5, 10, 100, 2.0, None, is_connection))
    show("both", EmptyAtFirst(), long, growing(5, 10, 15, 1.5, empty_result_predicate, has_exception_predicate))
    show("other result", EmptyAtFirst(), long, fixed(5, 20, lambda results: "at attempt 1" in str(results), None))
    show("timeout", Slow(), short)
    show("silent timeout", SlowAndSilent(), short)
    show("timeout while retrying", NeverReady(), short, fixed(1000, 50, empty_result_predicate, None))


if __name__ == "__main__":
    main()

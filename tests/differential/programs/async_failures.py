# compare: ordered
# parallelism: 1
"""The text of what goes wrong in an asynchronous call reaches the client."""

from __future__ import annotations

import asyncio
from typing import Any

from pyflink.common import Time, Types
from pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.async_retry_predicates import has_exception_predicate


class LookupFailure(Exception):
    pass


class Failing(AsyncFunction):
    async def async_invoke(self, value: int) -> list[int]:
        if value == 3:
            raise LookupFailure("no such user: three")
        await asyncio.sleep(0.5)
        return [value]


class Stuck(AsyncFunction):
    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(30)
        return [value]


class FailingTimeout(Stuck):
    def timeout(self, value: int) -> list[int]:
        raise LookupFailure("nothing else to offer")


class NoList(AsyncFunction):
    async def async_invoke(self, value: int) -> Any:
        await asyncio.sleep(0 if value == 3 else 0.5)
        return 5 if value == 3 else [value]


class FailingOpen(Failing):
    def open(self, runtime_context: RuntimeContext) -> None:
        raise LookupFailure("no connection in open")


class NotAsync(AsyncFunction):
    def async_invoke(self, value: int) -> list[int]:  # type: ignore[override]
        return [value]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_collection([1, 2, 3, 4, 5], type_info=Types.INT())
    retry = AsyncRetryStrategy.fixed_delay(2, 10, None, has_exception_predicate)

    def show(name: str, function: AsyncFunction, timeout: Time, *expected: str, **options: Any) -> None:
        try:
            if "async_retry_strategy" in options:
                stream = AsyncDataStream.ordered_wait_with_retry(numbers, function, timeout, **options)
            else:
                stream = AsyncDataStream.unordered_wait(numbers, function, timeout, **options)
            print(name, list(stream.execute_and_collect()))
        except Exception as error:
            text = str(error)
            print(name, "failed:", [part for part in expected if part in text])

    long, short = Time.seconds(20), Time.milliseconds(500)
    show("call", Failing(), long, "LookupFailure", "no such user: three", "ValueError")
    show("call, no attempt left", Failing(), long, "LookupFailure", "no such user", async_retry_strategy=retry)
    show("timeout", Stuck(), short, "TimeoutError", "Async function call has timed out for input: 1")
    show("failing timeout", FailingTimeout(), short, "LookupFailure", "nothing else to offer")
    show("no list", NoList(), long, "RuntimeError", "NoList", "async_invoke", "timeout")
    show("open", FailingOpen(), long, "LookupFailure", "no connection in open")
    show("not async", NotAsync(), long, "async_invoke", "NotAsync", "async def")
    show("no timeout", Failing(), Time.seconds(0), "LookupFailure", "imeout", async_retry_strategy=retry)
    show("no strategy", Failing(), long, "etry strategy", "None", async_retry_strategy=None)


if __name__ == "__main__":
    main()

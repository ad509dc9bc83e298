# compare: unordered
# parallelism: 1
"""Asynchronous calls whose results come as they come, and keep the timestamps of their elements."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AsyncDataStream, AsyncFunction, ProcessFunction, StreamExecutionEnvironment


class Hundreds(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value) * 100


class Lookup(AsyncFunction):
    async def async_invoke(self, value: int) -> list[str]:
        await asyncio.sleep(0.01 * (value % 4))
        return [f"user {value}", f"again {value}"]


class LastOnesFirst(AsyncFunction):
    async def async_invoke(self, value: int) -> list[int]:
        await asyncio.sleep(1.0 if value == 1 else 0.001)
        return [value]


class WithTimestamp(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield f"{value} @ {ctx.timestamp()}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_collection(list(range(1, 13)), type_info=Types.INT())
    timed = numbers.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Hundreds())
    )
    result = AsyncDataStream.unordered_wait(timed, Lookup(), Time.seconds(20), 5, Types.STRING())
    for line in result.process(WithTimestamp(), Types.STRING()).execute_and_collect():
        print(line)
    ordered = AsyncDataStream.ordered_wait(timed, Lookup(), Time.seconds(20), 5, Types.STRING())
    for line in ordered.process(WithTimestamp(), Types.STRING()).execute_and_collect():
        print("ordered", line)
    # Without watermarks the slow first element comes last.
    order = list(AsyncDataStream.unordered_wait(numbers, LastOnesFirst(), Time.seconds(20)).execute_and_collect())
    print("last of all:", order[-1], "all:", sorted(order))


if __name__ == "__main__":
    main()

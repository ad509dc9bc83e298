# compare: unordered
# parallelism: 1
"""Values that do not fit their declared type pass unchanged from one function of a chain to the next."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AsyncDataStream,
    AsyncFunction,
    CoMapFunction,
    DataStream,
    KeyedProcessFunction,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from pyflink.datastream.functions import WindowFunction
from pyflink.datastream.window import CountTumblingWindowAssigner

INT = Types.INT()
PAIR = Types.TUPLE([INT, INT])


class Keyed(KeyedProcessFunction):
    def process_element(self, value: float, ctx: KeyedProcessFunction.Context) -> Iterator[float]:
        yield value


class WithTime(ProcessFunction):
    def process_element(self, value: float, ctx: ProcessFunction.Context) -> Iterator[str]:
        yield f"{value} at {ctx.timestamp()}"


class Milliseconds(TimestampAssigner):
    def extract_timestamp(self, value: float, record_timestamp: int) -> int:
        return int(value * 1000)


class Both(CoMapFunction):
    def map1(self, value: float) -> float:
        return value

    def map2(self, value: float) -> float:
        return value


class Sum(WindowFunction):
    def apply(self, key: int, window: Any, inputs: Any) -> list[float]:
        return [sum(inputs) + 0.25]


class Answer(AsyncFunction):
    async def async_invoke(self, value: float) -> list[float]:
        await asyncio.sleep(0)
        return [value]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    def numbers(*values: Any) -> DataStream:
        return env.from_collection(list(values or (1.5, 2.5)))

    def ints() -> DataStream:
        return numbers().map(lambda value: value, INT)

    def show(name: str, stream: DataStream) -> None:
        stream.map(repr, Types.STRING()).print(name)

    show("chained", ints())
    show("filter", ints().filter(lambda value: value != 1))
    show("flat-map", ints().flat_map(lambda value: [value, value + 0.25], INT))
    show("forward", ints().forward())
    env.execute("chains")
    show("three-fields", numbers((1, 2, 3)).map(lambda value: value, PAIR))
    show("no-row", numbers((1, 2)).map(lambda value: value, Types.ROW([INT, INT])))
    show("no-number", numbers("a").map(lambda value: value, INT))
    show("no-text", numbers(1).map(lambda value: value, Types.STRING()))
    env.execute("chains")
    show("keyed", numbers().key_by(lambda value: 1).process(Keyed(), INT))
    show("reduce", ints().key_by(lambda value: 1).reduce(lambda first, second: first + second + 0.25))
    show("window", numbers().key_by(lambda value: 1).window(CountTumblingWindowAssigner.of(2)).apply(Sum(), INT))
    env.execute("chains")
    show("connected", numbers().connect(numbers(3.5)).map(Both(), INT))
    show("async", AsyncDataStream.ordered_wait(ints(), Answer(), Time.seconds(10), 2, INT))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Milliseconds())
    ints().assign_timestamps_and_watermarks(strategy).process(WithTime(), Types.STRING()).print("timestamps")
    env.execute("declared types in chains")


if __name__ == "__main__":
    main()

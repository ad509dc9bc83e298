# compare: unordered
# parallelism: 1
"""Tumbling event-time windows: reduce, aggregate, apply, process, offsets and negative starts; the end fires all."""

from __future__ import annotations

from collections.abc import Iterable

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AggregateFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    WindowFunction,
)
from pyflink.datastream.window import TimeWindow, TumblingEventTimeWindows


class Second(TimestampAssigner):
    def extract_timestamp(self, value: tuple[str, int], record_timestamp: int) -> int:
        return value[1]


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: tuple[str, int], accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class Text(WindowFunction[tuple, str, str, TimeWindow]):
    def apply(self, key: str, window: TimeWindow, inputs: Iterable[tuple[str, int]]) -> Iterable[str]:
        yield f"apply {key} [{window.start}, {window.end}) {sorted(number for _, number in inputs)}"


class Context(ProcessWindowFunction[tuple, str, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[tuple[str, int]]
    ) -> Iterable[str]:
        window = context.window()
        is_over = context.current_watermark() >= window.max_timestamp()
        yield f"process {key} {window.start}..{window.max_timestamp()} {len(list(elements))} {is_over}"


class One(ProcessWindowFunction[object, str, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[object]
    ) -> Iterable[str]:
        yield f"one {key} {context.window().start} {list(elements)}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    data = [("a", -7), ("a", -1), ("b", 0), ("a", 4), ("b", 5), ("a", 9), ("b", 14), ("a", 15)]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    pair = Types.TUPLE([Types.STRING(), Types.INT()])
    timed = env.from_collection(data, pair).assign_timestamps_and_watermarks(strategy)
    keyed = timed.key_by(lambda value: value[0], Types.STRING())
    five = TumblingEventTimeWindows.of(Time.milliseconds(5))
    shifted = TumblingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(-2))

    def add(left: tuple[str, int], right: tuple[str, int]) -> tuple[str, int]:
        return left[0], left[1] + right[1]

    keyed.window(five).reduce(add).print()
    keyed.window(five).aggregate(Average(), output_type=Types.DOUBLE()).print()
    keyed.window(shifted).apply(Text(), Types.STRING()).print()
    keyed.window(five).process(Context(), Types.STRING()).print()
    keyed.window(five).reduce(add, One(), Types.STRING()).print()
    keyed.window(five).aggregate(Average(), window_function=One(), output_type=Types.STRING()).print()
    env.execute("tumbling windows")


if __name__ == "__main__":
    main()

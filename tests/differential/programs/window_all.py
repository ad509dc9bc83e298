# compare: unordered
# parallelism: 1
"""Windows over all elements, whatever their key."""

from __future__ import annotations

from collections.abc import Iterable

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, StreamExecutionEnvironment
from pyflink.datastream.functions import AllWindowFunction, ProcessAllWindowFunction
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import (
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    TimeWindow,
    TumblingEventTimeWindows,
)


class Second(TimestampAssigner):
    def extract_timestamp(self, value: tuple[str, int], record_timestamp: int) -> int:
        return value[1]


class Text(AllWindowFunction[tuple, str, TimeWindow]):
    def apply(self, window: TimeWindow, inputs: Iterable[object]) -> Iterable[str]:
        yield f"apply {window.start} {list(inputs)}"


class Numbered(ProcessAllWindowFunction[object, str, TimeWindow]):
    def process(
        self, context: ProcessAllWindowFunction.Context[TimeWindow], elements: Iterable[object]
    ) -> Iterable[str]:
        windows = context.global_state().get_state(ValueStateDescriptor("windows", Types.INT()))
        windows.update((windows.value() or 0) + 1)
        yield f"process number {windows.value()} [{context.window().start}, {context.window().end}) {list(elements)}"


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: tuple[str, int], accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


def add(left: tuple[str, int], right: tuple[str, int]) -> tuple[str, int]:
    return left[0] + right[0], left[1] + right[1]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    data = [("a", 1), ("b", 2), ("c", 6), ("a", 8), ("b", 17)]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    pair = Types.TUPLE([Types.STRING(), Types.INT()])
    timed = env.from_collection(data, pair).assign_timestamps_and_watermarks(strategy)
    five = TumblingEventTimeWindows.of(Time.milliseconds(5))
    timed.window_all(five).reduce(add).print()
    timed.window_all(five).aggregate(Count(), output_type=Types.INT()).print()
    timed.window_all(five).apply(Text(), Types.STRING()).print()
    timed.window_all(five).process(Numbered(), Types.STRING()).print()
    timed.window_all(EventTimeSessionWindows.with_gap(Time.milliseconds(5))).reduce(add).print()
    timed.window_all(CountTumblingWindowAssigner.of(2)).reduce(add).print()
    timed.key_by(lambda value: value[0]).window_all(five).aggregate(
        Count(), Numbered(), output_type=Types.STRING()
    ).print()
    env.execute("windows over everything")


if __name__ == "__main__":
    main()

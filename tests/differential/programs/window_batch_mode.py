# compare: unordered
# parallelism: 1
"""Batch mode: one result per key and window, whatever the order of the input."""

from __future__ import annotations

from collections.abc import Iterable

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment, WindowFunction
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
)


class Second(TimestampAssigner):
    def extract_timestamp(self, value: tuple[str, int], record_timestamp: int) -> int:
        return value[1]


class Text(WindowFunction[tuple, str, str, TimeWindow]):
    def __init__(self, name: str) -> None:
        self.name = name

    def apply(self, key: str, window: TimeWindow, inputs: Iterable[tuple[str, int]]) -> Iterable[str]:
        yield f"{self.name} {key} [{window.start}, {window.end}) {[number for _, number in inputs]}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)
    data = [("a", 21), ("b", 3), ("a", 2), ("a", 14), ("b", 8), ("b", 1), ("a", 4), ("a", 1)]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    pair = Types.TUPLE([Types.STRING(), Types.INT()])
    timed = env.from_collection(data, pair).assign_timestamps_and_watermarks(strategy)
    keyed = timed.key_by(lambda value: value[0], Types.STRING())
    keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).apply(Text("tumbling"), Types.STRING()).print()
    sliding = SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5))
    keyed.window(sliding).reduce(lambda a, b: (a[0], a[1] + b[1]), Text("sliding"), Types.STRING()).print()
    keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(4))).apply(Text("session"), Types.STRING()).print()
    keyed.count_window(2).apply(Count("count"), Types.STRING()).print()
    env.execute("windows in batch mode")


class Count(WindowFunction[tuple, str, str, object]):
    def __init__(self, name: str) -> None:
        self.name = name

    def apply(self, key: str, window: object, inputs: Iterable[tuple[str, int]]) -> Iterable[str]:
        yield f"{self.name} {key} {[number for _, number in inputs]}"


if __name__ == "__main__":
    main()

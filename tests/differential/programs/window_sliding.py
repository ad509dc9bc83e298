# compare: unordered
# parallelism: 1
"""Sliding event-time windows: overlap, negative starts, an offset, and a slide longer than the size."""

from __future__ import annotations

from collections.abc import Iterable

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, StreamExecutionEnvironment, WindowFunction
from pyflink.datastream.window import SlidingEventTimeWindows, TimeWindow


class Second(TimestampAssigner):
    def extract_timestamp(self, value: tuple[str, int], record_timestamp: int) -> int:
        return value[1]


class Text(WindowFunction[tuple, str, str, TimeWindow]):
    def __init__(self, name: str) -> None:
        self.name = name

    def apply(self, key: str, window: TimeWindow, inputs: Iterable[object]) -> Iterable[str]:
        yield f"{self.name} {key} [{window.start}, {window.end}) {list(inputs)}"


class Total(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: tuple[str, int], accumulator: int) -> int:
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    data = [("a", 1), ("a", 2), ("b", 3), ("a", 12), ("b", 7), ("a", 20), ("b", -4)]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    pair = Types.TUPLE([Types.STRING(), Types.INT()])
    timed = env.from_collection(data, pair).assign_timestamps_and_watermarks(strategy)
    keyed = timed.key_by(lambda value: value[0], Types.STRING())
    overlapping = SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5))
    uneven = SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(4), Time.milliseconds(-1))
    gaps = SlidingEventTimeWindows.of(Time.milliseconds(2), Time.milliseconds(5))
    keyed.window(overlapping).apply(Text("apply"), Types.STRING()).print()
    keyed.window(overlapping).aggregate(Total(), Text("total"), output_type=Types.STRING()).print()
    keyed.window(uneven).aggregate(Total(), Text("uneven"), output_type=Types.STRING()).print()
    keyed.window(gaps).reduce(lambda a, b: (a[0], a[1] + b[1]), Text("gaps"), Types.STRING()).print()
    env.execute("sliding windows")


if __name__ == "__main__":
    main()

# compare: unordered
# parallelism: 1
"""Session windows: merging (also of windows that only touch), dynamic gaps, and functions over merged contents."""

from __future__ import annotations

from collections.abc import Iterable

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import AggregateFunction, ProcessWindowFunction, StreamExecutionEnvironment, WindowFunction
from pyflink.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    TimeWindow,
)


class Second(TimestampAssigner):
    def extract_timestamp(self, value: tuple[str, int], record_timestamp: int) -> int:
        return value[1]


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element: tuple[str, int]) -> int:
        return 10 if element[0] == "a" else 2


class Text(WindowFunction[tuple, str, str, TimeWindow]):
    def __init__(self, name: str) -> None:
        self.name = name

    def apply(self, key: str, window: TimeWindow, inputs: Iterable[object]) -> Iterable[str]:
        yield f"{self.name} {key} [{window.start}, {window.end}) {sorted(map(str, inputs))}"


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: tuple[str, int], accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


class One(ProcessWindowFunction[object, str, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[object]
    ) -> Iterable[str]:
        try:
            context.window_state().get_state(None)
        except Exception as error:
            state = "not allowed" if "not allowed" in str(error) else repr(error)
        yield f"one {key} [{context.window().start}, {context.window().end}) {list(elements)} window state {state}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    data = [("a", 1), ("b", 1), ("a", 11), ("b", 10), ("a", 6), ("b", 3), ("a", 30), ("a", 20), ("b", 16), ("a", 16)]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    pair = Types.TUPLE([Types.STRING(), Types.INT()])
    timed = env.from_collection(data, pair).assign_timestamps_and_watermarks(strategy)
    keyed = timed.key_by(lambda value: value[0], Types.STRING())
    fixed = EventTimeSessionWindows.with_gap(Time.milliseconds(5))
    dynamic = EventTimeSessionWindows.with_dynamic_gap(Gap())
    keyed.window(fixed).apply(Text("fixed"), Types.STRING()).print()
    keyed.window(dynamic).apply(Text("dynamic"), Types.STRING()).print()
    # In order of time: when two sessions become one, PyFlink 2.3 loses what one of them had reduced or aggregated.
    in_order = sorted(data, key=lambda value: value[1])
    timed = env.from_collection(in_order, pair).assign_timestamps_and_watermarks(strategy)
    keyed_in_order = timed.key_by(lambda value: value[0], Types.STRING())
    keyed_in_order.window(fixed).aggregate(Count(), One(), output_type=Types.STRING()).print()
    keyed_in_order.window(fixed).reduce(lambda a, b: (a[0], a[1] + b[1]), One(), Types.STRING()).print()
    purging = PurgingTrigger.of(EventTimeTrigger.create())
    keyed.window(fixed).trigger(purging).apply(Text("purging"), Types.STRING()).print()
    by_count = PurgingTrigger.of(CountTrigger.of(2))
    windows = keyed_in_order.window(fixed).trigger(by_count)
    windows.aggregate(Count(), Text("by count"), output_type=Types.STRING()).print()
    env.execute("session windows")


if __name__ == "__main__":
    main()

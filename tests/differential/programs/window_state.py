# compare: ordered
# parallelism: 1
"""A process window function's state: per window, per key, and what clear() is called for."""

from __future__ import annotations

import time
from collections.abc import Iterable

from pyflink.common import Configuration, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import TimeWindow, TumblingEventTimeWindows

FIRINGS = ValueStateDescriptor("firings", Types.INT())
TOTAL = ValueStateDescriptor("total", Types.INT())
SEEN = ListStateDescriptor("seen", Types.INT())


class Value(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


class Counting(ProcessWindowFunction[int, str, int, TimeWindow]):
    def process(
        self, key: int, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[int]
    ) -> Iterable[str]:
        firings = context.window_state().get_state(FIRINGS)
        firings.update((firings.value() or 0) + 1)
        total = context.global_state().get_state(TOTAL)
        total.update((total.value() or 0) + 1)
        seen = context.global_state().get_list_state(SEEN)
        numbers = f"{context.window().start}: {sorted(elements)}"
        yield f"{numbers} firing {firings.value()} of {total.value()}, closed {list(seen)}"

    def clear(self, context: ProcessWindowFunction.Context[TimeWindow]) -> None:
        context.global_state().get_list_state(SEEN).add(context.window().start)
        context.window_state().get_state(FIRINGS).clear()


def slow_down(number: int) -> int:
    time.sleep(1)
    return number


def main() -> None:
    configuration = Configuration()
    configuration.set_integer("python.fn-execution.bundle.size", 1)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    env.get_config().set_auto_watermark_interval(50)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Value())
    numbers = env.from_collection([1, 12, 2, 17, 30, 55], Types.INT()).map(slow_down, Types.INT()).rebalance()
    timed = numbers.assign_timestamps_and_watermarks(strategy)
    windows = timed.key_by(lambda number: 0, Types.INT()).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    windows.allowed_lateness(5).process(Counting(), Types.STRING()).print()
    env.execute("window state")


if __name__ == "__main__":
    main()

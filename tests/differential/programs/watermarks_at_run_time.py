# compare: ordered
# parallelism: 1
"""A slow input lets watermarks through: bounded out-of-orderness minus one, never back, timers in between."""

from __future__ import annotations

import time
from collections.abc import Iterator

from pyflink.common import Configuration, Duration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment


class Value(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


class Look(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        ctx.timer_service().register_event_time_timer(value + 5)
        yield f"{value} watermark {ctx.timer_service().current_watermark()}"

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"timer {timestamp} passed {ctx.timer_service().current_watermark() >= timestamp}"


def slow_down(number: int) -> int:
    time.sleep(1)
    return number


def main() -> None:
    configuration = Configuration()
    configuration.set_integer("python.fn-execution.bundle.size", 1)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    env.get_config().set_auto_watermark_interval(50)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10))
    numbers = env.from_collection([100, 120, 90, 140], type_info=Types.INT()).map(slow_down, Types.INT()).rebalance()
    timed = numbers.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Value()))
    timed.key_by(lambda number: 0, Types.INT()).process(Look(), Types.STRING()).print()
    env.execute("bounded out-of-orderness")


if __name__ == "__main__":
    main()

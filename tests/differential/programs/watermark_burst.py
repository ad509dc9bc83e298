# compare: ordered
# parallelism: 1
"""Watermarks come periodically, not per record: within one burst a record that runs back in time is not late."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment


class Value(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


class Look(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        ctx.timer_service().register_event_time_timer(value)
        yield f"{value} at {ctx.timestamp()} watermark {ctx.timer_service().current_watermark()}"

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"timer {timestamp} watermark {ctx.timer_service().current_watermark()}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Value())
    numbers = env.from_collection([1, 8, 4, 9, 2], type_info=Types.INT()).assign_timestamps_and_watermarks(strategy)
    numbers.key_by(lambda number: 0, Types.INT()).process(Look(), Types.STRING()).print()
    env.execute("burst")


if __name__ == "__main__":
    main()

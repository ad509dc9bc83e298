# compare: ordered
# parallelism: 1
"""Timestamps stay with their records through map, flat_map, filter and exchanges; an assigner sees the old one."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, ProcessFunction, StreamExecutionEnvironment


class Thousands(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value * 1000


class OneLater(TimestampAssigner):
    def extract_timestamp(self, value: str, record_timestamp: int) -> int:
        return record_timestamp + 1


class Tell(ProcessFunction):
    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Iterator[str]:
        yield f"{value} at {ctx.timestamp()}"


class OnTime(KeyedProcessFunction):
    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 5)
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"timer at {timestamp}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    numbers = env.from_collection([1, 2, 3], type_info=Types.INT())
    timed = numbers.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Thousands()))
    letters = timed.map(lambda number: "abc"[number - 1], Types.STRING()).flat_map(lambda letter: [letter, letter * 2])
    later = letters.rebalance().filter(lambda text: text != "b").map(lambda text: text, Types.STRING())
    later.process(Tell(), Types.STRING()).print("once")
    env.execute("once")
    again = later.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(OneLater()))
    again.process(Tell(), Types.STRING()).print("twice")
    env.execute("twice")
    timers = again.key_by(lambda text: 0, Types.INT()).process(OnTime(), Types.STRING())
    timers.process(Tell(), Types.STRING()).print("timer output")
    env.execute("timer output")


if __name__ == "__main__":
    main()

# compare: ordered
# parallelism: 1
"""Event-time timers: the same timer set twice fires once, a deleted one never, the rest in time order at the end."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class Time(TimestampAssigner):
    def extract_timestamp(self, value: tuple[str, int], record_timestamp: int) -> int:
        return value[1]


class Alarm(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        timers = ctx.timer_service()
        self.count.update((self.count.value() or 0) + 1)
        timers.register_event_time_timer(value[1] + 100)
        timers.register_event_time_timer(value[1] + 100)
        timers.register_event_time_timer(1000 + ord(value[0]))
        if value == ("a", 3):
            timers.delete_event_time_timer(101)
            timers.delete_event_time_timer(99999)
        yield f"{value} at {ctx.timestamp()} key {ctx.get_current_key()}"

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        domain = ctx.time_domain().name
        yield f"timer {ctx.get_current_key()} {timestamp} {ctx.timestamp()} {domain} {self.count.value()}"
        if 1000 < timestamp < 2000:
            ctx.timer_service().register_event_time_timer(timestamp + 1000)
            self.count.clear()


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    pairs = env.from_collection([("a", 1), ("b", 2), ("a", 3), ("b", 9), ("a", 4)])
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Time())
    timed = pairs.assign_timestamps_and_watermarks(strategy)
    timed.key_by(lambda pair: pair[0], Types.STRING()).process(Alarm(), Types.STRING()).print()
    env.execute("timers")


if __name__ == "__main__":
    main()

# compare: ordered
# parallelism: 1
"""Batch mode: a key's records come together, in event-time order, and its timers fire when the key is through."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor


class Time(TimestampAssigner):
    def extract_timestamp(self, value: tuple[str, int], record_timestamp: int) -> int:
        return value[1]


class Gather(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.times = runtime_context.get_list_state(ListStateDescriptor("times", Types.INT()))

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        self.times.add(value[1])
        ctx.timer_service().register_event_time_timer(value[1] + 1)
        yield f"{value} watermark {ctx.timer_service().current_watermark()}"

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"timer {ctx.get_current_key()} {timestamp} {list(self.times)} {ctx.timer_service().current_watermark()}"


def main() -> None:
    # With larger bundles the reference lets records of the next key overtake the timers of this one.
    configuration = Configuration()
    configuration.set_integer("python.fn-execution.bundle.size", 1)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)
    pairs = env.from_collection([("a", 5), ("b", 1), ("a", 2), ("b", 7), ("a", 3)])
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Time())
    timed = pairs.assign_timestamps_and_watermarks(strategy)
    timed.key_by(lambda pair: pair[0], Types.STRING()).process(Gather(), Types.STRING()).print()
    env.execute("batch timers")


if __name__ == "__main__":
    main()

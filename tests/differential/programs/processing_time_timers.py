# compare: ordered
# parallelism: 1
"""Processing-time timers fire while the input is quiet; a deleted one and one far away never do."""

from __future__ import annotations

import time
from collections.abc import Iterator

from pyflink.common import Configuration, Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor

HOUR_MS = 3_600_000


def slow_down(number: int) -> int:
    time.sleep(2.5 if number == 3 else 0)
    return number


class Wake(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        self.seen.update(value)
        timers = ctx.timer_service()
        now = timers.current_processing_time()
        if value == 1:
            timers.register_processing_time_timer(now + 300)
        if value == 2:
            timers.register_processing_time_timer(now + 800)
            timers.register_processing_time_timer(now + 500)
            timers.delete_processing_time_timer(now + 500)
        timers.register_processing_time_timer(now + HOUR_MS)
        yield f"{value} clock {abs(now - time.time() * 1000) < 60_000}"

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        is_due = timestamp <= ctx.timer_service().current_processing_time()
        yield f"timer {ctx.get_current_key()} {self.seen.value()} {ctx.time_domain().name} due {is_due}"


def main() -> None:
    configuration = Configuration()
    configuration.set_integer("python.fn-execution.bundle.size", 1)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    numbers = env.from_collection([1, 2, 3], type_info=Types.INT()).map(slow_down, Types.INT())
    numbers.key_by(lambda number: f"k{number}", Types.STRING()).process(Wake(), Types.STRING()).print()
    env.execute("processing time")


if __name__ == "__main__":
    main()

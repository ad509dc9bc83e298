# compare: unordered
# parallelism: 2
# prefix: strip
"""Without timestamps and watermarks a record has no time, yet the end of the input fires every event-time timer."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment


class Wait(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        ctx.timer_service().register_event_time_timer(value)
        ctx.timer_service().register_event_time_timer(2**63 - 1)
        yield f"{value} at {ctx.timestamp()} watermark {ctx.timer_service().current_watermark()}"

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"timer {timestamp} key {ctx.get_current_key()} watermark {ctx.timer_service().current_watermark()}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    numbers = env.from_collection([5, 1, 4, -7], type_info=Types.INT())
    numbers.key_by(lambda number: number % 2, Types.INT()).process(Wait(), Types.STRING()).print()
    env.execute("timers")


if __name__ == "__main__":
    main()

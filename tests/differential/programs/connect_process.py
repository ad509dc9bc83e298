# compare: unordered
# parallelism: 2
# prefix: strip
"""CoProcessFunction without keys and KeyedCoProcessFunction with shared keyed state and timers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import CoProcessFunction, KeyedCoProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Tell(CoProcessFunction):
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterator[str]:
        yield f"left {value} at {ctx.timestamp()}"

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterator[str]:
        yield f"right {value} at {ctx.timestamp()}"
        yield f"right again {value}"


class Gather(KeyedCoProcessFunction):
    """Collects both sides of a key and gives them out, sorted, when the input has ended."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.STRING()))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        yield from self.remember("left", value, ctx)

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        yield from self.remember("right", value, ctx)

    def remember(self, side: str, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[str]:
        self.seen.add(f"{side} {value[1]}")
        ctx.timer_service().register_event_time_timer(1000)
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[str]:
        yield f"{ctx.get_current_key()} {sorted(self.seen.get())} at {timestamp} {ctx.time_domain().name}"
        self.seen.clear()


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())
    pair = Types.TUPLE([Types.STRING(), Types.INT()])
    left = env.from_collection([("a", 1), ("b", 2), ("a", 3)], pair).assign_timestamps_and_watermarks(strategy)
    right = env.from_collection([("a", 4), ("c", 5)], pair).assign_timestamps_and_watermarks(strategy)
    left.connect(right).process(Tell(), Types.STRING()).print("tell")
    keyed = left.key_by(lambda value: value[0], Types.STRING()).connect(
        right.key_by(lambda value: value[0], Types.STRING())
    )
    keyed.process(Gather(), Types.STRING()).print("gather")
    env.execute("connect process")


if __name__ == "__main__":
    main()

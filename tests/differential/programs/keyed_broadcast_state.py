# compare: unordered
# parallelism: 2
# prefix: strip
"""KeyedBroadcastProcessFunction: keyed state and timers on one side, broadcast state on the other."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import KeyedBroadcastProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor

FACTORS = MapStateDescriptor("factors", Types.STRING(), Types.INT())


class Multiply(KeyedBroadcastProcessFunction):
    """Values wait in keyed state until the end of the input, when all factors are there."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.values = runtime_context.get_list_state(ListStateDescriptor("values", Types.INT()))
        self.subtasks = runtime_context.get_number_of_parallel_subtasks()

    def process_element(
        self, value: tuple[str, int], ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[str]:
        self.values.add(value[1])
        ctx.timer_service().register_event_time_timer(10)
        yield from ()

    def process_broadcast_element(
        self, value: tuple[str, int], ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterator[str]:
        ctx.get_broadcast_state(FACTORS).put(value[0], value[1])
        yield f"factor {value} of {self.subtasks} subtasks"

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterator[str]:
        key = ctx.get_current_key()
        factor = ctx.get_broadcast_state(FACTORS).get(key)
        products = [value * factor for value in self.values] if factor else list(self.values)
        yield f"{key} {sorted(products)} at {timestamp}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    values = env.from_collection([("a", 1), ("b", 2), ("a", 3), ("c", 4), ("b", 5)])
    factors = env.from_collection([("a", 10), ("b", 100)])
    keyed = values.key_by(lambda value: value[0], Types.STRING())
    keyed.connect(factors.broadcast(FACTORS)).process(Multiply(), Types.STRING()).print()
    env.execute("keyed broadcast state")


if __name__ == "__main__":
    main()

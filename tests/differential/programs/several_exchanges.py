# compare: unordered
# parallelism: 2
# prefix: strip
"""Keyed steps one after the other, a diamond that meets again, and steps of different parallelism."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class Total(KeyedProcessFunction):
    """Gives out the total of a key when the input has ended."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterator[tuple[str, int]]:
        self.total.update((self.total.value() or 0) + value[1])
        ctx.timer_service().register_event_time_timer(0)
        yield from ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[tuple[str, int]]:
        yield str(ctx.get_current_key()), self.total.value()


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    numbers = env.from_collection(list(range(1000)), type_info=Types.INT())
    pairs = numbers.map(lambda number: (f"k{number % 7}", number), pair)
    per_key = pairs.key_by(lambda value: value[0], Types.STRING()).process(Total(), pair).set_parallelism(3)
    per_key.print("per-key")
    per_parity = per_key.key_by(lambda value: str(int(value[0][1:]) % 2), Types.STRING()).process(Total(), pair)
    per_parity.print("per-parity")
    overall = per_parity.key_by(lambda value: "all", Types.STRING()).process(Total(), pair).set_parallelism(1)
    overall.print("overall")
    halves = pairs.filter(lambda value: value[1] < 500).rebalance().map(lambda value: ("low", value[1]), pair)
    rest = pairs.filter(lambda value: value[1] >= 500).map(lambda value: ("high", value[1]), pair)
    halves.union(rest).key_by(lambda value: value[0], Types.STRING()).process(Total(), pair).print("diamond")
    env.execute("several exchanges")


if __name__ == "__main__":
    main()

# compare: ordered
# parallelism: 1
"""Fields of a function live as long as the subtask and are shared by all its keys; state is per key."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, MapFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class CountAll(KeyedProcessFunction):
    def __init__(self) -> None:
        self.total = 0
        self.keys: list[str] = []

    def open(self, runtime_context: RuntimeContext) -> None:
        self.per_key = runtime_context.get_state(ValueStateDescriptor("per key", Types.INT()))

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        self.total += 1
        if value not in self.keys:
            self.keys.append(value)
        self.per_key.update((self.per_key.value() or 0) + 1)
        yield f"{value} total {self.total} keys {self.keys} per key {self.per_key.value()}"
        ctx.timer_service().register_event_time_timer(ord(value))

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[str]:
        self.total += 100
        yield f"timer {ctx.get_current_key()} total {self.total} per key {self.per_key.value()}"


class Number(MapFunction):
    """One object used twice in a job becomes two functions, each with fields of its own."""

    def __init__(self) -> None:
        self.next = 0

    def map(self, value: str) -> str:
        self.next += 1
        return f"{value}{self.next}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    letters = env.from_collection(["a", "b", "a", "c", "b", "a"], type_info=Types.STRING())
    letters.key_by(lambda letter: letter, Types.STRING()).process(CountAll(), Types.STRING()).print()
    env.execute("fields")
    number = Number()
    letters.map(number, Types.STRING()).filter(lambda text: text < "c").map(number, Types.STRING()).print()
    env.execute("one object twice")
    print(number.next)


if __name__ == "__main__":
    main()

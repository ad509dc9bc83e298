# compare: unordered
# parallelism: 3
# prefix: strip
"""Per key the running counts are the same at any parallelism, for keys of many types."""

from __future__ import annotations

from pyflink.common import Row, Types
from pyflink.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class CountPerKey(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def map(self, value: int) -> int:
        self.count.update((self.count.value() or 0) + 1)
        return int(self.count.value())


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(3)
    keys = ["a", "b", 1, 2, 1.5, (1, "x"), True, None, b"bytes", Row(1, "r"), "a", 2, (1, "x"), None, Row(1, "r"), "a"]
    counted = env.from_collection([(key, 1) for key in keys])
    counted.key_by(lambda pair: pair[0]).reduce(lambda left, right: (left[0], left[1] + right[1])).print("any")
    env.execute("any key")
    # Before the exchange several subtasks work on the records, so only what needs no order is the same each time.
    numbers = env.from_collection(list(range(30)), type_info=Types.INT())
    for name, key_type, key in [
        ("int", Types.INT(), lambda number: number % 4),
        ("string", Types.STRING(), lambda number: f"k{number % 3}"),
        ("tuple", Types.TUPLE([Types.INT(), Types.STRING()]), lambda number: (number % 2, "odd" if number % 2 else "")),
    ]:
        numbers.key_by(key, key_type).map(CountPerKey(), Types.INT()).print(name)
    env.execute("typed keys")


if __name__ == "__main__":
    main()

# compare: ordered
# parallelism: 1
"""Keyed state in map, flat_map and filter functions of a keyed stream."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import FilterFunction, FlatMapFunction, MapFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor


class Count(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def map(self, value: tuple[str, int]) -> tuple[str, int]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return value[0], count


class History(FlatMapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.history = runtime_context.get_list_state(ListStateDescriptor("history", Types.INT()))

    def flat_map(self, value: tuple[str, int]) -> Iterator[str]:
        for earlier in self.history.get():
            yield f"{value[0]} {earlier}->{value[1]}"
        self.history.add(value[1])


class FirstTime(FilterFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.INT(), Types.BOOLEAN()))

    def filter(self, value: tuple[str, int]) -> bool:
        is_first = not self.seen.contains(value[1])
        self.seen.put(value[1], True)
        return is_first


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    elements = [("a", 1), ("b", 1), ("a", 1), ("a", 2), ("b", 3), ("a", 2), ("b", 1)]
    pairs = env.from_collection(elements, type_info=Types.TUPLE([Types.STRING(), Types.INT()]))
    keyed = pairs.key_by(lambda pair: pair[0], Types.STRING())
    keyed.map(Count(), Types.TUPLE([Types.STRING(), Types.LONG()])).print("map")
    env.execute("map")
    keyed.flat_map(History(), Types.STRING()).print("flat_map")
    env.execute("flat_map")
    keyed.filter(FirstTime()).print("filter")
    env.execute("filter")


if __name__ == "__main__":
    main()

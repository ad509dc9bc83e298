# compare: unordered
# parallelism: 1
"""connect with CoMapFunction and CoFlatMapFunction, inputs of different types, keyed and not."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import CoFlatMapFunction, CoMapFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor


class Describe(CoMapFunction):
    def map1(self, value: int) -> str:
        return f"number {value}"

    def map2(self, value: str) -> str:
        return f"text {value}"


class Split(CoFlatMapFunction):
    def flat_map1(self, value: int) -> Iterator[str]:
        for copy in range(value):
            yield f"{value}#{copy}"

    def flat_map2(self, value: str) -> Iterator[str]:
        yield from value


class CountBoth(CoMapFunction):
    """Keyed state is one for both inputs: the last count of a key is the same in any order."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def map1(self, value: tuple[str, int]) -> str:
        return self.increase(value[0])

    def map2(self, value: str) -> str:
        return self.increase(value)

    def increase(self, key: str) -> str:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return f"{key} {count}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_collection([1, 2, 3], type_info=Types.INT())
    strings = env.from_collection(["ab", "c"], type_info=Types.STRING())
    numbers.connect(strings).map(Describe(), Types.STRING()).print("map")
    numbers.connect(strings).flat_map(Split(), Types.STRING()).print("flat_map")
    pairs = env.from_collection([("a", 1), ("b", 1), ("a", 2)])
    names = env.from_collection(["a", "b", "c", "a"])
    keyed = pairs.connect(names).key_by(lambda pair: pair[0], lambda name: name, Types.STRING())
    keyed.map(CountBoth(), Types.STRING()).print("keyed")
    env.execute("connect")


if __name__ == "__main__":
    main()

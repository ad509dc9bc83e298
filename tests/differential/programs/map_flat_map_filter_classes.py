# compare: ordered
# parallelism: 1
"""map, flat_map, filter and key_by with function classes that hold settings and use open()."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    ReduceFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)


class Scale(MapFunction):
    def __init__(self, factor: int) -> None:
        self.factor = factor
        self.offset = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        self.offset = 100

    def map(self, value: int) -> int:
        return value * self.factor + self.offset


class Repeat(FlatMapFunction):
    def flat_map(self, value: int) -> Iterator[tuple[int, int]]:
        for copy in range(value % 3):
            yield value, copy


class Even(FilterFunction):
    def filter(self, value: tuple[int, int]) -> bool:
        return value[0] % 2 == 0


class ByCopy(KeySelector):
    def get_key(self, value: tuple[int, int]) -> int:
        return value[1]


class Largest(ReduceFunction):
    def reduce(self, value1: tuple[int, int], value2: tuple[int, int]) -> tuple[int, int]:
        return max(value1, value2)


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_collection([5, 3, 8, 1, 4], type_info=Types.INT())
    pairs = numbers.map(Scale(2), Types.INT()).flat_map(Repeat(), Types.TUPLE([Types.INT(), Types.INT()]))
    pairs.print("pair")
    env.execute("pairs")
    pairs.filter(Even()).key_by(ByCopy(), Types.INT()).reduce(Largest()).print("largest")
    env.execute("largest")


if __name__ == "__main__":
    main()

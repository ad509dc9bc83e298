# compare: unordered
# parallelism: 2
# prefix: strip
"""union of two, three and of a stream with itself and with a keyed stream, then one function over all."""

from __future__ import annotations

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    first = env.from_collection([1, 2, 3], type_info=Types.INT())
    second = env.from_collection([10, 20], type_info=Types.INT())
    third = env.from_collection([100], type_info=Types.INT())
    first.union(second).print("two")
    first.union(second, third).map(lambda number: -number, Types.INT()).print("three")
    first.union(first).print("itself")
    first.union(second.key_by(lambda number: number)).print("keyed")
    first.union(second).key_by(lambda number: number % 2).sum().map(lambda total: total > 0).print("positive")
    env.execute("unions")


if __name__ == "__main__":
    main()

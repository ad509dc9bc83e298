# compare: unordered
# parallelism: 3
"""The print sink writes the number of its subtask, counted from one, before a line when there is more than one."""

from __future__ import annotations

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(3)
    numbers = env.from_collection([0, 1, 2, 5], type_info=Types.INT())
    placed = numbers.partition_custom(lambda key, count: key % count, lambda number: number)
    placed.print()
    placed.print("named")
    numbers.map(lambda number: f"single {number}", Types.STRING()).set_parallelism(1).print().set_parallelism(1)
    env.execute("print")


if __name__ == "__main__":
    main()

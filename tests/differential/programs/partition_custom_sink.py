# compare: unordered
# parallelism: 2
"""A custom partitioner in front of a sink counts the subtasks of the sink."""

from __future__ import annotations

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    numbers = env.from_collection(list(range(6)), type_info=Types.INT())
    numbers.partition_custom(lambda key, count: key % count, lambda number: number).print("same")
    numbers.partition_custom(lambda key, count: key % count, lambda number: number).print("more").set_parallelism(3)
    env.execute("partition custom sink")


if __name__ == "__main__":
    main()

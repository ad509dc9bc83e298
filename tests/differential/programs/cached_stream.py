# compare: unordered
# parallelism: 1
"""A cached stream gives the same records to the job that computes it and to a later one."""

from __future__ import annotations

from pyflink.common import Types
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)
    numbers = env.from_collection([1, 2, 3], type_info=Types.INT())
    cached = numbers.map(lambda number: number * 10, Types.INT()).cache()
    with cached.execute_and_collect() as results:
        print("first", sorted(results))
    cached.map(lambda number: number + 1, Types.INT()).print("second")
    env.execute("second")
    env.close()


if __name__ == "__main__":
    main()

# compare: ordered
# parallelism: 1
"""Typed integers outside the range of their type wrap as in Java, in the collection and in a function's output."""

from __future__ import annotations

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    integers = Types.ROW([Types.BYTE(), Types.SHORT(), Types.INT()])
    rows = env.from_collection(
        [(128, 32768, 2**31), (300, 43878, 2**31 + 5), (-129, -32769, -(2**31) - 1), (-1, 65535, 2**32 - 1)],
        type_info=integers,
    )
    with rows.execute_and_collect() as results:
        for row in results:
            print("collection", list(row))
    doubled = rows.map(lambda row: (row[0] + row[0], row[1] + row[1]), Types.TUPLE([Types.INT(), Types.INT()]))
    with doubled.execute_and_collect() as results:
        for pair in results:
            print("function", pair)
    shorts = env.from_collection([1, 43878, 70000, -40000], type_info=Types.SHORT())
    with shorts.execute_and_collect() as results:
        print("short", list(results))
    integers_only = env.from_collection([1, 2**31, 2**33 + 7, -(2**31) - 2], type_info=Types.INT())
    with integers_only.execute_and_collect() as results:
        print("int", list(results))


if __name__ == "__main__":
    main()

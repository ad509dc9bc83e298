# compare: ordered
# parallelism: 1
"""FLOAT holds 32 bits: values are rounded, and printed in Java's shortest form; DOUBLE keeps 64."""

from __future__ import annotations

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

VALUES = [0.1, 13 / 3, 3.0e38, 1.0e10, 16777216.0, 1e-3, 9.99e-4, 1e7, 9999999.0, -0.0, 1.5]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    floats = env.from_collection(VALUES, type_info=Types.FLOAT())
    floats.print("float")
    env.execute("floats")
    env.from_collection(VALUES, type_info=Types.DOUBLE()).print("double")
    env.execute("doubles")
    pairs = env.from_collection([(value, value) for value in VALUES], Types.TUPLE([Types.FLOAT(), Types.DOUBLE()]))
    pairs.print("tuple")
    env.execute("tuples")
    with pairs.execute_and_collect() as results:
        for pair in results:
            print("collected", pair)
    with floats.map(repr, Types.STRING()).execute_and_collect() as results:
        print("seen by a function", list(results))


if __name__ == "__main__":
    main()

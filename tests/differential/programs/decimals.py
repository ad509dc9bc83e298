# compare: ordered
# parallelism: 1
"""BIG_DEC and BIG_INT keep every digit and the scale, in a function, back at the client and in print."""

from __future__ import annotations

from decimal import Decimal

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

VALUES = [Decimal("1.10"), Decimal("1000000000000000000000000000000.0000000001"), Decimal("-0.5"), Decimal("0.00")]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    decimals = env.from_collection(VALUES, type_info=Types.BIG_DEC())
    decimals.map(lambda value: (value, value), Types.TUPLE([Types.BIG_DEC(), Types.BIG_DEC()])).print("tuple")
    env.execute("tuples")
    with decimals.map(lambda value: value.copy_negate(), Types.BIG_DEC()).execute_and_collect() as results:
        print("collected", list(results))
    with decimals.map(repr, Types.STRING()).execute_and_collect() as results:
        print("function", list(results))
    wide = env.from_collection([2**90, -(2**90)], type_info=Types.BIG_INT())
    with wide.execute_and_collect() as results:
        print("collected", list(results))
    wide.print("integer")
    env.execute("integers")


if __name__ == "__main__":
    main()

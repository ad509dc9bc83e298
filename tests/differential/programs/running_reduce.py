# compare: ordered
# parallelism: 1
"""A keyed reduce in streaming mode emits a result for every record, typed and untyped, first record included."""

from __future__ import annotations

from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment

ELEMENTS = [("a", 1), ("b", 10), ("a", 2), ("a", 3), ("b", 20), ("c", 100), ("a", 4)]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    untyped = env.from_collection(ELEMENTS)
    untyped.key_by(lambda pair: pair[0]).reduce(lambda left, right: (left[0], left[1] + right[1])).print("untyped")
    env.execute("untyped")
    typed = env.from_collection(ELEMENTS, type_info=Types.TUPLE([Types.STRING(), Types.INT()]))
    typed.key_by(lambda pair: pair[0], Types.STRING()).reduce(lambda left, right: (left[0], left[1] - right[1])).print(
        "typed"
    )
    env.execute("typed")
    rows = env.from_collection(ELEMENTS, type_info=Types.ROW([Types.STRING(), Types.INT()]))
    rows.key_by(lambda row: row[1] % 2).reduce(lambda left, right: Row(left[0] + right[0], left[1] + right[1])).print()
    env.execute("rows")


if __name__ == "__main__":
    main()

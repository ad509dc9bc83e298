# compare: unordered
# parallelism: 1
"""sum, min, max, min_by and max_by on tuples, rows by name, and plain numbers: one result per record."""

from __future__ import annotations

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

ELEMENTS = [("a", 3, "x"), ("a", 1, "y"), ("b", 5, "z"), ("a", 1, "w"), ("a", 3, "v"), ("b", 7, "u"), ("b", 2, "t")]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    field_types = [Types.STRING(), Types.INT(), Types.STRING()]
    tuples = env.from_collection(ELEMENTS, type_info=Types.TUPLE(field_types)).key_by(lambda element: element[0])
    for operation in ("sum", "min", "max", "min_by", "max_by"):
        getattr(tuples, operation)(1).print(operation)
    names = ["key", "value", "tag"]
    rows = env.from_collection(ELEMENTS, type_info=Types.ROW_NAMED(names, field_types)).key_by(lambda row: row.key)
    for operation in ("sum", "min_by", "max"):
        getattr(rows, operation)("value").print("row-" + operation)
    numbers = env.from_collection([1, 5, 2, 8, 3, 4], type_info=Types.INT()).key_by(lambda number: number % 2)
    for operation in ("sum", "min", "max_by"):
        getattr(numbers, operation)().print("number-" + operation)
    pairs = env.from_collection([("a", 1.5), ("a", 2.5), ("b", 1.0)]).key_by(lambda pair: pair[0])
    pairs.sum(1).print("untyped")
    env.execute("aggregates")


if __name__ == "__main__":
    main()

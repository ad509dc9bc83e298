# compare: ordered
# parallelism: 1
"""Rows within rows, tuples within rows, rows within tuples: field access by name and position, nulls, text."""

from __future__ import annotations

from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment

INNER = Types.ROW_NAMED(["street", "number"], [Types.STRING(), Types.INT()])
OUTER = Types.ROW_NAMED(
    ["name", "address", "pair"],
    [Types.STRING(), INNER, Types.TUPLE([Types.INT(), Types.ROW([Types.STRING(), Types.BOOLEAN()])])],
)


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    people = env.from_collection(
        [
            ("ann", Row(street="high", number=1), (1, Row("a", True))),
            Row(name="bob", address=Row(street="low", number=None), pair=(2, Row("b", False))),
            ("cid", ("mid", 3), (3, ("c", None))),
        ],
        type_info=OUTER,
    )
    people.print()
    env.execute("print rows")
    with people.execute_and_collect() as results:
        for row in results:
            print("collected", row, row.as_dict(True), row["address"]["street"], row.name)
    seen = people.map(lambda row: f"{row!r} {row.address.street} {row['pair'][1][0]} {'name' in row}", Types.STRING())
    with seen.execute_and_collect() as results:
        for text in results:
            print("function", text)
    tuples = people.map(lambda row: (row.address, row.name), Types.TUPLE([INNER, Types.STRING()]))
    tuples.print("tuple")
    env.execute("print tuples")


if __name__ == "__main__":
    main()

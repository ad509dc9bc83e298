# compare: ordered
# parallelism: 1
"""Arrays of primitives, boxed values and objects, lists and maps: Python values seen and text printed."""

from __future__ import annotations

from pyflink.common import Row, Types
from pyflink.datastream import StreamExecutionEnvironment

FIELDS = {
    "bytes": Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "ints": Types.PRIMITIVE_ARRAY(Types.INT()),
    "longs": Types.PRIMITIVE_ARRAY(Types.LONG()),
    "doubles": Types.PRIMITIVE_ARRAY(Types.DOUBLE()),
    "booleans": Types.PRIMITIVE_ARRAY(Types.BOOLEAN()),
    "boxed": Types.BASIC_ARRAY(Types.INT()),
    "strings": Types.BASIC_ARRAY(Types.STRING()),
    "objects": Types.OBJECT_ARRAY(Types.ROW([Types.INT(), Types.STRING()])),
    "list": Types.LIST(Types.LONG()),
    "map": Types.MAP(Types.STRING(), Types.INT()),
}
ELEMENTS = [
    (
        b"\x01\x7f\xff",
        [1, 2],
        [3, 2**40],
        [0.5, 1e10],
        [True, False],
        [1, None, 3],
        ["a", None],
        [Row(1, "x"), Row(2, "y")],
        [5, 6],
        {"k": 1},
    ),
    (b"", [], [], [], [], [], [], [], [], {}),
]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    row_type = Types.ROW_NAMED(list(FIELDS), list(FIELDS.values()))
    # The exchange makes the reference apply the type: between chained functions it hands on the object itself.
    rows = env.from_collection(ELEMENTS).map(lambda element: Row(*element), output_type=row_type).rebalance()
    seen = rows.map(lambda row: [f"{type(value).__name__} {value!r}" for value in row])
    with seen.execute_and_collect() as results:
        for values in results:
            for name, text in zip(FIELDS, values):
                print("function", name, text)
    rows.print()
    env.execute("rows")
    tuple_type = Types.TUPLE([FIELDS["list"], FIELDS["map"]])
    lists_and_maps = rows.map(lambda row: (row["list"], row["map"]), tuple_type)
    lists_and_maps.print("tuple")
    env.execute("tuples")
    with lists_and_maps.execute_and_collect() as results:
        for pair in results:
            print("collected", pair)


if __name__ == "__main__":
    main()

# compare: ordered
# parallelism: 1
"""Every basic type, with its extreme values and null, through a typed row and back to the client."""

from __future__ import annotations

import decimal

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

FIELDS = {
    "boolean": Types.BOOLEAN(),
    "byte": Types.BYTE(),
    "short": Types.SHORT(),
    "int": Types.INT(),
    "long": Types.LONG(),
    "float": Types.FLOAT(),
    "double": Types.DOUBLE(),
    "string": Types.STRING(),
    "big_dec": Types.BIG_DEC(),
}
ELEMENTS = [
    (True, 1, 2, 3, 4, 0.5, 1.5, "text", decimal.Decimal("1.10")),
    (False, 127, 32767, 2**31 - 1, 2**63 - 1, 3.0e38, 1e308, "", decimal.Decimal("1e3")),
    (False, -128, -32768, -(2**31), -(2**63), -3.0e38, -1e308, "umlaut ä", decimal.Decimal("-0.001")),
    (None, None, None, None, None, 0.25, None, None, None),
]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    row_type = Types.ROW_NAMED(list(FIELDS), list(FIELDS.values()))
    rows = env.from_collection(ELEMENTS, type_info=row_type)
    with rows.execute_and_collect() as results:
        for row in results:
            print(row)
    described = rows.map(lambda row: [(type(value).__name__, value) for value in row])
    with described.execute_and_collect() as results:
        for values in results:
            print(values)
    with rows.map(lambda row: row, output_type=row_type).execute_and_collect() as results:
        for row in results:
            print(row)


if __name__ == "__main__":
    main()

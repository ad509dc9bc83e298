# compare: ordered
# parallelism: 1
"""Dates, times, timestamps and instants: what a function sees, what comes back, what is printed."""

from __future__ import annotations

import datetime

from pyflink.common import Types
from pyflink.common.time import Instant
from pyflink.datastream import StreamExecutionEnvironment

ELEMENTS = [
    (
        datetime.date(2018, 3, 11),
        datetime.time(3, 0, 0, 123456),
        datetime.datetime(2018, 3, 11, 3, 0, 0, 123456),
        Instant.of_epoch_milli(1520737200123),
    ),
    (
        datetime.date(1969, 12, 31),
        datetime.time(23, 59, 59, 999999),
        datetime.datetime(1970, 1, 1, 0, 0, 0),
        Instant(1, 5),
    ),
    (datetime.date(2000, 2, 29), datetime.time(0, 0), datetime.datetime(2037, 1, 20, 1, 2, 3, 4000), Instant(0, 0)),
]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    field_types = [Types.SQL_DATE(), Types.SQL_TIME(), Types.SQL_TIMESTAMP(), Types.INSTANT()]
    rows = env.from_collection(ELEMENTS, type_info=Types.ROW(field_types))
    with rows.map(lambda row: [repr(value) for value in row]).execute_and_collect() as results:
        for values in results:
            print("function", values)
    rows.print("row")
    env.execute("rows")
    tuples = env.from_collection([element[:3] for element in ELEMENTS], type_info=Types.TUPLE(field_types[:3]))
    tuples.print("tuple")
    env.execute("tuples")
    with rows.map(lambda row: row, output_type=Types.ROW(field_types[:2])).execute_and_collect() as results:
        for row in results:
            print("collected", row)


if __name__ == "__main__":
    main()

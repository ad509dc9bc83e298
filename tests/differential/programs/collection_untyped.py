# compare: ordered
# parallelism: 1
"""Untyped elements stay the Python objects they are, through the collection, a map and the print sink."""

from __future__ import annotations

import datetime
import decimal

from pyflink.common import Row
from pyflink.datastream import StreamExecutionEnvironment


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    elements = [
        1,
        2**70,
        -1.5,
        True,
        "text",
        "umlaut ä 漢",
        (1, "a"),
        [1, [2, 3]],
        {"k": (1, 2)},
        Row(1, "x"),
        Row(name="n", age=3),
        decimal.Decimal("1.10"),
        datetime.date(2020, 2, 29),
        datetime.datetime(2020, 2, 29, 1, 2, 3, 456789),
        datetime.time(1, 2, 3, 456789),
        b"bytes",
        frozenset([7]),
        None,
    ]
    stream = env.from_collection(elements)
    stream.filter(lambda value: not isinstance(value, bytes)).print()
    env.execute("print")
    with stream.map(lambda value: (type(value).__name__, value)).execute_and_collect() as results:
        for result in results:
            print(repr(result))


if __name__ == "__main__":
    main()

# compare: unordered
# parallelism: 1
"""The text that the print sink writes for a stream of each type, with an identifier before it."""

from __future__ import annotations

import datetime
import decimal

from pyflink.common import Row, RowKind, Types
from pyflink.common.time import Instant
from pyflink.datastream import StreamExecutionEnvironment

TYPED = {
    "boolean": (Types.BOOLEAN(), [True, False]),
    "byte": (Types.BYTE(), [1, -1]),
    "long": (Types.LONG(), [2**40]),
    "double": (Types.DOUBLE(), [1.0, 1e-5, 1e21, 123456.789]),
    "string": (Types.STRING(), ["plain", "with space", "ä"]),
    "big_dec": (Types.BIG_DEC(), [decimal.Decimal("1.500")]),
    "date": (Types.SQL_DATE(), [datetime.date(2020, 1, 2)]),
    "time": (Types.SQL_TIME(), [datetime.time(1, 2, 3)]),
    "timestamp": (Types.SQL_TIMESTAMP(), [datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)]),
    "instant": (Types.INSTANT(), [Instant.of_epoch_milli(1500)]),
    "tuple": (
        Types.TUPLE([Types.STRING(), Types.INT(), Types.TUPLE([Types.INT(), Types.BOOLEAN()])]),
        [("a", 1, (2, True))],
    ),
    "row": (Types.ROW([Types.STRING(), Types.INT()]), [Row("a", 1), Row("b", None)]),
    "named": (Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.DOUBLE()]), [Row(k="a", v=1.0)]),
    "map": (Types.MAP(Types.STRING(), Types.INT()), [{"k": 1}]),
    "list": (Types.LIST(Types.INT()), [[1, 2]]),
}
UNTYPED = [1, 1.0, "s", None, True, (1, "a"), [1, "a"], {"a": 1}, Row(1, "a"), Row(x=1)]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    for name, (type_info, elements) in TYPED.items():
        env.from_collection(elements).map(lambda value: value, output_type=type_info).print(name)
    env.from_collection(UNTYPED).print("untyped")
    kinds = env.from_collection(list(RowKind)[:4])
    kinds.map(lambda kind: Row.of_kind(kind, "a", 1), Types.ROW([Types.STRING(), Types.INT()])).print("kinds")
    env.execute("print forms")


if __name__ == "__main__":
    main()

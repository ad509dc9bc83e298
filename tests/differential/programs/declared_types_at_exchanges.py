# compare: unordered
# parallelism: 1
# prefix: strip
"""Values that do not fit their declared type are made to fit where a chain of functions ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyflink.common import Row, Types
from pyflink.datastream import (
    CoMapFunction,
    DataStream,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)

INT = Types.INT()
PAIR = Types.TUPLE([INT, INT])
SIDE = OutputTag("side", INT)


class WithSide(ProcessFunction):
    def process_element(self, value: float, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value
        yield SIDE, value


class Both(CoMapFunction):
    def map1(self, value: float) -> float:
        return value

    def map2(self, value: float) -> float:
        return value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)

    def numbers(*values: Any) -> DataStream:
        return env.from_collection(list(values or (1.5, 2.5)))

    def ints() -> DataStream:
        return numbers().map(lambda value: value, INT)

    def show(name: str, stream: DataStream) -> None:
        stream.map(repr, Types.STRING()).print(name)

    ints().print("sink")
    show("rebalance", ints().rebalance())
    show("three-fields-rebalance", numbers((1, 2, 3)).map(lambda value: value, PAIR).rebalance())
    show("three-in-a-row", numbers(1).map(lambda _: Row(1, 2, 3), Types.ROW([INT, INT])).rebalance())
    env.execute("exchanges")
    show("parallelism", ints().set_parallelism(2))
    show("not-chained", ints().disable_chaining())
    show("max-parallelism", ints().set_max_parallelism(16))
    env.execute("exchanges")
    show("union", ints().union(ints()))
    show("key-by", ints().key_by(lambda value: 1).map(lambda value: value, INT))
    show("connect", ints().connect(ints()).map(Both()))
    env.execute("exchanges")
    twice = ints()
    show("two-receivers", twice)
    show("two-receivers", twice)
    env.execute("exchanges")
    tagged = numbers().process(WithSide(), INT)
    show("main-beside-a-side-output", tagged)
    show("side-output", tagged.get_side_output(SIDE))
    show("side-output-map", tagged.get_side_output(SIDE).map(lambda value: value + 0.25, INT))
    show("project", numbers((1.5, 2)).map(lambda value: value, PAIR).project(0))
    env.execute("declared types at exchanges")


if __name__ == "__main__":
    main()

# compare: unordered
# parallelism: 2
# prefix: strip
"""Several tags from one process function, an unread tag, a chained side output, and one tag used by two operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyflink.common import Types
from pyflink.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment

ODD = OutputTag("odd", Types.INT())
BIG = OutputTag("big", Types.TUPLE([Types.STRING(), Types.INT()]))
UNREAD = OutputTag("unread", Types.INT())
UNTYPED = OutputTag("untyped")


class Sort(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value % 2:
            yield ODD, value
        if value > 5:
            yield BIG, ("big", value)
        yield UNREAD, value
        yield UNTYPED, {"value": value}
        yield value * 10


class SortAgain(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield ODD, value + 1000
        yield f"again {value}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    numbers = env.from_collection(list(range(1, 9)), type_info=Types.INT())
    main_stream = numbers.process(Sort(), Types.INT())
    main_stream.print("main")
    odd = main_stream.get_side_output(ODD)
    odd.print("odd")
    main_stream.get_side_output(BIG).print("big")
    main_stream.get_side_output(UNTYPED).print("untyped")
    again = odd.process(SortAgain(), Types.STRING())
    again.print("again")
    again.get_side_output(ODD).print("odd-again")
    main_stream.get_side_output(BIG).map(lambda pair: pair[1], Types.INT()).print("big-map")
    print(odd.get_type(), main_stream.get_side_output(UNTYPED).get_type())
    env.execute("side outputs")


if __name__ == "__main__":
    main()

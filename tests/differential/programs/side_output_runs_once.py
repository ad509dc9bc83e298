# compare: unordered
# parallelism: 1
"""However many streams read its outputs, a function sees each record once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyflink.common import Types
from pyflink.datastream import MapFunction, OutputTag, ProcessFunction, StreamExecutionEnvironment

SIDE = OutputTag("side", Types.STRING())


class CountCalls(ProcessFunction):
    def __init__(self) -> None:
        self.calls = 0

    def process_element(self, value: str, ctx: ProcessFunction.Context) -> Iterator[Any]:
        self.calls += 1
        yield SIDE, f"{value} call {self.calls}"
        yield f"{value} call {self.calls}"


class Number(MapFunction):
    def __init__(self) -> None:
        self.calls = 0

    def map(self, value: str) -> str:
        self.calls += 1
        return f"{value} map {self.calls}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    processed = env.from_collection(["a", "b", "c"], type_info=Types.STRING()).process(CountCalls(), Types.STRING())
    numbered = processed.map(Number(), Types.STRING())
    numbered.print("one")
    numbered.map(str.upper, Types.STRING()).print("two")
    processed.get_side_output(SIDE).print("three")
    processed.get_side_output(SIDE).union(processed).key_by(lambda text: text).map(lambda text: text).print("four")
    env.execute("once")


if __name__ == "__main__":
    main()

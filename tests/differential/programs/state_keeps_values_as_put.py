# compare: ordered
# parallelism: 1
"""State hands a value back as it was put: the descriptor's type changes nothing about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyflink.common import TypeInformation, Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ValueStateDescriptor

VALUES: list[tuple[TypeInformation, list[Any]]] = [
    (Types.INT(), [1.5, 2, 3]),
    (Types.FLOAT(), [1, 0.1, 0.5]),
    (Types.DOUBLE(), [1, 2, 0.5]),
    (Types.BOOLEAN(), [5, 0, True]),
]


class Exchange(KeyedProcessFunction):
    def __init__(self, type_info: TypeInformation, values: list[Any]) -> None:
        self.type_info = type_info
        self.values = values

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("value", self.type_info))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        before = self.state.value()
        self.state.update(self.values[value])
        yield f"{before!r} -> {self.state.value()!r}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    for type_info, values in VALUES:
        numbers = env.from_collection(list(range(len(values))), type_info=Types.INT())
        keyed = numbers.key_by(lambda number: "key", key_type=Types.STRING())
        with keyed.process(Exchange(type_info, values), output_type=Types.STRING()).execute_and_collect() as results:
            print(type_info, list(results))


if __name__ == "__main__":
    main()

# compare: unordered
# parallelism: 3
# prefix: strip
"""Where records go: rebalance and rescale evenly, broadcast everywhere, custom where it says, forward unmoved."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import (
    KeySelector,
    Partitioner,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)


class WithSubtask(ProcessFunction):
    def __init__(self, has_value: bool = True) -> None:
        self.has_value = has_value

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[str]:
        yield f"subtask {self.subtask}" + (f" value {value}" if self.has_value else "")


class Modulo(Partitioner):
    def partition(self, key: int, num_partitions: int) -> int:
        return key % num_partitions


class Tens(KeySelector):
    def get_key(self, value: int) -> int:
        return value // 10


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(3)
    numbers = env.from_collection(list(range(12)), type_info=Types.INT())
    # Where the round-robin starts is not said, so only the number of records is told.
    numbers.rebalance().process(WithSubtask(False), Types.STRING()).print("rebalance")
    numbers.rescale().process(WithSubtask(False), Types.STRING()).print("rescale")
    numbers.broadcast().process(WithSubtask(), Types.STRING()).print("broadcast")
    numbers.shuffle().map(lambda number: number, Types.INT()).print("shuffle")
    numbers.partition_custom(lambda key, count: (key + 1) % count, lambda number: number).process(
        WithSubtask(), Types.STRING()
    ).print("custom")
    tens = numbers.map(lambda number: number * 10, Types.INT()).set_parallelism(1)
    tens.partition_custom(Modulo(), Tens()).process(WithSubtask(), Types.STRING()).print("custom-class")
    numbers.forward().map(lambda number: -number, Types.INT()).set_parallelism(1).print("forward")
    env.execute("partitioners")


if __name__ == "__main__":
    main()

# compare: unordered
# parallelism: 2
# prefix: strip
"""A custom partitioner counts the subtasks of the operator behind it, whose parallelism may be another."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import DataStream, KeyedProcessFunction, MapFunction, RuntimeContext, StreamExecutionEnvironment


class WithSubtask(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def map(self, value: str) -> str:
        return f"{value} in subtask {self.subtask}"


class KeyedText(KeyedProcessFunction):
    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        yield value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    counted = env.from_collection(list(range(6)), type_info=Types.INT())

    def placed() -> DataStream:
        return counted.partition_custom(lambda key, count: (key + 1) % count, lambda number: number)

    def counted_stream() -> DataStream:
        """What the partitioner is told: records go to the last receiver."""
        return counted.partition_custom(lambda key, count: count - 1, lambda number: number)

    placed().map(WithSubtask(), Types.STRING()).print("same")
    placed().map(WithSubtask(), Types.STRING()).set_parallelism(3).print("more")
    placed().map(WithSubtask(), Types.STRING()).set_parallelism(1).print("one")
    env.execute("partitions")
    placed().set_parallelism(3).map(WithSubtask(), Types.STRING()).print("its-own-does-not-count")
    placed().set_parallelism(3).map(WithSubtask(), Types.STRING()).set_parallelism(4).print("neither-here")
    env.execute("partitions")
    placed().filter(lambda number: number > 1).set_parallelism(3).map(WithSubtask(), Types.STRING()).set_parallelism(
        3
    ).print("filter")
    counted_stream().map(WithSubtask(), Types.STRING()).set_parallelism(4).print("last")
    env.execute("partitions")
    both = placed()
    both.map(WithSubtask(), Types.STRING()).set_parallelism(3).print("first-of-two")
    both.map(WithSubtask(), Types.STRING()).set_parallelism(3).print("second-of-two")
    counted.partition_custom(lambda key, count: 1.0, lambda number: number).map(WithSubtask(), Types.STRING()).print(
        "float"
    )
    env.execute("partitions")
    placed().union(counted).map(str, Types.STRING()).print("union")
    placed().key_by(lambda number: number % 2).process(KeyedText(), Types.INT()).print("keyed")
    env.execute("partition custom")


if __name__ == "__main__":
    main()

# compare: unordered
# parallelism: 2
# prefix: strip
"""What a function learns from its RuntimeContext: names, indices, parallelism, attempt, job parameters."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, MapFunction, RuntimeContext, StreamExecutionEnvironment


def describe(context: RuntimeContext) -> str:
    return ", ".join(
        [
            f"subtask {context.get_index_of_this_subtask()}",
            f"of {context.get_number_of_parallel_subtasks()}",
            f"at most {context.get_max_number_of_parallel_subtasks()}",
            f"attempt {context.get_attempt_number()}",
            f"parameter {context.get_job_parameter('color', 'none')}",
            f"default {context.get_job_parameter('missing', 'none')}",
        ]
    )


class Describe(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.text = describe(runtime_context)

    def map(self, value: int) -> str:
        return self.text


class DescribeKeyed(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.text = describe(runtime_context)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        # Which subtask owns a key is the engine's choice.
        yield self.text.split(", ", 1)[1]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.set_max_parallelism(64)
    env.get_config().set_global_job_parameters({"color": "green", "size": "7"})
    print(sorted(env.get_config().get_global_job_parameters().items()))
    numbers = env.from_collection([0, 1, 2, 3], type_info=Types.INT())
    placed = numbers.partition_custom(lambda key, count: key % count, lambda number: number)
    placed.map(Describe(), Types.STRING()).print("map")
    numbers.rebalance().map(Describe(), Types.STRING()).set_parallelism(1).print("single")
    numbers.key_by(lambda number: number, Types.INT()).process(DescribeKeyed(), Types.STRING()).print("keyed")
    env.execute("runtime context")


if __name__ == "__main__":
    main()

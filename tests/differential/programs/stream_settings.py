# compare: ordered
# parallelism: 2
"""Names that steps have by themselves, names and settings given, and the settings of the environment."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, ProcessFunction, StreamExecutionEnvironment


class Plain(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[int]:
        yield value


class Keyed(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        yield value


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    print("max", env.get_max_parallelism(), "chaining", env.is_chaining_enabled(), "timeout", env.get_buffer_timeout())
    env.set_parallelism(2)
    env.set_max_parallelism(32)
    env.set_buffer_timeout(50)
    env.disable_operator_chaining()
    print(env.get_parallelism(), env.get_max_parallelism(), env.is_chaining_enabled(), env.get_buffer_timeout())
    numbers = env.from_collection([3, 1, 2], type_info=Types.INT())
    keyed = numbers.key_by(lambda number: 0)
    streams = {
        "source": numbers,
        "map": numbers.map(lambda number: number),
        "flat_map": numbers.flat_map(lambda number: [number]),
        "filter": numbers.filter(bool),
        "process": numbers.process(Plain()),
        "keyed process": keyed.process(Keyed()),
        "keyed map": keyed.map(lambda number: number),
        "reduce": keyed.reduce(lambda left, right: left),
        "sum": keyed.sum(),
        "named": numbers.map(lambda number: number).name("my map").uid("uid-1").set_description("described"),
    }
    for name, stream in streams.items():
        print(name, "->", stream.get_name())
    configured = (
        numbers.map(lambda number: number + 1, Types.INT())
        .set_parallelism(1)
        .set_max_parallelism(8)
        .set_buffer_timeout(10)
        .start_new_chain()
        .disable_chaining()
    )
    with configured.force_non_parallel().execute_and_collect() as results:
        print(list(results))


if __name__ == "__main__":
    main()

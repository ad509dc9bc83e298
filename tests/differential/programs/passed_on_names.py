# compare: ordered
# parallelism: 1
"""Names imported from modules that only pass them on, and the environment's configuration through its Java handle."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Configuration, Types
from pyflink.common.constants import MAX_LONG_VALUE
from pyflink.datastream import window
from pyflink.datastream.data_stream import KeyedProcessFunction
from pyflink.datastream.functions import IN, OUT, MapStateDescriptor, RuntimeContext
from pyflink.datastream.stream_execution_environment import RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.util.java_utils import get_j_env_configuration


class Total(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.totals = runtime_context.get_map_state(MapStateDescriptor("totals", Types.STRING(), Types.INT()))

    def process_element(self, value: IN, ctx: KeyedProcessFunction.Context) -> Iterator[OUT]:
        totals = self.totals.get_internal_state()
        totals.put(value[0], (totals.get(value[0]) or 0) + value[1])
        yield value[0], totals.get(value[0]), window.Time.seconds(1).to_milliseconds(), MAX_LONG_VALUE


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    handle = get_j_env_configuration(env._j_stream_execution_environment)
    handle.setString("pipeline.name", "totals")
    configuration = Configuration(j_configuration=handle)
    configuration.set_integer("parallelism.default", 1)
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    print(env.get_parallelism(), handle.containsKey("pipeline.name"), configuration.get_string("pipeline.name", ""))
    env.from_collection([("a", 1), ("b", 2), ("a", 3)]).key_by(lambda pair: pair[0]).process(Total()).print()
    env.execute()


if __name__ == "__main__":
    main()

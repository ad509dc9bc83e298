# compare: ordered
# parallelism: 1
"""State with a time to live: what is seen before and after expiry, for both update types."""

from __future__ import annotations

import time
from collections.abc import Iterator

from pyflink.common import Configuration, Time, Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)


class Expire(KeyedProcessFunction):
    """Element 1 writes everything, 2 comes within the time to live, 3 past the first write, 4 past everything."""

    def open(self, runtime_context: RuntimeContext) -> None:
        on_write = (
            StateTtlConfig.new_builder(Time.seconds(2))
            .set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)
            .set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)
            .build()
        )
        on_read = StateTtlConfig.new_builder(Time.seconds(2)).update_ttl_on_read_and_write().never_return_expired()
        written = ValueStateDescriptor("written", Types.INT())
        written.enable_time_to_live(on_write)
        read = ValueStateDescriptor("read", Types.INT())
        read.enable_time_to_live(on_read.build())
        listed = ListStateDescriptor("listed", Types.INT())
        listed.enable_time_to_live(on_write)
        mapped = MapStateDescriptor("mapped", Types.INT(), Types.INT())
        mapped.enable_time_to_live(on_write)
        total = ReducingStateDescriptor("total", lambda left, right: left + right, Types.INT())
        total.enable_time_to_live(on_write)
        self.written = runtime_context.get_state(written)
        self.read = runtime_context.get_state(read)
        self.listed = runtime_context.get_list_state(listed)
        self.mapped = runtime_context.get_map_state(mapped)
        self.total = runtime_context.get_reducing_state(total)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        time.sleep({1: 0, 2: 1.2, 3: 1.4, 4: 2.6}[value])
        yield f"{value} written {self.written.value()} read {self.read.value()} total {self.total.get()}"
        yield f"{value} listed {list(self.listed.get())} mapped {sorted(self.mapped.keys())}"
        if value == 1:
            self.written.update(value)
            self.read.update(value)
        if value < 3:
            self.listed.add(value)
            self.mapped.put(value, value)
            self.total.add(value)


def main() -> None:
    # The reference keeps state in caches that know no expiry; without them it is exact.
    configuration = Configuration()
    configuration.set_integer("python.fn-execution.bundle.size", 1)
    configuration.set_integer("python.state.cache-size", 0)
    configuration.set_integer("python.map-state.read-cache-size", 0)
    configuration.set_integer("python.map-state.write-cache-size", 0)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    numbers = env.from_collection([1, 2, 3, 4], type_info=Types.INT())
    numbers.key_by(lambda number: 0, Types.INT()).process(Expire(), Types.STRING()).print()
    env.execute("time to live")


if __name__ == "__main__":
    main()

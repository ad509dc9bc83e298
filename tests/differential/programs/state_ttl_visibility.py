# compare: ordered
# parallelism: 1
"""An expired value that nobody cleaned up is returned once when the visibility allows it, else never."""

from __future__ import annotations

import time
from collections.abc import Iterator

from pyflink.common import Configuration, Time, Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import StateTtlConfig, ValueStateDescriptor


class Visibility(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        lenient = ValueStateDescriptor("lenient", Types.INT())
        lenient.enable_time_to_live(
            StateTtlConfig.new_builder(Time.seconds(1))
            .set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)
            .set_state_visibility(StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp)
            .build()
        )
        strict = ValueStateDescriptor("strict", Types.INT())
        strict.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(2)).cleanup_full_snapshot().build())
        disabled = ValueStateDescriptor("disabled", Types.INT())
        disabled.enable_time_to_live(
            StateTtlConfig.new_builder(Time.milliseconds(1)).set_update_type(StateTtlConfig.UpdateType.Disabled).build()
        )
        self.lenient = runtime_context.get_state(lenient)
        self.strict = runtime_context.get_state(strict)
        self.disabled = runtime_context.get_state(disabled)

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        if value == 1:
            self.lenient.update(1)
            self.strict.update(1)
            self.disabled.update(1)
        else:
            time.sleep(1.3)
        yield f"{value} disabled {self.disabled.value()}"
        if value == 2:
            yield f"{value} lenient {self.lenient.value()} strict {self.strict.value()}"


def main() -> None:
    config = StateTtlConfig.new_builder(Time.seconds(1)).build()
    print(config.get_update_type(), config.get_state_visibility(), config.get_ttl().to_milliseconds())
    print(config.is_enabled(), config.get_ttl_time_characteristic())
    # The reference keeps state in caches that know no expiry; without them it is exact.
    configuration = Configuration()
    configuration.set_integer("python.fn-execution.bundle.size", 1)
    configuration.set_integer("python.state.cache-size", 0)
    configuration.set_integer("python.map-state.read-cache-size", 0)
    configuration.set_integer("python.map-state.write-cache-size", 0)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    numbers = env.from_collection([1, 2], type_info=Types.INT())
    numbers.key_by(lambda number: 0, Types.INT()).process(Visibility(), Types.STRING()).print()
    env.execute("visibility")


if __name__ == "__main__":
    main()

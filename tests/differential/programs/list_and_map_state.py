# compare: ordered
# parallelism: 1
"""Every method of list and map state, and a state of any Python object."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor


class UseStates(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", Types.STRING()))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", Types.STRING(), Types.LIST(Types.INT())))
        self.object = runtime_context.get_state(ValueStateDescriptor("object", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        yield f"{value} empty list {list(self.list.get())} {'k' in self.map} {self.map.get('k')} {self.object.value()}"
        self.list.add_all(["x", "y"])
        self.list.add("z")
        yield f"{value} list {list(self.list)}"
        self.list.update(["only"])
        self.map.put("k", [value])
        self.map.put("l", [1, 2])
        self.map["m"] = [3]
        del self.map["l"]
        yield f"{value} map {sorted(self.map.keys())} {sorted(self.map.values())} {sorted(self.map)} {self.map['k']}"
        self.map.remove("m")
        yield f"{value} list {list(self.list.get())} map {list(self.map.items())} {self.map.contains('m')}"
        stored = self.object.value() or {"seen": set()}
        stored["seen"].add(value)
        self.object.update(stored)
        yield f"{value} object {self.object.value()} key {ctx.get_current_key()}"
        self.list.clear()
        if value == 3:
            self.map.clear()
            yield f"{value} cleared {list(self.map.keys())} {self.map.is_empty()}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_collection([1, 2, 3, 4, 5], type_info=Types.INT())
    numbers.key_by(lambda number: number % 2, Types.INT()).process(UseStates(), Types.STRING()).print()
    env.execute("list and map state")


if __name__ == "__main__":
    main()

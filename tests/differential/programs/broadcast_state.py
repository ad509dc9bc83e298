# compare: unordered
# parallelism: 3
# prefix: strip
"""Every subtask handles each broadcast element, also one without data; the state is read-only on the other side."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Types
from pyflink.datastream import BroadcastProcessFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.datastream.state import MapStateDescriptor

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())
NAMES = MapStateDescriptor("names", Types.INT(), Types.STRING())


class Apply(BroadcastProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: int, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[str]:
        rules = ctx.get_broadcast_state(RULES)
        try:
            rules.put("x", 1)  # type: ignore[attr-defined]
        except Exception:
            yield f"element {value} write refused"

    def process_broadcast_element(self, value: tuple[str, int], ctx: BroadcastProcessFunction.Context) -> Iterator[str]:
        rules = ctx.get_broadcast_state(RULES)
        names = ctx.get_broadcast_state(NAMES)
        rules.put(value[0], value[1])
        names[value[1]] = value[0]
        if value[0] == "last":
            del names[1]
            rules.remove("b")
            yield f"subtask {self.subtask} {sorted(rules.items())} {sorted(names.keys())} {'a' in rules}"
            yield f"subtask {self.subtask} {rules.get('none')} {rules.contains('a')} {rules.is_empty()}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(3)
    numbers = env.from_collection([1, 2, 3, 4], type_info=Types.INT())
    rules = env.from_collection([("a", 1), ("b", 2), ("a", 3), ("last", 4)])
    numbers.connect(rules.broadcast(RULES, NAMES)).process(Apply(), Types.STRING()).print()
    env.execute("broadcast state")


if __name__ == "__main__":
    main()

# compare: unordered
# parallelism: 2
# prefix: strip
"""Side outputs from keyed, connected and broadcast process functions, and from timers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyflink.common import Types
from pyflink.datastream import (
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import MapStateDescriptor

SIDE = OutputTag("side", Types.STRING())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Keyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield SIDE, f"keyed {value}"
        ctx.timer_service().register_event_time_timer(value[1])
        yield value[1]

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield SIDE, f"timer {ctx.get_current_key()} {timestamp}"


class Connected(CoProcessFunction):
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield SIDE, f"first {value}"

    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Iterator[Any]:
        yield SIDE, f"second {value}"
        yield value[1]


class KeyedConnected(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        yield SIDE, f"first {ctx.get_current_key()}"

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        yield SIDE, f"second {ctx.get_current_key()}"


class Broadcast(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        yield SIDE, f"element {value}"

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> Iterator[Any]:
        yield SIDE, f"rule {value}"


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    pair = Types.TUPLE([Types.STRING(), Types.INT()])
    left = env.from_collection([("a", 1), ("b", 2), ("a", 3)], type_info=pair)
    right = env.from_collection([("a", 10), ("c", 20)], type_info=pair)
    keyed = left.key_by(lambda value: value[0], Types.STRING())
    streams = {
        "keyed": keyed.process(Keyed(), Types.INT()),
        "connected": left.connect(right).process(Connected(), Types.INT()),
        "keyed-connected": keyed.connect(right.key_by(lambda value: value[0], Types.STRING())).process(
            KeyedConnected(), Types.INT()
        ),
        "broadcast": left.connect(right.broadcast(RULES)).process(Broadcast(), Types.INT()),
    }
    for name, stream in streams.items():
        stream.print(name)
        stream.get_side_output(SIDE).print(name + "-side")
    env.execute("side outputs")


if __name__ == "__main__":
    main()

"""A stream connected with a broadcast stream, with and without keys."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.errors import StateError
from funke.engine.graph.operations import BroadcastProcess
from funke.engine.operators.functions.broadcast_functions import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from funke.engine.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from funke.engine.types import Types
from tests.harness.operator_harness import OperatorHarness
from tests.harness.stream_table import check_stream_table

FACTORS = MapStateDescriptor("factors", Types.STRING(), Types.INT())


class Multiplying(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        factors = ctx.get_broadcast_state(FACTORS)
        yield value * (factors.get("factor") or 1), ctx.timestamp(), ctx.current_watermark()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(FACTORS).put("factor", value)
        yield "factor", value, ctx.current_processing_time()


def test_broadcast_without_keys() -> None:
    check_stream_table(
        OperatorHarness(BroadcastProcess(Multiplying(), (FACTORS,))),
        """
        watermark 3  | watermark 3
        5 @ 7        | (5, 7, 3) @ 7
        time 44      |
        2: 10 @ 8    | ('factor', 10, 44) @ 8
        5 @ 9        | (50, 9, 3) @ 9
        """,
    )


def test_broadcast_state_survives_a_restart() -> None:
    operation = BroadcastProcess(Multiplying(), (FACTORS,))
    harness = OperatorHarness(operation)
    harness.process(10, input_index=1)
    again = OperatorHarness(operation, restored=[harness.snapshot()])
    again.process(5, 1)
    assert again.outputs()[0][0] == 50


def test_the_data_side_may_not_write() -> None:
    class Writing(Multiplying):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.get_broadcast_state(FACTORS).put("factor", value)

    with pytest.raises(StateError, match="read-only"):
        OperatorHarness(BroadcastProcess(Writing(), (FACTORS,))).process(1)


class Counting(KeyedBroadcastProcessFunction):
    """Counts per key up to the limit that was broadcast; a timer tells the count."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        limit = ctx.get_broadcast_state(FACTORS).get("limit")
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timer_service().register_event_time_timer(100)
        if limit is not None and count >= limit:
            yield ctx.get_current_key(), count

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(FACTORS).put("limit", value)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        limit = ctx.get_broadcast_state(FACTORS).get("limit")
        yield "total", ctx.get_current_key(), self.count.value(), limit, ctx.time_domain().name


def test_keyed_broadcast_with_state_and_timers() -> None:
    check_stream_table(
        OperatorHarness(BroadcastProcess(Counting(), (FACTORS,), lambda value: value)),
        """
        'a' @ 1        |
        'b' @ 2        |
        2: 2 @ 3       |
        'a' @ 4        | ('a', 2) @ 4
        watermark 99   | watermark 99
        end            | ('total', 'a', 2, 2, EVENT) @ 100; ('total', 'b', 1, 2, EVENT) @ 100; watermark max
        """,
        {"EVENT": "EVENT_TIME"},
    )


def test_both_states_survive_a_restart_together() -> None:
    operation = BroadcastProcess(Counting(), (FACTORS,), lambda value: value)
    harness = OperatorHarness(operation)
    harness.process(3, input_index=1)
    harness.process_batch(["a", "a"])
    again = OperatorHarness(operation, restored=[harness.snapshot()])
    again.process("a")
    assert again.outputs() == [("a", 3)]

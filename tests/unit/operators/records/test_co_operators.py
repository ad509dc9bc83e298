"""Two connected streams: each input has its method, keyed inputs share state and timers."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.errors import StateError
from funke.engine.graph.operations import CoFlatMap, CoMap, CoProcess
from funke.engine.operators.functions.process_functions import CoProcessFunction, KeyedCoProcessFunction
from funke.engine.state.descriptors import ListStateDescriptor, ValueStateDescriptor
from funke.engine.types import Types
from funke.engine.types.functions import CoFlatMapFunction, CoMapFunction
from funke.engine.types.output_tag import OutputTag
from tests.harness.operator_harness import OperatorHarness
from tests.harness.stream_table import check_stream_table

UNMATCHED = OutputTag("unmatched")


def first(value: Any) -> Any:
    return value[0]


class Named(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return None if value == "skip" else ("one", value)

    def map2(self, value: Any) -> Any:
        return "two", value


def test_co_map_and_its_none() -> None:
    check_stream_table(
        OperatorHarness(CoMap(Named())),
        """
        1 @ 5        | ('one', 1) @ 5
        2: 1 @ 6     | ('two', 1) @ 6
        'skip'       |
        2: 'skip'    | ('two', 'skip')
        watermark 5  | watermark 5
        """,
    )


class Words(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        return value.split()

    def flat_map2(self, value: Any) -> Any:
        if value:
            yield value


def test_co_flat_map() -> None:
    check_stream_table(
        OperatorHarness(CoFlatMap(Words())),
        """
        'a b' @ 1   | 'a' @ 1; 'b' @ 1
        2: 'c d'    | 'c d'
        2: ''       |
        """,
    )


class Shared(CoMapFunction):
    """Counts the records of both inputs per key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def map1(self, value: Any) -> Any:
        return self.next("one")

    def map2(self, value: Any) -> Any:
        return self.next("two")

    def next(self, side: str) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        return side, count


def test_keyed_inputs_share_their_state() -> None:
    check_stream_table(
        OperatorHarness(CoMap(Shared(), (first, lambda value: value[1]))),
        """
        ('a', 'x')     | ('one', 1)
        2: ('x', 'a')  | ('two', 2)
        2: ('a', 'b')  | ('two', 1)
        ('b', 'x')     | ('one', 2)
        """,
    )


def test_state_needs_keys() -> None:
    with pytest.raises(StateError, match="only accessible by functions executed on a KeyedStream"):
        OperatorHarness(CoMap(Shared()))


class Joining(KeyedCoProcessFunction):
    """Holds orders back until their payment comes, for 10 ms at most."""

    def open(self, runtime_context: Any) -> None:
        self.orders = runtime_context.get_list_state(ListStateDescriptor("orders", Types.PICKLED_BYTE_ARRAY()))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        self.orders.add(value)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)

    def process_element2(self, value: Any, ctx: Any) -> Any:
        for order in self.orders:
            yield ctx.get_current_key(), order[1], value[1]
        self.orders.clear()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        for order in self.orders:
            yield UNMATCHED, (ctx.get_current_key(), order[1], ctx.time_domain().name)
        self.orders.clear()


def test_keyed_co_process_with_timers_and_side_output() -> None:
    check_stream_table(
        OperatorHarness(CoProcess(Joining(), (first, first)), side_outputs=(UNMATCHED,)),
        """
        ('a', 'order') @ 1     |
        ('b', 'order') @ 2     |
        2: ('a', 'paid') @ 3   | ('a', 'order', 'paid') @ 3
        watermark 11           | watermark 11
        watermark 12           | watermark 12; [unmatched] ('b', 'order', 'EVENT_TIME') @ 12
        """,
    )


def test_keyed_co_state_survives_a_restart() -> None:
    operation = CoProcess(Joining(), (first, first))
    harness = OperatorHarness(operation)
    harness.process(("a", "order"), 1)
    again = OperatorHarness(operation, restored=[harness.snapshot()])
    again.process(("a", "paid"), 3, input_index=1)
    assert again.outputs() == [("a", "order", "paid")]


class Both(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield "one", value, ctx.timestamp(), ctx.timer_service().current_watermark()

    def process_element2(self, value: Any, ctx: Any) -> Any:
        return [("two", value)]


def test_co_process_without_keys() -> None:
    check_stream_table(
        OperatorHarness(CoProcess(Both())),
        """
        watermark 3  | watermark 3
        'x' @ 7      | ('one', 'x', 7, 3) @ 7
        2: 'y' @ 8   | ('two', 'y') @ 8
        """,
    )

"""The output does not depend on how the input was cut into batches and epochs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.graph.operations import CoProcess, Filter, FlatMap, Map, Operation, Process, Reduce
from funke.engine.operators.functions.process_functions import KeyedCoProcessFunction, KeyedProcessFunction
from funke.engine.operators.record_copy import ResultGuard
from funke.engine.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from funke.engine.types import Row, Types
from funke.engine.types.functions import MapFunction
from funke.engine.types.output_tag import OutputTag
from tests.harness.operator_harness import OperatorHarness

ODD = OutputTag("odd")

# Records are (key, number); None stands for a watermark at the highest number so far.
STREAMS = st.lists(st.one_of(st.none(), st.tuples(st.sampled_from("abc"), st.integers(0, 50))), max_size=30)


def first(value: Any) -> Any:
    return value[0]


class Busy(KeyedProcessFunction):
    """Uses value, list and map state, timers and a side output, and yields objects that it goes on changing."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.PICKLED_BYTE_ARRAY()))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.INT(), Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        total = self.total.value() or {"sum": 0}
        total["sum"] += value[1]
        self.total.update(total)
        self.seen.add(value[1])
        self.counts[value[1]] = (self.counts[value[1]] or 0) + 1
        ctx.timer_service().register_event_time_timer(value[1] + 5)
        if value[1] % 2:
            ctx.timer_service().delete_event_time_timer(value[1] + 4)
            yield ODD, (value, ctx.timer_service().current_watermark())
        yield total
        yield Row(ctx.get_current_key(), self.counts[value[1]])

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp, list(self.seen)
        if timestamp % 3 == 0:
            self.seen.clear()
            ctx.timer_service().register_event_time_timer(timestamp + 1)


class Pairing(KeyedCoProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.PICKLED_BYTE_ARRAY()))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield "one", value, self.last.value()
        self.last.update(value)

    process_element2 = process_element1


class Last(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.row = Row(None, 0)
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.INT()))

    def map(self, value: Any) -> Any:
        self.row[0], self.row[1] = self.last.value(), value[1]
        self.last.update(value[1])
        return self.row


OPERATIONS: dict[str, Operation] = {
    "process": Process(Busy(), first),
    "co_process": CoProcess(Pairing(), (first, first)),
    "reduce": Reduce(lambda left, right: (left[0], left[1] * 2 + right[1]), first),
    "keyed map": Map(Last(), first),
    "map": Map(lambda value: [value]),
    "flat_map": FlatMap(lambda value: [value[0]] * (value[1] % 3)),
    "filter": Filter(lambda value: value[1] % 3),
}


def run(operation: Operation, stream: list[Any], cuts: set[int], has_timestamps: bool) -> Any:
    harness = OperatorHarness(operation, side_outputs=(ODD,))
    batch: list[Any] = []
    highest = -1

    def send() -> None:
        if batch:
            harness.process_batch(list(batch), [value[1] for value in batch] if has_timestamps else None)
            batch.clear()

    for position, element in enumerate(stream):
        if position in cuts or element is None:
            send()
        if position in cuts and position % 2:
            harness.end_epoch()
        if element is None:
            harness.watermark(highest)
        else:
            batch.append(element)
            highest = max(highest, element[1])
    send()
    harness.end_input()
    return [repr(element) for element in harness.elements()], list(map(repr, harness.side_output(ODD)))


@pytest.mark.parametrize("name", OPERATIONS)
@given(
    stream=STREAMS, cuts=st.sets(st.integers(0, 30)), has_timestamps=st.booleans(), trial=st.sampled_from([1, 5, 1024])
)
@settings(max_examples=60)
def test_the_output_does_not_depend_on_the_cuts(
    name: str, stream: list[Any], cuts: set[int], has_timestamps: bool, trial: int
) -> None:
    # With a short trial the fast loops are reached by short streams too.
    former, ResultGuard.TRIAL = ResultGuard.TRIAL, trial
    try:
        record_by_record = run(OPERATIONS[name], stream, set(range(30)), has_timestamps)
        assert run(OPERATIONS[name], stream, cuts, has_timestamps) == record_by_record
    finally:
        ResultGuard.TRIAL = former


@given(stream=STREAMS, index=st.integers(0, 30))
@settings(max_examples=60)
def test_the_output_does_not_depend_on_a_restart(stream: list[Any], index: int) -> None:
    def feed(harness: OperatorHarness, elements: list[Any]) -> list[str]:
        for element in elements:
            if element is not None:
                harness.process(element, element[1])
        return [repr(value) for value in harness.outputs()]

    operation = OPERATIONS["process"]
    undisturbed = OperatorHarness(operation)
    expected = feed(undisturbed, stream)
    undisturbed.end_input()
    at_the_end = undisturbed.outputs()

    before = OperatorHarness(operation)
    results = feed(before, stream[:index])
    after = OperatorHarness(operation, restored=[before.snapshot()])
    results += feed(after, stream[index:])
    after.end_input()
    assert results == expected
    # Timers of different keys at the same time fire in no particular order.
    assert sorted(map(repr, after.outputs())) == sorted(map(repr, at_the_end))

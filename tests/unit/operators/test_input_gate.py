"""The watermark of a subtask: the minimum over its active inputs, which never goes back."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as some

from funke.engine.operators.block_parts import RecordsPart, StatusPart, WatermarkPart
from funke.engine.operators.input_gate import InputGate
from funke.engine.operators.operator import MIN_WATERMARK, Operator
from funke.engine.types.operator_location import OperatorLocation


class Recording(Operator):
    """Keeps what it is given."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.seen += values

    def process_watermark(self, watermark: int) -> None:
        self.seen.append(("watermark", watermark))

    def process_status(self, is_idle: bool) -> None:
        self.seen.append("idle" if is_idle else "active")


def gate_with_two_inputs() -> tuple[InputGate, Recording]:
    head = Recording()
    return InputGate(head, OperatorLocation("head"), [(1, 0, 0), (1, 1, 0)]), head


def test_the_slowest_input_decides_and_time_never_goes_back() -> None:
    gate, head = gate_with_two_inputs()
    assert gate.current_watermark == MIN_WATERMARK
    gate.receive(1, 0, [WatermarkPart(10)])
    assert head.seen == []
    gate.receive(1, 1, [WatermarkPart(5)])
    gate.receive(1, 1, [WatermarkPart(3)])
    gate.receive(1, 0, [WatermarkPart(20)])
    gate.receive(1, 1, [WatermarkPart(30)])
    assert head.seen == [("watermark", 5), ("watermark", 20)]
    assert gate.current_watermark == 20


def test_records_and_watermarks_keep_their_order() -> None:
    head = Recording()
    gate = InputGate(head, OperatorLocation("head"), [(7, 0, 0)])
    gate.receive(7, 0, [RecordsPart(["a"], [1]), WatermarkPart(1), RecordsPart(["b"], [2]), WatermarkPart(2)])
    assert head.seen == ["a", ("watermark", 1), "b", ("watermark", 2)]
    assert gate.records_in == 2


def test_an_idle_input_does_not_hold_time_back_and_counts_again_when_it_speaks() -> None:
    gate, head = gate_with_two_inputs()
    gate.receive(1, 0, [WatermarkPart(10)])
    gate.receive(1, 1, [StatusPart(True)])
    assert head.seen == [("watermark", 10)]
    gate.receive(1, 1, [StatusPart(False)])
    gate.receive(1, 0, [WatermarkPart(50)])
    assert head.seen == [("watermark", 10)]
    gate.receive(1, 1, [WatermarkPart(40)])
    assert head.seen == [("watermark", 10), ("watermark", 40)]


def test_when_all_inputs_are_idle_the_subtask_is() -> None:
    gate, head = gate_with_two_inputs()
    gate.receive(1, 0, [StatusPart(True)])
    gate.receive(1, 1, [StatusPart(True)])
    gate.receive(1, 1, [StatusPart(False)])
    assert head.seen == ["idle", "active"]


def test_the_event_time_of_each_input_is_reported() -> None:
    gate = InputGate(Recording(), OperatorLocation("head"), [(1, 0, 0), (1, 1, 0), (2, 0, 1)])
    assert gate.input_metrics() == {"currentInput1Watermark": MIN_WATERMARK, "currentInput2Watermark": MIN_WATERMARK}
    gate.receive(1, 0, [WatermarkPart(10)])
    gate.receive(2, 0, [WatermarkPart(7)])
    assert gate.input_metrics() == {"currentInput1Watermark": MIN_WATERMARK, "currentInput2Watermark": 7}
    gate.receive(1, 1, [WatermarkPart(5)])
    assert gate.input_metrics() == {"currentInput1Watermark": 5, "currentInput2Watermark": 7}
    gate.receive(1, 1, [StatusPart(True)])
    gate.receive(2, 0, [StatusPart(True)])
    assert gate.input_metrics() == {"currentInput1Watermark": 10, "currentInput2Watermark": 7}
    gate.receive(1, 1, [WatermarkPart(6)])
    assert gate.input_metrics()["currentInput1Watermark"] == 10, "it does not go back"
    assert gate_with_two_inputs()[0].input_metrics() == {}, "two channels of one input"


class TellingInputsApart(Recording):
    has_input_watermarks = True

    def input_handler(self, input_index: int) -> Any:
        return self.process_batch

    def process_input_watermark(self, input_index: int, watermark: int) -> None:
        self.seen.append((input_index, watermark))

    def process_input_status(self, input_index: int, is_idle: bool) -> None:
        self.seen.append((input_index, "idle" if is_idle else "active"))


def test_who_wants_it_gets_the_time_of_each_input() -> None:
    head = TellingInputsApart()
    gate = InputGate(head, OperatorLocation("head"), [(1, 0, 0), (2, 0, 1), (2, 1, 1)])
    gate.receive(2, 0, [WatermarkPart(10)])
    gate.receive(1, 0, [WatermarkPart(3)])
    gate.receive(2, 1, [WatermarkPart(7)])
    assert head.seen == [(0, 3), (1, 7)]
    assert gate.current_watermark == 3
    gate.receive(2, 1, [StatusPart(True)])
    gate.receive(2, 0, [StatusPart(True)])
    gate.receive(2, 0, [WatermarkPart(12)])
    assert head.seen[2:] == [(1, 10), (1, "idle"), (1, 12), (1, "active")]


class OneByOne:
    """The rule itself, looked up in all channels: (exchange, upstream, input) each."""

    def __init__(self, channels: list[tuple[int, int, int]]) -> None:
        self.marks = {(exchange, upstream): MIN_WATERMARK for exchange, upstream, _ in channels}
        self.input_of = {(exchange, upstream): index for exchange, upstream, index in channels}
        self.idle: set[tuple[int, int]] = set()
        self.current = MIN_WATERMARK
        self.of_inputs = dict.fromkeys(sorted(set(self.input_of.values())), MIN_WATERMARK)

    def take(self, channel: tuple[int, int], content: int | bool) -> None:
        if isinstance(content, bool):
            (self.idle.add if content else self.idle.discard)(channel)
        else:
            self.idle.discard(channel)
            self.marks[channel] = max(self.marks[channel], content)
        self.current = max(self.current, self.lowest(list(self.marks)))
        for index, mark in self.of_inputs.items():
            own = [each for each in self.marks if self.input_of[each] == index]
            self.of_inputs[index] = max(mark, self.lowest(own))

    def lowest(self, channels: list[tuple[int, int]]) -> int:
        active = [self.marks[each] for each in channels if each not in self.idle]
        return min(active) if active else max(self.marks[each] for each in channels)


CHANNELS = [(1, 0, 0), (1, 1, 0), (2, 0, 0), (3, 0, 1), (3, 1, 1)]
contents = some.one_of(some.integers(0, 20), some.booleans())


@given(some.integers(1, len(CHANNELS)), some.lists(some.tuples(some.integers(0, 4), contents), max_size=60))
def test_event_time_is_what_a_look_at_all_channels_gives(count: int, spoken: list[tuple[int, int | bool]]) -> None:
    channels = CHANNELS[:count]
    head, rule = Recording(), OneByOne(channels)
    gate = InputGate(head, OperatorLocation("head"), channels)
    was_idle = False
    for number, content in spoken:
        exchange, upstream, _ = channels[number % count]
        part = StatusPart(content) if isinstance(content, bool) else WatermarkPart(content)
        before, seen = rule.current, len(head.seen)
        rule.take((exchange, upstream), content)
        gate.receive(exchange, upstream, [part])
        assert gate.current_watermark == rule.current
        is_idle = len(rule.idle) == len(channels)
        expected: list[Any] = [("watermark", rule.current)] if rule.current > before else []
        if is_idle is not was_idle:
            expected.append("idle" if is_idle else "active")
        was_idle = is_idle
        assert head.seen[seen:] == expected
        if len(rule.of_inputs) > 1:
            assert list(gate.input_metrics().values()) == list(rule.of_inputs.values())
    assert gate.snapshot() == (rule.marks, rule.idle)

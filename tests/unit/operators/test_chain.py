"""A chain: set up, opened and only then fed; its operators call each other and name themselves in failures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from funke.engine.graph.job_graph import ChainedOperator
from funke.engine.graph.operations import Filter, Map, Operation, Process
from funke.engine.operators.chain import Exit, OperatorChain
from funke.engine.operators.factory import create_operator
from funke.engine.operators.functions.process_functions import KeyedProcessFunction
from funke.engine.operators.operator import Operator, OperatorContext, OperatorFailure, TaskInfo
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.types import Types
from funke.engine.types.driver_messages import OperatorWarning
from funke.engine.types.functions import MapFunction
from funke.engine.types.information.type_information import TypeInformation
from funke.engine.types.operator_location import OperatorLocation
from funke.engine.types.output_tag import OutputTag
from tests.harness.operator_harness import Record, Recorder, Watermark

ODD = OutputTag("odd")


class Counting(KeyedProcessFunction):
    """Takes a state in open, counts per key, and sends odd counts to a side output too."""

    def __init__(self, log: list[str]) -> None:
        self.log = log

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))
        self.log.append("open count")

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.log.append(f"record {value}")
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if count % 2:
            yield ODD, ctx.get_current_key()
        yield f"{value}{count}"


class Telling(MapFunction):
    def __init__(self, log: list[str], name: str) -> None:
        self.log, self.name = log, name

    def open(self, runtime_context: Any) -> None:
        self.log.append(f"open {self.name}")

    def map(self, value: str) -> str:
        if value == "bad1":
            raise ValueError("cannot take it")
        return f"{self.name} {value}"

    def close(self) -> None:
        self.log.append(f"close {self.name}")


def member(
    node_id: int, name: str, operation: Operation, fed_by: int | None = None, tag: OutputTag | None = None
) -> ChainedOperator:
    return ChainedOperator(
        node_id, name, operation, None, f"{node_id:032x}", False, f"job.py:{node_id}", fed_by=fed_by, fed_by_tag=tag
    )


def build(log: list[str]) -> tuple[OperatorChain, Recorder]:
    """count -> tell, and the side output of count -> side; both reach the recorder."""

    def create(operation: Any, task: TaskInfo) -> Operator:
        operator = create_operator(operation, task)
        original = operator.setup

        def setup(context: OperatorContext) -> None:
            log.append(f"set up {context.operator_name}")
            original(context)

        operator.setup = setup  # type: ignore[method-assign]
        return operator

    recorder = Recorder()
    specs = (
        member(1, "count", Process(Counting(log), lambda value: value)),
        member(2, "tell", Map(Telling(log, "tell")), fed_by=1),
        member(3, "side", Map(Telling(log, "side")), fed_by=1, tag=ODD),
    )
    exits = [Exit(2, None, recorder, "exchange"), Exit(3, None, recorder, "exchange")]
    return OperatorChain(specs, exits, TaskInfo(vertex_id=7, subtask=1), create), recorder


def test_state_is_there_before_open_and_all_are_open_before_the_first_record() -> None:
    log: list[str] = []
    chain, _ = build(log)
    chain.open()
    chain.head.process_batch(["a"], None)
    chain.close()
    chain.close()
    assert log == [
        "set up count",
        "set up tell",
        "set up side",
        "open side",
        "open tell",
        "open count",
        "record a",
        "close tell",
        "close side",
    ]


def test_records_go_by_calls_and_only_to_the_operator_whose_tag_they_carry() -> None:
    chain, recorder = build([])
    chain.open()
    chain.head.process_batch(["a", "a", "b"], [1, 2, 3])
    chain.head.process_watermark(3)
    values = [element.value for element in recorder.elements if isinstance(element, Record)]
    assert sorted(values) == ["side a", "side b", "tell a1", "tell a2", "tell b1"]
    assert recorder.elements.count(Watermark(3)) == 2
    metrics = [chain.operators[node].metrics() for node in (1, 2, 3)]
    assert [(each["numRecordsIn"], each["currentInputWatermark"]) for each in metrics] == [(3, 3), (3, 3), (2, 3)]


@pytest.mark.parametrize("has_side_outputs", [True, False])
def test_a_pair_with_a_tag_is_a_record_only_if_the_program_never_asked_for_the_side_output(
    has_side_outputs: bool,
) -> None:
    spec = replace(member(1, "count", Process(Counting([]), lambda value: value)), has_side_outputs=has_side_outputs)
    recorder = Recorder()
    chain = OperatorChain((spec,), [Exit(1, None, recorder, "exchange")], TaskInfo(), create_operator)
    chain.open()
    chain.head.process_batch(["a"], None)
    values = [element.value for element in recorder.elements if isinstance(element, Record)]
    assert ("a1" in values, any(isinstance(value, tuple) for value in values)) == (True, not has_side_outputs)


def test_a_failure_in_the_chain_carries_the_operators_name_and_the_users_exception() -> None:
    chain, _ = build([])
    chain.open()
    with pytest.raises(OperatorFailure) as caught:
        chain.head.process_batch(["bad"], None)
    assert caught.value.location == OperatorLocation("tell", "job.py:2", f"{2:032x}", 7, 1)
    assert isinstance(caught.value.__cause__, ValueError)


def typed_pair(
    first: Any, type_info: TypeInformation, passes_unchanged: bool
) -> tuple[OperatorChain, Recorder, list[Any]]:
    """first, which declares the type -> text; what the first one tells the driver is kept."""
    reports: list[Any] = []
    recorder = Recorder()
    declared = replace(member(1, "first", first), output_type=type_info, passes_unchanged=passes_unchanged)
    task = TaskInfo(send_to_driver=reports.append)
    chain = OperatorChain(
        (declared, member(2, "text", Map(repr), fed_by=1)), [Exit(2, None, recorder, "exchange")], task, create_operator
    )
    chain.open()
    return chain, recorder, reports


def values_of(recorder: Recorder) -> list[Any]:
    return [each.value for each in recorder.elements]


def test_a_result_that_passes_unchanged_is_reported_once_when_it_does_not_fit() -> None:
    chain, recorder, warnings = typed_pair(Map(abs), Types.INT(), passes_unchanged=True)
    for batch in ([1, 2.5], [2.5, 3.5], [4.5], []):
        chain.head.process_batch(batch, None)
    assert values_of(recorder) == ["1", "2.5", "2.5", "3.5", "4.5"]
    assert warnings == [
        OperatorWarning(
            f"{1:032x}",
            "a result of operator 'first' does not fit its type Integer: 2.5 becomes 2 at the next exchange or sink\n"
            "  in your job: job.py:1",
        )
    ]


def test_a_result_that_is_made_to_fit_is_reported_too() -> None:
    chain, recorder, warnings = typed_pair(Map(abs), Types.INT(), passes_unchanged=False)
    chain.head.process_batch([1.5, 2], None)
    assert values_of(recorder) == ["1", "2"]
    assert [warning.text.partition("\n")[0] for warning in warnings] == [
        "a result of operator 'first' does not fit its type Integer: 1.5 becomes 1"
    ]


def test_a_result_that_would_be_rejected_passes_where_nothing_is_serialised() -> None:
    chain, recorder, warnings = typed_pair(Map(str), Types.INT(), passes_unchanged=True)
    chain.head.process_batch([1], None)
    assert values_of(recorder) == ["'1'"]
    assert "'1' is rejected at the next exchange or sink" in warnings[0].text


def test_a_filter_only_hands_on_so_it_shows_nothing() -> None:
    chain, recorder, warnings = typed_pair(Filter(bool), Types.INT(), passes_unchanged=True)
    chain.head.process_batch([1.5], None)
    assert (values_of(recorder), warnings) == (["1.5"], [])


class Shy(float):
    def __repr__(self) -> str:
        raise RuntimeError("not shown")


def test_an_object_that_cannot_be_shown_does_not_end_the_job() -> None:
    chain, recorder, warnings = typed_pair(Map(Shy), Types.INT(), passes_unchanged=False)
    chain.head.process_batch([1.5], None)
    assert (values_of(recorder), warnings) == (["1"], [])

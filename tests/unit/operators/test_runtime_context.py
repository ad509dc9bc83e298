"""What a function learns about its subtask, and the metrics it registers."""

from __future__ import annotations

from typing import Any

from funke.engine.graph.operations import Map, Process
from funke.engine.operators.functions.process_functions import KeyedProcessFunction
from funke.engine.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from funke.engine.types import Types
from funke.engine.types.functions import AggregateFunction, MapFunction
from tests.harness.operator_harness import OperatorHarness


class Asking(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.context = runtime_context

    def map(self, value: Any) -> Any:
        context = self.context
        return (
            context.get_task_name(),
            context.get_task_name_with_subtasks(),
            context.get_number_of_parallel_subtasks(),
            context.get_max_number_of_parallel_subtasks(),
            context.get_index_of_this_subtask(),
            context.get_attempt_number(),
            context.get_job_parameter("known", "default"),
            context.get_job_parameter("unknown", "default"),
        )


def test_the_subtask() -> None:
    harness = OperatorHarness(
        Map(Asking()), parallelism=4, subtask=2, max_parallelism=256, job_parameters={"known": "yes"}
    )
    harness.process(1)
    assert harness.outputs() == [("task", "task (3/4)#0", 4, 256, 2, 0, "yes", "default")]


class Longest(AggregateFunction):
    def create_accumulator(self) -> Any:
        return ""

    def add(self, value: Any, accumulator: Any) -> Any:
        return max(value, accumulator, key=len)

    def get_result(self, accumulator: Any) -> Any:
        return len(accumulator)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return max(acc_a, acc_b, key=len)


class AllStates(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("v", Types.INT()))
        self.list = runtime_context.get_list_state(ListStateDescriptor("l", Types.STRING()))
        self.map = runtime_context.get_map_state(MapStateDescriptor("m", Types.STRING(), Types.INT()))
        self.sum = runtime_context.get_reducing_state(ReducingStateDescriptor("r", lambda a, b: a + b, Types.STRING()))
        self.longest = runtime_context.get_aggregating_state(AggregatingStateDescriptor("a", Longest(), Types.STRING()))

    def process_element(self, value: str, ctx: Any) -> Any:
        self.value.update((self.value.value() or 0) + 1)
        self.list.add(value)
        self.map.put(value, len(value))
        self.sum.add(value)
        self.longest.add(value)
        yield self.value.value(), list(self.list), dict(self.map.items()), self.sum.get(), self.longest.get()


def test_all_kinds_of_state() -> None:
    harness = OperatorHarness(Process(AllStates(), lambda value: value[0]))
    harness.process_batch(["a", "b", "abc"])
    assert harness.outputs() == [
        (1, ["a"], {"a": 1}, "a", 1),
        (1, ["b"], {"b": 1}, "b", 1),
        (2, ["a", "abc"], {"a": 1, "abc": 3}, "aabc", 3),
    ]


class Measuring(MapFunction):
    def open(self, runtime_context: Any) -> None:
        group = runtime_context.get_metrics_group()
        self.records = group.counter("records")
        self.lengths = group.add_group("text").distribution("lengths")
        self.rate = group.add_group("kind", "string").meter("rate", 10)
        self.last = 0
        group.gauge("last", lambda: self.last)

    def map(self, value: str) -> str:
        self.records.inc()
        self.lengths.update(len(value))
        self.rate.mark_event()
        self.last = len(value)
        return value


def test_metrics_of_the_function_are_reported_with_those_of_the_operator() -> None:
    harness = OperatorHarness(Map(Measuring()))
    harness.process_batch(["a", "abc"])
    metrics = harness.operator.metrics()
    assert metrics["numRecordsIn"] == metrics["records"] == 2
    assert metrics["last"] == 3
    assert metrics["text.lengths"] == {"count": 2, "sum": 4, "min": 1, "max": 3, "mean": 2.0}
    assert metrics["kind.string.rate"]["count"] == 2

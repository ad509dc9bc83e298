"""Operator state of user functions: CheckpointedFunction, ListCheckpointed and CheckpointListener in every operator."""

from __future__ import annotations

from typing import Any

import pytest

from funke.common.typeinfo import Types
from funke.datastream.functions import (
    AggregateFunction,
    CheckpointedFunction,
    CheckpointListener,
    FlatMapFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedProcessFunction,
    ListCheckpointed,
    MapFunction,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
)
from funke.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from funke.engine.connectors.python_sink import FunctionSink
from funke.engine.errors import StateError
from funke.engine.graph.operations import FlatMap, Map, Process, Reduce, Window, WriteSink
from funke.engine.operators.windowing.assigners import TumblingEventTimeWindows
from tests.harness.operator_harness import OperatorHarness

BUFFERED = ListStateDescriptor("buffered", Types.INT())
SEEN = ListStateDescriptor("seen", Types.STRING())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


def first(value: Any) -> Any:
    return value[0]


class Remembering(CheckpointedFunction, CheckpointListener):
    """Keeps what it buffers in a list, its subtask's name in a union list, and a map that all have."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.buffered: list[int] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        self.calls.append(("initialize", context.is_restored()))
        store = context.get_operator_state_store()
        self._buffered: Any = store.get_list_state(BUFFERED)
        self._seen: Any = store.get_union_list_state(SEEN)
        self._rules: Any = store.get_broadcast_state(RULES)
        self.buffered = list(self._buffered.get())
        self.seen = list(self._seen.get())

    def open(self, runtime_context: Any) -> None:
        self.calls.append("open")
        self.name = f"subtask {runtime_context.get_index_of_this_subtask()}"

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.calls.append(("snapshot", context.get_checkpoint_id(), context.get_checkpoint_timestamp()))
        self._buffered.update(self.buffered)
        self._seen.update([self.name])
        self._rules.put("limit", 7)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.calls.append(("complete", checkpoint_id))

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.calls.append(("aborted", checkpoint_id))


class Buffering(Remembering, FlatMapFunction):
    """Emits elements three at a time."""

    def flat_map(self, value: int) -> list[int]:
        self.buffered.append(value)
        if len(self.buffered) < 3:
            return []
        ready, self.buffered = self.buffered, []
        return ready


def test_the_life_of_a_checkpointed_function() -> None:
    function = Buffering()
    harness = OperatorHarness(FlatMap(function))
    harness.clock.set(50)
    harness.process_batch([1, 2, 3, 4])
    harness.snapshot()
    harness.operator.notify_checkpoint_complete(1)
    harness.snapshot()
    harness.operator.notify_checkpoint_aborted(2)
    assert harness.outputs() == [1, 2, 3]
    assert function.calls == [
        ("initialize", False), "open", ("snapshot", 1, 50), ("complete", 1), ("snapshot", 2, 50), ("aborted", 2)
    ]  # fmt: skip


def test_what_was_buffered_is_there_after_a_restart() -> None:
    harness = OperatorHarness(FlatMap(Buffering()))
    harness.process_batch([1, 2])
    again = OperatorHarness(FlatMap(function := Buffering()), restored=[harness.snapshot()])
    again.process(3)
    assert again.outputs() == [1, 2, 3]
    assert function.calls[0] == ("initialize", True)
    assert (function.seen, function._rules.get("limit")) == (["subtask 0"], 7)


@pytest.mark.parametrize("parallelism", [1, 2, 3, 5])
def test_rescaling_deals_lists_out_and_gives_unions_and_broadcasts_to_all(parallelism: int) -> None:
    snapshots = []
    for subtask in range(3):
        harness = OperatorHarness(FlatMap(Buffering()), parallelism=3, subtask=subtask)
        harness.process_batch([subtask * 10, subtask * 10 + 1])
        snapshots.append(harness.snapshot())
    functions = [Buffering() for _ in range(parallelism)]
    for subtask, function in enumerate(functions):
        OperatorHarness(FlatMap(function), parallelism=parallelism, subtask=subtask, restored=snapshots)
    assert sorted(value for function in functions for value in function.buffered) == [0, 1, 10, 11, 20, 21]
    assert max(len(function.buffered) for function in functions) <= -(-6 // parallelism)
    for subtask, function in enumerate(functions):
        assert function.seen == ["subtask 0", "subtask 1", "subtask 2"]
        assert function._rules.get("limit") == 7
        if parallelism == 3:
            assert function.buffered == [subtask * 10, subtask * 10 + 1], "nothing moves when nothing has changed"


class Mapping(Remembering, MapFunction):
    def map(self, value: Any) -> Any:
        return value


class Processing(Remembering, ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value


class KeyedProcessing(Remembering, KeyedProcessFunction):
    """Has keyed state from `initialize_state` too."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        super().initialize_state(context)
        descriptor = ValueStateDescriptor("count", Types.INT())
        self.count: Any = context.get_keyed_state_store().get_state(descriptor)

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield self.count.value()


class Reducing(Remembering, ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1


class Summing(Remembering, AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class Windowing(Remembering, ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key

    def clear(self, context: Any) -> None:
        pass


def window(**functions: Any) -> Window:
    assigner = TumblingEventTimeWindows(10, 0)
    return Window(assigner=assigner, trigger=assigner.get_default_trigger(None), key_selector=first, **functions)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "operation_of"),
    [
        (Mapping, Map),
        (Processing, Process),
        (KeyedProcessing, lambda function: Process(function, first)),
        (Reducing, lambda function: Reduce(function, first)),
        (Summing, lambda function: window(aggregate=function)),
        (Windowing, lambda function: window(window_function=function)),
    ],
)
def test_every_kind_of_function_can_be_checkpointed(kind: Any, operation_of: Any) -> None:
    function = kind()
    harness = OperatorHarness(operation_of(function))
    harness.process(("a", 1), 5)
    function.buffered.append(42)
    snapshot = harness.snapshot()
    harness.operator.notify_checkpoint_complete(1)
    assert function.calls == [("initialize", False), "open", ("snapshot", 1, 0), ("complete", 1)]
    again = kind()
    restored = OperatorHarness(operation_of(again), restored=[snapshot])
    assert (again.buffered, again.calls[0]) == ([42], ("initialize", True))
    if kind is KeyedProcessing:
        restored.process(("a", 2))
        assert restored.outputs() == [2]


class Writing(Remembering):
    """A sink that is an object with `invoke`."""

    def invoke(self, value: Any) -> None:
        self.buffered.append(value)


def test_a_sink_can_be_checkpointed() -> None:
    function = Writing()
    harness = OperatorHarness(WriteSink(FunctionSink(function)))
    harness.process_batch([1, 2])
    snapshot = harness.snapshot()
    harness.operator.notify_checkpoint_complete(1)
    assert function.calls == [("initialize", False), "open", ("snapshot", 1, 0), ("complete", 1)]
    again = Writing()
    OperatorHarness(WriteSink(FunctionSink(again)), restored=[snapshot])
    assert (again.buffered, again.calls[0]) == ([1, 2], ("initialize", True))


class OldStyle(MapFunction, ListCheckpointed):
    def __init__(self) -> None:
        self.total = 0
        self.restored: Any = None

    def map(self, value: int) -> int:
        self.total += value
        return self.total

    def snapshot_state(self, checkpoint_id: int, timestamp: int) -> list[int]:
        return [self.total]

    def restore_state(self, state: list[int]) -> None:
        self.restored = state
        self.total = sum(state)


def test_the_older_list_checkpointed() -> None:
    function = OldStyle()
    harness = OperatorHarness(Map(function))
    harness.process_batch([1, 2])
    assert function.restored is None
    again = OperatorHarness(Map(OldStyle()), restored=[harness.snapshot(), harness.snapshot()])
    again.process(4)
    assert again.outputs() == [7]


def test_keyed_state_needs_a_keyed_stream() -> None:
    class Asking(Mapping):
        def initialize_state(self, context: FunctionInitializationContext) -> None:
            context.get_keyed_state_store()

    with pytest.raises(StateError, match="only accessible by functions executed on a KeyedStream"):
        OperatorHarness(Map(Asking()))


def test_a_name_stands_for_one_kind_of_state_only() -> None:
    class Confused(Mapping):
        def initialize_state(self, context: FunctionInitializationContext) -> None:
            store = context.get_operator_state_store()
            assert store.get_registered_state_names() == {"buffered", "seen"}
            assert store.get_registered_broadcast_state_names() == {"rules"}
            store.get_union_list_state(BUFFERED)

    harness = OperatorHarness(Map(Mapping()))
    with pytest.raises(StateError, match=r"'buffered' is already a list state, .* used as a union list state"):
        OperatorHarness(Map(Confused()), restored=[harness.snapshot()])
    for descriptor in (ListStateDescriptor("rules", Types.INT()), MapStateDescriptor("seen", Types.INT(), Types.INT())):

        class Mixing(Mapping):
            def initialize_state(self, context: FunctionInitializationContext) -> None:
                super().initialize_state(context)
                store: Any = context.get_operator_state_store()
                is_map = isinstance(descriptor, MapStateDescriptor)  # noqa: B023
                (store.get_broadcast_state if is_map else store.get_list_state)(descriptor)  # noqa: B023

        with pytest.raises(StateError, match="give each state its own name"):
            OperatorHarness(Map(Mixing()))

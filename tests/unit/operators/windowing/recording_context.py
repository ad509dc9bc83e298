"""A trigger and assigner context that holds state in memory and notes which timers are set."""

from __future__ import annotations

from typing import Any

from funke.engine.operators.windowing.assigner import MergingWindowAssigner, WindowAssigner
from funke.engine.operators.windowing.trigger import Trigger
from funke.engine.operators.windowing.windows import TimeWindow
from funke.engine.state.descriptors import ReducingStateDescriptor, StateDescriptor
from funke.engine.state.interfaces import ReducingState, ValueState


class MemoryValue(ValueState[Any]):
    def __init__(self) -> None:
        self.stored: Any = None

    def value(self) -> Any:
        return self.stored

    def update(self, value: Any) -> None:
        self.stored = value

    def clear(self) -> None:
        self.stored = None


class MemoryReducing(ReducingState[Any]):
    def __init__(self, descriptor: ReducingStateDescriptor) -> None:
        self._reduce = descriptor.get_reduce_function().reduce
        self.stored: Any = None

    def get(self) -> Any:
        return self.stored

    def add(self, value: Any) -> None:
        self.stored = value if self.stored is None else self._reduce(self.stored, value)

    def clear(self) -> None:
        self.stored = None


class RecordingContext(Trigger.OnMergeContext, WindowAssigner.WindowAssignerContext):
    """One key and one window; `merged_states` are the states of the windows that became it."""

    def __init__(self, watermark: int = -(2**63), processing_time: int = 0) -> None:
        self.watermark = watermark
        self.processing_time = processing_time
        self.event_timers: set[int] = set()
        self.processing_timers: set[int] = set()
        self.states: dict[str, Any] = {}
        self.merged_states: list[int] = []

    def get_current_processing_time(self) -> int:
        return self.processing_time

    def get_current_watermark(self) -> int:
        return self.watermark

    def get_metric_group(self) -> Any:
        return None

    def register_processing_time_timer(self, time: int) -> None:
        self.processing_timers.add(time)

    def register_event_time_timer(self, time: int) -> None:
        self.event_timers.add(time)

    def delete_processing_time_timer(self, time: int) -> None:
        self.processing_timers.discard(time)

    def delete_event_time_timer(self, time: int) -> None:
        self.event_timers.discard(time)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        assert isinstance(state_descriptor, ReducingStateDescriptor)
        return self.states.setdefault(state_descriptor.get_name(), MemoryReducing(state_descriptor))

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        for stored in self.merged_states:
            self.get_partitioned_state(state_descriptor).add(stored)

    def get_runtime_context(self) -> Any:
        return self

    def get_state(self, state_descriptor: StateDescriptor) -> Any:
        return self.states.setdefault(state_descriptor.get_name(), MemoryValue())


class RecordingMerges(MergingWindowAssigner.MergeCallback[TimeWindow]):
    """Notes which windows became one."""

    def __init__(self) -> None:
        self.merges: list[tuple[list[tuple[int, int]], tuple[int, int]]] = []

    def merge(self, to_be_merged: Any, merge_result: TimeWindow) -> None:
        windows = sorted((window.start, window.end) for window in to_be_merged)
        self.merges.append((windows, (merge_result.start, merge_result.end)))

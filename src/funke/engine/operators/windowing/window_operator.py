"""The window operator: assigns elements to windows, keeps their contents, and fires them when the trigger says so.

This is Flink's contract in full, for any assigner and trigger. The default trigger on event time has operators of its
own that do the same much faster (see `aligned_windows` and `session_windows`).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any

from funke.engine.errors import StateError
from funke.engine.graph.operations import Window
from funke.engine.operators.function_operator import method_of
from funke.engine.operators.keyed.keyed_operator import KeyedOperator
from funke.engine.operators.operator import OperatorContext
from funke.engine.operators.record_copy import detached
from funke.engine.operators.time.watermark_patience import WATERMARK_MISSING, WatermarkPatience
from funke.engine.operators.windowing.assigner import MergingWindowAssigner
from funke.engine.operators.windowing.merging_window_set import MergingWindowSet
from funke.engine.operators.windowing.trigger import TriggerResult
from funke.engine.operators.windowing.window_call import WindowCall
from funke.engine.operators.windowing.window_contexts import (
    OperatorAssignerContext,
    OperatorTriggerContext,
    OperatorWindowContext,
)
from funke.engine.operators.windowing.windows import MAX_LONG_VALUE
from funke.engine.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.state.storage_keys import original_key
from funke.engine.types import NO_TIMESTAMP, PickledBytesTypeInfo
from funke.engine.types.enum_members import require_member

__all__ = ["LATE_RECORDS_DROPPED", "WindowOperator"]

LATE_RECORDS_DROPPED = "numLateRecordsDropped"
# What to do when no watermark comes.
_ADVICE = (
    "Give assign_timestamps_and_watermarks() a strategy that generates watermarks, and with_idleness() if a part of "
    "the source has no data"
)
CONTENTS = "window-contents"
MERGING_SET = "merging-window-set"
# Stands in timers for all keys of a window, in snapshots that hold the keys elsewhere.
EVERY_KEY = "__every_key_of_the_window__"

_CONTINUE, _FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
_PURGE, _FIRE_AND_PURGE = TriggerResult.PURGE, TriggerResult.FIRE_AND_PURGE


class WindowOperator(KeyedOperator):
    """Runs a Window operation; results carry the time of the element or timer that fired the window."""

    has_timers_in_namespaces = True

    def __init__(self, operation: Window) -> None:
        super().__init__(operation.window_function, operation.key_selector)
        self.assigner = operation.assigner
        self.trigger = operation.trigger
        self.lateness_ms = operation.allowed_lateness_ms
        self.operation = operation
        self.is_event_time = bool(operation.assigner.is_event_time())
        self.is_merging = isinstance(operation.assigner, MergingWindowAssigner)
        # Elements that are not combined stand in a list.
        self.keeps_elements = operation.reduce is None and operation.aggregate is None
        self.contents_descriptor = self._describe_contents()

    def _describe_contents(self) -> StateDescriptor:
        operation, kind = self.operation, PickledBytesTypeInfo()
        if operation.reduce is not None:
            return ReducingStateDescriptor(CONTENTS, method_of(operation.reduce, "reduce"), kind)
        if operation.aggregate is not None:
            return AggregatingStateDescriptor(CONTENTS, operation.aggregate, kind)
        return ListStateDescriptor(CONTENTS, kind)

    def setup(self, context: OperatorContext) -> None:
        super().setup(context)
        timers, backend, metrics = self.timer_service, self.backend, self.runtime_context.get_metrics_group()
        self.assigner_context = OperatorAssignerContext(timers, self.runtime_context)
        self.trigger_context = OperatorTriggerContext(timers, backend, metrics)
        window_context = OperatorWindowContext(timers, backend, self.runtime_context, self.is_merging)
        self.call = WindowCall(self.function, window_context)
        self._patience = WatermarkPatience(self.is_event_time and not context.task.is_batch, _ADVICE)
        self._late_dropped = metrics.counter(LATE_RECORDS_DROPPED)

    def open(self) -> None:
        for function in (self.operation.reduce, self.operation.aggregate):
            if function is not None:
                self.open_function(function)
        super().open()
        self._merging_state = self.backend.get_state(ValueStateDescriptor(MERGING_SET, PickledBytesTypeInfo()))

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Adds every record to its windows, and sends what fired."""
        self.records_in += len(values)
        backend = self.backend
        process = self._process_merging if self.is_merging else self._process
        stamps: Iterable[int | None] = repeat(None) if timestamps is None else timestamps
        for key, value, timestamp in zip(self.keys_of(values), values, stamps):
            backend.current_key = key
            process(value, timestamp)
        self.results.send()

    def _process(self, value: Any, timestamp: int | None) -> None:
        time = NO_TIMESTAMP if timestamp is None else timestamp
        is_skipped = True
        windows = self.assigner.assign_windows(value, time, self.assigner_context)
        # A reduce function may change its first argument, which must not change the other windows.
        needs_copies = self.operation.reduce is not None and len(windows) > 1
        for window in windows:
            if not self.is_window_late(window):
                is_skipped = False
                self._add(detached(value) if needs_copies else value, timestamp, window, window)
        if is_skipped:
            self.skip(value, timestamp)

    def _process_merging(self, value: Any, timestamp: int | None) -> None:
        time = NO_TIMESTAMP if timestamp is None else timestamp
        is_skipped = True
        windows = self._merging_windows()
        for new_window in self.assigner.assign_windows(value, time, self.assigner_context):
            window = windows.add(new_window, self._merge)
            if self.is_window_late(window):
                windows.retire(window)
                continue
            is_skipped = False
            self._add(value, timestamp, window, windows.state_window(window))
        self._keep(windows)
        if is_skipped:
            self.skip(value, timestamp)

    def _add(self, value: Any, timestamp: int | None, window: Any, state_window: Any) -> None:
        contents = self.backend.get_state(self.contents_descriptor, state_window)
        self.add_element(contents, value, timestamp)
        context = self.trigger_context
        context.window = window
        time = NO_TIMESTAMP if timestamp is None else timestamp
        result = self.trigger.on_element(value, time, window, context)
        self._act(result, window, contents, timestamp)
        context.window = window
        self._register_cleanup_timer(window)

    def add_element(self, contents: Any, value: Any, timestamp: int | None) -> None:
        """Adds an element to the contents of a window."""
        contents.add(value)

    def _act(self, result: TriggerResult, window: Any, contents: Any, timestamp: int | None) -> None:
        if result is _CONTINUE:
            return
        require_member(TriggerResult, result, f"a window with {type(self.trigger).__name__}")
        if result is _FIRE or result is _FIRE_AND_PURGE:
            self.fire(window, contents, timestamp)
        if result is _PURGE or result is _FIRE_AND_PURGE:
            contents.clear()

    def fire(self, window: Any, contents: Any, timestamp: int | None) -> None:
        """Evaluates a window that has contents."""
        value = contents.get()
        if value is None or (self.keeps_elements and not value):
            return
        self.evaluate(window, value if self.keeps_elements else [value], timestamp)

    def evaluate(self, window: Any, elements: list[Any], timestamp: int | None) -> None:
        """Calls the window function, or emits what was combined."""
        evaluate = self.call.evaluate
        if evaluate is None:
            self.results.take(elements, timestamp)
            return
        results = evaluate(original_key(self.backend.current_key), window, elements)
        if results is not None:
            self.results.take(results, timestamp)

    def skip(self, value: Any, timestamp: int | None) -> None:
        """An element got into no window: if it is late, it goes to the side output or is dropped and counted."""
        if not self.is_event_time or timestamp is None:
            return
        if timestamp + self.lateness_ms <= self.timer_service.watermark:
            tag = self.operation.late_tag
            if tag is None:
                self._late_dropped.inc()
            else:
                self.results.take_side(tag, value, timestamp)

    def on_event_timer(self, time: int, entry: Any) -> None:
        """Asks the trigger; forgets the window when its time is over."""
        self._on_timer(time, entry, self.trigger.on_event_time, self.is_event_time)

    def on_processing_timer(self, time: int, entry: Any) -> None:
        """Asks the trigger; forgets the window when its time is over."""
        self._on_timer(time, entry, self.trigger.on_processing_time, not self.is_event_time)

    def _on_timer(self, time: int, entry: Any, ask: Any, is_own_time: bool) -> None:
        self.backend.current_key, window = entry
        windows = self._merging_windows() if self.is_merging else None
        state_window = window if windows is None else windows.state_window(window)
        if state_window is None:
            # The window became part of another one, and its trigger left a timer behind.
            return
        contents = self.backend.get_state(self.contents_descriptor, state_window)
        self.trigger_context.window = window
        self._act(ask(time, window, self.trigger_context), window, contents, time)
        if is_own_time and time == self.cleanup_time(window):
            self._forget(window, contents)
            if windows is not None:
                windows.retire(window)
        if windows is not None:
            self._keep(windows)

    def _forget(self, window: Any, contents: Any) -> None:
        contents.clear()
        self.trigger_context.window = window
        self.trigger.clear(window, self.trigger_context)
        self.call.clear(window)

    def is_window_late(self, window: Any) -> bool:
        """Late: the window's last timestamp plus the allowed lateness is at or before the watermark."""
        return self.is_event_time and self.cleanup_time(window) <= self.timer_service.watermark

    def cleanup_time(self, window: Any) -> int:
        """When the window is forgotten."""
        last: int = window.max_timestamp()
        # Where Java's long would overflow, Flink takes the end of time.
        return min(last + self.lateness_ms, MAX_LONG_VALUE) if self.is_event_time else last

    def _register_cleanup_timer(self, window: Any) -> None:
        time = self.cleanup_time(window)
        # As in Flink: a timer at the end of time would forget windows that have no end when the input ends.
        if time == MAX_LONG_VALUE:
            return
        if self.is_event_time:
            self.trigger_context.register_event_time_timer(time)
        else:
            self.trigger_context.register_processing_time_timer(time)

    def _delete_cleanup_timer(self, window: Any) -> None:
        time = self.cleanup_time(window)
        if self.is_event_time:
            self.trigger_context.delete_event_time_timer(time)
        else:
            self.trigger_context.delete_processing_time_timer(time)

    def _merging_windows(self) -> MergingWindowSet:
        return MergingWindowSet(self.assigner, self._merging_state.value() or {})

    def _keep(self, windows: MergingWindowSet) -> None:
        if windows.mapping:
            self._merging_state.update(windows.mapping)
        else:
            self._merging_state.clear()

    def _merge(self, merge_result: Any, merged: list[Any], target: Any, moved: list[Any]) -> None:
        self._require_open_end(merge_result)
        context = self.trigger_context
        context.window, context.merged_windows = merge_result, merged
        # Flink's order: the trigger takes over what it has of the merged windows before that is cleared.
        self.trigger.on_merge(merge_result, context)
        for window in merged:
            context.window = window
            self.trigger.clear(window, context)
            self._delete_cleanup_timer(window)
        self.backend.merge_namespaces(self.contents_descriptor, target, moved)

    def _require_open_end(self, window: Any) -> None:
        now = self.timer_service.watermark if self.is_event_time else self.timer_service.current_processing_time()
        if self.cleanup_time(window) <= now:
            clock = "watermark" if self.is_event_time else "processing time"
            raise StateError(
                f"windows merged to one that is over already: {window} ends before the current {clock}, which is {now}"
            )

    def end_epoch(self) -> None:
        """Lets go of what is not needed any more; says so when nothing can fire for lack of watermarks."""
        super().end_epoch()
        self._is_watermark_missing()

    def _is_watermark_missing(self) -> bool:
        now = self.context.task.clock.now_ms()
        return self._patience.is_over(self.timer_service.watermark, self.records_in, now, self.context.operator_name)

    def metrics(self) -> dict[str, Any]:
        return {**super().metrics(), **({WATERMARK_MISSING: 1} if self._is_watermark_missing() else {})}

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        super().restore_keyed(map(self._require_keys, parts))

    def _require_keys(self, chunk: tuple[int, GroupPart]) -> tuple[int, GroupPart]:
        part = chunk[1]
        if any(entry[0] == EVERY_KEY for _, entry in (*part.event_timers, *part.processing_timers)):
            raise self.other_windows_error()
        return chunk

    def other_windows_error(self) -> StateError:
        """Files of RocksDB are from an operator that keeps timers in another way."""
        return StateError(
            f"the windows of operator '{self.context.operator_name}' have another trigger, lateness or state "
            "backend than in the checkpoint; start from a savepoint, which allows for it"
        )

    def finish_key(self, key: Any) -> None:
        """In batch mode, fires the windows of the key."""
        super().finish_key(key)
        # Sessions have windows of their own: without this each key would look through those of all keys before it.
        self.backend.prune()

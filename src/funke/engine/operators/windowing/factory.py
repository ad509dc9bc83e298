"""Chooses the operator that runs a window operation."""

from __future__ import annotations

from funke.engine.graph.operations import Window
from funke.engine.operators.windowing.assigners import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from funke.engine.operators.windowing.evicting_window_operator import EvictingWindowOperator
from funke.engine.operators.windowing.fast.aligned_windows import AlignedWindowOperator
from funke.engine.operators.windowing.fast.count_windows import CountWindowOperator
from funke.engine.operators.windowing.fast.late_session_windows import LateSessionWindowOperator
from funke.engine.operators.windowing.fast.processing_time_sessions import ProcessingTimeSessionOperator
from funke.engine.operators.windowing.fast.processing_time_windows import ProcessingTimeWindowOperator
from funke.engine.operators.windowing.fast.session_windows import SessionWindowOperator
from funke.engine.operators.windowing.fast.sliding_windows import SlidingWindowOperator
from funke.engine.operators.windowing.triggers import (
    CountTrigger,
    EventTimeTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
)
from funke.engine.operators.windowing.window_operator import WindowOperator

__all__ = ["create_window"]


def create_window(operation: Window, is_in_memory: bool = True) -> WindowOperator:
    """The fastest operator that gives the results the operation asks for.

    Those for sliding and session windows keep contents in memory, which does not do for state that is larger.
    """
    if operation.evictor is not None:
        return EvictingWindowOperator(operation)
    if getattr(operation.assigner, "is_staggered", False):
        return WindowOperator(operation)
    if is_in_memory and _fires_when_full(operation):
        assigner = operation.assigner
        return CountWindowOperator(
            operation, assigner._window_size, getattr(assigner, "_window_slide", assigner._window_size)
        )
    if _fires_by_the_clock(operation):
        return _by_processing_time(operation, is_in_memory)
    return _by_event_time(operation, is_in_memory) if _is_default(operation) else WindowOperator(operation)


def _is_default(operation: Window) -> bool:
    trigger = operation.trigger
    # Without lateness a window is forgotten when it fires, so purging makes no difference.
    if type(trigger) is PurgingTrigger and operation.allowed_lateness_ms == 0:
        trigger = trigger.nested_trigger
    return type(trigger) is EventTimeTrigger


def _fires_when_full(operation: Window) -> bool:
    assigner, trigger = operation.assigner, operation.trigger
    if type(trigger) is PurgingTrigger:
        # A window that is full gets no more elements, so purging makes no difference.
        trigger = trigger.nested_trigger
    is_counting = type(assigner) in (CountTumblingWindowAssigner, CountSlidingWindowAssigner)
    return is_counting and type(trigger) is CountTrigger and trigger._window_size == assigner._window_size


def _fires_by_the_clock(operation: Window) -> bool:
    trigger = operation.trigger
    if type(trigger) is PurgingTrigger:
        # A window is forgotten when it fires, so purging makes no difference.
        trigger = trigger.nested_trigger
    return type(trigger) is ProcessingTimeTrigger


def _by_processing_time(operation: Window, is_in_memory: bool) -> WindowOperator:
    assigner = operation.assigner
    if is_in_memory and type(assigner) in (ProcessingTimeSessionWindows, DynamicProcessingTimeSessionWindows):
        return ProcessingTimeSessionOperator(operation, getattr(assigner, "_session_gap", None))
    if type(assigner) is TumblingProcessingTimeWindows:
        return ProcessingTimeWindowOperator(operation, assigner._size, assigner._size, assigner._offset)
    if type(assigner) is SlidingProcessingTimeWindows:
        return ProcessingTimeWindowOperator(operation, assigner._size, assigner._slide, assigner._offset)
    return WindowOperator(operation)


def _by_event_time(operation: Window, is_in_memory: bool) -> WindowOperator:
    assigner = operation.assigner
    if type(assigner) is TumblingEventTimeWindows:
        return AlignedWindowOperator(operation, assigner._size, assigner._size, assigner._offset)
    if type(assigner) is SlidingEventTimeWindows:
        is_combined = operation.reduce is not None or operation.aggregate is not None
        is_shareable = is_combined and operation.allowed_lateness_ms == 0 and assigner._slide < assigner._size
        kind = SlidingWindowOperator if is_in_memory and is_shareable else AlignedWindowOperator
        return kind(operation, assigner._size, assigner._slide, assigner._offset)
    if is_in_memory and type(assigner) in (EventTimeSessionWindows, DynamicEventTimeSessionWindows):
        sessions = LateSessionWindowOperator if operation.allowed_lateness_ms else SessionWindowOperator
        return sessions(operation, getattr(assigner, "_session_gap", None))
    return WindowOperator(operation)

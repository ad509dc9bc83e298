"""Chooses the operator that runs a window operation."""

from __future__ import annotations

from funke.engine.graph.operations import Window
from funke.engine.operators.windowing.aligned_windows import AlignedWindowOperator
from funke.engine.operators.windowing.assigners import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from funke.engine.operators.windowing.evicting_window_operator import EvictingWindowOperator
from funke.engine.operators.windowing.session_windows import SessionWindowOperator
from funke.engine.operators.windowing.sliding_windows import SlidingWindowOperator
from funke.engine.operators.windowing.triggers import EventTimeTrigger, PurgingTrigger
from funke.engine.operators.windowing.window_operator import WindowOperator

__all__ = ["create_window"]


def create_window(operation: Window) -> WindowOperator:
    """The fastest operator that gives the results the operation asks for."""
    if operation.evictor is not None:
        return EvictingWindowOperator(operation)
    return _with_default_trigger(operation) if _is_default(operation) else WindowOperator(operation)


def _is_default(operation: Window) -> bool:
    trigger = operation.trigger
    # Without lateness a window is forgotten when it fires, so purging makes no difference.
    if type(trigger) is PurgingTrigger and operation.allowed_lateness_ms == 0:
        trigger = trigger.nested_trigger
    return type(trigger) is EventTimeTrigger


def _with_default_trigger(operation: Window) -> WindowOperator:
    assigner = operation.assigner
    if type(assigner) is TumblingEventTimeWindows:
        return AlignedWindowOperator(operation, assigner._size, assigner._size, assigner._offset)
    if type(assigner) is SlidingEventTimeWindows:
        is_combined = operation.reduce is not None or operation.aggregate is not None
        is_shareable = is_combined and operation.allowed_lateness_ms == 0 and assigner._slide < assigner._size
        kind = SlidingWindowOperator if is_shareable else AlignedWindowOperator
        return kind(operation, assigner._size, assigner._slide, assigner._offset)
    if operation.allowed_lateness_ms == 0 and type(assigner) is EventTimeSessionWindows:
        return SessionWindowOperator(operation, assigner._session_gap)
    if operation.allowed_lateness_ms == 0 and type(assigner) is DynamicEventTimeSessionWindows:
        return SessionWindowOperator(operation, None)
    return WindowOperator(operation)

"""Chooses the operator that runs a window operation."""

from __future__ import annotations

from funke.engine.graph.operations import Window
from funke.engine.operators.windowing.evicting_window_operator import EvictingWindowOperator
from funke.engine.operators.windowing.window_operator import WindowOperator

__all__ = ["create_window"]


def create_window(operation: Window) -> WindowOperator:
    """The fastest operator that gives the results the operation asks for."""
    if operation.evictor is not None:
        return EvictingWindowOperator(operation)
    return WindowOperator(operation)

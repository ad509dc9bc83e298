"""Fits the functions that make first state into the operators that run in jobs."""

from __future__ import annotations

from typing import Any

from funke.engine.operators.functions.broadcast_functions import BroadcastProcessFunction
from funke.engine.operators.functions.process_functions import ProcessFunction
from funke.engine.state.checkpointed import CheckpointedFunction
from funke.engine.state_processor.functions import BroadcastStateBootstrapFunction, StateBootstrapFunction

__all__ = ["BroadcastBootstrapProcess", "BootstrapProcess"]


class BootstrapProcess(ProcessFunction, CheckpointedFunction):
    """Runs a StateBootstrapFunction as a process function."""

    def __init__(self, function: StateBootstrapFunction[Any]) -> None:
        self._function = function

    def initialize_state(self, context: Any) -> None:
        """Let the function get its states."""
        self._function.initialize_state(context)

    def snapshot_state(self, context: Any) -> None:
        """Let the function write what it has gathered."""
        self._function.snapshot_state(context)

    def open(self, runtime_context: Any) -> None:
        """Open the function."""
        self._function.open(runtime_context)

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> None:
        """Hand over one element."""
        self._function.process_element(value, _Context(ctx))

    def close(self) -> None:
        """Close the function."""
        self._function.close()


class _Context(StateBootstrapFunction.Context):
    def __init__(self, context: ProcessFunction.Context) -> None:
        self._context = context

    def current_processing_time(self) -> int:
        """Return the processing time in milliseconds."""
        return self._context.timer_service().current_processing_time()


class BroadcastBootstrapProcess(BroadcastProcessFunction[Any, Any, Any]):
    """Runs a BroadcastStateBootstrapFunction on the broadcast side."""

    def __init__(self, function: BroadcastStateBootstrapFunction[Any]) -> None:
        self._function = function

    def open(self, runtime_context: Any) -> None:
        """Open the function."""
        self._function.open(runtime_context)

    def process_element(self, value: Any, ctx: Any) -> None:
        """There are no elements on this side."""

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        """Hand over one element."""
        self._function.process_element(value, ctx)

    def close(self) -> None:
        """Close the function."""
        self._function.close()

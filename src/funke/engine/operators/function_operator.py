"""An operator around a user function: opens and closes it, counts records, reports metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from funke.engine.operators.operator import MIN_WATERMARK, Operator, OperatorContext
from funke.engine.operators.record_copy import ResultGuard
from funke.engine.operators.result_batch import ResultBatch
from funke.engine.operators.runtime_context import StreamingRuntimeContext
from funke.engine.state.function_states import FunctionStates
from funke.engine.state.keyed.backend import KeyedBackend
from funke.engine.types.functions import Function

__all__ = ["FunctionOperator", "method_of"]


def method_of(function: Any, name: str) -> Callable[..., Any]:
    """The callable to use: a method of a function object, or the plain callable itself."""
    is_plain = callable(function) and not isinstance(function, Function)
    method: Callable[..., Any] = function if is_plain else getattr(function, name)
    return method


# Stands before the names of states that do not belong to keys, which may have the names of those that do.
_OPERATOR_STATE = "operator state "


class FunctionOperator(Operator):
    """Runs one user function; subclasses say what its methods get and what becomes of their results."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self._opened: list[Any] = []
        self.input_watermark = MIN_WATERMARK

    def setup(self, context: OperatorContext) -> None:
        """Makes what the function may ask for in `open`."""
        super().setup(context)
        backend = self.create_backend()
        self.runtime_context = StreamingRuntimeContext(context, backend)
        task = context.task
        keyed_store = None if backend is None else self.runtime_context
        self.states = FunctionStates(task.clock.now_ms, task.restored_checkpoint_id, keyed_store)

    def create_backend(self) -> KeyedBackend | None:
        """The backend for keyed state; None on streams without keys."""
        return None

    def open(self) -> None:
        """Opens the function; all receivers are connected by now."""
        self.guard = ResultGuard(self.output.has_side_outputs)
        self.results = ResultBatch(self.output)
        self.open_function(self.function)

    def open_function(self, function: Any) -> None:
        """Gives a function object its state, calls its `open` and remembers to close it."""
        if isinstance(function, Function) or not callable(function):
            self._opened.append(function)
            self.states.initialize(function)
            if hasattr(function, "open"):
                function.open(self.runtime_context)

    def process_watermark(self, watermark: int) -> None:
        self.input_watermark = watermark
        self.output.emit_watermark(watermark)

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """Lets functions bring their operator state up to date."""
        self.states.prepare_snapshot(checkpoint_id)

    def snapshot(self) -> Any:
        return self.states.snapshot()

    def restore(self, state: Any) -> None:
        """Takes the operator state back."""
        self.states.restore(state)

    def state_types(self) -> dict[str, str]:
        return {f"{_OPERATOR_STATE}{name}": each for name, each in self.states.types.all().items()}

    def restore_types(self, types: Mapping[str, str]) -> None:
        start = len(_OPERATOR_STATE)
        own = {name[start:]: each for name, each in types.items() if name.startswith(_OPERATOR_STATE)}
        self.states.types.restore(own)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.states.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.states.notify_checkpoint_aborted(checkpoint_id)

    def metrics(self) -> dict[str, Any]:
        """Flink's metrics of an operator, and those the function registered."""
        return {
            "numRecordsIn": self.records_in,
            "numRecordsOut": self.output.records_out,
            "currentInputWatermark": self.input_watermark,
            **self.runtime_context.get_metrics_group().report(),
            **self.runtime_context.state_latencies(),
        }

    def close(self) -> None:
        """Closes what was opened, once."""
        while self._opened:
            function = self._opened.pop()
            if hasattr(function, "close"):
                function.close()

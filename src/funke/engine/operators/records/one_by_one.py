"""Map, flat map and filter whose results leave at once: a record that takes long does not hold back those before it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent import futures
from typing import Any

from funke.engine.graph.operations import Filter, FlatMap, Map, OneByOne
from funke.engine.operators.async_io.async_wait import WaitingOperator
from funke.engine.operators.async_io.call_thread import CallThread
from funke.engine.operators.async_io.element_queue import OrderedQueue
from funke.engine.operators.function_operator import FunctionOperator, method_of

__all__ = ["OneByOneOperator"]

# So many elements may wait behind a slow one; then the input waits too.
_CAPACITY = 10_000
# What takes longer is slow.
_TIMESTAMP_S = 0.05
_CLOSE_S = 1.0


class OneByOneOperator(WaitingOperator[CallThread]):
    """Runs a function in a thread of its own; an epoch ends without what that thread has not finished."""

    def __init__(self, operation: OneByOne) -> None:
        super().__init__(operation.operation.function, OrderedQueue())
        self._operation = operation.operation
        self._calls = CallThread(_as_call(self._operation), type(self.function).__name__, _CAPACITY, self.queue)

    def open(self) -> None:
        """Starts the thread, which opens the function."""
        self._calls.start()
        super().open()

    def open_function(self, function: Any) -> None:
        """Opens the function where it is called."""
        self._calls.run(lambda: WaitingOperator.open_function(self, function))

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Takes records; the results of quick functions leave at once, before those of other branches."""
        was_idle = self._opened_runner.is_idle
        super().process_batch(values, timestamps)
        if was_idle:  # behind a record that takes long, waiting again would not help
            self._wait_until(lambda runner: runner.is_idle, _TIMESTAMP_S)

    def create_runner(self) -> CallThread:
        return self._calls

    def close(self) -> None:
        """Closes the function where it was called, unless a call goes on."""
        if self._calls.is_alive:
            with contextlib.suppress(futures.TimeoutError):  # another class than TimeoutError before Python 3.11
                self._calls.run(lambda: FunctionOperator.close(self), _CLOSE_S)
        super().close()


def _as_call(operation: Map | FlatMap | Filter) -> Callable[[Any], list[Any]]:
    """The function as one that returns a list of results."""
    if isinstance(operation, Map):
        map_value = method_of(operation.function, "map")
        return lambda value: [map_value(value)]
    if isinstance(operation, FlatMap):
        flat_map = method_of(operation.function, "flat_map")
        return lambda value: list(flat_map(value) or ())
    is_kept = method_of(operation.function, "filter")
    return lambda value: [value] if is_kept(value) else []

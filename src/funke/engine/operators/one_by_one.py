"""Map, flat map and filter whose results leave at once: a record that takes long does not hold back those before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.engine.graph.operations import Filter, FlatMap, Map, OneByOne
from funke.engine.operators.async_io.async_wait import WaitingOperator
from funke.engine.operators.async_io.call_thread import CallThread
from funke.engine.operators.async_io.element_queue import OrderedQueue
from funke.engine.operators.function_operator import method_of

__all__ = ["OneByOneOperator"]

# So many elements may wait behind a slow one; then the input waits too.
_CAPACITY = 10_000


class OneByOneOperator(WaitingOperator[CallThread]):
    """Runs a function in a thread of its own; an epoch ends without what that thread has not finished."""

    def __init__(self, operation: OneByOne) -> None:
        super().__init__(operation.operation.function, OrderedQueue())
        self._operation = operation.operation

    def create_runner(self) -> CallThread:
        """The thread that calls the function."""
        return CallThread(_as_call(self._operation), type(self.function).__name__, _CAPACITY, self.queue)


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

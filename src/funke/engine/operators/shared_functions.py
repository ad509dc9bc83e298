"""Key selectors and partitioners that must be opened: one object per process serves all who route or read by key.

In Flink such a function runs in one operator, which sends the key along with the record. Here the router of the sending
subtask and the receiving operator both call it, so they share one: the first to open it opens it, the last to close it
closes it. An operator in front of the router opens it in its subtask's name.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from funke.engine.errors import JobExecutionError
from funke.engine.types.functions import Function, KeySelector, MapFunction, Partitioner

__all__ = ["FunctionOpener", "SharedFunction", "is_to_be_opened"]


def is_to_be_opened(function: Any) -> bool:
    """Whether a function object has an `open` or `close` of its own."""
    return isinstance(function, Function) and (
        type(function).open is not Function.open or type(function).close is not Function.close
    )


class _Opened:
    """A function that is open in this process, and how many rely on it."""

    def __init__(self, function: Function, call: Callable[..., Any]) -> None:
        self.function = function
        self.call = call
        self.users = 0


# By id; a process serves one attempt of one job.
_opened: dict[str, _Opened] = {}


class SharedFunction(KeySelector, Partitioner):
    """Stands for a key selector or partitioner; copies of it in one process call the same object."""

    def __init__(
        self, function: Function, method: str, adapted: Callable[[Callable[..., Any]], Callable[..., Any]]
    ) -> None:
        self._function = function
        self._method = method
        self._adapted = adapted
        self._id = uuid.uuid4().hex
        self._call: Callable[..., Any] | None = None

    def open(self, runtime_context: Any) -> None:
        """Opens the function, unless that has happened in this process."""
        if self._id not in _opened:
            self._function.open(runtime_context)
            _opened[self._id] = _Opened(self._function, self._adapted(getattr(self._function, self._method)))
        _opened[self._id].users += 1

    def close(self) -> None:
        """Closes the function when its last user has gone."""
        opened = _opened[self._id]
        opened.users -= 1
        if opened.users == 0:
            del _opened[self._id]
            opened.function.close()

    def __call__(self, *arguments: Any) -> Any:
        if self._call is None:
            if self._id not in _opened:
                raise JobExecutionError(f"{type(self._function).__name__} is called before open() or after close()")
            self._call = _opened[self._id].call
        return self._call(*arguments)

    def get_key(self, value: Any) -> Any:
        return self(value)

    def partition(self, key: Any, num_partitions: int) -> int:
        return int(self(key, num_partitions))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_call": None}


class FunctionOpener(MapFunction):
    """Passes elements on; opens and closes the functions by which they are routed behind it."""

    def __init__(self, *functions: SharedFunction) -> None:
        self._functions = functions

    def open(self, runtime_context: Any) -> None:
        for function in self._functions:
            function.open(runtime_context)

    def map(self, value: Any) -> Any:
        return value

    def close(self) -> None:
        for function in self._functions:
            function.close()

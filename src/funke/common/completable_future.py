"""A result that may come later."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any

__all__ = ["CompletableFuture"]


class CompletableFuture:
    """Wraps a :class:`concurrent.futures.Future` under the names of Flink's API.

    >>> from funke.common import CompletableFuture
    >>> future = CompletableFuture.completed("savepoint-7")  # methods of JobClient return such futures
    >>> future.done(), future.result(), future.exception()
    (True, 'savepoint-7', None)
    """

    def __init__(self, future: Future[Any], py_class: Callable[[Any], Any] | None = None) -> None:
        self._future = future
        self._py_class = py_class

    @staticmethod
    def completed(value: Any) -> CompletableFuture:
        """Return a future that has its result already."""
        future: Future[Any] = Future()
        future.set_result(value)
        return CompletableFuture(future)

    def cancel(self) -> bool:
        """Stop waiting for the result; returns whether the future is now cancelled."""
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Whether the future was cancelled before it had a result."""
        return self._future.cancelled()

    def done(self) -> bool:
        """Whether there is a result, an exception or a cancellation."""
        return self._future.done()

    def result(self) -> Any:
        """Wait for the result and return it, or raise the exception that took its place."""
        value = self._future.result()
        return value if self._py_class is None else self._py_class(value)

    def exception(self) -> BaseException | None:
        """Return the exception that took the place of the result, or None; does not wait."""
        if not self._future.done():
            return None
        return CancelledError() if self._future.cancelled() else self._future.exception()

    def __str__(self) -> str:
        return str(self._future)

"""A thread that calls a function for one element after the other: a slow call does not block earlier operators."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from funke.engine.operators.async_io.element_queue import ElementQueue, QueueItem, Request

__all__ = ["CallThread"]

_STOP_S = 1.0


class CallThread:
    """Does for plain functions what the event loop of RequestRunner does for coroutines, one call at a time.

    A function is opened and closed by the same thread, for the sake of what belongs to the thread that made it.
    """

    def __init__(
        self, call: Callable[[Any], list[Any]], function_name: str, capacity: int, elements: ElementQueue
    ) -> None:
        self._call = call
        self._capacity = capacity
        self._queue = elements
        self._pending: deque[QueueItem] = deque()
        self._submitted = 0
        self._failure: Exception | None = None
        self._is_stopping = False
        self._orders: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._progress = threading.Event()
        # Held while an element moves from one queue to the next: a snapshot must find it in exactly one.
        self._moving = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"calls of {function_name}", daemon=True)

    def start(self) -> None:
        """Starts the thread, once."""
        if not self._thread.is_alive():
            self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether the thread takes orders."""
        return self._thread.is_alive()

    def run(self, action: Callable[[], None], seconds: float | None = None) -> None:
        """Has something done by the thread and waits for it; TimeoutError if a call goes on for too long."""
        done: Future[None] = Future()

        def act() -> None:
            try:
                action()
            except BaseException as error:
                done.set_exception(error)
            else:
                done.set_result(None)

        self._orders.put(act)
        done.result(seconds)

    def submit(self, items: Sequence[QueueItem]) -> None:
        """Hands over the next items of the input."""
        self._submitted += len(items)
        self._pending.extend(items)
        self._orders.put(self._serve_pending)

    @property
    def has_capacity(self) -> bool:
        """Whether not too much waits."""
        return self._submitted - self._queue.released <= self._capacity or self._failure is not None

    @property
    def is_idle(self) -> bool:
        """Whether all that was handed over is ready to leave, or nothing more will be."""
        return self._queue.released == self._submitted or self._failure is not None

    @property
    def has_results(self) -> bool:
        """Whether something is ready to leave, or went wrong."""
        return bool(self._queue.ready) or self._failure is not None

    def wait(self, seconds: float) -> None:
        """Waits until nothing is left to do, or something went wrong; at most so long."""
        self._progress.wait(seconds)
        self._progress.clear()

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def unfinished(self) -> list[Request]:
        """All elements whose results have not left."""
        with self._moving:
            items = [*self._queue.ready, *self._queue.waiting(), *self._pending]
        return [item for item in items if isinstance(item, Request)]

    def stop(self) -> None:
        """Makes no more calls; one that is under way is left behind if it takes long."""
        self._is_stopping = True
        self._orders.put(None)
        self._thread.join(_STOP_S)

    def _run(self) -> None:
        while (order := self._orders.get()) is not None:
            order()

    def _serve_pending(self) -> None:
        try:
            if self._failure is None:
                self._call_pending()
        except Exception as error:
            self._failure = error
        except BaseException as error:  # as it is, it would end the thread unnoticed
            self._failure = RuntimeError(f"a call ended with {error!r}")
        self._progress.set()
        if self._failure is not None:
            self._queue.on_result()

    def _call_pending(self) -> None:
        pending, queue, call = self._pending, self._queue, self._call
        while pending and not self._is_stopping:
            with self._moving:
                item = pending.popleft()
                queue.add(item)
            if isinstance(item, Request):
                results = call(item.value)
                with self._moving:
                    item.results = results
                    queue.complete(item)

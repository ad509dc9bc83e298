"""An event loop in a thread of its own that makes the calls of one operator, never more at a time than allowed."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, NoReturn

from funke.engine.operators.async_io.element_queue import ElementQueue, QueueItem, Request
from funke.engine.operators.async_io.retries import AsyncCall

__all__ = ["RequestRunner"]

_STOP_S = 5.0
_CANCEL_S = 1.0


class RequestRunner:
    """Takes items from the operator's thread and starts their calls as capacity allows.

    Items are handed over in whole batches, and the loop itself starts the next call when one ends: threads change
    places a few times per batch instead of twice per element, which makes 8 µs for a call that does nothing. Every
    counter has one writer.
    """

    def __init__(
        self,
        call: AsyncCall,
        on_timeout: Callable[[Any], Any],
        function_name: str,
        timeout_ms: int,
        capacity: int,
        queue: ElementQueue,
    ) -> None:
        self._call = call
        self._on_timeout = on_timeout
        self._function_name = function_name
        self._timeout_s = timeout_ms / 1000
        self._capacity = capacity
        self._queue = queue
        self._pending: deque[QueueItem] = deque()
        self._submitted = 0  # written by the operator's thread
        self._received = 0  # written by the loop's thread
        self._is_called = False
        self._is_stopping = False
        self._failure: Exception | None = None
        self._progress = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run_loop, name=f"async {function_name}", daemon=True)

    def start(self) -> None:
        """Starts the thread of the loop."""
        self._thread.start()

    def submit(self, items: Sequence[QueueItem]) -> None:
        """Hands over the next items of the input; calls begin when there is room."""
        self._submitted += len(items)
        self._pending.extend(items)
        if not self._is_called:
            self._is_called = True
            self._loop.call_soon_threadsafe(self._take_pending)

    @property
    def has_capacity(self) -> bool:
        """Whether all that was handed over has begun, or is sure to begin without waiting for another call."""
        return self._submitted - self._queue.released <= self._capacity or self._received == self._submitted

    @property
    def is_idle(self) -> bool:
        """Whether all that was handed over is ready to leave."""
        return self._queue.released == self._submitted

    @property
    def has_results(self) -> bool:
        """Whether something is ready to leave, or went wrong."""
        return bool(self._queue.ready) or self._failure is not None or (self._loop.is_closed() and not self.is_idle)

    def wait(self, seconds: float) -> None:
        """Waits until there is room, or nothing left to do, or something went wrong; at most so long."""
        self._progress.wait(seconds)
        # The caller checks the state again after this, so nothing that happened before is missed.
        self._progress.clear()

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure
        if not self._thread.is_alive() and not self.is_idle:
            raise RuntimeError(f"the event loop of '{self._function_name}' was stopped while requests were in flight")

    def unfinished(self) -> list[Request]:
        """All requests whose results have not left; nothing may be taken from the queue meanwhile."""
        if self.is_idle:  # the loop has nothing to change
            return _requests(self._queue.ready)
        answer: Future[list[Request]] = Future()
        self._loop.call_soon_threadsafe(lambda: answer.set_result(self._collect_unfinished()))
        return answer.result()

    def _collect_unfinished(self) -> list[Request]:
        return _requests([*self._queue.ready, *self._queue.waiting(), *self._pending])

    def stop(self) -> None:
        """Cancels all calls and ends the thread; a coroutine that blocks it is left behind."""
        self._is_stopping = True
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_STOP_S)
        elif not self._loop.is_closed():
            self._loop.close()

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._is_stopping = True
            self._loop.run_until_complete(_cancel_all(self._loop))
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        finally:
            self._loop.close()
            self._progress.set()
            self._queue.on_result()

    def _take_pending(self) -> None:
        self._is_called = False
        pending, queue, capacity = self._pending, self._queue, self._capacity
        if not pending:
            return
        while pending:
            item = pending[0]
            if isinstance(item, Request) and queue.open_requests >= capacity:
                return
            queue.add(pending.popleft())
            self._received += 1
            if isinstance(item, Request):
                self._start(item)
        self._progress.set()

    def _start(self, request: Request) -> None:
        request.task = self._loop.create_task(self._serve(request))
        if self._timeout_s > 0:
            request.timer = self._loop.call_later(self._timeout_s, self._expire, request)

    async def _serve(self, request: Request) -> None:
        try:
            results = self._checked(await self._call(request.value))
        except BaseException as error:  # SystemExit would end the loop, and a cancelled call would never be answered
            if request.results is None and not self._expire_if_late(request):
                self._fail(error)
            return
        if request.results is None and not self._expire_if_late(request):
            self._finish(request, results)

    def _expire_if_late(self, request: Request) -> bool:
        """A coroutine that blocked the loop kept the timer from firing; its time is over all the same."""
        is_late = request.timer is not None and self._loop.time() >= request.timer.when()
        if is_late:
            self._expire(request)
        return is_late

    def _expire(self, request: Request) -> None:
        if self._is_stopping:
            return
        task, timer = request.task, request.timer
        request.timer = None  # the function's timeout() is asked once
        if timer is not None:
            timer.cancel()
        try:
            self._finish(request, self._checked(self._on_timeout(request.value)))
        except BaseException as error:
            self._fail(error)
        if task is not None:
            task.cancel()

    def _checked(self, results: Any) -> list[Any]:
        if type(results) is list:
            return results
        if isinstance(results, Iterable):
            return list(results)
        self._reject(results)

    def _reject(self, results: Any) -> NoReturn:
        fault = "cannot be none" if results is None else f"should be of list type, got {type(results).__name__}"
        raise RuntimeError(
            f"The result of AsyncFunction {fault}, please check the methods 'async_invoke' and 'timeout' of class "
            f"'{self._function_name}'; they return [] for no result"
        )

    def _finish(self, request: Request, results: list[Any]) -> None:
        request.results = results
        request.task = None
        if request.timer is not None:
            request.timer.cancel()
            request.timer = None
        self._queue.complete(request)
        if self._pending:
            self._take_pending()
        if self._queue.released == self._submitted:
            self._progress.set()

    def _fail(self, error: BaseException) -> None:
        if self._failure is None and not self._is_stopping:
            self._failure = error if isinstance(error, Exception) else self._as_exception(error)
            self._progress.set()
            self._queue.on_result()

    def _as_exception(self, error: BaseException) -> Exception:
        # Raised as it is, it would end the whole slot rather than fail the job.
        failure = RuntimeError(f"a call of '{self._function_name}' ended with {error!r}")
        failure.__cause__ = error
        return failure


async def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    tasks = [task for task in asyncio.all_tasks(loop) if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_CANCEL_S)


def _requests(items: Iterable[QueueItem]) -> list[Request]:
    return [item for item in items if isinstance(item, Request)]

"""Has threads look up the rows of batches, and says which results may leave: in order, or as they come."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from funke.engine.errors import SourceError
from funke.engine.operators.async_io.element_queue import (
    ElementQueue,
    HeldStatus,
    HeldWatermark,
    OrderedQueue,
    QueueItem,
    Request,
    UnorderedQueue,
)

if TYPE_CHECKING:
    from funke.engine.operators.operator import TaskInfo
    from funke.engine.sql.binding.joins.lookup_joins import AsyncLookups
    from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["LookupRequests"]

# Each has a connection of its own.
_MOST_THREADS = 8
_LOOK_S = 0.05
_STOP_S = 1.0
_LONG_SINCE_MS = 0


class LookupRequests:
    """A request is a batch of rows; its result is what was found. Threads start with the first request."""

    def __init__(
        self,
        settings: AsyncLookups,
        look_up: Callable[[ColumnBatch], Any],
        release: Callable[[], None],
        task: TaskInfo,
    ) -> None:
        self._settings = settings
        self._look_up = look_up
        self._release = release
        self._task = task
        self._elements: ElementQueue = OrderedQueue() if settings.is_ordered else UnorderedQueue()
        # Held while an element moves: threads complete requests, the subtask adds and takes them.
        self._moving = threading.Lock()
        self._orders: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._progress = threading.Event()
        self._threads: list[threading.Thread] = []
        self._failure: BaseException | None = None
        # When each request that has no result was made.
        self._since_ms: dict[Request, int] = {}

    def submit(self, batches: Sequence[ColumnBatch]) -> None:
        """Has batches looked up."""
        now_ms = self._task.clock.now_ms()
        for batch in batches:
            request = Request(batch, None)
            with self._moving:
                self._elements.add(request)
                self._since_ms[request] = now_ms
            self._orders.put(request)
        missing = min(_MOST_THREADS, self._settings.capacity, len(self._since_ms)) - len(self._threads)
        for _ in range(missing):
            thread = threading.Thread(target=self._run, name="lookups", daemon=True)
            self._threads.append(thread)
            thread.start()

    def hold_watermark(self, watermark: int) -> None:
        """A watermark leaves behind the results of the rows before it."""
        self._hold(HeldWatermark(watermark))

    def hold_status(self, is_idle: bool) -> None:
        """So does a change of idleness."""
        self._hold(HeldStatus(is_idle))

    def _hold(self, item: QueueItem) -> None:
        with self._moving:
            self._elements.add(item)

    @property
    def has_capacity(self) -> bool:
        """Whether another request may be made."""
        return self._elements.open_requests <= self._settings.capacity or self._failure is not None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is looked up, or nothing more will be."""
        return not self._since_ms or self._failure is not None

    @property
    def has_unfinished(self) -> bool:
        """Whether something is looked up, or waits to leave."""
        return bool(self._since_ms or self._elements.ready) or self._failure is not None

    def wait(self) -> None:
        """Waits a moment for results."""
        self._progress.wait(_LOOK_S)
        self._progress.clear()

    def take_ready(self) -> Iterator[QueueItem]:
        """What may leave now, in its order; raises what has gone wrong."""
        ready = self._elements.ready
        while ready:
            yield ready.popleft()
        if self._failure is not None:
            raise self._failure
        self._check_time()

    def next_look_ms(self) -> int | None:
        """When to call `take_ready`: at once if there are results, or when the oldest request has taken too long."""
        if self._elements.ready or self._failure is not None:
            return _LONG_SINCE_MS
        oldest_ms = self._oldest_ms()
        return None if oldest_ms is None else oldest_ms + self._settings.timeout_ms

    def _oldest_ms(self) -> int | None:
        with self._moving:
            return min(self._since_ms.values(), default=None)

    def _check_time(self) -> None:
        oldest_ms = self._oldest_ms()
        if oldest_ms is not None and self._task.clock.now_ms() >= oldest_ms + self._settings.timeout_ms:
            raise SourceError(
                f"Async function call has timed out: a lookup took longer than {self._settings.timeout_ms} ms "
                "('table.exec.async-lookup.timeout', or 'timeout' in the hint LOOKUP)"
            )

    def unfinished(self) -> list[ColumnBatch]:
        """The batches whose results have not left."""
        with self._moving:
            items = [*self._elements.ready, *self._elements.waiting()]
        return [each.value for each in items if isinstance(each, Request)]

    def stop(self) -> None:
        """Ends the threads; one that is asking is left behind if it takes long."""
        for _ in self._threads:
            self._orders.put(None)
        for each in self._threads:
            each.join(_STOP_S)

    def _run(self) -> None:
        try:
            while (request := self._orders.get()) is not None and self._failure is None:
                self._serve(request)
        finally:
            self._release()

    def _serve(self, request: Request) -> None:
        try:
            results = [self._look_up(request.value)]
        except BaseException as error:  # it would end the thread unnoticed
            self._failure = error
            self._task.wake()
        else:
            with self._moving:
                request.results = results
                del self._since_ms[request]
                self._elements.complete(request)
            self._task.wake()
        self._progress.set()

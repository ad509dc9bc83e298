"""The operator behind AsyncDataStream: requests overlap within an epoch and from one epoch to the next."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, Generic, Protocol, TypeVar

from funke.engine.graph.operations import AsyncWait
from funke.engine.operators.async_io.element_queue import (
    ElementQueue,
    HeldStatus,
    HeldWatermark,
    OrderedQueue,
    QueueItem,
    Request,
    UnorderedQueue,
)
from funke.engine.operators.async_io.request_runner import RequestRunner
from funke.engine.operators.async_io.retries import with_retries
from funke.engine.operators.function_operator import FunctionOperator

__all__ = ["AsyncWaitOperator", "WaitingOperator"]

# How long the end of an epoch waits for requests; what takes longer stays in flight.
_END_OF_EPOCH_S = 0.05
# While the input waits for capacity, results leave this often.
_EMIT_INTERVAL_S = 0.01
# An epoch costs Spark 0.1 s, so the longer nothing has happened, the later the next look: results come at most a
# quarter later than they could, and never more than a second.
_SOONEST_LOOK_MS = 20
_LATEST_LOOK_MS = 1_000
_LOOKS_PER_QUIET_TIME = 4
_LONG_SINCE_MS = 0
_STATE_NAME = "_async_wait_state"


class _Runner(Protocol):
    """What makes the calls, in a thread of its own."""

    @property
    def has_capacity(self) -> bool: ...

    @property
    def is_idle(self) -> bool: ...

    @property
    def has_results(self) -> bool: ...

    def start(self) -> None: ...

    def submit(self, items: Sequence[QueueItem]) -> None: ...

    def wait(self, seconds: float) -> None: ...

    def raise_failure(self) -> None: ...

    def unfinished(self) -> list[Request]: ...

    def stop(self) -> None: ...


R = TypeVar("R", bound=_Runner)


class WaitingOperator(FunctionOperator, Generic[R]):
    """Has calls made elsewhere and emits their results as they come; watermarks wait for the elements before them."""

    _runner: R | None = None

    def __init__(self, function: Any, queue: ElementQueue) -> None:
        super().__init__(function)
        self.queue = queue
        self._quiet_since_ms = 0

    @abstractmethod
    def create_runner(self) -> R:
        """What makes the calls."""

    def open(self) -> None:
        """Opens the function and starts the runner; calls of a snapshot are made again."""
        super().open()
        self.queue.on_result = self.context.task.wake
        self._runner = self.create_runner()
        self._runner.start()
        self._submit([Request(*element) for element in self.states.store.list_of(_STATE_NAME).get()])

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Makes a request for every element; waits while as many are in flight as the capacity allows."""
        self.records_in += len(values)
        self._submit(list(map(Request, values, repeat(None) if timestamps is None else timestamps)))
        self._wait_until(lambda runner: runner.has_capacity)

    def process_watermark(self, watermark: int) -> None:
        """Event time has advanced; later operators see it only after the results of the elements before it."""
        self.input_watermark = watermark
        if self._opened_runner.is_idle:
            self._emit_ready()
            self.output.emit_watermark(watermark)
        else:
            self._opened_runner.submit([HeldWatermark(watermark)])

    def process_status(self, is_idle: bool) -> None:
        """The input fell idle, or is active again; that too waits for the elements before it."""
        if self._opened_runner.is_idle:
            self._emit_ready()
            self.output.emit_status(is_idle)
        else:
            self._opened_runner.submit([HeldStatus(is_idle)])

    def end_epoch(self) -> None:
        """Waits a moment for requests; those that take longer stay in flight."""
        if self.context.task.has_epochs:
            self._wait_until(lambda runner: runner.is_idle, _END_OF_EPOCH_S)

    def end_input(self) -> None:
        """Waits for all requests."""
        self._wait_until(lambda runner: runner.is_idle)

    def next_wakeup_ms(self) -> int | None:
        """At once if there are results; soon if requests are in flight and their completion cannot wake the loop."""
        runner = self._runner
        if runner is None or not self.has_unfinished:
            return None
        if runner.has_results:
            return _LONG_SINCE_MS
        if not self.context.task.has_epochs:
            return None
        now_ms = self.context.task.clock.now_ms()
        delay_ms = (now_ms - self._quiet_since_ms) // _LOOKS_PER_QUIET_TIME
        return now_ms + min(max(delay_ms, _SOONEST_LOOK_MS), _LATEST_LOOK_MS)

    def on_processing_time(self, now_ms: int) -> None:
        """Emits what has come in the meantime."""
        self._emit_ready()

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """Takes down the elements whose results have not left, with their timestamps.

        Watermarks that wait are left out: after a restart event time begins anew.
        """
        super().prepare_snapshot(checkpoint_id)
        unfinished = self._opened_runner.unfinished()
        self.states.store.list_of(_STATE_NAME).update([(request.value, request.timestamp) for request in unfinished])

    def close(self) -> None:
        """Cancels what is in flight, then closes the function."""
        if self._runner is not None:
            self._runner.stop()
        super().close()

    @property
    def has_unfinished(self) -> bool:
        """Whether calls are in flight or results wait."""
        return self._runner is not None and not (self._runner.is_idle and not self._runner.has_results)

    @property
    def _opened_runner(self) -> R:
        assert self._runner is not None, "open() comes first"
        return self._runner

    def _submit(self, requests: list[Request]) -> None:
        if requests:
            self._quiet_since_ms = self.context.task.clock.now_ms()
            self._opened_runner.submit(requests)

    def _wait_until(self, is_reached: Callable[[R], bool], seconds: float | None = None) -> None:
        """Emits results while waiting; gives up after so many seconds."""
        runner = self._opened_runner
        end = None if seconds is None else time.monotonic() + seconds
        while not is_reached(runner):
            left = _EMIT_INTERVAL_S if end is None else min(_EMIT_INTERVAL_S, end - time.monotonic())
            if left <= 0:
                break
            runner.wait(left)
            self._emit_ready()
        self._emit_ready()

    def _emit_ready(self) -> None:
        ready, results = self.queue.ready, self.results
        if ready:
            self._quiet_since_ms = self.context.task.clock.now_ms()
            is_timed: bool | None = None
            while ready:
                item = ready.popleft()
                if isinstance(item, Request):
                    if is_timed is not (item.timestamp is not None):
                        results.send()  # a batch has timestamps for all of its records, or for none
                        is_timed = item.timestamp is not None
                    results.take(item.results or (), item.timestamp)
                else:
                    results.send()
                    self._emit_held(item)
            results.send()
        self._opened_runner.raise_failure()

    def _emit_held(self, item: HeldWatermark | HeldStatus) -> None:
        if isinstance(item, HeldWatermark):
            self.output.emit_watermark(item.watermark)
        else:
            self.output.emit_status(item.is_idle)


class AsyncWaitOperator(WaitingOperator[RequestRunner]):
    """Runs an AsyncFunction."""

    def __init__(self, operation: AsyncWait) -> None:
        super().__init__(operation.function, OrderedQueue() if operation.is_ordered else UnorderedQueue())
        self._operation = operation

    def create_runner(self) -> RequestRunner:
        """The event loop that makes the requests."""
        operation = self._operation
        return RequestRunner(
            with_retries(self.function.async_invoke, operation.retry_strategy),
            self.function.timeout,
            type(self.function).__name__,
            operation.timeout_ms,
            operation.capacity,
            self.queue,
        )

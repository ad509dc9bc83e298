"""Asynchronous functions whose calls end when the test says so."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

from funke.engine.graph.operations import AsyncWait
from funke.engine.operators.functions.async_functions import NO_RETRY_STRATEGY, AsyncFunction, AsyncRetryStrategy
from tests.harness.operator_harness import OperatorHarness


class Gated(AsyncFunction[Any, Any]):
    """A call answers `[value]` once the test has let its value go; the highest number of calls at a time is kept."""

    def __init__(self) -> None:
        self.started: list[Any] = []
        self.cancelled: list[Any] = []
        self.most = 0
        self.under_way = 0
        self.closed = 0
        self._gates: dict[Any, asyncio.Event] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._let_go: set[Any] = set()

    async def async_invoke(self, value: Any) -> list[Any]:
        self._loop = asyncio.get_running_loop()
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        gate = self._gates.setdefault(value, asyncio.Event())
        self.started.append(value)
        if value in self._let_go:
            gate.set()
        try:
            await gate.wait()
        except asyncio.CancelledError:
            self.cancelled.append(value)
            raise
        finally:
            self.under_way -= 1
        return [value]

    def close(self) -> None:
        self.closed += 1

    def let_go(self, *values: Any) -> None:
        """Ends the calls of these values one after the other, also those that begin later."""
        for value in values:
            self._let_go.add(value)
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._open, value)

    def _open(self, value: Any) -> None:
        if value in self._gates:
            self._gates[value].set()


def async_harness(
    function: AsyncFunction[Any, Any],
    *,
    ordered: bool = True,
    capacity: int = 100,
    timeout_ms: int = 60_000,
    retry: AsyncRetryStrategy[Any] = NO_RETRY_STRATEGY,
    **options: Any,
) -> OperatorHarness:
    return OperatorHarness(AsyncWait(function, timeout_ms, capacity, retry, ordered), **options)


def eventually(condition: Callable[[], bool], seconds: float = 5) -> None:
    """Waits for something that another thread does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.001)


def look(harness: OperatorHarness) -> None:
    """Lets the operator emit what has come, as the slot does between two blocks."""
    wakeup = harness.operator.next_wakeup_ms()
    if wakeup is not None and wakeup <= harness.clock.now_ms():
        harness.operator.on_processing_time(harness.clock.now_ms())


def loop_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("async ")]

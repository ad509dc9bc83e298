"""Results on their way from a job's collect sinks to their readers."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Any

from funke.engine.types.driver_messages import CollectedRecords

__all__ = ["ResultQueues"]

_END = object()


class ResultQueues:
    """One queue for each collect sink, by its name; readers may come before or after the results."""

    def __init__(self) -> None:
        self._queues: dict[str, queue.Queue[Any]] = {}
        self._has_ended = False
        self._lock = threading.Lock()

    def put(self, collected: CollectedRecords) -> None:
        """Takes records that a slot has sent to the driver."""
        self._queue(collected.name).put(collected.values)

    def batches(self, name: str) -> Iterator[list[Any]]:
        """What was sent to a collect sink, until the job ends."""
        waiting = self._queue(name)
        while (batch := waiting.get()) is not _END:
            yield batch
        waiting.put(_END)  # for a reader that reads once more

    def end(self) -> None:
        """The job has ended: readers do not wait any longer."""
        with self._lock:
            self._has_ended = True
            queues = list(self._queues.values())
        for waiting in queues:
            waiting.put(_END)

    def _queue(self, name: str) -> queue.Queue[Any]:
        with self._lock:
            if name not in self._queues:
                self._queues[name] = queue.Queue()
                if self._has_ended:
                    self._queues[name].put(_END)
            return self._queues[name]

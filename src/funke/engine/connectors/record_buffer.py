"""A bounded buffer between a thread that produces records in the driver and the epochs that take them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator
from itertools import groupby
from typing import Any

from funke.engine.connectors.source import Batch, Split, SplitEnumerator, SplitReader

__all__ = ["BufferClosedError", "BufferEnumerator", "PairReader", "RecordBuffer"]

DEFAULT_CAPACITY = 100_000


class BufferClosedError(Exception):
    """The job has ended: the producing thread should, too."""


class RecordBuffer:
    """Holds records until an epoch takes them; whoever puts one into a full buffer waits."""

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        self._capacity = capacity
        self._records: deque[Any] = deque()
        self._changed = threading.Condition()
        self._error: BaseException | None = None
        self._is_ended = False
        self._is_closed = False
        # Called by the producer's thread when something has changed for whoever takes.
        self.on_change: Callable[[], None] = lambda: None

    def put(self, records: list[Any]) -> None:
        """Add records, after waiting until there is room; raises BufferClosedError when nobody takes them any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or len(self._records) < self._capacity)
            if self._is_closed:
                raise BufferClosedError
            self._records.extend(records)
        self.on_change()

    def take(self, most: int) -> list[Any]:
        """Return the next records; the producer's error is raised behind the last one."""
        with self._changed:
            if self._error is not None and not self._records:
                raise self._error
            taken = [self._records.popleft() for _ in range(min(most, len(self._records)))]
            self._changed.notify_all()
            return taken

    def end(self, error: BaseException | None = None) -> None:
        """Say that no more records come, and why."""
        with self._changed:
            self._is_ended = True
            self._error = error
        self.on_change()

    def close(self) -> None:
        """Say that no more records are wanted."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def wait_closed(self, timeout: float) -> bool:
        """Wait until no more records are wanted, or the time is up; says which."""
        with self._changed:
            return self._changed.wait_for(lambda: self._is_closed, timeout)

    @property
    def is_closed(self) -> bool:
        """Whether no more records are wanted."""
        return self._is_closed

    @property
    def is_exhausted(self) -> bool:
        """Whether all records there will ever be were taken."""
        with self._changed:
            return self._is_ended and self._error is None and not self._records


class BufferEnumerator(SplitEnumerator):
    """Runs a producer in a thread and hands out what it has put into the buffer.

    What was produced cannot be produced again, so there is no position to snapshot: a restarted job goes on with what
    comes then.
    """

    def __init__(
        self, split_id: str, produce: Callable[[RecordBuffer], None], capacity: int = DEFAULT_CAPACITY
    ) -> None:
        self._split_id = split_id
        self._produce = produce
        self._buffer = RecordBuffer(capacity)
        self._buffer.on_change = self._tell
        self._thread = threading.Thread(target=self._run, name=f"funke-{split_id}", daemon=True)
        self._thread.start()

    def _tell(self) -> None:
        self.wake()

    def _run(self) -> None:
        try:
            self._produce(self._buffer)
        except BufferClosedError:
            self._buffer.end()
        except BaseException as error:
            self._buffer.end(error)
        else:
            self._buffer.end()

    def poll(self, max_records: int) -> list[Split]:
        """Return what has come since the last poll; raises what the producer raised."""
        records = self._buffer.take(max_records)
        if not records:
            return []
        return [Split(self._split_id, records, self._buffer.is_exhausted, len(records))]

    @property
    def is_finished(self) -> bool:
        """True when the producer has ended and everything was handed out."""
        return self._buffer.is_exhausted

    def next_poll_ms(self) -> int:
        """Look often: records are wanted soon after they come."""
        return 10

    def close(self) -> None:
        """Stop the producer; a thread that does not react is left to end with the driver."""
        self._buffer.close()
        self._thread.join(timeout=2.0)


class PairReader(SplitReader):
    """Reads splits whose payload is a list of values with their timestamps, or None for those without."""

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        """Yield batches; a batch has timestamps for all of its values or for none."""
        for has_time, pairs in groupby(split.payload, lambda pair: pair[1] is not None):
            values, timestamps = map(list, zip(*pairs))
            yield values, timestamps if has_time else None

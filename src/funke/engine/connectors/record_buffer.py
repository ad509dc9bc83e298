"""A bounded buffer between a thread that produces records and those who take them: a slot's loop, or epochs."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator
from itertools import groupby
from typing import Any

from funke.engine.connectors.collection import ListSplitReader
from funke.engine.connectors.source import Batch, ReadOutcome, Split, SplitEnumerator, SplitReader
from funke.engine.formats.file_format import BATCH_RECORDS

__all__ = ["BufferClosedError", "BufferEnumerator", "LiveEnumerator", "LiveReader", "PairReader", "RecordBuffer"]

DEFAULT_CAPACITY = 100_000


class BufferClosedError(Exception):
    """The job has ended: the producing thread should, too."""


class RecordBuffer:
    """Holds records until they are taken; a producer that puts one into a full buffer waits."""

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        self._capacity = capacity
        self._records: deque[Any] = deque()
        self._changed = threading.Condition()
        self._error: BaseException | None = None
        self._is_ended = False
        self._is_closed = False
        # Called by the producer's thread when the consumer has something new to take.
        self.on_change: Callable[[], None] = lambda: None

    def put(self, records: list[Any]) -> None:
        """Add records, after waiting until there is room; raises BufferClosedError when the consumer has gone."""
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
            records = [self._records.popleft() for _ in range(min(most, len(self._records)))]
            self._changed.notify_all()
            return records

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
    def has_records(self) -> bool:
        """Whether there are records to take, or there will be no more."""
        return bool(self._records) or self._is_ended

    @property
    def is_exhausted(self) -> bool:
        """Whether all records there will ever be were taken."""
        with self._changed:
            return self._is_ended and self._error is None and not self._records


class Producer:
    """A thread that puts records into a buffer, from the beginning until it is closed."""

    def __init__(self, name: str, produce: Callable[[RecordBuffer], None], capacity: int) -> None:
        self.buffer = RecordBuffer(capacity)
        self._produce = produce
        self._thread = threading.Thread(target=self._run, name=f"funke-{name}", daemon=True)

    def start(self) -> None:
        """Begins to produce."""
        self._thread.start()

    def _run(self) -> None:
        try:
            self._produce(self.buffer)
        except BufferClosedError:
            self.buffer.end()
        except BaseException as error:
            self.buffer.end(error)
        else:
            self.buffer.end()

    def close(self) -> None:
        """Stops it; a thread that does not react is left to end with the process."""
        self.buffer.close()
        self._thread.join(timeout=2.0)


class BufferEnumerator(SplitEnumerator):
    """Runs a producer in a thread and hands out what it has put into the buffer.

    What was produced cannot be produced again, so there is no position to snapshot: a restarted job goes on with what
    comes then.
    """

    def __init__(
        self, split_id: str, produce: Callable[[RecordBuffer], None], capacity: int = DEFAULT_CAPACITY
    ) -> None:
        self._split_id = split_id
        self._producer = Producer(split_id, produce, capacity)
        self._buffer = self._producer.buffer
        self._buffer.on_change = self._tell
        self._producer.start()

    def _tell(self) -> None:
        self.wake()

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
        """Stop the producer."""
        self._producer.close()


class LiveEnumerator(SplitEnumerator):
    """Gives out one split, which goes on until its reader has come to the end."""

    def __init__(self, split_id: str) -> None:
        self._split_id = split_id
        self._is_given = self._is_read = False

    def poll(self, max_records: int) -> list[Split]:
        """Return the split, once."""
        if self._is_given:
            return []
        self._is_given = True
        return [Split(self._split_id, None, is_live=True)]

    def report(self, outcome: ReadOutcome) -> None:
        """Take note that there is no more."""
        self._is_read = True

    @property
    def is_finished(self) -> bool:
        """True when the reader has come to the end."""
        return self._is_read

    def next_poll_ms(self) -> int:
        """Nothing else will come."""
        return 1_000


class LiveReader(ListSplitReader):
    """Reads the split of a LiveEnumerator in the slot: a thread produces, the slot's loop takes.

    Other splits are those of a BufferEnumerator.
    """

    def __init__(self, name: str, produce: Callable[[RecordBuffer], None], capacity: int = DEFAULT_CAPACITY) -> None:
        self._name = name
        self._produce = produce
        self._capacity = capacity
        self._producer: Producer | None = None

    @property
    def has_more(self) -> bool:
        """Whether there is something to take."""
        return self._producer is None or self._producer.buffer.has_records

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        """Yield what has come."""
        if not split.is_live:
            yield from super().read(split)
            return
        self._producer = Producer(self._name, self._produce, self._capacity)
        buffer = self._producer.buffer
        buffer.on_change = self.wake
        self._producer.start()
        while not buffer.is_exhausted:
            yield buffer.take(BATCH_RECORDS), None

    def close(self) -> None:
        """Stop the producer."""
        if self._producer is not None:
            self._producer.close()


class PairReader(SplitReader):
    """Reads splits whose payload is a list of values with their timestamps, or None for those without."""

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        """Yield batches; a batch has timestamps for all of its values or for none."""
        for has_time, pairs in groupby(split.payload, lambda pair: pair[1] is not None):
            values, timestamps = map(list, zip(*pairs))
            yield values, timestamps if has_time else None

"""Where elements wait until their results may leave: in the order of the input, or freely between two watermarks.

A queue belongs to the thread of the event loop; only `ready`, whose ends are safe to use from two threads, is read by
the operator. An element counts against the capacity until it is ready, so an ordered queue does not run far ahead of a
slow head, as in Flink.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ElementQueue", "HeldStatus", "HeldWatermark", "OrderedQueue", "QueueItem", "Request", "UnorderedQueue"]


@dataclass(slots=True, eq=False)
class Request:
    """An element with the call that is made for it."""

    value: Any
    timestamp: int | None
    results: list[Any] | None = None  # None while the call is under way
    task: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None
    segment: _Segment | None = None


@dataclass(frozen=True, slots=True)
class HeldWatermark:
    """A watermark that waits for the elements before it."""

    watermark: int


@dataclass(frozen=True, slots=True)
class HeldStatus:
    """A change of idleness that waits for the elements before it."""

    is_idle: bool


QueueItem = Request | HeldWatermark | HeldStatus


class ElementQueue(ABC):
    """Takes items in the order of the input and says which may leave."""

    def __init__(self) -> None:
        self.ready: deque[QueueItem] = deque()
        self.open_requests = 0
        self.released = 0
        # Called when something is ready and nothing was, or has gone wrong.
        self.on_result: Callable[[], None] = lambda: None

    @abstractmethod
    def add(self, item: QueueItem) -> None:
        """Takes the next item of the input."""

    @abstractmethod
    def complete(self, request: Request) -> None:
        """The request has its results."""

    @abstractmethod
    def waiting(self) -> Iterator[QueueItem]:
        """What was added and is not ready."""

    def _release(self, item: QueueItem) -> None:
        # First into `ready`: a reader that sees that all is released must find everything there.
        self.ready.append(item)
        self.released += 1
        if isinstance(item, Request):
            self.open_requests -= 1
        # The consumer takes from `ready` until it is empty, so that one call is enough for many.
        if len(self.ready) == 1:
            self.on_result()


class OrderedQueue(ElementQueue):
    """Results leave in the order of their elements."""

    def __init__(self) -> None:
        super().__init__()
        self._items: deque[QueueItem] = deque()

    def add(self, item: QueueItem) -> None:
        """Takes the next item; a watermark behind nothing is ready at once."""
        self._items.append(item)
        if isinstance(item, Request):
            self.open_requests += 1
        elif len(self._items) == 1:
            self._advance()

    def complete(self, request: Request) -> None:
        """Releases the request, and what waited for it, if it is the first."""
        if self._items[0] is request:
            self._advance()

    def waiting(self) -> Iterator[QueueItem]:
        return iter(self._items)

    def _advance(self) -> None:
        items = self._items
        while items and not (isinstance(items[0], Request) and items[0].results is None):
            self._release(items.popleft())


@dataclass(slots=True, eq=False)
class _Segment:
    """The requests between two watermarks, and the item that ends it."""

    open: dict[Request, None] = field(default_factory=dict)
    done: list[Request] = field(default_factory=list)
    end: QueueItem | None = None


class UnorderedQueue(ElementQueue):
    """Results leave as they come, but neither overtake a watermark nor fall behind one."""

    def __init__(self) -> None:
        super().__init__()
        self._segments = deque([_Segment()])

    def add(self, item: QueueItem) -> None:
        """Takes the next item; a watermark begins a new segment."""
        last = self._segments[-1]
        if isinstance(item, Request):
            self.open_requests += 1
            item.segment = last
            last.open[item] = None
        else:
            last.end = item
            self._segments.append(_Segment())
            self._advance()

    def complete(self, request: Request) -> None:
        """Releases the request unless a watermark before it still waits."""
        segment, request.segment = request.segment, None
        assert segment is not None
        del segment.open[request]
        if segment is self._segments[0]:
            self._release(request)
            self._advance()
        else:
            segment.done.append(request)

    def waiting(self) -> Iterator[QueueItem]:
        for segment in self._segments:
            yield from segment.done
            yield from segment.open
            if segment.end is not None:
                yield segment.end

    def _advance(self) -> None:
        segments = self._segments
        while not segments[0].open and (end := segments[0].end) is not None:
            self._release(end)
            segments.popleft()
            for request in segments[0].done:
                self._release(request)
            segments[0].done = []

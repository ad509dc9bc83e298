"""The aggregates of slices that are still open, in memory or in a state backend."""

from __future__ import annotations

from abc import ABC, abstractmethod

from funke.engine.sql.operators.windows.slices.aggregate_block import AggregateBlock, Aggregates

__all__ = ["HeapSlices", "SliceStore"]

# So many entries wait at least before blocks are put together: 65 blocks of 1 000 keys, instead of each at once.
_LEAST_ENTRIES = 1 << 16


class SliceStore(ABC):
    """Slices by their ends."""

    @abstractmethod
    def add(self, slice_end: int, block: AggregateBlock) -> None:
        """Takes in a block, in which a key occurs once."""

    @abstractmethod
    def ends(self) -> list[int]:
        """The ends of all open slices, in their order."""

    @abstractmethod
    def merged(self, slice_ends: list[int]) -> AggregateBlock:
        """The aggregates of several slices."""

    @abstractmethod
    def replace(self, slice_ends: list[int], block: AggregateBlock) -> None:
        """Several slices may be replaced by their merged block, as the first of them."""

    @abstractmethod
    def drop(self, slice_end: int) -> None:
        """Forgets a slice."""

    def first_end(self) -> int | None:
        """The end of the first open slice."""
        return min(self.ends(), default=None)

    def ends_between(self, start: int, end: int) -> list[int]:
        """The ends of the slices of a window, in their order."""
        return [each for each in self.ends() if start < each <= end]


class _Slice:
    def __init__(self) -> None:
        self.blocks: list[AggregateBlock] = []
        self.waiting = 0


class HeapSlices(SliceStore):
    """Each slice gathers blocks, which are put together when they grow."""

    def __init__(self, aggregates: Aggregates) -> None:
        self._aggregates = aggregates
        self._slices: dict[int, _Slice] = {}

    def add(self, slice_end: int, block: AggregateBlock) -> None:
        own = self._slices.get(slice_end)
        if own is None:
            own = self._slices[slice_end] = _Slice()
        own.blocks.append(block)
        own.waiting += self._aggregates.weight(block)
        if own.waiting > max(_LEAST_ENTRIES, 2 * len(own.blocks[0])):
            self._put_together(own)

    def first_end(self) -> int | None:
        return min(self._slices, default=None)

    def merged(self, slice_ends: list[int]) -> AggregateBlock:
        for end in slice_ends:
            # Put together once for all windows of the slice.
            self._put_together(self._slices[end])
        return self._aggregates.of_panes([self._slices[end].blocks[0] for end in slice_ends])

    def replace(self, slice_ends: list[int], block: AggregateBlock) -> None:
        for end in slice_ends[1:]:
            del self._slices[end]
        self._slices[slice_ends[0]].blocks = [block]
        self._slices[slice_ends[0]].waiting = 0

    def drop(self, slice_end: int) -> None:
        del self._slices[slice_end]

    def ends(self) -> list[int]:
        return sorted(self._slices)

    def _put_together(self, own: _Slice) -> None:
        own.blocks = [self._aggregates.merged(own.blocks)]
        own.waiting = 0

"""Which transactions a snapshot of the database sees."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Visibility"]

_EPOCH = 1 << 32
_HALF = 1 << 31


@dataclass(frozen=True)
class Visibility:
    """`pg_current_snapshot()`: transactions below `first` are over; those from `end` on, and those running, are not.

    >>> seen = Visibility.from_text("100:110:103,107")
    >>> [seen.sees(number) for number in (99, 103, 104, 110)]
    [True, False, True, False]
    """

    first: int
    end: int
    running: frozenset[int]

    @staticmethod
    def from_text(text: str) -> Visibility:
        first, end, running = text.split(":")
        return Visibility(int(first), int(end), frozenset(map(int, filter(None, running.split(",")))))

    def sees(self, transaction: int) -> bool:
        """Whether what a committed transaction did is in the snapshot; its number has 32 bits in the log."""
        number = transaction + self.end // _EPOCH * _EPOCH
        if number - self.end > _HALF:
            number -= _EPOCH
        elif self.end - number > _HALF:
            number += _EPOCH
        return number < self.first or (number < self.end and number not in self.running)

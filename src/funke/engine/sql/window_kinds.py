"""The kinds of windows: TUMBLE, HOP, CUMULATE and SESSION, each one class that says all there is to say about it.

The grammar, the binder, the plan, EXPLAIN and the operators ask the class. A new kind is a class in `WINDOW_KINDS`:
one of slices runs as it is, any other one brings its operators.

A *slice* is the longest piece of time that belongs to the same windows; a window is one slice or several. A slice and a
window are identified by their ends. Times are milliseconds of the wall clock. Methods with times take single ones, or
arrays of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Any, ClassVar

from funke.engine.errors import SqlValidationError

if TYPE_CHECKING:
    from funke.engine.types.columns.arrays import Array

__all__ = [
    "WINDOW_KINDS",
    "CumulativeWindows",
    "HoppingWindows",
    "SessionWindows",
    "SlicedWindows",
    "TumblingWindows",
    "Windows",
]


@dataclass(frozen=True, kw_only=True)
class Windows(ABC):
    """The arrangement of windows in time."""

    # The table function, and how its arguments are named that are lengths of time.
    name: ClassVar[str]
    length_arguments: ClassVar[tuple[str, ...]]
    has_offset: ClassVar[bool]
    # As Flink names lengths and functions in messages.
    length_names: ClassVar[tuple[str, ...]]
    signature: ClassVar[str]
    # Whether GROUP BY takes the function, and what the windows are called that count rows instead, if there are any.
    is_group_window: ClassVar[bool] = True
    row_count_name: ClassVar[str | None] = None
    # Whether a row can change the windows of other rows with its key: such rows have to meet before they get windows.
    is_merging: ClassVar[bool] = False
    # Whether two windows of a key cannot have the same start.
    has_unique_starts: ClassVar[bool] = True

    # Of a table function, not of GROUP BY.
    is_table_function: bool = False

    @classmethod
    def arguments(cls) -> tuple[str, ...]:
        """The arguments of the table function in their order."""
        return ("data", "timecol", *cls.length_arguments, *(("offset",) if cls.has_offset else ()))

    @classmethod
    def of(cls, lengths_ms: Sequence[int], offset_ms: int = 0) -> Windows:
        """Windows by the lengths of the function, in the order of its arguments."""
        for name, length_ms in zip(cls.length_names, lengths_ms):
            if length_ms <= 0:
                raise SqlValidationError(
                    f"{cls.name.upper()} table function based aggregate requires {name} to be positive, "
                    f"but got {length_ms} ms."
                )
        return cls._of(lengths_ms, offset_ms)

    @classmethod
    @abstractmethod
    def _of(cls, lengths_ms: Sequence[int], offset_ms: int) -> Windows: ...

    def validate_table_function(self) -> None:
        """Rejects lengths that the table function does not take, as Flink does."""

    def validate_aggregate(self) -> None:
        """Rejects lengths that an aggregate over the table function does not take, as Flink does."""

    @property
    @abstractmethod
    def explained_lengths(self) -> tuple[tuple[str, int], ...]:
        """The lengths by the names that EXPLAIN gives them; those that are 0 are left out there."""

    @property
    @abstractmethod
    def state_text(self) -> str:
        """The lengths in the description of an operator's state. Savepoints hold it: it must never change."""


@dataclass(frozen=True, kw_only=True)
class SlicedWindows(Windows):
    """Windows that lie at fixed times, so that they consist of slices."""

    has_offset = True

    offset_ms: int = 0

    @property
    @abstractmethod
    def length_ms(self) -> int:
        """From the start to the end of the longest window."""

    @property
    @abstractmethod
    def interval_ms(self) -> int:
        """From the end of one window to that of the next."""

    # Whether a window consists of the one before it and one slice more.
    extends_window_before: ClassVar[bool] = False

    @property
    def is_last_slice_first(self) -> bool:
        """True if a window takes in its last slice first, which shows where the order of rows counts."""
        return False

    @property
    def width_ms(self) -> int:
        """The width of slices."""
        # HOP of 12 min every 4 min has slices of 4 min: a window is three of them, and a row is aggregated once, not in
        # each of its three windows.
        return gcd(self.length_ms, self.interval_ms)

    @property
    def has_gaps(self) -> bool:
        """True if there are slices between windows."""
        return self.interval_ms > self.length_ms

    def slice_end(self, timestamps: Array) -> Array:
        """The end of the slice that a timestamp belongs to."""
        return self._begin(timestamps, self.width_ms) + self.width_ms

    def first_window(self, slice_end: Any) -> Any:
        """The end of the first window that a slice belongs to."""
        return slice_end

    def last_window(self, slice_end: Any) -> Any:
        """The end of the last one; before that of the first if slices lie between windows."""
        return self._begin(slice_end - self.width_ms, self.length_ms) + self.length_ms

    def next_window(self, slice_end: int, closed: int) -> int | None:
        """The end of the first window of a slice that ends behind `closed`, if there is one."""
        first, interval_ms = self.first_window(slice_end), self.interval_ms
        if first <= closed:
            first += ((closed - first) // interval_ms + 1) * interval_ms
        return first if first <= self.last_window(slice_end) else None

    def start_of(self, window_end: Any) -> Any:
        """The start of a window."""
        return window_end - self.length_ms

    def window_counts(self, slice_ends: Array) -> Array:
        """The number of windows that each slice belongs to."""
        counts = (self.last_window(slice_ends) - self.first_window(slice_ends)) // self.interval_ms + 1
        return counts.clip(min=0)

    def _begin(self, timestamps: Any, width_ms: int) -> Any:
        return (timestamps - self.offset_ms) // width_ms * width_ms + self.offset_ms


@dataclass(frozen=True)
class TumblingWindows(SlicedWindows):
    """Windows of one size, one after the other."""

    name = "tumble"
    length_arguments = ("size",)
    length_names = ("size",)
    signature = "TUMBLE(TABLE table_name, DESCRIPTOR(timecol), datetime interval[, datetime interval])"
    row_count_name = "tumble"

    size_ms: int

    @classmethod
    def _of(cls, lengths_ms: Sequence[int], offset_ms: int) -> Windows:
        (size_ms,) = lengths_ms
        return cls(size_ms, offset_ms=offset_ms)

    @property
    def length_ms(self) -> int:
        return self.size_ms

    @property
    def interval_ms(self) -> int:
        return self.size_ms

    @property
    def explained_lengths(self) -> tuple[tuple[str, int], ...]:
        return ("size", self.size_ms), ("offset", self.offset_ms)

    @property
    def state_text(self) -> str:
        return _state_text(self.size_ms, 0, self.offset_ms)


@dataclass(frozen=True)
class HoppingWindows(SlicedWindows):
    """Windows of one size that begin at regular distances."""

    name = "hop"
    length_arguments = ("slide", "size")
    length_names = ("slide", "size")
    signature = "HOP(TABLE table_name, DESCRIPTOR(timecol), datetime interval, datetime interval[, datetime interval])"
    row_count_name = "slide"

    size_ms: int
    # From start to start.
    slide_ms: int

    @classmethod
    def _of(cls, lengths_ms: Sequence[int], offset_ms: int) -> Windows:
        slide_ms, size_ms = lengths_ms
        return cls(size_ms, slide_ms, offset_ms=offset_ms)

    def validate_aggregate(self) -> None:
        if self.size_ms % self.slide_ms:
            raise SqlValidationError(
                "HOP table function based aggregate requires size must be an integral multiple of slide, but got size "
                f"{self.size_ms} ms and slide {self.slide_ms} ms"
            )

    @property
    def length_ms(self) -> int:
        return self.size_ms

    @property
    def interval_ms(self) -> int:
        return self.slide_ms

    @property
    def is_last_slice_first(self) -> bool:
        # As in Flink; those of GROUP BY take in their slices by time.
        return self.is_table_function

    def first_window(self, slice_end: Any) -> Any:
        # The first one that ends at or behind the slice.
        return self._begin(slice_end - 1 - self.size_ms, self.slide_ms) + self.slide_ms + self.size_ms

    def last_window(self, slice_end: Any) -> Any:
        return self._begin(slice_end - self.width_ms, self.slide_ms) + self.size_ms

    @property
    def explained_lengths(self) -> tuple[tuple[str, int], ...]:
        return ("size", self.size_ms), ("slide", self.slide_ms), ("offset", self.offset_ms)

    @property
    def state_text(self) -> str:
        return _state_text(self.size_ms, self.slide_ms, self.offset_ms)


@dataclass(frozen=True)
class CumulativeWindows(SlicedWindows):
    """Windows with the same start that grow by a step, up to the largest one; then the next ones start."""

    name = "cumulate"
    length_arguments = ("step", "size")
    length_names = ("step", "maxSize")
    signature = (
        "CUMULATE(TABLE table_name, DESCRIPTOR(timecol), datetime interval, datetime interval[, datetime interval])"
    )
    is_group_window = False
    has_unique_starts = False
    extends_window_before = True

    max_size_ms: int
    step_ms: int

    @classmethod
    def _of(cls, lengths_ms: Sequence[int], offset_ms: int) -> Windows:
        step_ms, max_size_ms = lengths_ms
        return cls(max_size_ms, step_ms, offset_ms=offset_ms)

    def validate_table_function(self) -> None:
        if self.max_size_ms % self.step_ms:
            raise SqlValidationError(
                "CUMULATE table function based aggregate requires maxSize must be an integral multiple of step, but "
                f"got maxSize {self.max_size_ms} ms and step {self.step_ms} ms."
            )

    @property
    def length_ms(self) -> int:
        return self.max_size_ms

    @property
    def interval_ms(self) -> int:
        return self.step_ms

    def start_of(self, window_end: Any) -> Any:
        return self._begin(window_end - 1, self.max_size_ms)

    @property
    def explained_lengths(self) -> tuple[tuple[str, int], ...]:
        return ("max_size", self.max_size_ms), ("step", self.step_ms), ("offset", self.offset_ms)

    @property
    def state_text(self) -> str:
        return _state_text(self.max_size_ms, self.step_ms, self.offset_ms)


@dataclass(frozen=True)
class SessionWindows(Windows):
    """Windows that a pause ends."""

    name = "session"
    length_arguments = ("gap",)
    has_offset = False
    length_names = ("gap",)
    signature = (
        "SESSION(TABLE table_name [PARTITION BY (colNames)] [, col2, ...)], DESCRIPTOR(timecol), datetime interval)"
    )
    is_merging = True

    gap_ms: int

    @classmethod
    def _of(cls, lengths_ms: Sequence[int], offset_ms: int) -> Windows:
        (gap_ms,) = lengths_ms
        return cls(gap_ms)

    @property
    def explained_lengths(self) -> tuple[tuple[str, int], ...]:
        return (("gap", self.gap_ms),)

    @property
    def state_text(self) -> str:
        return _state_text(self.gap_ms, 0, 0)


def _state_text(size_ms: int, slide_ms: int, offset_ms: int) -> str:
    slide = f", slide {slide_ms} ms" if slide_ms else ""
    offset = f", offset {offset_ms} ms" if offset_ms else ""
    return f"size {size_ms} ms{slide}{offset}"


# By the names of their functions.
WINDOW_KINDS: dict[str, type[Windows]] = {
    kind.name: kind for kind in (TumblingWindows, HoppingWindows, CumulativeWindows, SessionWindows)
}

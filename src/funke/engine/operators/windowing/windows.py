"""Windows: the finite pieces into which a stream is cut, and their binary forms."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import IO, Any, Generic, Protocol, TypeVar

__all__ = [
    "MAX_LONG_VALUE",
    "MIN_LONG_VALUE",
    "CountWindow",
    "CountWindowSerializer",
    "GlobalWindow",
    "GlobalWindowSerializer",
    "TimeWindow",
    "TimeWindowSerializer",
    "Window",
    "long_to_int_with_bit_mixing",
    "mod_inverse",
]

MAX_LONG_VALUE = 2**63 - 1
MIN_LONG_VALUE = -(2**63)

_BITS_64 = 2**64 - 1

W = TypeVar("W")
W_contra = TypeVar("W_contra", contravariant=True)


class Window(ABC):
    """A finite piece of a stream.

    >>> from funke.datastream.window import CountWindow, TimeWindow, Window
    >>> def label(window: Window):
    ...     return f"window {window.id}" if isinstance(window, CountWindow) else f"until {window.max_timestamp()}"
    >>> label(TimeWindow(0, 5000)), label(CountWindow(3))
    ('until 4999', 'window 3')
    """

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """Return the last timestamp that still belongs to the window."""


class MergeTarget(Protocol[W_contra]):
    """Receives each group of windows that became one."""

    def merge(self, to_be_merged: Iterable[W_contra], merge_result: W_contra) -> None:
        """Replace the windows `to_be_merged` by `merge_result`."""


class TimeWindow(Window):
    """The time from `start` (included) to `end` (excluded), in milliseconds.

    >>> from funke.datastream.window import TimeWindow
    >>> morning, noon = TimeWindow(0, 5000), TimeWindow(4000, 9000)
    >>> morning.intersects(noon), morning.cover(noon), morning.max_timestamp()
    (True, TimeWindow(start=0, end=9000), 4999)
    """

    # Windows are created per element and kept as dictionary keys: no per-instance dictionary.
    __slots__ = ("end", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end

    def max_timestamp(self) -> int:
        """Return the last millisecond of the window."""
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Tell whether the windows overlap or touch."""
        return self.start <= other.end and other.start <= self.end

    def cover(self, other: TimeWindow) -> TimeWindow:
        """Return the smallest window that contains both."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Return the start of the window of `timestamp`; windows begin at multiples of the size plus the offset.

        >>> TimeWindow.get_window_start_with_offset(-1, 0, 5)
        -5
        """
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: MergeTarget[TimeWindow]) -> None:
        """Tell `callback` which windows overlap or touch, group by group."""
        for cover, group in _overlapping_groups(windows):
            if len(group) > 1:
                callback.merge(group, cover)

    def __hash__(self) -> int:
        return hash((self.start, self.end))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TimeWindow) or type(other) is not type(self):
            return False
        return self.start == other.start and self.end == other.end

    def __lt__(self, other: TimeWindow) -> bool:
        _require_time_window(other)
        return (self.start, self.end) < (other.start, other.end)

    def __le__(self, other: TimeWindow) -> bool:
        _require_time_window(other)
        return (self.start, self.end) <= (other.start, other.end)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.start, self.end)

    def __repr__(self) -> str:
        return f"TimeWindow(start={self.start}, end={self.end})"


def _require_time_window(other: object) -> None:
    if not isinstance(other, TimeWindow):
        raise TypeError(f"a TimeWindow can only be compared with another one, got {other!r}")


def _overlapping_groups(windows: Iterable[TimeWindow]) -> list[tuple[TimeWindow, set[TimeWindow]]]:
    """Group windows that overlap or touch, each group with the window that covers it."""
    groups: list[tuple[TimeWindow, set[TimeWindow]]] = []
    for window in sorted(windows):
        if groups and groups[-1][0].intersects(window):
            cover, group = groups.pop()
            groups.append((cover.cover(window), group | {window}))
        else:
            groups.append((window, {window}))
    return groups


class CountWindow(Window):
    """The window with a number: the first, second ... group of elements of a key.

    >>> from funke.datastream import ProcessWindowFunction, StreamExecutionEnvironment
    >>> from funke.datastream.window import CountWindow
    >>> class Number(ProcessWindowFunction):
    ...     def process(self, key, context: ProcessWindowFunction.Context[CountWindow], elements):
    ...         yield context.window(), len(list(elements))
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> pairs = env.from_collection([1, 2, 3, 4]).key_by(lambda number: "all").count_window(2)
    >>> list(pairs.process(Number()).execute_and_collect())
    [(CountWindow(id=0), 2), (CountWindow(id=1), 2)]
    """

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id

    def max_timestamp(self) -> int:
        """Return the largest timestamp there is: count windows do not end by time."""
        return MAX_LONG_VALUE

    def __hash__(self) -> int:
        return hash(self.id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CountWindow) and type(other) is type(self) and self.id == other.id

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.id,)

    def __repr__(self) -> str:
        return f"CountWindow(id={self.id})"


class GlobalWindow(Window):
    """The one window that holds all elements of a key.

    >>> from funke.datastream.window import GlobalWindow
    >>> GlobalWindow.get() == GlobalWindow.get()  # there is one
    True
    """

    __slots__ = ()

    @staticmethod
    def get() -> GlobalWindow:
        """Return the window."""
        return GlobalWindow()

    def max_timestamp(self) -> int:
        """Return the largest timestamp there is: the global window does not end."""
        return MAX_LONG_VALUE

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GlobalWindow)

    def __hash__(self) -> int:
        return 0

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    def __repr__(self) -> str:
        return "GlobalWindow"


class WindowSerializer(ABC, Generic[W]):
    """Writes windows as bytes and reads them back."""

    @abstractmethod
    def serialize(self, element: W, stream: IO[bytes]) -> None:
        """Write `element` to `stream`."""

    @abstractmethod
    def deserialize(self, stream: IO[bytes]) -> W:
        """Read one window from `stream`."""


class TimeWindowSerializer(WindowSerializer[TimeWindow]):
    """Writes a time window as two 64-bit integers, the start first.

    >>> from io import BytesIO
    >>> from funke.datastream.window import TimeWindow, TimeWindowSerializer
    >>> stream = BytesIO()
    >>> TimeWindowSerializer().serialize(TimeWindow(0, 5000), stream)
    >>> len(stream.getvalue()), TimeWindowSerializer().deserialize(BytesIO(stream.getvalue()))
    (16, TimeWindow(start=0, end=5000))
    """

    def serialize(self, element: TimeWindow, stream: IO[bytes]) -> None:
        """Write 16 bytes."""
        stream.write(struct.pack(">qq", element.start, element.end))

    def deserialize(self, stream: IO[bytes]) -> TimeWindow:
        """Read 16 bytes."""
        return TimeWindow(*struct.unpack(">qq", stream.read(16)))


class CountWindowSerializer(WindowSerializer[CountWindow]):
    """Writes a count window as its number, a 64-bit integer.

    >>> from io import BytesIO
    >>> from funke.datastream.window import CountWindow, CountWindowSerializer
    >>> stream = BytesIO()
    >>> CountWindowSerializer().serialize(CountWindow(7), stream)
    >>> len(stream.getvalue()), CountWindowSerializer().deserialize(BytesIO(stream.getvalue()))
    (8, CountWindow(id=7))
    """

    def serialize(self, element: CountWindow, stream: IO[bytes]) -> None:
        """Write 8 bytes."""
        stream.write(struct.pack(">q", element.id))

    def deserialize(self, stream: IO[bytes]) -> CountWindow:
        """Read 8 bytes."""
        return CountWindow(*struct.unpack(">q", stream.read(8)))


class GlobalWindowSerializer(WindowSerializer[GlobalWindow]):
    """Writes the global window as one zero byte.

    >>> from io import BytesIO
    >>> from funke.datastream.window import GlobalWindow, GlobalWindowSerializer
    >>> stream = BytesIO()
    >>> GlobalWindowSerializer().serialize(GlobalWindow.get(), stream)
    >>> len(stream.getvalue())
    1
    """

    def serialize(self, element: GlobalWindow, stream: IO[bytes]) -> None:
        """Write one byte."""
        stream.write(b"\0")

    def deserialize(self, stream: IO[bytes]) -> GlobalWindow:
        """Read one byte."""
        stream.read(1)
        return GlobalWindow()


def long_to_int_with_bit_mixing(x: int) -> int:
    """Spread the bits of a number over 64 bits (the finaliser of SplitMix64).

    >>> from funke.datastream.window import long_to_int_with_bit_mixing
    >>> long_to_int_with_bit_mixing(0), long_to_int_with_bit_mixing(1)
    (0, 6238072747940578789)
    """
    mixed = x & _BITS_64
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _BITS_64
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _BITS_64
    return mixed ^ (mixed >> 31)


def mod_inverse(x: int) -> int:
    """Return the inverse of an odd number modulo 2**64.

    >>> from funke.datastream.window import mod_inverse
    >>> 3 * mod_inverse(3) % 2**64
    1
    """
    return pow(x, -1, 2**64)

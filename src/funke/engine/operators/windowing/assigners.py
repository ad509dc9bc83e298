"""The window assigners that come with Flink: tumbling, sliding, session, count and global windows."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from funke.engine.errors import ConfigurationError, GraphError
from funke.engine.operators.windowing.assigner import (
    MergingWindowAssigner,
    SessionWindowTimeGapExtractor,
    WindowAssigner,
)
from funke.engine.operators.windowing.trigger import Trigger, to_millis
from funke.engine.operators.windowing.triggers import (
    CountTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
)
from funke.engine.operators.windowing.window_stagger import WindowStagger
from funke.engine.operators.windowing.windows import (
    MIN_LONG_VALUE,
    CountWindow,
    CountWindowSerializer,
    GlobalWindow,
    GlobalWindowSerializer,
    TimeWindow,
    TimeWindowSerializer,
    WindowSerializer,
)
from funke.engine.state.descriptors import ValueStateDescriptor
from funke.engine.state.interfaces import ValueState
from funke.engine.types import BasicTypeInfo, Duration, Time
from funke.engine.types.enum_members import require_member

__all__ = [
    "CountSlidingWindowAssigner",
    "CountTumblingWindowAssigner",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "GlobalWindows",
    "ProcessingTimeSessionWindows",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
]

T = TypeVar("T")
A = TypeVar("A", bound="_Staggered[Any]")
Context = WindowAssigner.WindowAssignerContext


class _EventTime(WindowAssigner[T, TimeWindow]):
    """Assigns by the timestamps of the elements."""

    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        """Fire when the watermark passes the end of the window."""
        return EventTimeTrigger()

    def get_window_serializer(self) -> WindowSerializer[TimeWindow]:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True

    def _now(self, timestamp: int | None, context: Context) -> int:
        if timestamp is None or timestamp <= MIN_LONG_VALUE:
            raise GraphError(
                f"Record has the smallest timestamp (= no timestamp marker): {type(self).__name__} needs elements with "
                "timestamps; call assign_timestamps_and_watermarks() before the window"
            )
        return timestamp


class _ProcessingTime(WindowAssigner[T, TimeWindow]):
    """Assigns by the clock of the machine."""

    def get_default_trigger(self, env: Any) -> Trigger[T, TimeWindow]:
        """Fire when processing time passes the end of the window."""
        return ProcessingTimeTrigger()

    def get_window_serializer(self) -> WindowSerializer[TimeWindow]:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return False

    def _now(self, timestamp: int | None, context: Context) -> int:
        return context.get_current_processing_time()


class _Staggered(WindowAssigner[T, TimeWindow]):
    """Windows that begin at an offset, which can be shifted further in each subtask."""

    _offset: int
    _window_stagger = WindowStagger.ALIGNED
    _stagger_offset: int | None = None

    def with_stagger(self: A, window_stagger: WindowStagger) -> A:
        """Return an assigner whose windows are shifted, so that subtasks do not all fire at once; beyond PyFlink."""
        changed = copy.copy(self)
        changed._window_stagger = require_member(WindowStagger, window_stagger, "with_stagger()")
        changed._stagger_offset = None
        return changed

    @property
    def is_staggered(self) -> bool:
        """Whether each subtask has windows of its own."""
        return self._window_stagger is not WindowStagger.ALIGNED

    def _shifted_offset(self, period: int, context: Context) -> int:
        if self._stagger_offset is None:
            now = context.get_current_processing_time() if self.is_staggered else 0
            self._stagger_offset = self._window_stagger.get_stagger_offset(now, period)
        return (self._offset + self._stagger_offset) % period


class _Tumbling(_Staggered[T]):
    """Cuts time into windows of one size without gaps."""

    def __init__(self, size: int, offset: int) -> None:
        if abs(offset) >= size:
            raise ConfigurationError(
                f"{type(self).__name__} needs abs(offset) < size, got a size of {size} ms and an offset of {offset} ms"
            )
        self._size = size
        self._offset = offset

    def assign_windows(self, element: T, timestamp: int, context: Context) -> Collection[TimeWindow]:
        offset = self._shifted_offset(self._size, context)
        start = TimeWindow.get_window_start_with_offset(self._now(timestamp, context), offset, self._size)
        return [TimeWindow(start, start + self._size)]

    @abstractmethod
    def _now(self, timestamp: int | None, context: Context) -> int: ...

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._offset})"


class TumblingProcessingTimeWindows(_ProcessingTime[T], _Tumbling[T]):
    """Windows of one size by processing time.

    >>> from funke.common import Time
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.window import TumblingProcessingTimeWindows
    >>> clicks = StreamExecutionEnvironment.get_execution_environment().from_collection(["a", "b"]).key_by(lambda c: c)
    >>> windows = clicks.window(TumblingProcessingTimeWindows.of(Time.minutes(1)))
    >>> TumblingProcessingTimeWindows.of(Time.minutes(1)).is_event_time()
    False
    """

    @staticmethod
    def of(size: Time | Duration, offset: Time | Duration | None = None) -> TumblingProcessingTimeWindows[Any]:
        """Return an assigner; an offset of -8 hours makes daily windows start at midnight in UTC+8."""
        return TumblingProcessingTimeWindows(to_millis(size), _offset_millis(offset))


class TumblingEventTimeWindows(_EventTime[T], _Tumbling[T]):
    """Windows of one size by event time.

    >>> from funke.common import Time
    >>> from funke.datastream.window import TumblingEventTimeWindows
    >>> TumblingEventTimeWindows.of(Time.seconds(5)).assign_windows("element", 7000, None)
    [TimeWindow(start=5000, end=10000)]
    >>> TumblingEventTimeWindows.of(Time.seconds(5), Time.seconds(1)).assign_windows("element", 7000, None)
    [TimeWindow(start=6000, end=11000)]
    """

    @staticmethod
    def of(size: Time | Duration, offset: Time | Duration | None = None) -> TumblingEventTimeWindows[Any]:
        """Return an assigner; an offset of -8 hours makes daily windows start at midnight in UTC+8."""
        return TumblingEventTimeWindows(to_millis(size), _offset_millis(offset))


class _Sliding(_Staggered[T]):
    """Starts a window of one size at every slide, so that windows overlap."""

    def __init__(self, size: int, slide: int, offset: int) -> None:
        # Flink wants the offset to be smaller than the slide, which its own example (12 h, 1 h, -8 h) is not; an offset
        # counts modulo the slide anyway.
        if size <= 0 or slide <= 0 or abs(offset) >= max(size, slide):
            raise ConfigurationError(
                f"{type(self).__name__} needs size > 0, slide > 0 and an offset smaller than these, "
                f"got a size of {size} ms, a slide of {slide} ms and an offset of {offset} ms"
            )
        self._size = size
        self._slide = slide
        self._offset = offset

    def assign_windows(self, element: T, timestamp: int, context: Context) -> Collection[TimeWindow]:
        """Return all windows that contain the element, the latest first."""
        now = self._now(timestamp, context)
        offset = self._shifted_offset(self._slide, context)
        last_start = TimeWindow.get_window_start_with_offset(now, offset, self._slide)
        return [TimeWindow(start, start + self._size) for start in range(last_start, now - self._size, -self._slide)]

    @abstractmethod
    def _now(self, timestamp: int | None, context: Context) -> int: ...

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._slide}, {self._offset})"


class SlidingProcessingTimeWindows(_ProcessingTime[T], _Sliding[T]):
    """Overlapping windows by processing time.

    >>> from funke.common import Time
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.window import SlidingProcessingTimeWindows
    >>> clicks = StreamExecutionEnvironment.get_execution_environment().from_collection(["a", "b"]).key_by(lambda c: c)
    >>> windows = clicks.window(SlidingProcessingTimeWindows.of(Time.minutes(10), Time.minutes(1)))
    >>> SlidingProcessingTimeWindows.of(Time.minutes(10), Time.minutes(1))
    SlidingProcessingTimeWindows(600000, 60000, 0)
    """

    @staticmethod
    def of(
        size: Time | Duration, slide: Time | Duration, offset: Time | Duration | None = None
    ) -> SlidingProcessingTimeWindows[Any]:
        """Return an assigner of windows of `size` that start every `slide`."""
        return SlidingProcessingTimeWindows(to_millis(size), to_millis(slide), _offset_millis(offset))


class SlidingEventTimeWindows(_EventTime[T], _Sliding[T]):
    """Overlapping windows by event time.

    >>> from funke.common import Time
    >>> from funke.datastream.window import SlidingEventTimeWindows
    >>> SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5)).assign_windows("element", 7000, None)
    [TimeWindow(start=5000, end=15000), TimeWindow(start=0, end=10000)]
    """

    @staticmethod
    def of(
        size: Time | Duration, slide: Time | Duration, offset: Time | Duration | None = None
    ) -> SlidingEventTimeWindows[Any]:
        """Return an assigner of windows of `size` that start every `slide`."""
        return SlidingEventTimeWindows(to_millis(size), to_millis(slide), _offset_millis(offset))


class _Sessions(MergingWindowAssigner[T, TimeWindow]):
    """Gives each element a window that lasts until its gap is over; windows that meet become one session."""

    def assign_windows(self, element: T, timestamp: int, context: Context) -> Collection[TimeWindow]:
        """Return the window from the element to the end of its gap."""
        now = self._now(timestamp, context)
        return [TimeWindow(now, now + self._gap(element))]

    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        """Merge windows that overlap or touch."""
        TimeWindow.merge_windows(windows, callback)

    @abstractmethod
    def _now(self, timestamp: int | None, context: Context) -> int: ...

    @abstractmethod
    def _gap(self, element: T) -> int: ...


class _FixedGapSessions(_Sessions[T]):
    """Sessions that end after always the same gap."""

    def __init__(self, session_gap: int) -> None:
        if session_gap <= 0:
            raise ConfigurationError(f"{type(self).__name__} needs a gap greater than 0, got {session_gap} ms")
        self._session_gap = session_gap

    def _gap(self, element: T) -> int:
        return self._session_gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._session_gap})"


class _DynamicGapSessions(_Sessions[T]):
    """Sessions whose gap is computed from each element."""

    def __init__(self, session_window_time_gap_extractor: SessionWindowTimeGapExtractor) -> None:
        self._session_window_time_gap_extractor = session_window_time_gap_extractor

    def _gap(self, element: T) -> int:
        gap = self._session_window_time_gap_extractor.extract(element)
        if gap <= 0:
            raise ConfigurationError(f"{type(self).__name__} needs gaps greater than 0, got {gap} ms for {element!r}")
        return gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({type(self._session_window_time_gap_extractor).__name__})"


class DynamicProcessingTimeSessionWindows(_ProcessingTime[T], _DynamicGapSessions[T]):
    """Sessions by processing time whose gap is computed from each element.

    >>> from funke.datastream.window import DynamicProcessingTimeSessionWindows, SessionWindowTimeGapExtractor
    >>> class ByLength(SessionWindowTimeGapExtractor):
    ...     def extract(self, element):
    ...         return 1000 * len(element)
    >>> DynamicProcessingTimeSessionWindows.with_dynamic_gap(ByLength())
    DynamicProcessingTimeSessionWindows(ByLength)
    """

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicProcessingTimeSessionWindows[Any]:
        """Return an assigner that asks `extractor` for the gap."""
        return DynamicProcessingTimeSessionWindows(extractor)


class DynamicEventTimeSessionWindows(_EventTime[T], _DynamicGapSessions[T]):
    """Sessions by event time whose gap is computed from each element.

    >>> from funke.datastream.window import DynamicEventTimeSessionWindows, SessionWindowTimeGapExtractor
    >>> class ByLength(SessionWindowTimeGapExtractor):
    ...     def extract(self, element):
    ...         return 1000 * len(element)
    >>> DynamicEventTimeSessionWindows.with_dynamic_gap(ByLength()).assign_windows("word", 7000, None)
    [TimeWindow(start=7000, end=11000)]
    """

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicEventTimeSessionWindows[Any]:
        """Return an assigner that asks `extractor` for the gap."""
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_ProcessingTime[T], _FixedGapSessions[T]):
    """Sessions by processing time.

    >>> from funke.common import Time
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.window import ProcessingTimeSessionWindows
    >>> clicks = StreamExecutionEnvironment.get_execution_environment().from_collection(["a", "b"]).key_by(lambda c: c)
    >>> visits = clicks.window(ProcessingTimeSessionWindows.with_gap(Time.minutes(30)))
    >>> ProcessingTimeSessionWindows.with_gap(Time.minutes(30))
    ProcessingTimeSessionWindows(1800000)
    """

    @staticmethod
    def with_gap(size: Time | Duration) -> ProcessingTimeSessionWindows[Any]:
        """Return an assigner whose sessions end `size` after their last element."""
        return ProcessingTimeSessionWindows(to_millis(size))

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicProcessingTimeSessionWindows[Any]:
        """Return an assigner that asks `extractor` for the gap."""
        return DynamicProcessingTimeSessionWindows(extractor)


class EventTimeSessionWindows(_EventTime[T], _FixedGapSessions[T]):
    """Sessions by event time.

    >>> from funke.common import Time, WatermarkStrategy
    >>> from funke.common.watermark_strategy import TimestampAssigner
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.window import EventTimeSessionWindows
    >>> class Minute(TimestampAssigner):
    ...     def extract_timestamp(self, value, record_timestamp):
    ...         return value[1] * 60_000
    >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Minute())
    >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    >>> clicks = env.from_collection([("ada", 0), ("ada", 10), ("ada", 90)]).assign_timestamps_and_watermarks(timed)
    >>> visits = clicks.key_by(lambda click: click[0]).window(EventTimeSessionWindows.with_gap(Time.minutes(30)))
    >>> list(visits.reduce(lambda first, last: last).execute_and_collect())  # the last click of each visit
    [('ada', 10), ('ada', 90)]
    """

    @staticmethod
    def with_gap(size: Time | Duration) -> EventTimeSessionWindows[Any]:
        """Return an assigner whose sessions end `size` after their last element."""
        return EventTimeSessionWindows(to_millis(size))

    @staticmethod
    def with_dynamic_gap(extractor: SessionWindowTimeGapExtractor) -> DynamicEventTimeSessionWindows[Any]:
        """Return an assigner that asks `extractor` for the gap."""
        return DynamicEventTimeSessionWindows(extractor)


class _Counting(WindowAssigner[T, CountWindow]):
    """Numbers the elements of each key."""

    _window_size: int
    _count_descriptor: ValueStateDescriptor

    def get_default_trigger(self, env: Any) -> Trigger[T, CountWindow]:
        """Fire when the window is full."""
        return CountTrigger(self._window_size)

    def get_window_serializer(self) -> WindowSerializer[CountWindow]:
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        return False

    def _next_number(self, context: Context) -> int:
        count: ValueState[int] = context.get_runtime_context().get_state(self._count_descriptor)
        number = count.value() or 0
        count.update(number + 1)
        return number


class CountTumblingWindowAssigner(_Counting[T]):
    """Cuts the elements of each key into groups of one size.

    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.window import CountTumblingWindowAssigner
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> numbers = env.from_collection([1, 2, 3, 4, 5]).key_by(lambda number: "all")
    >>> pairs = numbers.window(CountTumblingWindowAssigner.of(2))
    >>> list(pairs.reduce(lambda a, b: a + b).execute_and_collect())  # the third window is not full
    [3, 7]
    """

    def __init__(self, window_size: int) -> None:
        self._window_size = _at_least_one(window_size, "size")
        self._count_descriptor = ValueStateDescriptor("tumble-count-assigner", BasicTypeInfo.LONG_TYPE_INFO())

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner[Any]:
        """Return an assigner of windows with `window_size` elements."""
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(self, element: T, timestamp: int, context: Context) -> Collection[CountWindow]:
        return [CountWindow(self._next_number(context) // self._window_size)]

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self._window_size})"


class CountSlidingWindowAssigner(_Counting[T]):
    """Starts a group of one size at every slide; groups that would begin before the first element do not exist.

    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.window import CountSlidingWindowAssigner
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> numbers = env.from_collection([1, 2, 3, 4, 5]).key_by(lambda number: "all")
    >>> overlapping = numbers.window(CountSlidingWindowAssigner.of(3, 1))
    >>> list(overlapping.reduce(lambda a, b: a + b).execute_and_collect())
    [6, 9, 12]
    """

    def __init__(self, window_size: int, window_slide: int) -> None:
        self._window_size = _at_least_one(window_size, "size")
        self._window_slide = _at_least_one(window_slide, "slide")
        self._count_descriptor = ValueStateDescriptor("slide-count-assigner", BasicTypeInfo.LONG_TYPE_INFO())

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner[Any]:
        """Return an assigner of windows with `window_size` elements that start every `window_slide` elements."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(self, element: T, timestamp: int, context: Context) -> Collection[CountWindow]:
        """Return all windows that contain the element, the latest first."""
        number = self._next_number(context)
        last = number // self._window_slide
        first = max(0, (number - self._window_size) // self._window_slide + 1)
        return [CountWindow(id) for id in range(last, first - 1, -1)]

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self._window_size}, {self._window_slide})"


class GlobalWindows(WindowAssigner[T, GlobalWindow]):
    """Puts all elements of a key into one window.

    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.window import CountTrigger, GlobalWindows
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> numbers = env.from_collection([1, 2, 3, 4]).key_by(lambda number: "all")
    >>> totals = numbers.window(GlobalWindows.create()).trigger(CountTrigger.of(2)).reduce(lambda a, b: a + b)
    >>> list(totals.execute_and_collect())
    [3, 10]
    """

    def assign_windows(self, element: T, timestamp: int, context: Context) -> Collection[GlobalWindow]:
        return [GlobalWindow.get()]

    @staticmethod
    def create() -> GlobalWindows[Any]:
        """Return an assigner."""
        return GlobalWindows()

    def get_default_trigger(self, env: Any) -> Trigger[T, GlobalWindow]:
        """Never fire."""
        return NeverTrigger()

    def get_window_serializer(self) -> WindowSerializer[GlobalWindow]:
        return GlobalWindowSerializer()

    def is_event_time(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "GlobalWindows()"


def _offset_millis(offset: Time | Duration | None) -> int:
    return 0 if offset is None else to_millis(offset)


def _at_least_one(count: int, what: str) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ConfigurationError(f"a count window needs a {what} of at least 1 element, got {count!r}")
    return count

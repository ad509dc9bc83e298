"""The triggers that come with Flink: by event time, processing time, intervals and counts."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar, cast

from funke.engine.errors import ConfigurationError
from funke.engine.operators.windowing.trigger import Trigger, TriggerResult, to_millis
from funke.engine.operators.windowing.windows import CountWindow, GlobalWindow, TimeWindow, Window
from funke.engine.state.descriptors import ReducingStateDescriptor
from funke.engine.state.interfaces import ReducingState
from funke.engine.types import BasicTypeInfo, Time
from funke.engine.types.functions import ReduceFunction

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountTrigger",
    "EventTimeTrigger",
    "Min",
    "NeverTrigger",
    "ProcessingTimeTrigger",
    "PurgingTrigger",
]

T = TypeVar("T")

if TYPE_CHECKING:
    FireTime = ReducingState[int]


class EventTimeTrigger(Trigger[T, TimeWindow]):
    """Fires when the watermark passes the end of the window, and for every late element after that.

    >>> from funke.common import Time
    >>> from funke.datastream.window import EventTimeTrigger, TumblingEventTimeWindows
    >>> trigger = TumblingEventTimeWindows.of(Time.seconds(5)).get_default_trigger(None)
    >>> isinstance(trigger, EventTimeTrigger)  # what these windows use unless trigger() names another one
    True
    """

    def on_element(self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at once for a late element, else wait for the end of the window."""
        if ctx.get_current_watermark() >= window.max_timestamp():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at the end of the window; a clean-up timer at a later time does not fire it again."""
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Wait for the end of the merged window, unless the watermark has passed it: the next element fires then."""
        if ctx.get_current_watermark() < window.max_timestamp():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Remove the timer at the end of the window."""
        ctx.delete_event_time_timer(window.max_timestamp())

    @staticmethod
    def create() -> EventTimeTrigger[Any]:
        """Return a trigger."""
        return EventTimeTrigger()


class ProcessingTimeTrigger(Trigger[T, TimeWindow]):
    """Fires when processing time passes the end of the window.

    >>> from funke.common import Time
    >>> from funke.datastream.window import ProcessingTimeTrigger, TumblingProcessingTimeWindows
    >>> trigger = TumblingProcessingTimeWindows.of(Time.seconds(5)).get_default_trigger(None)
    >>> isinstance(trigger, ProcessingTimeTrigger)  # what these windows use unless trigger() names another one
    True
    """

    def on_element(self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Wait for the end of the window."""
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire."""
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Wait for the end of the merged window, unless it has passed."""
        if ctx.get_current_processing_time() < window.max_timestamp():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        """Remove the timer at the end of the window."""
        ctx.delete_processing_time_timer(window.max_timestamp())

    @staticmethod
    def create() -> ProcessingTimeTrigger[Any]:
        """Return a trigger."""
        return ProcessingTimeTrigger()


class Min(ReduceFunction):
    """Keeps the smaller of two values.

    >>> from funke.datastream.window import Min
    >>> Min().reduce(3, 5)
    3
    """

    def reduce(self, value1: Any, value2: Any) -> Any:
        """Return the smaller value."""
        return min(value1, value2)


class _ContinuousTrigger(Trigger[T, TimeWindow]):
    """Remembers per window when it fires next, at multiples of the interval."""

    def __init__(self, interval: int) -> None:
        if interval <= 0:
            raise ConfigurationError(f"{type(self).__name__} needs an interval greater than 0, got {interval} ms")
        self.interval = interval
        self.state_desc = ReducingStateDescriptor("fire-time", Min(), BasicTypeInfo.LONG_TYPE_INFO())

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        """Keep the earliest of the merged windows' next firings."""
        ctx.merge_partitioned_state(self.state_desc)
        next_fire = self._fire_time(ctx).get()
        if next_fire is not None:
            self._register_timer(next_fire, ctx)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        fire_time = self._fire_time(ctx)
        next_fire = fire_time.get()
        if next_fire is not None:
            self._delete_timer(next_fire, ctx)
            fire_time.clear()

    def register_next_fire_timestamp(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext, fire_timestamp_state: FireTime
    ) -> None:
        """Fire one interval after `time`, at the latest at the end of the window."""
        next_fire = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(next_fire)
        self._register_timer(next_fire, ctx)

    def _start(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        fire_time = self._fire_time(ctx)
        if fire_time.get() is None:
            self.register_next_fire_timestamp(time - time % self.interval, window, ctx, fire_time)

    def _fire_if_due(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        fire_time = self._fire_time(ctx)
        if fire_time.get() != time:
            return TriggerResult.CONTINUE
        fire_time.clear()
        self.register_next_fire_timestamp(time, window, ctx, fire_time)
        return TriggerResult.FIRE

    def _fire_time(self, ctx: Trigger.TriggerContext) -> FireTime:
        return cast("FireTime", ctx.get_partitioned_state(self.state_desc))

    @abstractmethod
    def _register_timer(self, time: int, ctx: Trigger.TriggerContext) -> None: ...

    @abstractmethod
    def _delete_timer(self, time: int, ctx: Trigger.TriggerContext) -> None: ...


class ContinuousEventTimeTrigger(_ContinuousTrigger[T]):
    """Fires each time the watermark passes a multiple of the interval, and at the end of the window.

    >>> from funke.common import Time, WatermarkStrategy
    >>> from funke.common.watermark_strategy import TimestampAssigner
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.window import ContinuousEventTimeTrigger, TumblingEventTimeWindows
    >>> class Minute(TimestampAssigner):
    ...     def extract_timestamp(self, value, record_timestamp):
    ...         return value * 60_000
    >>> timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Minute())
    >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    >>> minutes = env.from_collection([1, 2, 25]).assign_timestamps_and_watermarks(timed).key_by(lambda minute: "all")
    >>> hours = minutes.window(TumblingEventTimeWindows.of(Time.hours(1)))
    >>> early = hours.trigger(ContinuousEventTimeTrigger.of(Time.minutes(20))).reduce(lambda a, b: a + b)
    >>> list(early.execute_and_collect())[-1]  # results so far every 20 minutes, and the last one
    28
    """

    @staticmethod
    def of(interval: Time) -> ContinuousEventTimeTrigger[Any]:
        """Return a trigger that fires every `interval`."""
        return ContinuousEventTimeTrigger(to_millis(interval))

    def on_element(self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at once for a late element, else wait for the next multiple and for the end of the window."""
        if ctx.get_current_watermark() >= window.max_timestamp():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        self._start(timestamp, window, ctx)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at the end of the window and at the multiple that is due."""
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        return self._fire_if_due(time, window, ctx)

    def _register_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_event_time_timer(time)

    def _delete_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(time)


class ContinuousProcessingTimeTrigger(_ContinuousTrigger[T]):
    """Fires each time processing time passes a multiple of the interval.

    >>> from funke.common import Time
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.window import ContinuousProcessingTimeTrigger, TumblingProcessingTimeWindows
    >>> clicks = StreamExecutionEnvironment.get_execution_environment().from_collection(["a"]).key_by(lambda c: c)
    >>> hours = clicks.window(TumblingProcessingTimeWindows.of(Time.hours(1)))
    >>> counts_so_far = hours.trigger(ContinuousProcessingTimeTrigger.of(Time.minutes(1)))
    >>> ContinuousProcessingTimeTrigger.of(Time.minutes(1)).interval
    60000
    """

    @staticmethod
    def of(interval: Time) -> ContinuousProcessingTimeTrigger[Any]:
        """Return a trigger that fires every `interval`."""
        return ContinuousProcessingTimeTrigger(to_millis(interval))

    def on_element(self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Wait for the next multiple."""
        self._start(ctx.get_current_processing_time(), window, ctx)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Fire at the multiple that is due."""
        return self._fire_if_due(time, window, ctx)

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def _register_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    def _delete_timer(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)


class PurgingTrigger(Trigger[T, Window]):
    """Drops the contents of the window each time another trigger fires.

    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.window import CountTrigger, GlobalWindows, PurgingTrigger
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> numbers = env.from_collection([1, 2, 3, 4]).key_by(lambda number: "all").window(GlobalWindows.create())
    >>> pairs = numbers.trigger(PurgingTrigger.of(CountTrigger.of(2)))
    >>> list(pairs.reduce(lambda a, b: a + b).execute_and_collect())  # without purging: 3 and 10
    [3, 7]
    """

    def __init__(self, nested_trigger: Trigger[T, Any]) -> None:
        self.nested_trigger = nested_trigger

    @staticmethod
    def of(nested_trigger: Trigger[T, Any]) -> PurgingTrigger[T]:
        """Return a trigger that purges whenever `nested_trigger` fires."""
        return PurgingTrigger(nested_trigger)

    def on_element(self, element: T, timestamp: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        self.nested_trigger.clear(window, ctx)

    def can_merge(self) -> bool:
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        self.nested_trigger.on_merge(window, ctx)


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result


def _add(left: int, right: int) -> int:
    return left + right


class CountTrigger(Trigger[T, CountWindow]):
    """Fires each time a number of elements has arrived.

    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.window import CountTrigger, GlobalWindows
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> numbers = env.from_collection([1, 2, 3]).key_by(lambda number: "all").window(GlobalWindows.create())
    >>> list(numbers.trigger(CountTrigger.of(1)).reduce(lambda a, b: a + b).execute_and_collect())
    [1, 3, 6]
    """

    def __init__(self, window_size: int) -> None:
        if window_size < 1:
            raise ConfigurationError(f"CountTrigger needs a count of at least 1, got {window_size}")
        self._window_size = window_size
        self._count_state_descriptor = ReducingStateDescriptor("count", _add, BasicTypeInfo.LONG_TYPE_INFO())

    @staticmethod
    def of(window_size: int) -> CountTrigger[Any]:
        """Return a trigger that fires every `window_size` elements."""
        return CountTrigger(window_size)

    def on_element(self, element: T, timestamp: int, window: CountWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        """Count; fire and start anew when the number is reached."""
        count = cast("ReducingState[int]", ctx.get_partitioned_state(self._count_state_descriptor))
        count.add(1)
        if (count.get() or 0) < self._window_size:
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE

    def on_processing_time(self, time: int, window: CountWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: CountWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: CountWindow, ctx: Trigger.OnMergeContext) -> None:
        """Add up the counts of the merged windows."""
        ctx.merge_partitioned_state(self._count_state_descriptor)

    def clear(self, window: CountWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._count_state_descriptor).clear()


class NeverTrigger(Trigger[T, GlobalWindow]):
    """Never fires.

    >>> from funke.datastream.window import GlobalWindows, NeverTrigger
    >>> isinstance(GlobalWindows.create().get_default_trigger(None), NeverTrigger)  # so give them a trigger
    True
    """

    def on_element(
        self, element: T, timestamp: int, window: GlobalWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: GlobalWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: GlobalWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: GlobalWindow, ctx: Trigger.OnMergeContext) -> None:
        """Do nothing."""

    def clear(self, window: GlobalWindow, ctx: Trigger.TriggerContext) -> None:
        """Do nothing."""

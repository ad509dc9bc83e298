# compare: unordered
# parallelism: 1
"""Triggers: continuous ones, own ones with state and timers, and one without timers on windows that merge."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import StreamExecutionEnvironment, WindowFunction
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import (
    ContinuousEventTimeTrigger,
    EventTimeTrigger,
    MergingWindowAssigner,
    TimeWindow,
    TimeWindowSerializer,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)


class Second(TimestampAssigner):
    def extract_timestamp(self, value: tuple[str, int], record_timestamp: int) -> int:
        return value[1]


class Text(WindowFunction[tuple, str, str, TimeWindow]):
    def __init__(self, name: str) -> None:
        self.name = name

    def apply(self, key: str, window: TimeWindow, inputs: Iterable[tuple[str, int]]) -> Iterable[str]:
        yield f"{self.name} {key} [{window.start}, {window.end}) {[number for _, number in inputs]}"


class EverySecondElement(Trigger[tuple, TimeWindow]):
    """Fires for every second element and at a timer of its own; purges at the end."""

    def __init__(self) -> None:
        self.count = ValueStateDescriptor("count", Types.INT())

    def on_element(
        self, element: tuple, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        count = ctx.get_partitioned_state(self.count)
        count.update((count.value() or 0) + 1)
        ctx.register_event_time_timer(window.start + 3)
        ctx.register_event_time_timer(window.start + 4)
        ctx.delete_event_time_timer(window.start + 4)
        return TriggerResult.FIRE if count.value() % 2 == 0 else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE if time == window.start + 3 else TriggerResult.FIRE

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        pass

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self.count).clear()


class AtCleanUp(Trigger[tuple, TimeWindow]):
    """Registers no timer: only the clean-up timer of the window calls it."""

    def on_element(
        self, element: tuple, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        pass

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        pass


class Neighbours(MergingWindowAssigner[tuple, TimeWindow]):
    """Windows of one element that merge when they are next to each other."""

    def assign_windows(self, element: tuple, timestamp: int, context: Any) -> Collection[TimeWindow]:
        return [TimeWindow(timestamp, timestamp + 2)]

    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        TimeWindow.merge_windows(windows, callback)

    def get_default_trigger(self, env: Any) -> Trigger[tuple, TimeWindow]:
        return EventTimeTrigger()

    def get_window_serializer(self) -> TimeWindowSerializer:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    data = [("a", 1), ("a", 2), ("b", 3), ("a", 4), ("b", 8), ("b", 6), ("a", 9), ("a", 13)]
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    pair = Types.TUPLE([Types.STRING(), Types.INT()])
    timed = env.from_collection(data, pair).assign_timestamps_and_watermarks(strategy)
    keyed = timed.key_by(lambda value: value[0], Types.STRING())
    ten = TumblingEventTimeWindows.of(Time.milliseconds(10))
    # With a shorter interval PyFlink loses the timer that the first firing sets, because all fire at the end at once.
    continuous = ContinuousEventTimeTrigger.of(Time.milliseconds(5))
    keyed.window(ten).trigger(continuous).apply(Text("continuous"), Types.STRING()).print()
    keyed.window(ten).trigger(EverySecondElement()).apply(Text("second"), Types.STRING()).print()
    keyed.window(Neighbours()).trigger(AtCleanUp()).apply(Text("clean-up"), Types.STRING()).print()
    keyed.window(Neighbours()).apply(Text("default"), Types.STRING()).print()
    env.execute("triggers")


if __name__ == "__main__":
    main()

"""When windows fire."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from funke.engine.operators.windowing.trigger import Trigger, TriggerResult
from funke.engine.operators.windowing.triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
)
from funke.engine.operators.windowing.windows import CountWindow, GlobalWindow, TimeWindow
from funke.engine.types.time import Time
from tests.unit.operators.windowing.recording_context import RecordingContext

CONTINUE, FIRE, FIRE_AND_PURGE = TriggerResult.CONTINUE, TriggerResult.FIRE, TriggerResult.FIRE_AND_PURGE
WINDOW = TimeWindow(0, 100)


def test_results_tell_what_happens() -> None:
    answers = {result.name: (result.is_fire(), result.is_purge()) for result in TriggerResult}

    assert answers == {
        "CONTINUE": (False, False),
        "FIRE_AND_PURGE": (True, True),
        "FIRE": (True, False),
        "PURGE": (False, True),
    }


class TestEventTime:
    def test_waits_for_the_watermark(self) -> None:
        context, trigger = RecordingContext(watermark=50), EventTimeTrigger.create()

        assert trigger.on_element("x", 10, WINDOW, context) is CONTINUE
        assert context.event_timers == {99}
        assert trigger.on_event_time(99, WINDOW, context) is FIRE

    def test_a_late_element_fires_at_once(self) -> None:
        context = RecordingContext(watermark=99)

        assert EventTimeTrigger().on_element("x", 10, WINDOW, context) is FIRE
        assert context.event_timers == set()

    def test_the_clean_up_timer_of_a_late_window_does_not_fire(self) -> None:
        assert EventTimeTrigger().on_event_time(599, WINDOW, RecordingContext()) is CONTINUE

    def test_a_merged_window_waits_for_its_new_end(self) -> None:
        before, after = RecordingContext(watermark=50), RecordingContext(watermark=99)
        EventTimeTrigger().on_merge(WINDOW, before)
        EventTimeTrigger().on_merge(WINDOW, after)

        assert (before.event_timers, after.event_timers) == ({99}, set())

    def test_clearing_removes_the_timer(self) -> None:
        context, trigger = RecordingContext(), EventTimeTrigger()
        trigger.on_element("x", 10, WINDOW, context)
        trigger.clear(WINDOW, context)

        assert context.event_timers == set()


def test_processing_time_waits_for_the_clock() -> None:
    context, trigger = RecordingContext(processing_time=50), ProcessingTimeTrigger.create()

    assert trigger.on_element("x", 10, WINDOW, context) is CONTINUE
    assert context.processing_timers == {99}
    assert trigger.on_event_time(99, WINDOW, context) is CONTINUE
    assert trigger.on_processing_time(99, WINDOW, context) is FIRE
    trigger.clear(WINDOW, context)
    assert context.processing_timers == set()


class TestContinuousEventTime:
    def test_fires_at_every_multiple_and_at_the_end(self) -> None:
        context, trigger = RecordingContext(), ContinuousEventTimeTrigger.of(Time.milliseconds(40))

        assert trigger.on_element("x", 45, WINDOW, context) is CONTINUE
        assert context.event_timers == {80, 99}
        assert trigger.on_event_time(80, WINDOW, context) is FIRE
        assert context.states["fire-time"].get() == 99
        assert trigger.on_event_time(99, WINDOW, context) is FIRE

    def test_only_the_first_element_starts_the_interval(self) -> None:
        context, trigger = RecordingContext(), ContinuousEventTimeTrigger.of(Time.milliseconds(10))
        trigger.on_element("x", 5, WINDOW, context)
        trigger.on_element("y", 55, WINDOW, context)

        assert context.event_timers == {10, 99}

    def test_a_timer_that_is_not_due_does_not_fire(self) -> None:
        context, trigger = RecordingContext(), ContinuousEventTimeTrigger.of(Time.milliseconds(10))
        trigger.on_element("x", 5, WINDOW, context)

        assert trigger.on_event_time(50, WINDOW, context) is CONTINUE

    def test_merged_windows_keep_the_earliest_firing(self) -> None:
        context, trigger = RecordingContext(), ContinuousEventTimeTrigger.of(Time.milliseconds(10))
        context.merged_states = [30, 20]
        trigger.on_merge(WINDOW, context)

        assert context.event_timers == {20}

    def test_clearing_removes_timer_and_state(self) -> None:
        context, trigger = RecordingContext(), ContinuousEventTimeTrigger.of(Time.milliseconds(10))
        trigger.on_element("x", 5, WINDOW, context)
        trigger.clear(WINDOW, context)

        # The timer at the window's end stays: the window operator's own clean-up timer is the same one.
        assert (context.event_timers, context.states["fire-time"].get()) == ({99}, None)


def test_continuous_processing_time() -> None:
    context, trigger = RecordingContext(processing_time=45), ContinuousProcessingTimeTrigger.of(Time.milliseconds(40))

    assert trigger.on_element("x", 0, WINDOW, context) is CONTINUE
    assert context.processing_timers == {80}
    assert trigger.on_processing_time(60, WINDOW, context) is CONTINUE
    assert trigger.on_processing_time(80, WINDOW, context) is FIRE
    assert context.processing_timers == {80, 99}
    trigger.clear(WINDOW, context)
    assert context.processing_timers == {80}


class TestCount:
    def test_fires_every_so_many_elements(self) -> None:
        context, trigger = RecordingContext(), CountTrigger.of(2)
        results = [trigger.on_element("x", 0, CountWindow(0), context) for _ in range(5)]

        assert results == [CONTINUE, FIRE, CONTINUE, FIRE, CONTINUE]

    def test_merged_windows_add_their_counts(self) -> None:
        context, trigger = RecordingContext(), CountTrigger.of(4)
        context.merged_states = [1, 2]
        trigger.on_merge(CountWindow(0), context)

        assert trigger.on_element("x", 0, CountWindow(0), context) is FIRE

    def test_clearing_forgets_the_count(self) -> None:
        context, trigger = RecordingContext(), CountTrigger.of(2)
        trigger.on_element("x", 0, CountWindow(0), context)
        trigger.clear(CountWindow(0), context)

        assert trigger.on_element("x", 0, CountWindow(0), context) is CONTINUE


def test_purging_turns_fire_into_fire_and_purge() -> None:
    context, trigger = RecordingContext(), PurgingTrigger.of(CountTrigger.of(2))

    assert trigger.on_element("x", 0, CountWindow(0), context) is CONTINUE
    assert trigger.on_element("x", 0, CountWindow(0), context) is FIRE_AND_PURGE
    assert PurgingTrigger.of(EventTimeTrigger()).on_event_time(99, WINDOW, context) is FIRE_AND_PURGE
    assert PurgingTrigger.of(ProcessingTimeTrigger()).on_processing_time(99, WINDOW, context) is FIRE_AND_PURGE
    assert trigger.can_merge() and not PurgingTrigger.of(NeverTrigger()).can_merge()


def test_never() -> None:
    context, trigger = RecordingContext(), NeverTrigger[Any]()

    assert trigger.on_element("x", 0, GlobalWindow(), context) is CONTINUE
    assert trigger.on_event_time(0, GlobalWindow(), context) is CONTINUE
    assert not trigger.can_merge()


@pytest.mark.parametrize(
    "trigger",
    [CountTrigger.of(2), ContinuousEventTimeTrigger.of(Time.seconds(1)), PurgingTrigger.of(EventTimeTrigger())],
)
def test_triggers_pickle(trigger: Trigger[Any, Any]) -> None:
    assert type(pickle.loads(pickle.dumps(trigger))) is type(trigger)

"""The asynchronous operator: order, capacity, watermarks, time, and requests that outlive an epoch."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from funke.engine.operators.functions.async_functions import AsyncFunction
from funke.engine.operators.operator import MAX_WATERMARK
from tests.harness.operator_harness import OperatorHarness, Record, Status, Watermark
from tests.unit.operators.async_io.async_functions import Gated, async_harness, eventually, look, loop_threads


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert loop_threads() == []


@pytest.fixture(params=[True, False], ids=["ordered", "unordered"])
def is_ordered(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def wait_for_results(harness: OperatorHarness) -> None:
    eventually(lambda: bool(harness.operator.queue.ready))  # type: ignore[attr-defined]
    look(harness)


def test_ordered_results_keep_the_order_of_the_elements() -> None:
    function = Gated()
    harness = async_harness(function)
    harness.process_batch([1, 2, 3], [10, 20, 30])
    eventually(lambda: function.started == [1, 2, 3])
    function.let_go(3, 2)
    harness.end_epoch()
    assert harness.elements() == []
    function.let_go(1)
    wait_for_results(harness)
    assert harness.timed_outputs() == [(1, 10), (2, 20), (3, 30)]
    harness.close()


def test_unordered_results_leave_as_they_come() -> None:
    function = Gated()
    harness = async_harness(function, ordered=False)
    harness.process_batch([1, 2, 3], [10, 20, 30])
    eventually(lambda: function.started == [1, 2, 3])
    function.let_go(3)
    wait_for_results(harness)
    assert harness.timed_outputs() == [(3, 30)]
    function.let_go(2, 1)
    harness.end_input()
    assert harness.elements() == [Record(2, 20), Record(1, 10), Watermark(MAX_WATERMARK)]
    harness.close()


def test_no_result_crosses_a_watermark() -> None:
    function = Gated()
    harness = async_harness(function, ordered=False)
    harness.process_batch([1, 2], [1, 2])
    harness.watermark(2)
    harness.process_batch([3, 4], [3, 4])
    harness.watermark(4)
    eventually(lambda: len(function.started) == 4)
    function.let_go(4, 3, 2)
    wait_for_results(harness)
    assert harness.elements() == [Record(2, 2)]
    function.let_go(1)
    harness.end_epoch()
    assert harness.elements() == [Record(1, 1), Watermark(2), Record(4, 4), Record(3, 3), Watermark(4)]
    harness.close()


def test_watermarks_and_idleness_wait_for_the_elements_before_them(is_ordered: bool) -> None:
    function = Gated()
    harness = async_harness(function, ordered=is_ordered)
    harness.watermark(1)
    assert harness.elements() == [Watermark(1)]
    harness.process(5, 5)
    harness.watermark(5)
    harness.operator.process_status(True)
    harness.end_epoch()
    assert harness.elements() == []
    function.let_go(5)
    harness.end_epoch()
    assert harness.elements() == [Record(5, 5), Watermark(5), Status(True)]
    harness.operator.process_status(False)
    assert harness.elements() == [Status(False)]
    harness.close()


def test_the_capacity_is_never_exceeded_and_holds_the_input_back(is_ordered: bool) -> None:
    function = Gated()
    harness = async_harness(function, ordered=is_ordered, capacity=3)
    feeder = threading.Thread(target=harness.process_batch, args=(list(range(20)),))
    feeder.start()
    eventually(lambda: len(function.started) == 3)
    time.sleep(0.05)
    assert feeder.is_alive() and len(function.started) == 3
    function.let_go(*range(20))
    feeder.join(5)
    assert not feeder.is_alive()
    harness.end_input()
    assert (sorted(harness.outputs()), function.most) == (list(range(20)), 3)
    harness.close()


def test_results_that_wait_for_a_slow_head_use_up_the_capacity() -> None:
    function = Gated()
    harness = async_harness(function, capacity=2)
    function.let_go(2, 3)
    feeder = threading.Thread(target=harness.process_batch, args=([1, 2, 3],))
    feeder.start()
    eventually(lambda: function.started == [1, 2])
    time.sleep(0.05)
    assert function.started == [1, 2]
    function.let_go(1)
    feeder.join(5)
    harness.end_input()
    assert harness.outputs() == [1, 2, 3]
    harness.close()


def test_requests_of_several_epochs_overlap(is_ordered: bool) -> None:
    function = Gated()
    harness = async_harness(function, ordered=is_ordered)
    harness.process_batch([1, 2])
    harness.end_epoch()
    harness.process_batch([3, 4])
    harness.end_epoch()
    eventually(lambda: function.under_way == 4)
    assert harness.outputs() == []
    function.let_go(4, 3, 2, 1)
    harness.end_epoch()
    assert harness.outputs() == ([1, 2, 3, 4] if is_ordered else [4, 3, 2, 1])
    assert function.most == 4
    harness.close()


def test_the_end_of_an_epoch_waits_only_briefly() -> None:
    function = Gated()
    harness = async_harness(function)
    harness.process(1)
    started = time.monotonic()
    harness.end_epoch()
    assert 0.04 <= time.monotonic() - started < 10
    function.let_go(1)
    harness.end_input()
    harness.close()


def test_quick_requests_are_answered_within_their_epoch() -> None:
    class Short(AsyncFunction[int, int]):
        async def async_invoke(self, value: int) -> list[int]:
            await asyncio.sleep(0.001)
            return [value, -value]

    harness = async_harness(Short())
    harness.process_batch([1, 2, 3], [1, 2, 3])
    harness.end_epoch()
    assert harness.timed_outputs() == [(1, 1), (-1, 1), (2, 2), (-2, 2), (3, 3), (-3, 3)]
    assert harness.operator.next_wakeup_ms() is None
    harness.close()


def test_results_flow_while_the_input_waits_for_room() -> None:
    function = Gated()
    harness = async_harness(function, capacity=1)
    function.let_go(0, 1, 2)
    feeder = threading.Thread(target=harness.process_batch, args=([0, 1, 2, 3, 4],))
    feeder.start()
    eventually(lambda: len(harness.recorder.elements) == 3)
    assert feeder.is_alive()
    function.let_go(3, 4)
    feeder.join(5)
    harness.end_input()
    assert harness.outputs() == [0, 1, 2, 3, 4]
    harness.close()


def test_wakeups_come_later_the_longer_nothing_happens() -> None:
    function = Gated()
    harness = async_harness(function)
    assert harness.operator.next_wakeup_ms() is None
    harness.clock.set(1_000)
    harness.process(1)
    delays = {}
    for quiet_ms in (0, 100, 400, 2_000, 60_000):
        harness.clock.set(1_000 + quiet_ms)
        wakeup = harness.operator.next_wakeup_ms()
        assert wakeup is not None
        delays[quiet_ms] = wakeup - harness.clock.now_ms()
    assert delays == {0: 20, 100: 25, 400: 100, 2_000: 500, 60_000: 1_000}
    function.let_go(1)
    eventually(lambda: harness.operator.next_wakeup_ms() == 0)
    look(harness)
    assert (harness.outputs(), harness.operator.next_wakeup_ms()) == ([1], None)
    harness.close()


def test_a_slot_is_woken_when_there_are_results_and_need_not_look_before() -> None:
    function, woken = Gated(), threading.Event()
    harness = async_harness(function, wake=woken.set)
    harness.process_batch([1, 2])
    assert harness.operator.next_wakeup_ms() is None and not woken.is_set()
    for value in (1, 2):
        function.let_go(value)
        assert woken.wait(5)
        woken.clear()
        look(harness)
    assert harness.outputs() == [1, 2]
    harness.close()


def test_records_with_and_without_timestamps() -> None:
    function = Gated()
    harness = async_harness(function)
    harness.process(1)
    harness.process(2, 20)
    harness.process(3)
    function.let_go(1, 2, 3)
    harness.end_input()
    assert harness.timed_outputs() == [(1, None), (2, 20), (3, None)]
    harness.close()


def in_flight(harness: OperatorHarness) -> list[Any]:
    """The elements that a snapshot holds."""
    harness.operator.prepare_snapshot(1)
    [elements] = harness.operator.snapshot().lists.values()
    return list(elements)


def test_elements_in_flight_are_made_anew_from_a_snapshot(is_ordered: bool) -> None:
    function = Gated()
    harness = async_harness(function, ordered=is_ordered, capacity=2)
    assert in_flight(harness) == []
    harness.process_batch([1, 2], [1, 2])
    harness.watermark(2)
    function.let_go(2)
    harness.end_epoch()
    assert harness.outputs() == ([] if is_ordered else [2])
    snapshot = harness.snapshot()
    harness.close()

    again = Gated()
    restored = async_harness(again, ordered=is_ordered, restored=[snapshot])
    eventually(lambda: again.started == ([1, 2] if is_ordered else [1]))
    restored.process(3, 3)
    again.let_go(1, 2, 3)
    restored.end_input()
    outputs = restored.timed_outputs()
    assert (outputs if is_ordered else sorted(outputs)) == (
        [(1, 1), (2, 2), (3, 3)] if is_ordered else [(1, 1), (3, 3)]
    )
    restored.close()


def test_a_snapshot_holds_results_that_have_not_left() -> None:
    function = Gated()
    harness = async_harness(function)
    harness.process_batch([1, 2])
    function.let_go(1, 2)
    eventually(lambda: harness.operator._runner.is_idle)  # type: ignore[attr-defined]
    assert in_flight(harness) == [(1, None), (2, None)]
    look(harness)
    assert (in_flight(harness), harness.outputs()) == ([], [1, 2])
    harness.close()


def test_close_cancels_what_is_in_flight_and_closes_the_function_once() -> None:
    function = Gated()
    harness = async_harness(function)
    harness.process_batch([1, 2])
    eventually(lambda: function.under_way == 2)
    harness.close()
    harness.close()
    assert (sorted(function.cancelled), function.closed, harness.outputs()) == ([1, 2], 1, [])


def test_results_are_kept_apart_from_what_the_function_holds() -> None:
    class Cached(AsyncFunction[int, list[int]]):
        def open(self, runtime_context: Any) -> None:
            self.seen: list[int] = []

        async def async_invoke(self, value: int) -> list[list[int]]:
            return [self.seen]

    harness = async_harness(Cached())
    harness.process(1)
    harness.end_epoch()
    harness.operator.function.seen.append(1)  # type: ignore[attr-defined]
    assert harness.outputs() == [[]]
    harness.close()


def test_metrics_count_elements_and_results() -> None:
    class Twice(AsyncFunction[int, int]):
        async def async_invoke(self, value: int) -> list[int]:
            return [value, value]

    harness = async_harness(Twice())
    harness.process_batch([1, 2, 3])
    harness.end_input()
    metrics = harness.operator.metrics()
    assert (metrics["numRecordsIn"], metrics["numRecordsOut"]) == (3, 6)
    assert metrics["currentInputWatermark"] == MAX_WATERMARK
    harness.close()


def test_far_more_calls_than_may_wait_go_through_in_order() -> None:
    class Nothing(AsyncFunction[int, int]):
        async def async_invoke(self, value: int) -> list[int]:
            return [value]

    harness = async_harness(Nothing())
    harness.process_batch(list(range(10_000)))
    harness.end_input()
    harness.close()
    assert harness.outputs() == list(range(10_000))

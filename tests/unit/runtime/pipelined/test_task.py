"""How a task spends its time, by a clock that the test moves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from funke.engine.runtime.monitoring.counter_rates import CounterRates
from funke.engine.runtime.pipelined import task as task_module
from funke.engine.runtime.pipelined.network_settings import NetworkSettings
from funke.engine.runtime.pipelined.task import Task


class Slot:
    """A source and its consumer, which share a thread; the source has something to read as long as it is told so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(task_module, "time", SimpleNamespace(perf_counter=lambda: self.now))
        self.source = self._task(SimpleNamespace(is_reading=True))
        self.consumer = self._task(None)
        self.source.downstream = (self.consumer,)

    def _task(self, source: Any) -> Task:
        subtask: Any = SimpleNamespace(source=source, busy_s=0.0, rates=CounterRates())
        return Task(subtask, NetworkSettings(measured_s=10.0))

    def turn(self, busy_s: float, idle_s: float = 0.0, *, is_behind: bool, source_busy_s: float = 0.0) -> None:
        """The source reads, the consumer works, and the slot waits for more unless the source is behind."""
        assert self.source.subtask.source is not None
        self.source.subtask.source.is_reading = True  # type: ignore[misc]
        self.source.subtask.busy_s += source_busy_s
        self.now += source_busy_s + busy_s
        self.consumer.subtask.busy_s += busy_s
        self.source.subtask.source.is_reading = is_behind  # type: ignore[misc]
        self._note()
        self.now += idle_s
        if idle_s:
            self._note()

    def _note(self) -> None:
        for task in (self.consumer, self.source):
            task.note_waiting()

    def pressed(self) -> float:
        """The share of its time for which the source was pressed back."""
        return self.source.measure()["backPressuredTimeMsPerSecond"] / 1000


def test_waiting_behind_a_consumer_that_works_is_backpressure(monkeypatch: pytest.MonkeyPatch) -> None:
    slot = Slot(monkeypatch)
    for _ in range(100):
        slot.turn(0.05, is_behind=True, source_busy_s=0.005)
    measured = slot.source.measure()
    assert slot.pressed() == pytest.approx(0.9, abs=0.03) and measured["isBackPressured"]
    assert measured["busyTimeMsPerSecond"] == pytest.approx(91, abs=1)
    assert measured["idleTimeMsPerSecond"] < 30
    assert slot.consumer.measure()["backPressuredTimeMsPerSecond"] == 0


def test_a_source_that_keeps_up_is_idle_while_its_consumer_works(monkeypatch: pytest.MonkeyPatch) -> None:
    slot = Slot(monkeypatch)
    for _ in range(100):  # records come in bursts, each of which takes two turns
        slot.turn(0.03, is_behind=True)
        slot.turn(0.03, is_behind=False, idle_s=0.04)
    assert slot.pressed() == 0 and not slot.source.measure()["isBackPressured"]


def test_time_counts_once_where_outputs_are_full_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    slot = Slot(monkeypatch)
    for _ in range(100):
        slot.turn(0.05, is_behind=True)
        slot.source._on_full(+1)  # another slot's subtask is slower still
        slot.now += 0.03
        slot.consumer.subtask.busy_s += 0.03
        slot.source._on_full(-1)
    measured = slot.source.measure()
    assert slot.pressed() == pytest.approx(1.0, abs=0.02)
    assert measured["accumulateBackPressuredTimeMs"] <= 8_000


def test_a_source_that_is_held_until_its_barrier_has_come_to_the_end_is_pressed_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slot = Slot(monkeypatch)
    slot.source.is_held = True
    for _ in range(100):
        slot.turn(0.05, is_behind=True)
    assert slot.pressed() > 0.95

"""Backpressure: how far subtasks are held up by those behind them, and which of them is probably the cause."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings

__all__ = [
    "Diagnosis",
    "PressureGauge",
    "PressureStatus",
    "PressureView",
    "Pressures",
    "diagnose",
    "status_of",
    "together",
]

_LOW = 0.10
_HIGH = 0.5
# A subtask that hardly ever waits holds up the others, also when it has no full buffers: those of one slot take turns,
# and a block that stays in its slot is processed before the next one is made.
_BUSY = 0.9


class PressureStatus(Enum):
    """Flink's levels of backpressure."""

    OK = "ok"
    LOW = "low"
    HIGH = "high"


class Diagnosis(Enum):
    """What its buffers tell about a subtask."""

    FINE = "fine"
    PRESSED = "pressed by those behind it"
    ROOT = "probably the root"


@dataclass(frozen=True)
class PressureView:
    """How much of its time a subtask waits for room behind it, and what follows; all metrics are from 0 to 1."""

    status: PressureStatus
    ratio: float
    busy: float
    in_usage: float
    out_usage: float
    is_back_pressured: bool
    diagnosis: Diagnosis


# By vertex and subtask.
Pressures = Mapping[int, Mapping[int, PressureView]]


def status_of(ratio: float) -> PressureStatus:
    """The level of a share of time without room.

    >>> [status_of(ratio).name for ratio in (0.1, 0.5, 0.51)]
    ['OK', 'LOW', 'HIGH']
    """
    if ratio <= _LOW:
        return PressureStatus.OK
    return PressureStatus.LOW if ratio <= _HIGH else PressureStatus.HIGH


def diagnose(in_usage: float, out_usage: float, busy: float) -> Diagnosis:
    """Whether a subtask holds up others, or is held up: full output is never its own fault."""
    if out_usage >= _HIGH:
        return Diagnosis.PRESSED
    return Diagnosis.ROOT if in_usage >= _HIGH or busy >= _BUSY else Diagnosis.FINE


def together(subtasks: Sequence[PressureView]) -> PressureView:
    """Of a vertex: the most of each figure; it is the root if one of its subtasks is."""
    ratio = max(each.ratio for each in subtasks)
    diagnoses = {each.diagnosis for each in subtasks}
    return PressureView(
        status_of(ratio),
        ratio,
        max(each.busy for each in subtasks),
        max(each.in_usage for each in subtasks),
        max(each.out_usage for each in subtasks),
        any(each.is_back_pressured for each in subtasks),
        next(each for each in (Diagnosis.ROOT, Diagnosis.PRESSED, Diagnosis.FINE) if each in diagnoses),
    )


class PressureGauge:
    """What is shown: looked at again when it is older than the configuration allows."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._refresh_s = (settings.get(options.BACKPRESSURE_REFRESH) or 0) / 1000
        self._clock = clock
        self._seen_at = -self._refresh_s
        self._seen: Pressures = {}

    def look(self, tasks: Mapping[int, Mapping[int, Mapping[str, Any]]]) -> Pressures:
        """The pressures of tasks, by their metrics."""
        now = self._clock()
        if not self._seen or now - self._seen_at >= self._refresh_s:
            self._seen_at = now
            self._seen = {vertex: dict(_measured(by_subtask)) for vertex, by_subtask in tasks.items()}
        return self._seen


def _measured(by_subtask: Mapping[int, Mapping[str, Any]]) -> Iterable[tuple[int, PressureView]]:
    for subtask, metrics in by_subtask.items():
        if "isBackPressured" in metrics:
            yield subtask, _pressure(metrics)


def _pressure(metrics: Mapping[str, Any]) -> PressureView:
    ratio, busy = metrics["backPressuredTimeMsPerSecond"] / 1000, metrics["busyTimeMsPerSecond"] / 1000
    in_usage, out_usage = metrics["inPoolUsage"], metrics["outPoolUsage"]
    return PressureView(
        status_of(ratio),
        ratio,
        busy,
        in_usage,
        out_usage,
        metrics["isBackPressured"],
        # One full output of a hundred stops a subtask as well.
        diagnose(in_usage, max(out_usage, ratio), busy),
    )

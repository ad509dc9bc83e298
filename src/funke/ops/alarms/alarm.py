"""What about a job needs a person, and why: one alarm, the most urgent, in a few words that follow the job's name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.jobs.views.bottleneck import find_bottleneck
from funke.engine.jobs.views.job_view import ExceptionView, JobView
from funke.engine.types.job_status import JobStatus
from funke.ops.alarms.growing_lag import growing_lag
from funke.ops.alarms.spans import span_text
from funke.ops.history.points import Point

__all__ = ["Alarm", "find_alarm"]

_MINUTE_MS = 60_000
# Failures are counted over so long.
_RECENT_MS = 10 * _MINUTE_MS
_DAY_MS = 86_400_000
_MOST_TEXT = 160
# What a program that was sent has before its name.
_UPLOAD = re.compile(r"\b[0-9a-f]{32}_(?=\S+\.)")


@dataclass(frozen=True)
class Alarm:
    """What is wrong with a job."""

    kind: str
    # Follows the job's name.
    text: str
    # Work stands still or is lost; otherwise it is late.
    is_bad: bool
    # What stays the same as long as it is the same trouble.
    key: str
    # The page of the job that tells more, and the vertex to look at.
    page: str = "graph"
    vertex_id: int | None = None


def find_alarm(view: JobView, points: Sequence[Point], now_ms: int) -> Alarm | None:
    """The most urgent trouble of a job; `points` are what it measured in the last hour."""
    if view.status is JobStatus.FAILED:
        return _failed(view, now_ms)
    if view.status.is_globally_terminal_state():
        return None
    looked_at = (_without_driver, _waiting, _failing, _held, _late_checkpoint, _falling_behind, _bottleneck)
    rules: tuple[Callable[[JobView, Sequence[Point], int], Alarm | None], ...] = looked_at
    return next((alarm for rule in rules if (alarm := rule(view, points, now_ms)) is not None), None)


def _failed(view: JobView, now_ms: int) -> Alarm | None:
    if view.ended_ms is None or now_ms - view.ended_ms > _DAY_MS:
        return None
    cause = f": {_cause(view.exceptions[0])}" if view.exceptions else ""
    return Alarm("failed", f"failed {span_text(now_ms - view.ended_ms)} ago{cause}", True, "failed", "exceptions")


def _without_driver(view: JobView, points: Sequence[Point], now_ms: int) -> Alarm | None:
    if view.status is not JobStatus.SUSPENDED:
        return None
    return Alarm("no driver", "has lost its driver; “funke recover” goes on with it", True, "no driver")


def _waiting(view: JobView, points: Sequence[Point], now_ms: int) -> Alarm | None:
    return Alarm("waits", f"waits for {view.waiting_for}", False, "waits") if view.waiting_for else None


def _failing(view: JobView, points: Sequence[Point], now_ms: int) -> Alarm | None:
    recent = [each for each in view.exceptions if now_ms - each.timestamp_ms < _RECENT_MS]
    is_down = view.status in (JobStatus.RESTARTING, JobStatus.FAILING)
    if not recent and not is_down:
        return None
    number = max(len(recent), _restarts_since(view, points, now_ms - _RECENT_MS))
    cause = _cause(view.exceptions[0]) if view.exceptions else "no failure was written down"
    if number > 1:
        text = f"fails again and again, {_times(number)} in the last 10 min: {cause}"
    else:
        text = f"{'is restarting' if is_down else 'was restarted once in the last 10 min'}: {cause}"
    return Alarm("fails", text, is_down or number > 1, f"fails {_location(view)}", "exceptions")


def _restarts_since(view: JobView, points: Sequence[Point], since_ms: int) -> int:
    """The view tells of the last failures only."""
    before = [each.value("restarts") for each in points if each.at_ms <= since_ms][-1:]
    first = before or [each.value("restarts") for each in points][:1]
    return int(view.restarts - first[0]) if first else 0


def _location(view: JobView) -> str:
    """Where it fails: the message may hold another value each time."""
    last = view.exceptions[0] if view.exceptions else None
    return "" if last is None else f"{last.error_type} {last.raising_line or last.user_line} {last.operator_id}"


def _cause(failure: ExceptionView) -> str:
    """What was raised at which of the user's lines, in which operator."""
    name = failure.error_type.rpartition(".")[2] or "an error"
    lines = [line.strip() for line in f"{failure.message}\n{failure.traceback}".splitlines() if line.strip()]
    own = [line[line.index(name) :] for line in lines if line.startswith(f"{name}:") or f".{name}:" in line]
    what = own[-1] if own else next(iter(lines), name)
    raised = what if what.startswith(name) else f"{name}: {what}"
    line = failure.raising_line or failure.user_line
    at = f"{_UPLOAD.sub('', os.path.basename(line))} raised " if line else ""
    return f"{at}{_short(raised)}{f' in “{failure.operator}”' if failure.operator else ''}"


def _short(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 1]}…"


def _times(number: int) -> str:
    return "twice" if number == 2 else f"{number} times"


def _late_checkpoint(view: JobView, points: Sequence[Point], now_ms: int) -> Alarm | None:
    interval = Settings(view.configuration).get(options.CHECKPOINTING_INTERVAL)
    if view.status is not JobStatus.RUNNING or interval is None or view.is_batch:
        return None
    last, failed = view.checkpoints.last_completed, view.checkpoints.last_failed
    since_ms = view.started_ms if last is None else last.triggered_ms + round(last.duration_ms)
    # A job that was restarted a moment ago has had no time for one.
    since_ms = max(since_ms, max((each.since_ms for each in view.status_history), default=0))
    late_ms = now_ms - since_ms
    if late_ms < max(3 * interval.to_millis(), _MINUTE_MS):
        return None
    is_newer = failed is not None and failed.failure and failed.triggered_ms > since_ms
    why = f": {_short(failed.failure.splitlines()[0])}" if failed is not None and is_newer else ""
    held = find_bottleneck(view)
    why = why or (f": {_as_clause(held.sentence)}" if held is not None else "")
    text = f"has not completed a checkpoint for {span_text(late_ms)}{why}"
    return Alarm("checkpoints", text, True, "checkpoints", "checkpoints")


def _held(view: JobView, points: Sequence[Point], now_ms: int) -> Alarm | None:
    bottleneck = find_bottleneck(view)
    if bottleneck is None or not bottleneck.is_held:
        return None
    return Alarm(
        "held", _as_clause(bottleneck.sentence), True, f"held {bottleneck.vertex_id}", "graph", bottleneck.vertex_id
    )


def _falling_behind(view: JobView, points: Sequence[Point], now_ms: int) -> Alarm | None:
    lag = growing_lag(points, now_ms)
    if lag is None or view.status is not JobStatus.RUNNING:
        return None
    bottleneck = find_bottleneck(view)
    vertex_id = bottleneck.vertex_id if bottleneck is not None else None
    why = bottleneck.sentence if bottleneck is not None else _why_behind(view)
    return Alarm(
        "lag", f"falls behind: {lag}. {why}", False, "lag", "history" if bottleneck is None else "graph", vertex_id
    )


def _why_behind(view: JobView) -> str:
    sources = {vertex.id for vertex in view.vertices} - {edge.target_vertex for edge in view.edges}
    busiest = max(
        (vertex for vertex in view.vertices if vertex.pressure is not None),
        key=lambda vertex: vertex.pressure.busy if vertex.pressure else 0.0,
        default=None,
    )
    if busiest is None or busiest.pressure is None or busiest.pressure.busy < 0.7:
        return "Nothing in it is busy: its records come late, or a part of its source sends nothing."
    what = "reads as fast as it can" if busiest.id in sources else "is busy"
    share = f"busy {busiest.pressure.busy:.0%} with parallelism {busiest.parallelism}"
    return f'"{busiest.name}" {what}: {share}; more subtasks take more.'


def _bottleneck(view: JobView, points: Sequence[Point], now_ms: int) -> Alarm | None:
    bottleneck = find_bottleneck(view)
    if bottleneck is None or view.status is not JobStatus.RUNNING:
        return None
    key = f"bottleneck {bottleneck.vertex_id}"
    return Alarm("bottleneck", f"is slow: {_as_clause(bottleneck.sentence)}", False, key, "graph", bottleneck.vertex_id)


def _as_clause(sentence: str) -> str:
    """A sentence behind a colon, where more may follow."""
    return sentence.removesuffix(".")

"""How all jobs stand at a glance, their alarms, and what each measured in the last hour."""

from __future__ import annotations

import math
import time
from typing import Any

from funke.ops.alarms.outlook import Outlook, outlooks, sentence_of
from funke.ops.history.markers import markers_of
from funke.ops.history.metric_history import HOUR_MS, INTERVAL_MS
from funke.ops.history.points import SERIES, point_of
from funke.ops.rest.call import Call, RestError, Route
from funke.ops.rest.shapes import MapOf, OneOf, Optional
from funke.ops.rest.vertex_metrics import vertex_id

__all__ = ["ROUTES"]


def _now_ms() -> int:
    return int(time.time() * 1000)


def overview(call: Call) -> Any:
    outlooks_of_jobs = outlooks(call.cluster, _now_ms())
    sentence = sentence_of(outlooks_of_jobs)
    return {"level": sentence.level, "sentence": sentence.text, "jobs": [_entry(each) for each in outlooks_of_jobs]}


def _entry(outlook: Outlook) -> dict[str, Any]:
    view, point = outlook.view, outlook.point
    last = view.checkpoints.last_checkpoint
    return {
        "jid": view.job_id,
        "log": f"{outlook.run_id}.log" if outlook.is_service_run else None,
        "origin": "service" if outlook.is_service_run else "command line",
        "records-per-second": _number_or_none(point.value("records-in")),
        "lag": _number_or_none(point.value("lag")),
        "pending": _number_or_none(point.value("pending")),
        "busy": _number_or_none(point.value("busy")),
        "backpressured": _number_or_none(point.value("backpressured")),
        "last-checkpoint": None if last is None else last.triggered_ms + round(last.duration_ms),
        "failures": max(view.failures, len(view.exceptions)),
        "alarm": _alarm(outlook),
    }


def _number_or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _alarm(outlook: Outlook) -> dict[str, Any] | None:
    alarm = outlook.alarm
    if alarm is None:
        return None
    vertex = next((each for each in outlook.view.vertices if each.id == alarm.vertex_id), None)
    return {
        "kind": alarm.kind,
        "text": alarm.text,
        "level": "bad" if alarm.is_bad else "warn",
        "acknowledged": outlook.acknowledged_ms,
        "is-faded": outlook.is_faded,
        "page": alarm.page,
        "vertex": None if vertex is None else vertex_id(vertex),
    }


def acknowledge(call: Call) -> Any:
    job_id = call.job.job_id
    outlook = next(each for each in outlooks(call.cluster, _now_ms()) if each.view.job_id == job_id)
    if not call.body_boolean("acknowledged", True):
        call.cluster.acknowledgements.withdraw(job_id)
    elif outlook.alarm is None:
        raise RestError(409, f"Job {job_id} has no alarm to acknowledge")
    else:
        call.cluster.acknowledgements.acknowledge(job_id, outlook.alarm, _now_ms())
    return {}


def history(call: Call) -> Any:
    view = call.job.view()
    points = list(call.cluster.history.of(view.job_id))
    if not view.status.is_globally_terminal_state() and (not points or points[-1].at_ms < view.seen_ms):
        points.append(point_of(view))
    since_ms = (points[0].at_ms if points else view.seen_ms) - INTERVAL_MS
    return {
        "interval": INTERVAL_MS,
        "kept": HOUR_MS,
        "times": [each.at_ms for each in points],
        "series": {name: [_number_or_none(each.value(name)) for each in points] for name in SERIES},
        "markers": [
            {"at": each.at_ms, "kind": each.kind, "text": each.text}
            for each in markers_of(view, points)
            if each.at_ms >= since_ms
        ],
    }


def timeline(call: Call) -> Any:
    view = call.job.view()
    return {
        "restarts": view.restarts,
        "failures": max(view.failures, len(view.exceptions)),
        "statuses": [{"status": each.status.name, "since": each.since_ms} for each in view.status_history],
        "subtasks": [
            {
                "vertex": vertex_id(vertex),
                "subtask": each.subtask,
                "attempt": each.attempt,
                "timestamps": {state.name: at_ms for state, at_ms in each.entered_ms.items()},
            }
            for vertex in view.vertices
            for each in (*vertex.prior, *vertex.subtasks)
            if each.entered_ms
        ],
    }


_NUMBER = Optional(float)
ROUTES = (
    Route(
        "GET",
        "/funke/jobs/overview",
        overview,
        "All jobs at a glance: one sentence, and rate, lag, pressure and alarm of each",
        {
            "level": OneOf(("good", "warn", "bad", "none")),
            "sentence": str,
            "jobs": [
                {
                    "jid": str,
                    "log": Optional(str),
                    "origin": OneOf(("service", "command line")),
                    "records-per-second": _NUMBER,
                    "lag": _NUMBER,
                    "pending": _NUMBER,
                    "busy": _NUMBER,
                    "backpressured": _NUMBER,
                    "last-checkpoint": Optional(int),
                    "failures": int,
                    "alarm": Optional(
                        {
                            "kind": str,
                            "text": str,
                            "level": OneOf(("warn", "bad")),
                            "acknowledged": Optional(int),
                            "is-faded": bool,
                            "page": str,
                            "vertex": Optional(str),
                        }
                    ),
                }
            ],
        },
    ),
    Route(
        "PUT",
        "/funke/jobs/{jobid}/alarm",
        acknowledge,
        "Acknowledges the alarm of a job, as long as it lasts; or withdraws that",
        {},
        {"acknowledged": Optional(bool)},
    ),
    Route(
        "GET",
        "/funke/jobs/{jobid}/history",
        history,
        "The main metrics of a job in the last hour, and what happened to it meanwhile",
        {
            "interval": int,
            "kept": int,
            "times": [int],
            "series": MapOf([_NUMBER]),
            "markers": [{"at": int, "kind": str, "text": str}],
        },
    ),
    Route(
        "GET",
        "/funke/jobs/{jobid}/timeline",
        timeline,
        "When a job entered which status, and its subtasks which state, in all attempts that are remembered",
        {
            "restarts": int,
            "failures": int,
            "statuses": [{"status": str, "since": int}],
            "subtasks": [{"vertex": str, "subtask": int, "attempt": int, "timestamps": MapOf(int)}],
        },
    ),
)

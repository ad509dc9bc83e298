"""Vertices of a job: their subtasks, times, backpressure, watermarks."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from typing import Any

from funke.engine.errors import FunkeError
from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.jobs.views.back_pressure import PressureStatus, status_of
from funke.engine.jobs.views.flame_graph import KINDS, TERMINATED, WAITING
from funke.engine.jobs.views.job_view import JobView, OperatorView, SubtaskView, VertexView
from funke.engine.operators.operator import MIN_WATERMARK
from funke.ops.metrics.flink_metrics import metrics_of_task
from funke.ops.rest.call import Call, Parameter, RestError, Route
from funke.ops.rest.shapes import ANY, MapOf, OneOf, Optional
from funke.ops.rest.vertex_metrics import (
    IO_SHAPE,
    find_subtask,
    find_vertex,
    io_metrics,
    subtask_times,
    summed_metrics,
    task_manager_id,
    vertex_id,
    vertex_times,
)

__all__ = ["ROUTES"]

# Metrics of operators that keep the rows of several inputs.
_ROWS_OF_INPUT, _BYTES_OF_INPUT = "numRowsInMemoryOfInput", "stateBytesOfInput"
# Metrics of operators that look for a pattern.
_PARTIAL_MATCHES, _CHECKS, _FAILURES = "partialMatches", "conditionChecks", "conditionFailures"
_STATES = ("CREATED", "SCHEDULED", "DEPLOYING", "INITIALIZING", "RUNNING")


def _job_and_vertex(call: Call) -> tuple[JobView, VertexView]:
    view = call.job.view()
    return view, find_vertex(view, call.path["vertexid"])


def vertex(call: Call) -> Any:
    view, vertex_view = _job_and_vertex(call)
    return {
        "id": vertex_id(vertex_view),
        "name": vertex_view.name,
        "parallelism": vertex_view.parallelism,
        "maxParallelism": vertex_view.max_parallelism,
        "now": int(time.time() * 1000),
        "operators": [
            {
                "id": each.id,
                "name": each.name,
                "uid": each.uid,
                "user-line": each.user_line,
                "state-of-inputs": _state_of_inputs(view, each),
                "pattern": _pattern(view, each),
            }
            for each in vertex_view.operators
        ],
        "subtasks": [_subtask_entry(view, vertex_view, each) for each in vertex_view.subtasks],
        "aggregated": {"metrics": summed_metrics(view, vertex_view), "status-duration": {}},
    }


def _state_of_inputs(view: JobView, operator: OperatorView) -> list[dict[str, Any]]:
    """What an operator keeps of each of its inputs, all subtasks together."""
    measured = view.metrics.operators.get(operator.id, {}).values()
    names = [_operator_name(view, edge.source_operator) for edge in view.edges if edge.target_operator == operator.id]
    count = max((sum(name.startswith(_ROWS_OF_INPUT) for name in each) for each in measured), default=0)
    return [
        {
            "input": number,
            # A union of several streams is one input.
            "name": names[number] if len(names) == count else None,
            "rows-in-memory": sum(each.get(f"{_ROWS_OF_INPUT}{number}", 0) for each in measured),
            "bytes": sum(each.get(f"{_BYTES_OF_INPUT}{number}", 0) for each in measured),
        }
        for number in range(count)
    ]


def _pattern(view: JobView, operator: OperatorView) -> list[dict[str, Any]]:
    """The automaton of an operator: how many partial matches wait in its states, and how often conditions failed.

    Several states of a stage have one number together, which is that of the first.
    """
    measured = view.metrics.operators.get(operator.id, {}).values()

    def total(name: str) -> int | None:
        numbers = [each[name] for each in measured if name in each]
        return sum(numbers) if numbers else None

    counted: set[str] = set()
    states = []
    for each in operator.pattern:
        is_first = each.waits_for not in counted
        counted.add(each.waits_for)
        states.append(
            {
                "name": each.name,
                "partial-matches": total(f"{_PARTIAL_MATCHES}.{each.waits_for}") if is_first else None,
                "condition-checks": total(f"{_CHECKS}.{each.name}"),
                "condition-failures": total(f"{_FAILURES}.{each.name}"),
                "ways": [{"text": way.text, "target": way.target} for way in each.ways],
            }
        )
    return states


def _operator_name(view: JobView, operator_id: str) -> str:
    return next(each.name for vertex in view.vertices for each in vertex.operators if each.id == operator_id)


def _subtask_entry(view: JobView, vertex: VertexView, subtask: SubtaskView, is_prior: bool = False) -> dict[str, Any]:
    start, end, duration = subtask_times(view, subtask)
    metrics = dict.fromkeys(IO_SHAPE, 0) if is_prior else io_metrics(view, vertex, subtask.subtask)
    return {
        "subtask": subtask.subtask,
        "status": subtask.state.name,
        "attempt": subtask.attempt,
        "endpoint": subtask.host or "(unassigned)",
        "start-time": start,
        "end-time": end,
        "duration": duration,
        "metrics": {name: kind(metrics[name]) for name, kind in IO_SHAPE.items()},
        "taskmanager-id": task_manager_id(view, subtask.host),
        "status-duration": _time_in_states(view, subtask),
        "other-concurrent-attempts": [],
        "slot": subtask.slot,
    }


def _time_in_states(view: JobView, subtask: SubtaskView) -> dict[str, int]:
    entered = sorted(subtask.entered_ms.items(), key=lambda each: each[1])
    now = view.ended_ms or int(time.time() * 1000)
    spent = dict.fromkeys(_STATES, -1)
    for (state, since), until in zip(entered, [*(each[1] for each in entered[1:]), now]):
        if state.name in spent:
            spent[state.name] = max(0, until - since)
    return spent


def subtask(call: Call) -> Any:
    view, vertex_view = _job_and_vertex(call)
    return _subtask_entry(view, vertex_view, find_subtask(vertex_view, call.path_integer("subtaskindex")))


def attempt(call: Call) -> Any:
    view, vertex_view = _job_and_vertex(call)
    current = find_subtask(vertex_view, call.path_integer("subtaskindex"))
    number = call.path_integer("attempt")
    if number == current.attempt:
        return _subtask_entry(view, vertex_view, current)
    for each in vertex_view.prior:
        if (each.subtask, each.attempt) == (current.subtask, number):
            return _subtask_entry(view, vertex_view, each, is_prior=True)
    raise RestError(404, f"Attempt {number} of subtask {current.subtask} is not known")


def subtask_timestamps(call: Call) -> Any:
    view, vertex_view = _job_and_vertex(call)
    return {
        "id": vertex_id(vertex_view),
        "name": vertex_view.name,
        "now": int(time.time() * 1000),
        "subtasks": [
            {
                "subtask": each.subtask,
                "endpoint": each.host or "(unassigned)",
                "duration": subtask_times(view, each)[2],
                "timestamps": {state.name: each.entered_ms.get(state, 0) for state in ExecutionState},
            }
            for each in vertex_view.subtasks
        ],
    }


def by_task_manager(call: Call) -> Any:
    view, vertex_view = _job_and_vertex(call)
    hosts = sorted({each.host for each in vertex_view.subtasks if each.host is not None})
    return {
        "id": vertex_id(vertex_view),
        "name": vertex_view.name,
        "now": int(time.time() * 1000),
        "taskmanagers": [_on_host(view, vertex_view, host) for host in hosts],
    }


def _on_host(view: JobView, vertex: VertexView, host: str) -> dict[str, Any]:
    subtasks = [each for each in vertex.subtasks if each.host == host]
    start, end, duration = vertex_times(view, subtasks)
    metrics = [io_metrics(view, vertex, each.subtask) for each in subtasks]
    counts = Counter(each.state for each in subtasks)
    return {
        "endpoint": host,
        "status": max(counts, key=lambda state: counts[state]).name,
        "start-time": start,
        "end-time": end,
        "duration": duration,
        "metrics": {name: kind(sum(each[name] for each in metrics)) for name, kind in IO_SHAPE.items()},
        "status-counts": {state.name: counts[state] for state in ExecutionState},
        "taskmanager-id": task_manager_id(view, host),
    }


def backpressure(call: Call) -> Any:
    view, vertex_view = _job_and_vertex(call)
    measured = [(each, each.pressure) for each in vertex_view.subtasks if each.pressure is not None]
    worst = max((pressure.ratio for _, pressure in measured), default=0.0)
    return {
        # Flink's word for metrics that are not there (yet).
        "status": "ok" if measured else "deprecated",
        "backpressureLevel": status_of(worst).value,
        "backpressure-level": status_of(worst).value,
        "end-timestamp": view.seen_ms,
        "subtasks": [
            {
                "subtask": each.subtask,
                "attempt-number": each.attempt,
                "backpressureLevel": pressure.status.value,
                "backpressure-level": pressure.status.value,
                "ratio": pressure.ratio,
                "busyRatio": pressure.busy,
                "idleRatio": max(0.0, 1 - pressure.busy - pressure.ratio),
                "inPoolUsage": pressure.in_usage,
                "outPoolUsage": pressure.out_usage,
                "diagnosis": pressure.diagnosis.value,
            }
            for each, pressure in measured
        ],
    }


def flamegraph(call: Call) -> Any:
    _, vertex_view = _job_and_vertex(call)
    kind = call.query.get("type", "FULL").upper()
    if kind not in KINDS:
        raise RestError(400, f"'type' must be one of {', '.join(KINDS)}, got '{kind[:100]}'")
    subtask = None
    if "subtaskindex" in call.query:
        subtask = find_subtask(vertex_view, call.query_integer("subtaskindex", 0)).subtask
    job = call.job
    graph = WAITING if job.is_driven else TERMINATED
    with contextlib.suppress(FunkeError):  # its driver is gone, or silent for the moment
        graph = job.commanded().flame_graph(vertex_view.id, kind, subtask)
    return {"endTimestamp": graph.end_timestamp, "data": graph.data}


def watermarks(call: Call) -> Any:
    view, vertex_view = _job_and_vertex(call)
    task_metrics = ((each.subtask, metrics_of_task(view, vertex_view, each.subtask)) for each in vertex_view.subtasks)
    return [
        {"id": f"{number}.currentInputWatermark", "value": str(metrics["currentInputWatermark"])}
        for number, metrics in task_metrics
        if metrics.get("currentInputWatermark", MIN_WATERMARK) > MIN_WATERMARK
    ]


def accumulators(call: Call) -> Any:
    _, vertex_view = _job_and_vertex(call)
    return {"id": vertex_id(vertex_view), "user-accumulators": []}


def subtask_accumulators(call: Call) -> Any:
    _, vertex_view = _job_and_vertex(call)
    return {"id": vertex_id(vertex_view), "parallelism": vertex_view.parallelism, "subtasks": []}


def attempt_accumulators(call: Call) -> Any:
    entry = attempt(call)
    return {"subtask": entry["subtask"], "attempt": entry["attempt"], "id": "", "user-accumulators": []}


_V = "/jobs/{jobid}/vertices/{vertexid}"
_TIMES = {"start-time": int, "end-time": int, "duration": int}
_SUBTASK = {
    "subtask": int,
    "status": str,
    "attempt": int,
    "endpoint": str,
    **_TIMES,
    "metrics": IO_SHAPE,
    "taskmanager-id": str,
    "status-duration": MapOf(int),
    "other-concurrent-attempts": [ANY],
    "slot": Optional(int),
}
_LEVEL = OneOf(tuple(each.value for each in PressureStatus))

ROUTES = (
    Route(
        "GET",
        _V,
        vertex,
        "A vertex and its subtasks",
        {
            "id": str,
            "name": str,
            "parallelism": int,
            "maxParallelism": int,
            "now": int,
            "operators": [
                {
                    "id": str,
                    "name": str,
                    "uid": Optional(str),
                    "user-line": Optional(str),
                    "state-of-inputs": [{"input": int, "name": Optional(str), "rows-in-memory": int, "bytes": int}],
                    "pattern": [
                        {
                            "name": str,
                            "partial-matches": Optional(int),
                            "condition-checks": Optional(int),
                            "condition-failures": Optional(int),
                            "ways": [{"text": str, "target": str}],
                        }
                    ],
                }
            ],
            "subtasks": [_SUBTASK],
            "aggregated": {"metrics": IO_SHAPE, "status-duration": ANY},
        },
    ),
    Route("GET", f"{_V}/subtasks/{{subtaskindex}}", subtask, "A subtask in its latest attempt", _SUBTASK),
    Route("GET", f"{_V}/subtasks/{{subtaskindex}}/attempts/{{attempt}}", attempt, "A subtask in an attempt", _SUBTASK),
    Route(
        "GET",
        f"{_V}/subtasktimes",
        subtask_timestamps,
        "When subtasks came to their states",
        {
            "id": str,
            "name": str,
            "now": int,
            "subtasks": [{"subtask": int, "endpoint": str, "duration": int, "timestamps": MapOf(int)}],
        },
    ),
    Route(
        "GET",
        f"{_V}/taskmanagers",
        by_task_manager,
        "The subtasks of a vertex by host",
        {
            "id": str,
            "name": str,
            "now": int,
            "taskmanagers": [
                {
                    "endpoint": str,
                    "status": str,
                    **_TIMES,
                    "metrics": IO_SHAPE,
                    "status-counts": MapOf(int),
                    "taskmanager-id": str,
                }
            ],
        },
    ),
    Route(
        "GET",
        f"{_V}/backpressure",
        backpressure,
        "How far subtasks are held up by those behind them",
        {
            "status": str,
            "backpressureLevel": _LEVEL,
            "backpressure-level": _LEVEL,
            "end-timestamp": int,
            "subtasks": [
                {
                    "subtask": int,
                    "attempt-number": int,
                    "backpressureLevel": _LEVEL,
                    "backpressure-level": _LEVEL,
                    "ratio": float,
                    "busyRatio": float,
                    "idleRatio": float,
                    "inPoolUsage": float,
                    "outPoolUsage": float,
                    "diagnosis": str,
                }
            ],
        },
    ),
    Route(
        "GET",
        f"{_V}/flamegraph",
        flamegraph,
        "Which functions take the time, sampled on request; endTimestamp -3: not yet, -2: off, -1: it ended",
        {"endTimestamp": int, "data": Optional({"name": str, "value": int, "children": [ANY]})},
        query=(
            Parameter("type", "FULL, ON_CPU (computing) or OFF_CPU (waiting)"),
            Parameter("subtaskindex", "one subtask alone", int),
        ),
    ),
    Route("GET", f"{_V}/watermarks", watermarks, "How far event time has come", [{"id": str, "value": str}]),
    Route(
        "GET",
        f"{_V}/accumulators",
        accumulators,
        "Accumulators; Python functions have metrics instead",
        {"id": str, "user-accumulators": [ANY]},
    ),
    Route(
        "GET",
        f"{_V}/subtasks/accumulators",
        subtask_accumulators,
        "The same by subtask",
        {"id": str, "parallelism": int, "subtasks": [ANY]},
    ),
    Route(
        "GET",
        f"{_V}/subtasks/{{subtaskindex}}/attempts/{{attempt}}/accumulators",
        attempt_accumulators,
        "The same of an attempt",
        {"subtask": int, "attempt": int, "id": str, "user-accumulators": [ANY]},
    ),
)

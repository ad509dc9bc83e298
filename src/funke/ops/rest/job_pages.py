"""Jobs: lists, details, configuration, plan, exceptions, results."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from funke.engine.graph.execution_graph import ExecutionState
from funke.engine.jobs.views.bottleneck import find_bottleneck
from funke.engine.jobs.views.job_view import ExceptionView, JobView, VertexView
from funke.engine.types.job_status import JobStatus
from funke.ops.rest.call import Call, Parameter, RestError, Route
from funke.ops.rest.job_directory import KnownJob
from funke.ops.rest.shapes import ANY, AtLeast, MapOf, Optional
from funke.ops.rest.vertex_metrics import IO_SHAPE, summed_metrics, task_manager_id, vertex_id, vertex_times

__all__ = ["EXCEPTION", "KEY_VALUES", "ROUTES", "exception_entry", "key_values", "plan_of"]

# Flink's words for the states of tasks, in its order.
_TASK_STATES = (
    *("created", "scheduled", "deploying", "running", "finished", "canceling", "canceled", "failed"),
    *("reconciling", "initializing"),
)
_MOST_EXCEPTIONS = 16


def now_ms() -> int:
    return int(time.time() * 1000)


def _is_ended(view: JobView) -> bool:
    return view.status.is_globally_terminal_state()


def _end_and_duration(view: JobView) -> tuple[int, int]:
    end = view.ended_ms if view.ended_ms is not None else -1
    return end, max(0, (end if end >= 0 else now_ms()) - view.started_ms)


def _task_counts(counts: Counter[ExecutionState]) -> dict[str, int]:
    by_name = {state.name.lower(): number for state, number in counts.items()}
    return {name: by_name.get(name, 0) for name in _TASK_STATES}


# Lists


def list_jobs(call: Call) -> Any:
    return {"jobs": [{"id": job.job_id, "status": job.seen.status.name} for job in call.cluster.jobs.all()]}


def overview(call: Call) -> Any:
    return {"jobs": [_row(job) for job in call.cluster.jobs.all()]}


def _row(job: KnownJob) -> dict[str, Any]:
    row: dict[str, Any] = job.kept.get("overview") or _overview_of(job.seen, job.tasks)
    if job.seen.status.is_globally_terminal_state():
        job.kept["overview"] = row
    return row


def _overview_of(view: JobView, tasks: Counter[ExecutionState]) -> dict[str, Any]:
    end, duration = _end_and_duration(view)
    return {
        "jid": view.job_id,
        "name": view.name,
        "state": view.status.name,
        "start-time": view.started_ms,
        "end-time": end,
        "duration": duration,
        "last-modification": max((entry.since_ms for entry in view.status_history), default=view.started_ms),
        "tasks": {"total": sum(tasks.values()), **_task_counts(tasks)},
        "jobType": _job_type(view),
        "schedulerType": "Default",
        "pending-operators": 0,
        "waiting-for": view.waiting_for,
    }


def _job_type(view: JobView) -> str:
    return "BATCH" if view.is_batch else "STREAMING"


# One job


def details(call: Call) -> Any:
    view = call.job.view()
    end, duration = _end_and_duration(view)
    entered = {entry.status.name: entry.since_ms for entry in view.status_history}
    return {
        "jid": view.job_id,
        "name": view.name,
        "isStoppable": False,
        "state": view.status.name,
        "job-type": _job_type(view),
        "start-time": view.started_ms,
        "end-time": end,
        "duration": duration,
        "maxParallelism": max((vertex.max_parallelism for vertex in view.vertices), default=-1),
        "now": now_ms(),
        # Of a state that the job has been in more than once, the last time.
        "timestamps": {"INITIALIZING": view.started_ms, **{each.name: entered.get(each.name, 0) for each in JobStatus}},
        "vertices": [_vertex_entry(view, vertex) for vertex in view.vertices],
        "status-counts": _counts_by_vertex(view),
        "plan": plan_of(view),
        "stream-graph": _stream_graph(view),
        "schedulerType": "Default",
        "pending-operators": 0,
        "application-id": call.job.record.run_id,
        "waiting-for": view.waiting_for,
        "bottleneck": _bottleneck(view),
    }


def _bottleneck(view: JobView) -> dict[str, Any] | None:
    bottleneck = find_bottleneck(view)
    if bottleneck is None:
        return None
    vertex = next(each for each in view.vertices if each.id == bottleneck.vertex_id)
    return {
        "vertex": vertex_id(vertex),
        "sentence": bottleneck.sentence,
        "user-line": bottleneck.user_line,
        "skew": bottleneck.skew,
        "key": bottleneck.key,
        "key-share": bottleneck.key_share,
        "is-held": bottleneck.is_held,
    }


def _vertex_entry(view: JobView, vertex: VertexView) -> dict[str, Any]:
    start, end, duration = vertex_times(view, vertex.subtasks)
    return {
        "id": vertex_id(vertex),
        "slotSharingGroupId": vertex.slot_sharing_group,
        "name": vertex.name,
        "maxParallelism": vertex.max_parallelism,
        "parallelism": vertex.parallelism,
        "status": vertex_state(vertex).name,
        "start-time": start,
        "end-time": end,
        "duration": duration,
        "tasks": {name.upper(): number for name, number in _task_counts(vertex.state_counts).items()},
        "metrics": summed_metrics(view, vertex),
    }


def vertex_state(vertex: VertexView) -> ExecutionState:
    """How a vertex stands by its subtasks: the worst counts, then the earliest."""
    counts = vertex.state_counts
    for state in (ExecutionState.FAILED, ExecutionState.CANCELING, ExecutionState.CANCELED):
        if counts[state]:
            return state
    order = list(ExecutionState)
    running = [state for state in counts if not state.is_terminal]
    if counts[ExecutionState.RUNNING] and all(
        state in (ExecutionState.RUNNING, ExecutionState.FINISHED) for state in counts
    ):
        return ExecutionState.RUNNING
    return min(running, key=order.index) if running else next(iter(counts), ExecutionState.CREATED)


def _counts_by_vertex(view: JobView) -> dict[str, int]:
    states = Counter(vertex_state(vertex) for vertex in view.vertices)
    return {name.upper(): number for name, number in _task_counts(states).items()}


def plan_of(view: JobView) -> dict[str, Any]:
    """The job graph in the form of the dashboard's graph."""
    ids = {vertex.id: vertex_id(vertex) for vertex in view.vertices}
    nodes = [
        {
            "id": vertex_id(vertex),
            "parallelism": vertex.parallelism,
            "operator": "",
            "operator_strategy": "",
            "description": "<br/>".join(
                f"{'+- ' * (number > 0)}{operator.name}" for number, operator in enumerate(vertex.operators)
            ),
            "inputs": [
                {
                    "num": number,
                    "id": ids[edge.source_vertex],
                    "ship_strategy": edge.partitioner,
                    "exchange": "blocking" if view.is_batch else "pipelined_bounded",
                }
                for number, edge in enumerate(edge for edge in view.edges if edge.target_vertex == vertex.id)
            ],
            "optimizer_properties": {},
        }
        for vertex in view.vertices
    ]
    return {"jid": view.job_id, "name": view.name, "type": _job_type(view), "nodes": nodes}


def _stream_graph(view: JobView) -> dict[str, Any]:
    try:
        return dict(json.loads(view.plan)) if view.plan else {"nodes": []}
    except ValueError:
        return {"nodes": []}


def plan(call: Call) -> Any:
    return {"plan": plan_of(call.job.view())}


def status(call: Call) -> Any:
    return {"status": call.job.view().status.name}


def config(call: Call) -> Any:
    view = call.job.view()
    configuration = view.configuration
    return {
        "jid": view.job_id,
        "name": view.name,
        "execution-config": {
            "restart-strategy": configuration.get("restart-strategy.type", "Cluster level default restart strategy"),
            "job-parallelism": view.parallelism,
            "object-reuse-mode": configuration.get("pipeline.object-reuse", "false") == "true",
            "user-config": _parameters(configuration),
        },
    }


def _parameters(configuration: Mapping[str, str]) -> dict[str, str]:
    from funke.engine.config import flink_options as options
    from funke.engine.config.settings import Settings

    return dict(Settings(configuration).get(options.GLOBAL_JOB_PARAMETERS))


def exceptions(call: Call) -> Any:
    view = call.job.view()
    most = call.query_integer("maxExceptions", _MOST_EXCEPTIONS, 1)
    failures = view.exceptions[:most]
    return {
        "exceptionHistory": {
            "entries": [exception_entry(view, each) for each in failures],
            "truncated": max(view.failures, len(view.exceptions)) > len(failures),
        }
    }


def exception_entry(view: JobView, failure: ExceptionView) -> dict[str, Any]:
    """A failure in the form of Flink's history of exceptions."""
    vertex = next((each for each in view.vertices if each.id == failure.vertex_id), None)
    task = None
    host = None
    if vertex is not None and failure.subtask is not None:
        task = f"{vertex.name} ({failure.subtask + 1}/{vertex.parallelism})"
        host = next((each.host for each in vertex.subtasks if each.subtask == failure.subtask), None)
    return {
        "exceptionName": failure.error_type,
        "stacktrace": f"{failure.message}\n{failure.traceback}".rstrip(),
        "timestamp": failure.timestamp_ms,
        "taskName": task,
        "endpoint": host,
        "taskManagerId": None if host is None else task_manager_id(view, host),
        "failureLabels": {},
        "concurrentExceptions": [],
        "attempt": failure.attempt,
        "operator": failure.operator,
        "operator-id": failure.operator_id,
        "user-line": failure.raising_line or failure.user_line,
        "record": failure.record or None,
    }


def accumulators(call: Call) -> Any:
    call.job.view()
    return {"job-accumulators": [], "user-task-accumulators": [], "serialized-user-task-accumulators": {}}


def execution_result(call: Call) -> Any:
    view = call.job.view()
    if not _is_ended(view):
        return {"status": {"id": "IN_PROGRESS"}}
    words = {JobStatus.FINISHED: "SUCCEEDED", JobStatus.CANCELED: "CANCELED"}
    result: dict[str, Any] = {
        "id": view.job_id,
        "application-status": words.get(view.status, "FAILED"),
        "accumulator-results": {},
        "net-runtime": _end_and_duration(view)[1],
    }
    if view.status is JobStatus.FAILED and view.exceptions:
        failure = view.exceptions[0]
        result["failure-cause"] = {"class": failure.error_type, "stack-trace": failure.message}
    return {"status": {"id": "COMPLETED"}, "job-execution-result": result}


def job_settings(call: Call) -> Any:
    return key_values(call.job.view().configuration)


def key_values(configuration: Mapping[str, str]) -> list[dict[str, str]]:
    """A configuration as Flink lists it."""
    return [{"key": key, "value": configuration[key]} for key in sorted(configuration)]


def client_heartbeat(call: Call) -> Any:
    job = call.job
    raise RestError(
        501, f"job {job.job_id} does not depend on its client: clients send no heartbeats, and none are expected"
    )


def _columns(names: Iterable[str]) -> dict[str, Any]:
    return dict.fromkeys(names, int)


_JOB_TIMES = {"start-time": int, "end-time": int, "duration": int}
PLAN = {
    "jid": str,
    "name": str,
    "type": str,
    "nodes": [
        {
            "id": str,
            "parallelism": int,
            "operator": str,
            "operator_strategy": str,
            "description": str,
            "inputs": [{"num": int, "id": str, "ship_strategy": str, "exchange": str}],
            "optimizer_properties": ANY,
        }
    ],
}
KEY_VALUES = [{"key": str, "value": str}]
EXCEPTION = {
    "exceptionName": str,
    "stacktrace": str,
    "timestamp": int,
    "taskName": Optional(str),
    "endpoint": Optional(str),
    "taskManagerId": Optional(str),
    "failureLabels": ANY,
    "concurrentExceptions": [ANY],
    "attempt": int,
    "operator": Optional(str),
    "operator-id": Optional(str),
    "user-line": Optional(str),
    "record": Optional(str),
}

ROUTES = (
    Route("GET", "/jobs", list_jobs, "All jobs and how they stand", {"jobs": [{"id": str, "status": str}]}),
    Route(
        "GET",
        "/jobs/overview",
        overview,
        "All jobs with times and tasks",
        {
            "jobs": [
                {
                    "jid": str,
                    "name": str,
                    "state": str,
                    **_JOB_TIMES,
                    "last-modification": int,
                    "tasks": {"total": int, **_columns(_TASK_STATES)},
                    "jobType": str,
                    "schedulerType": str,
                    "pending-operators": int,
                    "waiting-for": str,
                }
            ]
        },
    ),
    Route(
        "GET",
        "/jobs/{jobid}",
        details,
        "A job with its vertices and its plan",
        {
            "jid": str,
            "name": str,
            "isStoppable": bool,
            "state": str,
            "job-type": str,
            **_JOB_TIMES,
            "maxParallelism": int,
            "now": int,
            "timestamps": MapOf(int),
            "vertices": [
                {
                    "id": str,
                    "slotSharingGroupId": str,
                    "name": str,
                    "maxParallelism": int,
                    "parallelism": int,
                    "status": str,
                    **_JOB_TIMES,
                    "tasks": MapOf(int),
                    "metrics": IO_SHAPE,
                }
            ],
            "status-counts": MapOf(int),
            "plan": PLAN,
            "stream-graph": ANY,
            "schedulerType": str,
            "pending-operators": int,
            "application-id": str,
            "waiting-for": str,
            "bottleneck": Optional(
                {
                    "vertex": str,
                    "sentence": str,
                    "user-line": Optional(str),
                    "skew": Optional(float),
                    "key": Optional(str),
                    "key-share": Optional(float),
                    "is-held": bool,
                }
            ),
        },
    ),
    Route("GET", "/jobs/{jobid}/status", status, "How a job stands", {"status": str}),
    Route("GET", "/jobs/{jobid}/plan", plan, "The dataflow of a job", {"plan": PLAN}),
    Route(
        "GET",
        "/jobs/{jobid}/config",
        config,
        "What a job was started with",
        {
            "jid": str,
            "name": str,
            "execution-config": {
                "restart-strategy": str,
                "job-parallelism": int,
                "object-reuse-mode": bool,
                "user-config": MapOf(str),
            },
        },
    ),
    Route(
        "GET",
        "/jobs/{jobid}/exceptions",
        exceptions,
        "The last failures of a job, newest first",
        {"exceptionHistory": {"entries": [EXCEPTION], "truncated": bool}},
        query=(Parameter("maxExceptions", "how many at most", AtLeast(1)), Parameter("failureLabelFilter", "not used")),
    ),
    Route(
        "GET",
        "/jobs/{jobid}/accumulators",
        accumulators,
        "Accumulators; Python functions have metrics instead",
        {"job-accumulators": [ANY], "user-task-accumulators": [ANY], "serialized-user-task-accumulators": ANY},
        query=(Parameter("includeSerializedValue", "not used"),),
    ),
    Route(
        "GET",
        "/jobs/{jobid}/execution-result",
        execution_result,
        "How a job has ended",
        {"status": {"id": str}, "job-execution-result": Optional(ANY)},
    ),
    Route("GET", "/jobs/{jobid}/jobmanager/config", job_settings, "The job's configuration", KEY_VALUES),
    Route("PATCH", "/jobs/{jobid}/clientHeartbeat", client_heartbeat, "Rejected: no job waits for its client"),
)

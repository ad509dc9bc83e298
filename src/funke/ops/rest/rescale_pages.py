"""How often a job was given another parallelism, and what came of it, under Flink's names.

A job that is rescaled ends with a savepoint, and another one goes on from there: each of them shows the history of all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from funke.engine.config import rest_options as options
from funke.engine.config.settings import Settings
from funke.ops.rest.call import Call, RestError, Route
from funke.ops.rest.rescale_history import Rescale, RescalePhase, ScaledVertex
from funke.ops.rest.shapes import MapOf, OneOf, Optional
from funke.ops.rest.value_statistics import STATISTICS_SHAPE, statistics_of
from funke.ops.rest.vertex_metrics import vertex_id

__all__ = ["ROUTES"]

_STATES = ("COMPLETED", "FAILED", "IGNORED")


def overview(call: Call) -> Any:
    rescales = _history(call)
    return {
        "rescalesCounts": _counts(rescales),
        "latest": {
            state.lower(): _brief(next((each for each in rescales if _state(each) == state), None)) for state in _STATES
        },
    }


def history(call: Call) -> Any:
    return [_brief(each) for each in _history(call)]


def summary(call: Call) -> Any:
    rescales = _history(call)
    return {
        "rescalesCounts": _counts(rescales),
        "rescalesDurationStatsInMillis": _durations(each for each in rescales if _state(each) is not None),
        **{
            f"{state.lower()}RescalesDurationStatsInMillis": _durations(
                each for each in rescales if _state(each) == state
            )
            for state in _STATES
        },
    }


def details(call: Call) -> Any:
    rescale_id = call.path["rescaleuuid"]
    rescale = next((each for each in _history(call) if each.rescale_id == rescale_id), None)
    if rescale is None:
        raise RestError(404, f"There is no rescale {rescale_id[:100]} of job {call.path['jobid']}")
    return {
        **_entry(rescale),
        "vertices": _vertices(call, rescale),
        "slots": _slots(call, rescale),
        "schedulerStates": _spans(rescale),
    }


def config(call: Call) -> Any:
    # Only slots are waited for: a job is rescaled at a user's request.
    wait = Settings(call.job.record.configuration).get(options.SLOT_REQUEST_TIMEOUT)
    return {
        "rescaleHistoryMax": _require_history(call),
        "schedulerExecutionMode": None,
        "submissionResourceWaitTimeoutInMillis": wait.to_millis(),
        "submissionResourceStabilizationTimeoutInMillis": 0,
        "slotIdleTimeoutInMillis": 0,
        "executingCooldownTimeoutInMillis": 0,
        "executingResourceStabilizationTimeoutInMillis": 0,
        "maximumDelayForTriggeringRescaleInMillis": 0,
        "rescaleOnFailedCheckpointCount": 0,
    }


def _require_history(call: Call) -> int:
    job, rescales = call.job, call.cluster.rescales
    if rescales is None:
        raise RestError(404, f"Only the service (funke start-cluster) rescales jobs; job {job.job_id} is not its job")
    if rescales.kept <= 0:
        raise RestError(404, f"No history of rescales is kept: {options.RESCALE_HISTORY.key} is 0")
    return rescales.kept


def _history(call: Call) -> list[Rescale]:
    _require_history(call)
    assert call.cluster.rescales is not None
    return call.cluster.rescales.of(call.path["jobid"])


def _state(rescale: Rescale) -> str | None:
    """None while it is under way."""
    if rescale.ended_ms is None:
        return None
    return "FAILED" if rescale.has_failed else "COMPLETED"


def _counts(rescales: list[Rescale]) -> dict[str, int]:
    states = [_state(each) for each in rescales]
    return {
        "ignored": states.count("IGNORED"),
        "inProgress": states.count(None),
        "completed": states.count("COMPLETED"),
        "failed": states.count("FAILED"),
    }


def _durations(rescales: Iterable[Rescale]) -> dict[str, Any]:
    return statistics_of([each.ended_ms - each.phases[0].since_ms for each in rescales if each.ended_ms is not None])


def _brief(rescale: Rescale | None) -> dict[str, Any] | None:
    return None if rescale is None else {**_entry(rescale), "vertices": {}, "slots": {}, "schedulerStates": []}


def _entry(rescale: Rescale) -> dict[str, Any]:
    state = _state(rescale)
    return {
        "rescaleUuid": rescale.rescale_id,
        # Each request is a requirement of its own, and is tried once.
        "resourceRequirementsUuid": rescale.rescale_id,
        "rescaleAttemptId": 1,
        "startTimestampInMillis": rescale.phases[0].since_ms,
        "endTimestampInMillis": rescale.ended_ms,
        "terminalState": state,
        "triggerCause": "UPDATE_REQUIREMENT",
        "terminatedReason": {None: None, "COMPLETED": "SUCCEEDED"}.get(state, "EXCEPTION_OCCURRED"),
        "jobId": rescale.job_id,
        "successorJobId": rescale.successor,
    }


def _vertices(call: Call, rescale: Rescale) -> dict[str, Any]:
    after = _parallelisms(call, rescale)
    return {
        each.id: {
            "jobVertexId": each.id,
            "jobVertexName": each.name,
            "slotSharingGroupId": each.slot_sharing_group,
            "slotSharingGroupName": each.slot_sharing_group,
            # All of its subtasks are needed: a job does not start with fewer.
            "desiredParallelism": after.get(each.id, rescale.parallelism),
            "sufficientParallelism": after.get(each.id, rescale.parallelism),
            "preRescaleParallelism": each.parallelism,
            "postRescaleParallelism": after.get(each.id),
        }
        for each in rescale.vertices
    }


def _parallelisms(call: Call, rescale: Rescale) -> dict[str, int]:
    """Of the job that goes on, once it is planned."""
    job = call.cluster.jobs.find(rescale.successor) if rescale.successor is not None else None
    return {vertex_id(each): each.parallelism for each in job.view().vertices} if job is not None else {}


def _slots(call: Call, rescale: Rescale) -> dict[str, Any]:
    after = _parallelisms(call, rescale)
    groups: dict[str, list[ScaledVertex]] = {}
    for each in rescale.vertices:
        groups.setdefault(each.slot_sharing_group, []).append(each)
    return {group: _group(group, vertices, after, rescale.parallelism) for group, vertices in groups.items()}


def _group(group: str, vertices: list[ScaledVertex], after: dict[str, int], desired: int) -> dict[str, Any]:
    parallelisms = [after[each.id] for each in vertices if each.id in after]
    return {
        "slotSharingGroupId": group,
        "slotSharingGroupName": group,
        "requestResourceProfile": None,
        "desiredSlots": max(parallelisms, default=desired),
        "minimalRequiredSlots": max(parallelisms, default=desired),
        "preRescaleSlots": max(each.parallelism for each in vertices),
        "postRescaleSlots": max(parallelisms, default=None),
        "acquiredResourceProfile": None,
    }


def _spans(rescale: Rescale) -> list[dict[str, Any]]:
    def span(phase: RescalePhase) -> dict[str, Any]:
        return {
            "state": phase.state,
            "enterTimestampInMillis": phase.since_ms,
            "leaveTimestampInMillis": phase.until_ms,
            "durationInMillis": phase.until_ms - phase.since_ms if phase.until_ms is not None else None,
            "stringifiedException": phase.failure,
        }

    return [span(each) for each in rescale.phases]


_COUNTS = {"ignored": int, "inProgress": int, "completed": int, "failed": int}
_VERTEX = {
    "jobVertexId": str,
    "jobVertexName": str,
    "slotSharingGroupId": str,
    "slotSharingGroupName": str,
    "desiredParallelism": int,
    "sufficientParallelism": int,
    "preRescaleParallelism": Optional(int),
    "postRescaleParallelism": Optional(int),
}
_SLOTS = {
    "slotSharingGroupId": str,
    "slotSharingGroupName": str,
    "desiredSlots": int,
    "minimalRequiredSlots": int,
    "preRescaleSlots": Optional(int),
    "postRescaleSlots": Optional(int),
}
_SPAN = {
    "state": str,
    "enterTimestampInMillis": int,
    "leaveTimestampInMillis": Optional(int),
    "durationInMillis": Optional(int),
    "stringifiedException": Optional(str),
}
_RESCALE = {
    "rescaleUuid": str,
    "resourceRequirementsUuid": str,
    "rescaleAttemptId": int,
    "vertices": MapOf(_VERTEX),
    "slots": MapOf(_SLOTS),
    "schedulerStates": [_SPAN],
    "startTimestampInMillis": int,
    "endTimestampInMillis": Optional(int),
    "terminalState": Optional(OneOf(_STATES)),
    "triggerCause": str,
    "terminatedReason": Optional(str),
    "jobId": str,
    "successorJobId": Optional(str),
}
_CONFIG = {
    "rescaleHistoryMax": int,
    "schedulerExecutionMode": Optional(str),
    "submissionResourceWaitTimeoutInMillis": int,
    "submissionResourceStabilizationTimeoutInMillis": int,
    "slotIdleTimeoutInMillis": int,
    "executingCooldownTimeoutInMillis": int,
    "executingResourceStabilizationTimeoutInMillis": int,
    "maximumDelayForTriggeringRescaleInMillis": int,
    "rescaleOnFailedCheckpointCount": int,
}
_SUMMARY = {
    "rescalesCounts": _COUNTS,
    "rescalesDurationStatsInMillis": STATISTICS_SHAPE,
    **{f"{state.lower()}RescalesDurationStatsInMillis": STATISTICS_SHAPE for state in _STATES},
}
_OVERVIEW = {"rescalesCounts": _COUNTS, "latest": {state.lower(): Optional(_RESCALE) for state in _STATES}}

ROUTES = (
    Route(
        "GET",
        "/jobs/{jobid}/rescales/overview",
        overview,
        "How often a job was rescaled, and the last times",
        _OVERVIEW,
    ),
    Route(
        "GET", "/jobs/{jobid}/rescales/history", history, "Every time that is remembered, the newest first", [_RESCALE]
    ),
    Route("GET", "/jobs/{jobid}/rescales/summary", summary, "How long it took", _SUMMARY),
    Route("GET", "/jobs/{jobid}/rescales/config", config, "The settings behind it", _CONFIG),
    Route(
        "GET", "/jobs/{jobid}/rescales/details/{rescaleuuid}", details, "What became of vertices and slots", _RESCALE
    ),
)

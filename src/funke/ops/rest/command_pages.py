"""What can be asked of a job: to end, to write down its state, to go on with another parallelism."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.errors import FunkeError
from funke.engine.jobs.checkpoints.checkpoints import dispose_checkpoint
from funke.engine.jobs.checkpoints.savepoints import Afterwards
from funke.ops.rest.call import Answer, Call, Parameter, RestError, Route
from funke.ops.rest.job_directory import KnownJob
from funke.ops.rest.operations import TooManyOperations
from funke.ops.rest.shapes import ANY, AtLeast, MapOf, OneOf, Optional, Text
from funke.ops.rest.vertex_metrics import vertex_id

__all__ = ["ROUTES"]

_CHECKPOINT_TYPES = ("CONFIGURED", "FULL", "INCREMENTAL")
_TRIGGER = re.compile(r"[0-9a-fA-F]{1,64}")


def _running(call: Call) -> KnownJob:
    job = call.job
    if job.seen.status.is_globally_terminal_state():
        raise RestError(409, f"Job {job.job_id} has ended: {job.seen.status.name}")
    if not job.is_driven:
        raise RestError(503, f"The driver of job {job.job_id} is gone; `funke recover` goes on with the job")
    return job


def _begin(call: Call, kind: str, job_id: str, action: Callable[[], Any]) -> Answer:
    trigger = call.body_text("triggerId")
    if trigger is not None and not _TRIGGER.fullmatch(trigger):
        raise RestError(400, "'triggerId' must be a hexadecimal number")
    try:
        return Answer({"request-id": call.cluster.operations.begin(kind, job_id, trigger, action)}, 202)
    except TooManyOperations:
        raise RestError(503, "Too many operations are under way; try again later") from None


def _outcome(call: Call, kind: str, job_id: str, to_operation: Callable[[Any], dict[str, Any]]) -> Any:
    future = call.cluster.operations.outcome(kind, job_id, call.path["triggerid"])
    if future is None:
        raise RestError(404, f"There is no operation {call.path['triggerid'][:100]} of this kind")
    if not future.done():
        return {"status": {"id": "IN_PROGRESS"}, "operation": None}
    error = future.exception()
    operation = to_operation(future.result()) if error is None else {"failure-cause": _cause(error)}
    return {"status": {"id": "COMPLETED"}, "operation": operation}


def _cause(error: BaseException) -> dict[str, str]:
    return {"class": type(error).__name__, "stack-trace": str(error) or type(error).__name__}


# Cancelling


def cancel(call: Call) -> Any:
    mode = call.query.get("mode", "cancel")
    if mode != "cancel":
        raise RestError(
            400, f"'mode' must be 'cancel', got '{mode[:100]}'; POST /jobs/:jobid/stop ends a job with a savepoint"
        )
    # Not waited for: callers poll the job.
    _running(call).commanded().cancel()
    return Answer({}, 202)


# Log levels


def log_levels(call: Call) -> Any:
    levels = call.body.get("overrides") or {}
    if not (isinstance(levels, dict) and all(isinstance(each, str) for each in levels.values())):
        raise RestError(400, "'overrides' must be an object of logger names and levels")
    default = call.body_text("default")
    if default is None:
        raise RestError(400, "'default' must be a level, such as INFO or DEBUG")
    try:
        _running(call).commanded().set_log_levels(default, levels)
    except FunkeError as error:
        raise RestError(400, str(error)) from None
    return {}


# Savepoints and checkpoints


def _directory(text: str | None) -> str | None:
    """The driver may have another working folder than the service, so that a path must be whole."""
    if text is not None and "://" not in text and not text.startswith(("/", "file:")):
        raise RestError(400, f"The directory of a savepoint must be an absolute path or a URI, got '{text[:200]}'")
    return text


def _require_canonical(call: Call) -> None:
    kind = (call.body_text("formatType") or "CANONICAL").upper()
    if kind not in ("CANONICAL", "NATIVE"):
        raise RestError(400, f"'formatType' must be CANONICAL or NATIVE, got '{kind[:100]}'")
    if kind == "NATIVE":
        raise RestError(400, "Savepoints have one format, CANONICAL, which every state backend reads")


def savepoint(call: Call) -> Any:
    job, folder = _running(call), _directory(call.body_text("target-directory"))
    _require_canonical(call)
    commanded = job.commanded()
    is_last = call.body_boolean("cancel-job")

    def take() -> str:
        return commanded.savepoint(folder, "cancel" if is_last else "go on").result()

    return _begin(call, "savepoint", job.job_id, take)


def stop(call: Call) -> Any:
    job, folder = _running(call), _directory(call.body_text("targetDirectory"))
    _require_canonical(call)
    commanded = job.commanded()
    afterwards: Afterwards = "drain and stop" if call.body_boolean("drain") else "stop"
    return _begin(call, "savepoint", job.job_id, lambda: commanded.savepoint(folder, afterwards).result())


def savepoint_status(call: Call) -> Any:
    return _outcome(call, "savepoint", call.path["jobid"], lambda path: {"location": path})


def checkpoint(call: Call) -> Any:
    job = _running(call)
    kind = (call.body_text("checkpointType") or "CONFIGURED").upper()
    if kind not in _CHECKPOINT_TYPES:
        raise RestError(400, f"'checkpointType' must be one of {', '.join(_CHECKPOINT_TYPES)}, got '{kind[:100]}'")
    if kind == "INCREMENTAL" and not _is_incremental(job):
        raise RestError(409, "Checkpoints of this job are full ones: execution.checkpointing.incremental is not set")
    commanded = job.commanded()
    return _begin(call, "checkpoint", job.job_id, lambda: commanded.checkpoint(kind == "FULL").result())


def _is_incremental(job: KnownJob) -> bool:
    configured = Settings(job.record.configuration)
    is_rocksdb = str(configured.get(options.STATE_BACKEND)).lower().endswith("rocksdb")
    return is_rocksdb and bool(configured.get(options.INCREMENTAL_CHECKPOINTS))


def checkpoint_status(call: Call) -> Any:
    status = _outcome(call, "checkpoint", call.path["jobid"], lambda number: {"checkpointId": number})
    operation = status["operation"]
    # Flink's word for it, of checkpoints alone.
    if operation is not None and "failure-cause" in operation:
        status["operation"] = {"checkpointId": None, "failureCause": operation["failure-cause"]}
    return status


def dispose(call: Call) -> Any:
    path = call.body_text("savepoint-path")
    if not path:
        raise RestError(400, "'savepoint-path' is missing")
    folder = _directory(path) or ""
    return _begin(call, "disposal", "", lambda: dispose_checkpoint(folder))


def disposal_status(call: Call) -> Any:
    return _outcome(call, "disposal", "", lambda _: {})


# Another parallelism


def rescale(call: Call) -> Any:
    parallelism = call.query_integer("parallelism", 0, 1)
    if parallelism < 1:
        raise RestError(400, "'parallelism' is missing")
    job, programs = _running(call), call.cluster.programs
    if programs is None:
        raise RestError(503, "Only the service (funke start-cluster) rescales jobs: it runs their programs again")
    return _begin(call, "rescaling", job.job_id, lambda: programs.rescale(job.job_id, parallelism))


def rescaling_status(call: Call) -> Any:
    return _outcome(call, "rescaling", call.path["jobid"], lambda job_id: {"job-id": job_id})


def resource_requirements(call: Call) -> Any:
    view = call.job.view()
    return {
        vertex_id(vertex): {"parallelism": {"lowerBound": vertex.parallelism, "upperBound": vertex.parallelism}}
        for vertex in view.vertices
    }


def put_resource_requirements(call: Call) -> Any:
    _running(call)
    raise RestError(
        501, "A job keeps the parallelism that it was started with; PATCH /jobs/:jobid/rescaling starts it anew"
    )


_REQUEST_ID = {"request-id": str}
_OUTCOME = {"status": {"id": OneOf(("IN_PROGRESS", "COMPLETED"))}, "operation": Optional(ANY)}
_FORMAT = Optional(OneOf(("CANONICAL",)))
_TRIGGER_ID = Optional(Text(f"^{_TRIGGER.pattern}$"))
_LOCATION = Text("^(/|file:|[a-z0-9]+://)")

ROUTES = (
    Route(
        "PATCH",
        "/jobs/{jobid}",
        cancel,
        "Cancels a job",
        ANY,
        query=(Parameter("mode", "cancel", OneOf(("cancel",))),),
        status=202,
    ),
    Route(
        "POST",
        "/jobs/{jobid}/savepoints",
        savepoint,
        "Takes a savepoint; the job continues unless `cancel-job` is set",
        _REQUEST_ID,
        {
            "target-directory": Optional(_LOCATION),
            "cancel-job": Optional(bool),
            "formatType": _FORMAT,
            "triggerId": _TRIGGER_ID,
        },
        status=202,
    ),
    Route(
        "GET",
        "/jobs/{jobid}/savepoints/{triggerid}",
        savepoint_status,
        "What became of a savepoint, or of a stop",
        _OUTCOME,
    ),
    Route(
        "POST",
        "/jobs/{jobid}/stop",
        stop,
        "Ends a job with a savepoint",
        _REQUEST_ID,
        {
            "targetDirectory": Optional(_LOCATION),
            "drain": Optional(bool),
            "formatType": _FORMAT,
            "triggerId": _TRIGGER_ID,
        },
        status=202,
    ),
    Route(
        "PUT",
        "/funke/jobs/{jobid}/log-levels",
        log_levels,
        "From which level on the functions of a job log, until it ends: all of them, and those of named loggers",
        {},
        {"default": str, "overrides": Optional(MapOf(str))},
    ),
    Route(
        "POST",
        "/jobs/{jobid}/checkpoints",
        checkpoint,
        "Takes a checkpoint now; the next one by itself comes an interval later",
        _REQUEST_ID,
        {"checkpointType": Optional(OneOf(_CHECKPOINT_TYPES)), "triggerId": _TRIGGER_ID},
        status=202,
    ),
    Route("GET", "/jobs/{jobid}/checkpoints/{triggerid}", checkpoint_status, "What became of a checkpoint", _OUTCOME),
    Route(
        "POST",
        "/savepoint-disposal",
        dispose,
        "Removes a savepoint",
        _REQUEST_ID,
        {"savepoint-path": _LOCATION, "triggerId": _TRIGGER_ID},
        status=202,
    ),
    Route("GET", "/savepoint-disposal/{triggerid}", disposal_status, "What became of a removal", _OUTCOME),
    Route(
        "PATCH",
        "/jobs/{jobid}/rescaling",
        rescale,
        "Ends a job with a savepoint and starts its program anew from there with another parallelism",
        _REQUEST_ID,
        query=(Parameter("parallelism", "subtasks per operator", AtLeast(1), is_required=True),),
        status=202,
    ),
    Route("GET", "/jobs/{jobid}/rescaling/{triggerid}", rescaling_status, "What became of that", _OUTCOME),
    Route("GET", "/jobs/{jobid}/resource-requirements", resource_requirements, "The parallelism of vertices", ANY),
    Route("PUT", "/jobs/{jobid}/resource-requirements", put_resource_requirements, "Rejected: see rescaling", ANY, ANY),
)

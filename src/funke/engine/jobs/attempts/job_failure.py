"""From what went wrong, in a worker or in the driver, to the exception that tells the user."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import ParamSpec, TypeVar

from funke.engine.errors import FunkeError, JobExecutionError, SlotLostError
from funke.engine.graph.job_graph import ChainedOperator
from funke.engine.operators.operator import OperatorFailure
from funke.engine.runtime.epochs.results import Failure, describe, to_failure
from funke.engine.runtime.snapshots.state_restore import RestoreFailure

P = ParamSpec("P")
R = TypeVar("R")


class DamagedCheckpointError(JobExecutionError):
    """A slot could not read what the job is to be restored from."""


def named(operator: ChainedOperator, call: Callable[P, R]) -> Callable[P, R]:
    """The same call, made in the driver for an operator; a failure names the operator and the user's line."""

    @functools.wraps(call)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except JobExecutionError:
            raise
        except (Exception, SystemExit) as cause:
            failure = OperatorFailure(operator.location())
            failure.__cause__ = cause
            raise to_error(to_failure(failure)) from cause

    return guarded


def to_error(failure: Failure) -> JobExecutionError:
    """The exception for what a worker reported."""
    message = f"{failure.error_type}: {failure.message}" if failure.message else failure.error_type
    location = failure.location
    if location.user_line:
        message += f"\n  in your job: {location.user_line}"
    kind = SlotLostError if failure.is_slot_lost else JobExecutionError
    if failure.error_type == RestoreFailure.__name__:
        return DamagedCheckpointError(failure.message)
    error = kind(message, location.name or None, failure.traceback_text or None)
    error.error_type, error.user_line = failure.error_type, location.user_line
    error.operator_id, error.vertex_id, error.subtask = (
        location.operator_id or None,
        location.vertex_id,
        location.subtask,
    )
    error.slot, error.record = failure.slot, failure.record
    return error


def failure_of(failures: Iterable[Failure]) -> JobExecutionError:
    """What slots report as failed, as one exception; a lost slot is rather a consequence than a cause."""
    return to_error(min(failures, key=lambda failure: (failure.is_slot_lost, failure.is_consequence)))


def is_worker_loss(failure: BaseException) -> bool:
    """Whether a Spark process or a slot was lost, which is not the job's fault."""
    is_from_spark = type(failure).__module__.partition(".")[0] == "py4j"
    return is_from_spark or isinstance(failure, (SlotLostError, ConnectionError))


def to_job_error(cause: BaseException) -> FunkeError:
    """The exception for anything that ended a job."""
    if isinstance(cause, FunkeError):
        return cause
    kind, message = describe(cause)
    # Whatever else talks to a socket in the driver is a source, whose errors are named after it.
    if _is_connection_to_spark(kind, message) or isinstance(cause, ConnectionError):
        kind, message = "Spark", f"the connection to its process is lost ({message})"
    error = JobExecutionError(f"{kind}: {message}")
    error.__cause__ = cause
    return error


def _is_connection_to_spark(kind: str, message: str) -> bool:
    """Whether py4j has lost Java: some calls say so, others only that they failed, without anything from Java."""
    is_silent = kind == "Py4JError" and message.startswith("An error occurred while calling") and "\n" not in message
    return is_silent or kind == "Py4JNetworkError"

"""From what went wrong, in a worker or in the driver, to the exception that tells the user."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from funke.engine.errors import FunkeError, JobExecutionError, SlotLostError
from funke.engine.graph.job_graph import ChainedOperator
from funke.engine.operators.operator import OperatorFailure
from funke.engine.runtime.results import Failure, to_failure

P = ParamSpec("P")
R = TypeVar("R")

_JAVA_CLASS = re.compile(r"\b(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error): ")


def named(operator: ChainedOperator, call: Callable[P, R]) -> Callable[P, R]:
    """The same call, made in the driver for an operator; a failure names the operator and the user's line."""

    @functools.wraps(call)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except JobExecutionError:
            raise
        except Exception as cause:
            failure = OperatorFailure(operator.name, operator.user_line)
            failure.__cause__ = cause
            raise to_error(to_failure(failure)) from cause

    return guarded


def to_error(failure: Failure) -> JobExecutionError:
    """The exception for what a worker reported."""
    message = f"{failure.error_type}: {failure.message}" if failure.message else failure.error_type
    if failure.user_line:
        message += f"\n  in your job: {failure.user_line}"
    kind = SlotLostError if failure.is_slot_lost else JobExecutionError
    return kind(message, failure.operator_name or None, failure.traceback_text or None)


def to_job_error(cause: BaseException) -> FunkeError:
    """The exception for anything that ended a job; what Java has to say is cut down to its message."""
    if isinstance(cause, FunkeError):
        return cause
    java = getattr(cause, "java_exception", None)
    message = f"{type(cause).__name__}: {cause}" if java is None else f"Spark: {_without_stack(java.getMessage())}"
    error = JobExecutionError(message)
    error.__cause__ = cause
    return error


def _without_stack(text: Any) -> str:
    lines = itertools.takewhile(
        lambda line: not line.startswith(("\tat ", "Driver stacktrace:")), str(text).splitlines()
    )
    return _JAVA_CLASS.sub("", "\n".join(lines)).strip()

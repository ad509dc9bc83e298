"""Failures of tasks that Spark's own plans run: a text inside Spark's error message, from which the failure is read.

A task of an epoch gives its failure back as a row; one inside of a DataFrame can only raise.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any

from funke.engine.runtime.epochs.results import Failure, to_failure
from funke.engine.types.operator_location import OperatorLocation

__all__ = ["TaskFailure", "failure_in"]

_MARK = re.compile(r"\[funke-failure:([A-Za-z0-9+/=]+)\]")


class TaskFailure(Exception):
    """Raised in the task instead of what was raised there."""

    def __init__(self, error: BaseException, name: str) -> None:
        failure = to_failure(error)
        fields = [failure.location.name or name, failure.error_type, failure.message, failure.traceback_text]
        packed = base64.b64encode(json.dumps(fields).encode()).decode()
        super().__init__(f"{failure.error_type}: {failure.message} [funke-failure:{packed}]")


def failure_in(error: BaseException) -> Failure | None:
    """What a task has raised, if that is why Spark's job failed."""
    match = _MARK.search(str(error))
    if match is None:
        return None
    fields: list[Any] = json.loads(base64.b64decode(match[1]))
    name, error_type, message, traceback_text = map(str, fields)
    return Failure(OperatorLocation(name), error_type, message, traceback_text)

"""What comes back to the driver at the end of an epoch."""

from __future__ import annotations

import itertools
import os
import re
import traceback
from dataclasses import dataclass, field
from typing import Any

from funke.engine.errors import FunkeError
from funke.engine.operators.operator import OperatorFailure

_PACKAGE_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_SPARK_FILE = re.compile(r"[/\\](?:site|dist)-packages[/\\](?:pyspark|py4j)[/\\]")
_JAVA_STACK = ("\tat ", "Driver stacktrace:")
_JAVA_CLASS = re.compile(r"\b(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error): ")


@dataclass(frozen=True)
class Failure:
    """A user function (or the slot itself) failed."""

    operator_name: str
    user_line: str | None
    error_type: str
    message: str
    traceback_text: str
    is_slot_lost: bool = False
    # Where it happened; for an ingest task, the slot of the subtask that it reads for.
    slot: int | None = None


@dataclass(frozen=True)
class DriverMessage:
    """Something an operator or a sink sent to the driver on a channel."""

    channel: str
    subtask: int
    payload: Any


@dataclass(frozen=True)
class SubtaskReport:
    """How a subtask of a segment stands after the epoch."""

    segment_id: int
    subtask: int
    records_in: int
    records_out: int
    watermark: int
    next_wakeup_ms: int | None
    busy_ms: float
    metrics: dict[int, dict[str, Any]] = field(default_factory=dict)
    # Records are still being worked on: the job must not end yet, though all input may be read.
    has_unfinished: bool = False


@dataclass(frozen=True)
class IngestReport:
    """How a source subtask stands after the epoch: outcomes of its splits, and what it must be given next time."""

    segment_id: int
    subtask: int
    outcomes: tuple[Any, ...]
    carry: bytes | None
    watermark: int
    is_idle: bool
    records: int
    busy_ms: float
    next_wakeup_ms: int | None
    metrics: dict[int, dict[str, Any]] = field(default_factory=dict)


def to_failure(error: BaseException, slot: int | None = None) -> Failure:
    """Describes an exception with the part of its traceback that belongs to the user."""
    name, line = "", None
    cause: BaseException = error
    if isinstance(error, OperatorFailure):
        name, line = error.operator_name, error.user_line
        cause = error.__cause__ or error
    return Failure(name, line, *describe(cause), _user_traceback(cause), slot=slot)


def describe(error: BaseException) -> tuple[str, str]:
    """Type and message of an exception; of one that comes from Java, only its message."""
    java = getattr(error, "java_exception", None)
    return (type(error).__name__, str(error)) if java is None else ("Spark", _without_stack(java.getMessage()))


def _without_stack(text: Any) -> str:
    lines = itertools.takewhile(lambda line: not line.startswith(_JAVA_STACK), str(text).splitlines())
    return _JAVA_CLASS.sub("", "\n".join(lines)).strip()


def _user_traceback(error: BaseException) -> str:
    """The stack without the frames of Funke and PySpark; empty when none is left.

    An error that Funke itself or Spark raised says all there is to say: what led to it inside is left out.
    """
    described = traceback.TracebackException.from_exception(error)
    has_user_frames = _keep_user_frames(described)
    if isinstance(error, FunkeError) or hasattr(error, "java_exception"):
        frames = described.stack.format()
        return "".join(["Traceback (most recent call last):\n", *frames]) if frames else ""
    return "".join(described.format(chain=True)) if has_user_frames else ""


def _keep_user_frames(described: traceback.TracebackException) -> bool:
    own = [frame for frame in described.stack if not _is_internal(frame.filename)]
    described.stack = traceback.StackSummary.from_list(own)
    earlier = [other for other in (described.__cause__, described.__context__) if other is not None]
    return any([bool(own), *map(_keep_user_frames, earlier)])


def _is_internal(filename: str) -> bool:
    return os.path.abspath(filename).startswith(_PACKAGE_ROOT) or bool(_SPARK_FILE.search(filename))

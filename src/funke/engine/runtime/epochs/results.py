"""What comes back to the driver at the end of an epoch."""

from __future__ import annotations

import itertools
import os
import re
import traceback
from dataclasses import dataclass, field
from typing import Any

from funke.engine.errors import PACKAGE_ROOTS, FunkeError
from funke.engine.operators.operator import OperatorFailure
from funke.engine.operators.source import ReadReport
from funke.engine.runtime.monitoring.failed_records import failed_records
from funke.engine.types.operator_location import NOWHERE, OperatorLocation

_SPARK_FILE = re.compile(r"[/\\](?:site|dist)-packages[/\\](?:pyspark|py4j)[/\\]")
_JAVA_STACK = ("\tat ", "Driver stacktrace:")
_JAVA_CLASS = re.compile(r"\b(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error): ")
_CRASH_FILE = re.compile(r'  File "(.*)", line \d+ in ')
# What a user can read; some exceptions hold all the data that did not fit.
_MOST_MESSAGE = 8_000
_MOST_TRACEBACK = 16_000


@dataclass(frozen=True)
class Failure:
    """A user function (or the slot itself) failed."""

    location: OperatorLocation
    error_type: str
    message: str
    traceback_text: str
    is_slot_lost: bool = False
    # The slot has ended in order, because another one or the driver was gone.
    is_consequence: bool = False
    # Where it happened.
    slot: int | None = None
    # At which record, if that may be shown.
    record: str = ""


@dataclass(frozen=True)
class SubtaskReport:
    """How a subtask of a vertex stands after the epoch."""

    vertex_id: int
    subtask: int
    records_in: int
    records_out: int
    watermark: int
    next_wakeup_ms: int | None
    busy_ms: float
    metrics: dict[int, dict[str, Any]] = field(default_factory=dict)
    # Records are still being worked on: the job must not end yet, though all input may be read.
    has_unfinished: bool = False
    # Of a source.
    reading: ReadReport | None = None
    # Of the subtask as a whole, by Flink's names; in epochs only its share of the last one is known.
    task_metrics: dict[str, Any] = field(default_factory=dict)


def to_failure(error: BaseException, slot: int | None = None) -> Failure:
    """Describes an exception with the part of its traceback that belongs to the user."""
    location, cause = NOWHERE, error
    if isinstance(error, OperatorFailure):
        location, cause = error.location, error.__cause__ or error
    return Failure(location, *describe(cause), _user_traceback(cause), slot=slot, record=failed_records.text_of(cause))


def describe(error: BaseException) -> tuple[str, str]:
    """Type and message of an exception; of one that comes from Java, only its message."""
    java = _java_exception(error)
    text = _message_of(error) if java is None else _without_stack(java.getMessage())
    return "Spark" if java is not None else type(error).__name__, _bounded(text, _MOST_MESSAGE)


def _message_of(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException as second:  # it is the user's code, and may do anything
        return f"(its message cannot be had: its __str__ raised {type(second).__name__})"


def _java_exception(error: BaseException) -> Any:
    try:
        return getattr(error, "java_exception", None)
    except BaseException:  # the user's __getattr__
        return None


def _bounded(text: str, most: int) -> str:
    """The text, or its beginning and end if it is too long; always one that can be written."""
    if len(text) > most:
        left_out = len(text) - most
        text = f"{text[: most // 2]}\n… ({left_out} of {len(text)} characters left out) …\n{text[-(most // 2) :]}"
    return text.encode("utf-8", "backslashreplace").decode()


def _without_stack(text: Any) -> str:
    lines = itertools.takewhile(lambda line: not line.startswith(_JAVA_STACK), str(text).splitlines())
    return _JAVA_CLASS.sub("", "\n".join(lines)).strip()


def _user_traceback(error: BaseException) -> str:
    """The stack without the frames of Funke and PySpark; empty when none is left.

    An error that Funke itself or Spark raised says all there is to say: what led to it inside is left out.
    """
    try:
        described = traceback.TracebackException.from_exception(error)
        has_user_frames = _keep_user_frames(described)
        if isinstance(error, FunkeError) or _java_exception(error) is not None:
            frames = described.stack.format()
            text = "".join(["Traceback (most recent call last):\n", *frames]) if frames else ""
        else:
            text = "".join(described.format(chain=True)) if has_user_frames else ""
    except Exception:  # attributes of the user's exception that cannot be read
        return ""
    return _bounded(text, _MOST_TRACEBACK)


def user_part(crash: str) -> str:
    """What Python's fault handler wrote, without the frames of Funke."""
    files = ((line, _CRASH_FILE.match(line)) for line in crash.splitlines())
    return "\n".join(line for line, file in files if file is None or not _is_internal(file[1])).strip()


def _keep_user_frames(described: traceback.TracebackException) -> bool:
    own = [frame for frame in described.stack if not _is_internal(frame.filename)]
    described.stack = traceback.StackSummary.from_list(own)
    earlier = [other for other in (described.__cause__, described.__context__) if other is not None]
    return any([bool(own), *map(_keep_user_frames, earlier)])


def _is_internal(filename: str) -> bool:
    is_of_python = filename.startswith("<frozen ")
    return is_of_python or os.path.abspath(filename).startswith(PACKAGE_ROOTS) or bool(_SPARK_FILE.search(filename))

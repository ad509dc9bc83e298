"""What operators, sinks and slots tell the driver with the results of an epoch: one class for each thing to tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "CollectedRecords",
    "DriverMessage",
    "FeedbackRecords",
    "LogLine",
    "LoggedLines",
    "OperatorWarning",
    "PreparedCommits",
    "PrintedText",
    "SparkRecords",
]


class DriverMessage:
    """What all messages are; the driver rejects those it has no answer to."""


@dataclass(frozen=True)
class PrintedText(DriverMessage):
    """Text for the driver's standard output, or its standard error."""

    text: str
    is_error: bool = False


@dataclass(frozen=True)
class OperatorWarning(DriverMessage):
    """Something the user should know about an operator; the first warning of each is shown."""

    operator_id: str
    text: str


@dataclass(frozen=True)
class LogLine:
    """A line that a function logged: where, when, and which subtask of which operator ran then."""

    logger: str
    level: int
    text: str
    created_s: float
    # Empty when it was not an operator that logged: a source's reader, or a thread.
    operator: str = ""


@dataclass(frozen=True)
class LoggedLines(DriverMessage):
    """What was logged in a worker."""

    lines: tuple[LogLine, ...]


@dataclass(frozen=True)
class CollectedRecords(DriverMessage):
    """Records of a collect sink, for the reader of its results by that name."""

    name: str
    values: list[Any]


@dataclass(frozen=True)
class PreparedCommits(DriverMessage):
    """What a sink has prepared and wants to have committed."""

    operator_id: str
    committables: list[Any]


@dataclass(frozen=True)
class FeedbackRecords(DriverMessage):
    """Records that go back to the head of an iteration."""

    feedback_id: str
    values: list[Any]
    timestamps: list[int] | None


@dataclass(frozen=True)
class SparkRecords(DriverMessage):
    """Records, as an Arrow message, for a sink with which Spark writes."""

    sink_id: str
    content: bytes

"""What operators send to the driver: everything reaches whoever waits for it, and what nobody knows is an error."""

from __future__ import annotations

import io
import logging
from dataclasses import dataclass
from typing import Any

import pytest

from funke.engine.errors import JobExecutionError
from funke.engine.jobs.attempts.message_delivery import MessageDelivery
from funke.engine.jobs.attempts.progress import ProgressLine
from funke.engine.types.driver_messages import (
    CollectedRecords,
    DriverMessage,
    FeedbackRecords,
    LoggedLines,
    LogLine,
    OperatorWarning,
    PreparedCommits,
    PrintedText,
    SparkRecords,
)


class Receivers:
    """Keeps what was delivered."""

    def __init__(self) -> None:
        self.collected: list[CollectedRecords] = []
        self.feedback: list[tuple[str, Any]] = []
        self.written: list[tuple[list[bytes], int]] = []
        writers = {"table": lambda batches, epoch: self.written.append((batches, epoch))}
        progress = ProgressLine(io.StringIO())
        self.delivery = MessageDelivery(self.collected.append, self.take_feedback, writers, progress)

    def take_feedback(self, feedback_id: str, batch: Any) -> None:
        self.feedback.append((feedback_id, batch))

    def deliver(self, *results: Any, is_complete: bool = True) -> dict[str, list[Any]]:
        return self.delivery.deliver(results, 7, is_complete)


def test_the_first_warning_of_an_operator_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    receivers = Receivers()
    for text, operator_id in (("first of a", "a"), ("second of a", "a"), ("first of b", "b"), ("third of a", "a")):
        receivers.deliver(OperatorWarning(operator_id, text))
    assert capfd.readouterr().err == "warning: first of a\nwarning: first of b\n"


def test_printed_and_logged_lines_come_in_order(capfd: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("test-of-driver-messages")
    logger.propagate = False  # as in a program that has not set up logging
    line = LogLine(logger.name, logging.INFO, "hello", 0.0, "Map (1/2)")
    Receivers().deliver(PrintedText("one\n"), "no message", LoggedLines((line,)), PrintedText("two\n"))
    out, err = capfd.readouterr()
    assert out == "one\ntwo\n"
    assert err.endswith("Map (1/2): hello\n")


def test_records_reach_those_who_wait_for_them() -> None:
    receivers = Receivers()
    receivers.deliver(CollectedRecords("result", [1]), FeedbackRecords("loop", [2], None))
    assert receivers.collected == [CollectedRecords("result", [1])]
    assert receivers.feedback == [("loop", ([2], None))]


def test_committables_are_gathered_by_operator_and_epoch() -> None:
    receivers = Receivers()
    messages = PreparedCommits("a", [1]), PreparedCommits("b", [2]), PreparedCommits("a", [3])
    assert receivers.deliver(*messages) == {"a": [1, 3], "b": [2]}
    assert receivers.deliver() == {}


def test_spark_writes_an_epoch_once_it_is_complete() -> None:
    receivers = Receivers()
    receivers.deliver(SparkRecords("table", b"lost"), is_complete=False)
    receivers.deliver(SparkRecords("table", b"1"), SparkRecords("table", b"2"))
    assert receivers.written == [([b"1", b"2"], 7)]


@dataclass(frozen=True)
class Rumour(DriverMessage):
    text: str


def test_a_message_that_nobody_takes_is_an_error() -> None:
    with pytest.raises(JobExecutionError, match="the driver has no receiver for messages of type Rumour"):
        Receivers().deliver(Rumour("psst"))

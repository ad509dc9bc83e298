"""Hands what slots tell the driver to those who wait for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from funke.engine.connectors.source import Batch
from funke.engine.errors import JobExecutionError
from funke.engine.jobs.attempts.progress import ProgressLine
from funke.engine.runtime.monitoring.worker_logs import log_in_driver
from funke.engine.types.driver_messages import (
    CollectedRecords,
    DriverMessage,
    FeedbackRecords,
    LoggedLines,
    OperatorWarning,
    PreparedCommits,
    PrintedText,
    SparkRecords,
)

__all__ = ["EpochWriter", "MessageDelivery"]

# Writes what slots sent to a Spark sink in one epoch: (Arrow messages, epoch).
EpochWriter = Callable[[list[bytes], int], None]


class MessageDelivery:
    """The receivers of messages, by what the message is."""

    def __init__(
        self,
        collect: Callable[[CollectedRecords], None],
        take_feedback: Callable[[str, Batch], None],
        epoch_writers: Mapping[str, EpochWriter],
        progress: ProgressLine,
    ) -> None:
        self._take_feedback = take_feedback
        self._epoch_writers = epoch_writers
        self._progress = progress
        self._warned: set[str] = set()
        self._prepared: dict[str, list[Any]] = {}
        self._for_spark: dict[str, list[bytes]] = {}
        self._receivers: dict[type[DriverMessage], Callable[[Any], None]] = {
            PrintedText: self._print,
            OperatorWarning: self._warn,
            LoggedLines: self._log,
            CollectedRecords: collect,
            PreparedCommits: self._prepare,
            FeedbackRecords: self._feed_back,
            SparkRecords: self._keep_for_spark,
        }

    def deliver(self, results: Iterable[Any], epoch: int, is_complete: bool = True) -> dict[str, list[Any]]:
        """Hands on the messages among an epoch's results; returns what sinks want to have committed, by operator id.

        Spark writes nothing of an epoch that has failed: the job may run it again.
        """
        self._prepared, self._for_spark = {}, {}
        for result in results:
            if isinstance(result, DriverMessage):
                self._receiver_of(result)(result)
        sys.stdout.flush()
        for sink_id, batches in self._for_spark.items() if is_complete else ():
            self._epoch_writers[sink_id](batches, epoch)
        return self._prepared

    def _receiver_of(self, message: DriverMessage) -> Callable[[Any], None]:
        receiver = self._receivers.get(type(message))
        if receiver is None:
            raise JobExecutionError(f"the driver has no receiver for messages of type {type(message).__name__}")
        return receiver

    def _print(self, message: PrintedText) -> None:
        self._progress.clear()
        (sys.stderr if message.is_error else sys.stdout).write(message.text)

    def _warn(self, message: OperatorWarning) -> None:
        # Its other subtasks and later epochs have the same to say.
        if message.operator_id not in self._warned:
            self._warned.add(message.operator_id)
            self._progress.clear()
            sys.stderr.write(f"warning: {message.text}\n")

    def _log(self, message: LoggedLines) -> None:
        self._progress.clear()
        for line in message.lines:
            log_in_driver(line)

    def _prepare(self, message: PreparedCommits) -> None:
        self._prepared.setdefault(message.operator_id, []).extend(message.committables)

    def _feed_back(self, message: FeedbackRecords) -> None:
        self._take_feedback(message.feedback_id, (message.values, message.timestamps))

    def _keep_for_spark(self, message: SparkRecords) -> None:
        self._for_spark.setdefault(message.sink_id, []).append(message.content)

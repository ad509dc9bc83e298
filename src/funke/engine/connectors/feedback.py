"""The feedback edge of an iteration: what a sink sends to the driver, a source reads; in epochs, in the next one.

The driver takes any number of records, so that those who go round never wait for each other.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from funke.engine.connectors.sink import Sink, SinkWriter, WriterContext
from funke.engine.connectors.source import Batch, Source, Split, SplitEnumerator, SplitReader
from funke.engine.types.driver_messages import FeedbackRecords

__all__ = ["FeedbackEnumerator", "FeedbackSink", "FeedbackSource"]


class FeedbackSource(Source):
    """The head of an iteration; it is over when all other input is, and nothing circulates any more."""

    fixed_parallelism = 1
    is_feedback = True

    def __init__(self, feedback_id: str) -> None:
        self.feedback_id = feedback_id

    def create_enumerator(self, parallelism: int, restored: Any = None) -> FeedbackEnumerator:
        """Nothing circulates yet, or what an earlier enumerator held."""
        return FeedbackEnumerator(self.feedback_id, list(restored or ()))

    def create_reader(self) -> SplitReader:
        """Records travel in the splits."""
        return _FeedbackReader()


@dataclass
class FeedbackEnumerator(SplitEnumerator):
    """Holds what came back until the head can read it."""

    feedback_id: str
    _waiting: list[Batch] = field(default_factory=list)
    _is_over: bool = False

    def offer(self, batch: Batch) -> None:
        """Takes records that came back."""
        self._waiting.append(batch)
        self._is_over = False

    def end_round(self, is_input_over: bool) -> None:
        """What was on its way has come through; `is_input_over` says that other sources had nothing left before it."""
        self._is_over = is_input_over and not self._waiting

    @property
    def has_waiting(self) -> bool:
        """Whether something is to be read."""
        return bool(self._waiting)

    def poll(self, max_records: int) -> list[Split]:
        """Everything that came back since the last time."""
        waiting, self._waiting = self._waiting, []
        return [Split("feedback", batch, is_last=False, weight=len(batch[0])) for batch in waiting]

    @property
    def is_finished(self) -> bool:
        """True when nothing circulates and nothing will."""
        return self._is_over

    def snapshot(self) -> Any:
        """What circulates."""
        return list(self._waiting)


class _FeedbackReader(SplitReader):
    # Records of an iteration carry no watermarks: event time is that of the other input.
    is_always_idle = True

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        yield split.payload


@dataclass(frozen=True)
class FeedbackSink(Sink):
    """The end of an iteration's body."""

    feedback_id: str

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        """Makes the writer of one subtask."""
        return _FeedbackWriter(context, self.feedback_id)


class _FeedbackWriter(SinkWriter):
    def __init__(self, context: WriterContext, feedback_id: str) -> None:
        self._send = context.send_to_driver
        self._feedback_id = feedback_id

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._send(FeedbackRecords(self._feedback_id, values, timestamps))

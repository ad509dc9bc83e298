"""The sink interface: a writer in the slot, and a committer in the driver for what must become visible at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from funke.engine.types.type_information import TypeInformation


@dataclass(frozen=True)
class WriterContext:
    """What a writer may know of its place in the job.

    `send_to_driver(channel, payload)` carries an object to the driver with the results of the epoch; channels are
    `stdout` (text), `stderr` (text) and `collect:<name>` (a list of values).
    """

    job_id: str
    subtask: int
    parallelism: int
    attempt: int
    input_type: TypeInformation | None
    now_ms: Callable[[], int]
    send_to_driver: Callable[[str, Any], None]


class SinkWriter(ABC):
    """Takes the records of one subtask."""

    @abstractmethod
    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Takes a batch in order."""

    def flush(self, end_of_input: bool) -> None:
        """Called at the end of every epoch: nothing may stay in a buffer that a reader should see."""

    def prepare_commit(self) -> list[Any]:
        """Called at a checkpoint and at the end of input: finishes what is written; returns committables."""
        return []

    def snapshot(self) -> Any:
        """State to give to `create_writer` after a restart."""
        return None

    def next_wakeup_ms(self) -> int | None:
        """When the writer wants `on_processing_time` to be called."""
        return None

    def on_processing_time(self, now_ms: int) -> None:
        """Time has passed."""

    def close(self) -> None:
        """Releases what it holds."""


class Committer(ABC):
    """Makes prepared output visible; committing twice must do no harm."""

    @abstractmethod
    def commit(self, committables: list[Any]) -> None:
        """Makes everything visible."""


class Sink(ABC):
    """Something to write to; is pickled into slots."""

    # True for sinks that keep nothing and can run in any task.
    runs_in_ingest: bool = False

    @abstractmethod
    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        """Makes the writer of one subtask."""

    def create_committer(self) -> Committer | None:
        """The committer, if writing has two phases."""
        return None

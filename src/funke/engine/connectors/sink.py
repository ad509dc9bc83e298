"""The sink interface: a writer in the slot, and a committer in the driver for what must become visible at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch
    from funke.engine.types.driver_messages import DriverMessage
    from funke.engine.types.information.type_information import TypeInformation


@dataclass(frozen=True)
class WriterContext:
    """What a writer may know of its place in the job; messages travel to the driver with the epoch's results."""

    job_id: str
    subtask: int
    parallelism: int
    attempt: int
    input_type: TypeInformation | None
    now_ms: Callable[[], int]
    send_to_driver: Callable[[DriverMessage], None]
    # The name of the sink's state in checkpoints: the same in every attempt.
    operator_id: str = "sink"
    # Where data may wait for its commit, within reach of the driver; None when the job takes no checkpoints.
    staging_folder: str | None = None
    # The checkpoint that the job starts from.
    restored_checkpoint_id: int | None = None
    # Whether the job runs in epochs: then a writer hears of a checkpoint only when the next epoch begins.
    has_epochs: bool = False


class SinkWriter(ABC):
    """Takes the records of one subtask."""

    @abstractmethod
    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Takes a batch in order."""

    def write_columns(self, batch: ColumnBatch) -> None:
        """Takes a batch of columns, if the sink does."""
        raise NotImplementedError

    def write_watermark(self, watermark: int) -> None:
        """No row with an earlier event time will come."""

    def flush(self, end_of_input: bool) -> None:
        """Called at the end of every epoch: nothing may stay in a buffer that a reader should see."""

    def prepare_commit(self) -> list[Any]:
        """Called at a checkpoint and at the end of input: finishes what is written; returns committables."""
        return []

    def prepare_snapshot(self, checkpoint_id: int) -> None:
        """A checkpoint begins; `prepare_commit` and `snapshot` follow."""

    def snapshot(self) -> Any:
        """State to give to `create_writer` after a restart; called right after `prepare_commit`, in the slot itself."""
        return None

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """A checkpoint that the writer took part in is complete."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """A checkpoint that the writer took part in was given up."""

    @property
    def awaits_commit(self) -> bool:
        """Whether the writer itself commits, and has not heard yet that it may: then it is not closed before."""
        return False

    def next_wakeup_ms(self) -> int | None:
        """When the writer wants `on_processing_time` to be called."""
        return None

    def on_processing_time(self, now_ms: int) -> None:
        """Time has passed."""

    def close(self) -> None:
        """Releases what it holds."""


class SlotCommit(ABC):
    """A committable that its writer commits in the slot, when it hears that the checkpoint is complete.

    Its writer puts it among the committables of every checkpoint until then; the committer makes up for a slot that
    died before it came to it.
    """

    @abstractmethod
    def inlined(self) -> SlotCommit:
        """The same without files of the job's own."""

    @abstractmethod
    def awaited(self) -> SlotCommit:
        """The same, to be committed when `commit` returns: the job is about to end."""


class RetryCommitError(Exception):
    """A commit that is to be tried again, with what is left to commit."""

    def __init__(self, reason: str, left: list[Any]) -> None:
        super().__init__(reason)
        self.left = left


class Committer(ABC):
    """Makes prepared output visible; lives in the driver. Committing twice must do no harm.

    An epoch's output is committed after its checkpoint is complete. A crash in between, or in the middle of it, is made
    up for by `recover`: how much of it was committed before is not known then.
    """

    @abstractmethod
    def commit(self, committables: list[Any]) -> None:
        """Makes everything visible."""

    def commit_epoch(self, epoch: int, committables: list[Any]) -> None:
        """Makes visible what an epoch and those before it have prepared; the number is the same in `recover`."""
        self.commit(committables)

    def recover(self, epoch: int, committables: list[Any]) -> None:
        """Commits what the checkpoint of an epoch holds, all of which may have been committed before."""
        self.commit_epoch(epoch, committables)


class Sink(ABC):
    """Something to write to; is pickled into slots."""

    # Spark does the writing, once for each epoch.
    is_spark: bool = False
    # Whether its writers take batches of columns as well as of rows.
    takes_columns: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """Folders and addresses that its writers write to."""
        return ()

    @abstractmethod
    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        """Makes the writer of one subtask."""

    def create_committer(self) -> Committer | None:
        """The committer, if writing has two phases."""
        return None

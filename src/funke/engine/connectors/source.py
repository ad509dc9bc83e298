"""The source interface: an enumerator in the driver hands out splits, a reader in each source subtask reads them.

Where a source stands is the enumerator's state and what its readers have not read of the splits they were given, so a
checkpoint that keeps both, and a restart that gives them back, read every record once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch
    from funke.engine.types.information.type_information import TypeInformation

# A batch is a list of values with their event timestamps in milliseconds (None when the source knows none).
Batch = tuple[list, list | None]  # type: ignore[type-arg]


@dataclass(frozen=True)
class Split:
    """A bounded piece of input.

    Splits with the same `id` are pieces of one ongoing split (a Kafka partition, read bit by bit): they stay with one
    source subtask and share a watermark. `is_last` says that no further piece of this id will come; then its
    watermark stops counting. `weight` is a guess of its number of records, used to spread splits evenly.
    """

    id: str
    payload: Any
    is_last: bool = True
    weight: int = 1
    # What was read of it does not come again: a checkpoint need not hold it, and a restart gives it out anew.
    is_live: bool = False
    # It goes on until the job ends: a reader with a time limit stops in the middle of it.
    is_endless: bool = False


@dataclass(frozen=True)
class ReadOutcome:
    """A split was read to its end: how many records it had, and what the reader's generator returned."""

    split: Split
    records: int
    result: Any = None


class SplitReader(ABC):
    """Reads splits, one after the other; a pickled copy lives in each source subtask as long as the job's attempt."""

    # A subtask that has never had a split does not hold back event time, unless every one gets some sooner or later.
    is_never_idle: bool = False
    # Its records carry no event time of their own: that of other inputs counts.
    is_always_idle: bool = False
    # Whether splits are read side by side: whichever has something next has its turn.
    is_concurrent: bool = False
    # May be called by any thread when there is something to read again.
    wake: Callable[[], None] = staticmethod(lambda: None)

    @property
    def has_more(self) -> bool:
        """Whether to go on reading now; one that waits for others calls `wake` when that has changed."""
        return True

    def await_records(self, seconds: float) -> None:
        """Waits until there is more to read, for those whose epoch waits for it."""

    def has_records(self, split: Split) -> bool:
        """Whether there is something to read of a split now, for readers that are concurrent."""
        return True

    def prepare(self, splits: list[Split]) -> None:
        """Called with splits that will be read; a reader may begin to fetch them."""

    def open(self) -> None:
        """Called once in the slot, before the first split; connections that are opened here stay open."""

    def close(self) -> None:
        """Called once at the end, also after a failure."""

    @abstractmethod
    def read(self, split: Split) -> Generator[Batch, None, Any]:
        """Yields batches of some ten thousand records; what it returns is handed to the enumerator's `report`."""

    def read_columns(self, split: Split) -> Generator[ColumnBatch, None, Any] | None:
        """The same records in the same order as columns, for receivers that want them; None if it cannot."""
        return None

    def behind(self, split: Split, records: int) -> Split | None:
        """What is left of a split behind its first records, if that is known without reading them again."""
        return split if records == 0 else None

    def rest(self, split: Split, records: int) -> Split | None:
        """What is left of a split that is being read, behind its first records; None if only their number is known."""
        return None

    def note(self, checkpoint_id: int, rests: list[Split]) -> None:
        """A checkpoint begins, and this is what is left of the splits that are being read."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """A checkpoint that the reader took part in is complete."""

    def metrics(self) -> dict[str, Any]:
        """What a reader has to say beyond the number of records."""
        return {}


class SplitEnumerator(ABC):
    """Discovers what there is to read; runs in the driver."""

    # May be called by any thread when there is something to poll; until then the driver asks now and then.
    wake: Callable[[], None] = staticmethod(lambda: None)

    @abstractmethod
    def poll(self, max_records: int) -> list[Split]:
        """The next splits, together about `max_records` records; empty when there is nothing to read just now."""

    @property
    @abstractmethod
    def is_finished(self) -> bool:
        """True once no split will ever come again."""

    def report(self, outcome: ReadOutcome) -> None:
        """Called after the epoch for every split that was read."""

    @property
    def is_processing_backlog(self) -> bool:
        """Whether what is read now is old data, during which checkpoints may come at another pace."""
        return False

    def next_poll_ms(self) -> int:
        """How long the driver may wait before it asks again when nothing was there."""
        return 50

    def note(self, checkpoint_id: int) -> None:
        """A checkpoint begins, for which `snapshot` is called next."""

    def snapshot(self) -> Any:
        """The position after everything that was polled, for a checkpoint."""
        return None

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """The checkpoint that a snapshot was taken for is complete."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """The checkpoint that a snapshot was taken for was given up."""

    def close(self) -> None:
        """Releases what it holds."""


class Source(ABC):
    """Something to read from; stays in the driver."""

    is_bounded: bool = True
    # Spark plans the reading: the rows of a DataFrame come to the readers as Arrow batches.
    is_spark: bool = False
    # What it reads is what its own job has sent back.
    is_feedback: bool = False
    # Sources that cannot be read in parallel (collections, sockets) say 1.
    fixed_parallelism: int | None = None
    produced_type: TypeInformation | None = None
    # What no other source of a job can read at the same time, in words: the replication slot of a database.
    sole_reader_of: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Files, folders and addresses that its readers open."""
        return ()

    @abstractmethod
    def create_enumerator(self, parallelism: int, restored: Any = None) -> SplitEnumerator:
        """Starts enumerating, from `restored` (an earlier `snapshot`) if given."""

    def create_live_enumerator(self) -> SplitEnumerator | None:
        """For jobs that stream: one whose reader connects by itself and reads as records come, if there is one."""
        return None

    @abstractmethod
    def create_reader(self) -> SplitReader:
        """The reader to send to the slots."""

"""Sources that users write: which splits there are, and how to read one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from funke.engine.connectors.source import Batch, ReadOutcome, Source, Split, SplitEnumerator, SplitReader
from funke.engine.errors import SourceError
from funke.engine.formats.file_format import BATCH_RECORDS
from funke.engine.operators.time.clock import Clock, SystemClock
from funke.engine.state.checkpointed import CheckpointListener

__all__ = ["PythonSource", "ResumablePythonSource"]


class PythonSource(Source):
    """A source of splits that are read whole.

    `enumerate_splits` says what there is to read; it runs in the driver. `read_split` reads one of it; it runs in a
    slot, to which this object is pickled. Connections that many splits share are made in `open`, which runs there too.

    >>> from funke.common import WatermarkStrategy
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors.python import PythonSource
    >>> class Letters(PythonSource):
    ...     def enumerate_splits(self):
    ...         return ["abc", "xyz"]
    ...     def read_split(self, split):
    ...         yield from split
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> letters = env.from_source(Letters(), WatermarkStrategy.no_watermarks(), "letters")
    >>> sorted(letters.execute_and_collect())
    ['a', 'b', 'c', 'x', 'y', 'z']

    With `with_timestamps = True`, `read_split` yields pairs of a value and its event time in milliseconds. With
    `is_bounded = False`, `enumerate_splits` is called again and again; splits that it has named before are left out.
    """

    with_timestamps: bool = False
    # How often an unbounded source looks for new splits.
    discovery_interval_ms: int = 1000
    # A first guess, to decide how many splits make up an epoch; later on, what the splits really had counts.
    records_per_split: int = 10_000
    clock: Clock = SystemClock()

    @abstractmethod
    def enumerate_splits(self) -> Iterable[Any]:
        """Return the splits: any values that can be pickled."""

    @abstractmethod
    def read_split(self, split: Any) -> Iterable[Any]:
        """Return the records of a split."""

    def open(self) -> None:
        """Prepare to read splits: called once in every subtask that reads."""

    def close(self) -> None:
        """Release what `open` has made."""

    def is_processing_backlog(self) -> bool:
        """Return whether old data is being read, during which checkpoints may come at another pace.

        The pace is `execution.checkpointing.interval-during-backlog`; this method runs in the driver.
        """
        return False

    def split_id(self, split: Any) -> str:
        """Return the name of a split, different for every split and the same after a restart."""
        return repr(split)

    def create_enumerator(self, parallelism: int, restored: Any = None) -> SplitEnumerator:
        """Start enumerating."""
        return PythonSplitEnumerator(self, parallelism, restored)

    def create_reader(self) -> SplitReader:
        """Return the reader that calls `read_split`."""
        return PythonSplitReader(self)


class ResumablePythonSource(PythonSource):
    """A source of splits that are read piece by piece, and may have no end.

    `read_split` gets the position from which to go on, None at first. It yields the records that are there, not too
    many at once, and *returns* the next position, or `END` when the split has ended. The position is kept in
    checkpoints.

    >>> from funke.common import WatermarkStrategy
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors.python import ResumablePythonSource
    >>> class Countdown(ResumablePythonSource):
    ...     def enumerate_splits(self):
    ...         return [3]
    ...     def read_split(self, split, position=None):
    ...         number = split if position is None else position
    ...         yield number
    ...         return number - 1 if number > 1 else self.END
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> numbers = env.from_source(Countdown(), WatermarkStrategy.no_watermarks(), "countdown")
    >>> list(numbers.execute_and_collect())
    [3, 2, 1]
    """

    END: Any = "__end_of_split__"
    # How long a split that had no records is left alone.
    idle_interval_ms: int = 100

    @abstractmethod
    def read_split(self, split: Any, position: Any = None) -> Generator[Any, None, Any]:
        """Yield records from a position on and return the next position."""

    def create_enumerator(self, parallelism: int, restored: Any = None) -> SplitEnumerator:
        """Start enumerating, from the positions of an earlier enumerator."""
        return ResumableSplitEnumerator(self, parallelism, restored)

    def create_reader(self) -> SplitReader:
        """Return the reader that calls `read_split`."""
        return ResumableSplitReader(self)


@dataclass
class SplitPositions:
    """Where a user's source stands: the snapshot of its enumerators."""

    known: frozenset[str] = frozenset()
    waiting: dict[str, Any] = field(default_factory=dict)
    # Resumable splits only: by id, the split and the next position.
    open: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    has_enumerated: bool = False


class PythonSplitEnumerator(SplitEnumerator):
    """Asks the user's source for splits and hands out each of them once."""

    def __init__(self, source: PythonSource, parallelism: int, restored: SplitPositions | None) -> None:
        state = restored or SplitPositions()
        self._source = source
        self._seen_splits = set(state.known)
        self._waiting = dict(state.waiting)
        self._has_enumerated = state.has_enumerated
        self._next_enumeration_ms = 0
        self._parallelism = parallelism
        self._records_per_split = float(source.records_per_split)

    def poll(self, max_records: int) -> list[Split]:
        """Return the next splits."""
        self._enumerate_when_due()
        weight = max(1, round(self._records_per_split))
        ids = list(islice(self._waiting, max(self._parallelism, max_records // weight)))
        return [Split(split_id, self._waiting.pop(split_id), weight=weight) for split_id in ids]

    def _enumerate_when_due(self) -> None:
        now = self._source.clock.now_ms()
        is_due = not self._source.is_bounded and now >= self._next_enumeration_ms
        if self._has_enumerated and not is_due:
            return
        self._has_enumerated = True
        self._next_enumeration_ms = now + self._source.discovery_interval_ms
        for split in self._source.enumerate_splits():
            split_id = self._source.split_id(split)
            if split_id not in self._seen_splits:
                self._seen_splits.add(split_id)
                self._waiting[split_id] = split

    def report(self, outcome: ReadOutcome) -> None:
        """Learn how many records a split has."""
        self._records_per_split = (self._records_per_split * 3 + outcome.records) / 4

    @property
    def is_finished(self) -> bool:
        """True when all splits have been handed out and no more are looked for."""
        return self._source.is_bounded and self._has_enumerated and not self._waiting

    @property
    def is_processing_backlog(self) -> bool:
        """Ask the user's source."""
        return self._source.is_processing_backlog()

    def next_poll_ms(self) -> int:
        """Wait until new splits are looked for."""
        return max(1, self._next_enumeration_ms - self._source.clock.now_ms())

    def snapshot(self) -> SplitPositions:
        """Return the splits that are left and those that are known."""
        return SplitPositions(frozenset(self._seen_splits), dict(self._waiting), {}, self._has_enumerated)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Tell the user's source, if it wants to know."""
        if isinstance(self._source, CheckpointListener):
            self._source.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Tell the user's source, if it wants to know."""
        if isinstance(self._source, CheckpointListener):
            self._source.notify_checkpoint_aborted(checkpoint_id)


@dataclass(frozen=True)
class Piece:
    """What is handed out of a resumable split: everything from a position on; nothing when the split is over."""

    split: Any
    position: Any
    is_over: bool = False


class ResumableSplitEnumerator(PythonSplitEnumerator):
    """Hands out the next piece of every split that is not being read, and keeps the positions.

    A position is known once a piece was read, so a snapshot is taken after the pieces of an epoch were reported.
    """

    _source: ResumablePythonSource

    def __init__(self, source: ResumablePythonSource, parallelism: int, restored: SplitPositions | None) -> None:
        super().__init__(source, parallelism, restored)
        self._open: dict[str, tuple[Any, Any]] = dict((restored or SplitPositions()).open)
        self._over: list[str] = []
        self._busy: set[str] = set()
        self._idle_until_ms: dict[str, int] = {}

    def poll(self, max_records: int) -> list[Split]:
        """Return a piece of every split that has not been found empty just now."""
        self._enumerate_when_due()
        self._open.update((split_id, (split, None)) for split_id, split in self._waiting.items())
        self._waiting.clear()
        # An ended split gets an empty last piece, so that its watermark stops counting.
        splits = [Split(split_id, Piece(None, None, is_over=True), is_last=True) for split_id in self._over]
        self._over.clear()
        now, weight = self._source.clock.now_ms(), max(1, round(self._records_per_split))
        for split_id, (split, position) in self._open.items():
            if split_id not in self._busy and self._idle_until_ms.get(split_id, 0) <= now:
                self._busy.add(split_id)
                splits.append(Split(split_id, Piece(split, position), False, weight))
        return splits

    def report(self, outcome: ReadOutcome) -> None:
        """Keep the position behind a piece."""
        split_id = outcome.split.id
        if outcome.split.payload.is_over:
            return
        super().report(outcome)
        self._busy.discard(split_id)
        if outcome.result == self._source.END:
            del self._open[split_id]
            self._over.append(split_id)
            return
        self._open[split_id] = (outcome.split.payload.split, outcome.result)
        if not outcome.records:
            self._idle_until_ms[split_id] = self._source.clock.now_ms() + self._source.idle_interval_ms

    @property
    def is_finished(self) -> bool:
        """True when all splits have ended and no more are looked for."""
        return super().is_finished and not self._open and not self._over

    def next_poll_ms(self) -> int:
        """Wait until a split may have records again, or new splits are looked for."""
        waits = [super().next_poll_ms()] if not self._source.is_bounded else []
        now = self._source.clock.now_ms()
        waits += [self._idle_until_ms.get(split_id, now) - now for split_id in self._open]
        return max(1, min(waits, default=self._source.idle_interval_ms))

    def snapshot(self) -> SplitPositions:
        """Return the positions of all splits."""
        return SplitPositions(frozenset(self._seen_splits), dict(self._waiting), dict(self._open), self._has_enumerated)


class _UserReader(SplitReader):
    def __init__(self, source: PythonSource) -> None:
        self._source = source

    def open(self) -> None:
        self._source.open()

    def close(self) -> None:
        self._source.close()


class PythonSplitReader(_UserReader):
    """Calls the user's `read_split`."""

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        """Yield the records of a split."""
        records = iter(self._source.read_split(split.payload))
        while chunk := list(islice(records, BATCH_RECORDS)):
            yield _to_batch(chunk, self._source.with_timestamps)


class ResumableSplitReader(_UserReader):
    """Calls the user's `read_split` with a position."""

    _source: ResumablePythonSource

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        """Yield the records of a piece, and return the next position."""
        piece: Piece = split.payload
        if piece.is_over:
            return None
        results: list[Any] = []
        records = _keeping_result(self._source.read_split(piece.split, piece.position), results.append)
        while chunk := list(islice(records, BATCH_RECORDS)):
            yield _to_batch(chunk, self._source.with_timestamps)
        if results[0] is None:
            raise SourceError(
                f"read_split of {type(self._source).__name__} returned no position; return a position, or self.END"
            )
        return results[0]


def _keeping_result(records: Generator[Any, None, Any], keep: Callable[[Any], None]) -> Iterator[Any]:
    keep((yield from records))


def _to_batch(records: list[Any], is_timed: bool) -> Batch:
    if not is_timed:
        return records, None
    return [value for value, _ in records], [timestamp for _, timestamp in records]

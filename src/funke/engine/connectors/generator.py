"""Generates records from their index, as fast as they are taken or at a given rate."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Protocol

from funke.engine.connectors.sequence import NumberRange, SequenceReader
from funke.engine.connectors.source import Batch, Source, Split, SplitEnumerator
from funke.engine.errors import ConfigurationError
from funke.engine.operators.records.slice_sizer import SliceSizer
from funke.engine.operators.time.clock import Clock, SystemClock

if TYPE_CHECKING:
    from funke.engine.types.information.type_information import TypeInformation

__all__ = ["GeneratorSource"]

# An epoch that takes long is made up for, a job that is too slow for the rate is not.
_MOST_SECONDS_TO_MAKE_UP = 10
_ASK_FOR_CHECKPOINT_MS = 50
# Reading a piece costs a subtask a millisecond beside its records, and the driver about half of one.
_PIECE_MS = 5


class GeneratorSource(Source):
    """Calls a function with 0, 1, 2 and so on; the records of an epoch are divided among the subtasks.

    Without a count it never ends. `records_per_second` and `records_per_checkpoint` are meant for all subtasks
    together. With `with_timestamps` the function returns pairs of a value and its event time in milliseconds.

    >>> source = GeneratorSource(lambda index: index * index, count=4)
    >>> [split.payload for split in source.create_enumerator(2).poll(100)]
    [NumberRange(id='0', start=0, end=2), NumberRange(id='1', start=2, end=4)]
    """

    def __init__(
        self,
        function: Callable[[int], Any],
        count: int | None = None,
        records_per_second: float | None = None,
        type_info: TypeInformation | None = None,
        with_timestamps: bool = False,
        clock: Clock | None = None,
        records_per_checkpoint: int | None = None,
    ) -> None:
        if count is not None and count < 0:
            raise ConfigurationError(f"a generator cannot make {count} records")
        if records_per_second is not None and records_per_second <= 0:
            raise ConfigurationError(f"a rate of {records_per_second} records per second is not positive")
        self._function = function
        self._count = count
        self._records_per_second = records_per_second
        self._records_per_checkpoint = records_per_checkpoint
        self._with_timestamps = with_timestamps
        self._clock = clock or SystemClock()
        self.is_bounded = count is not None
        self.produced_type = type_info

    def create_enumerator(self, parallelism: int, restored: Any = None) -> GeneratorEnumerator:
        """Start at index 0, or behind the indices of an earlier enumerator."""
        rate: Pace | None = None
        if self._records_per_second is not None:
            rate = RateLimit(self._records_per_second, self._clock)
        elif self._records_per_checkpoint is not None:
            rate = CheckpointGate(self._records_per_checkpoint)
        return GeneratorEnumerator(self._count, parallelism, rate, restored or 0)

    def create_reader(self) -> GeneratorReader:
        """Return the reader that calls the function."""
        return GeneratorReader(self._function, self.produced_type, self._with_timestamps)


class Pace(Protocol):
    """Says when records may go."""

    def take(self, most: int) -> int:
        """Return how many records may go now, and count them as gone."""

    def wait_ms(self) -> int:
        """Return how long to wait before asking again."""

    def notify_checkpoint_complete(self) -> None:
        """Hear that a checkpoint is complete."""


class CheckpointGate:
    """Lets so many records through, and the next ones only after a checkpoint."""

    def __init__(self, records_per_checkpoint: int) -> None:
        self._capacity = records_per_checkpoint
        self._left = records_per_checkpoint

    def take(self, most: int) -> int:
        """Return how many records may go now, and count them as gone."""
        count = min(most, self._left)
        self._left -= count
        return count

    def wait_ms(self) -> int:
        """Return how long to wait before asking again."""
        return _ASK_FOR_CHECKPOINT_MS

    def notify_checkpoint_complete(self) -> None:
        """Open the gate again."""
        self._left = self._capacity


class RateLimit:
    """Knows how many records are due by now, which go a few milliseconds apart; the first one is due at once."""

    def __init__(self, records_per_second: float, clock: Clock) -> None:
        self._per_ms = records_per_second / 1000
        self._clock = clock
        self._most = max(1.0, records_per_second * _MOST_SECONDS_TO_MAKE_UP)
        self._due = 1.0
        self._updated_ms: int | None = None
        self._next_ms = 0

    def take(self, most: int) -> int:
        """Return how many records may go now, and count them as gone."""
        now = self._clock.now_ms()
        elapsed = 0 if self._updated_ms is None else max(0, now - self._updated_ms)
        self._updated_ms = now
        self._due = min(self._most, self._due + elapsed * self._per_ms)
        due_records = min(most, int(self._due)) if now >= self._next_ms else 0
        if due_records:
            self._next_ms = now + _PIECE_MS
        self._due -= due_records
        return due_records

    def wait_ms(self) -> int:
        """Return how long it takes until the next records may go."""
        return max(1, int((1 - self._due) / self._per_ms), self._next_ms - self._clock.now_ms())

    def notify_checkpoint_complete(self) -> None:
        """Go on as before: time alone counts."""


class GeneratorEnumerator(SplitEnumerator):
    """Hands out indices in order; each subtask's pieces are one ongoing split."""

    def __init__(self, count: int | None, parallelism: int, rate: Pace | None, position: int) -> None:
        self._count = count
        self._parallelism = parallelism
        self._rate = rate
        self._position = position

    def poll(self, max_records: int) -> list[Split]:
        """Return the next indices, as many as the rate allows."""
        amount = max_records if self._count is None else min(max_records, self._count - self._position)
        if self._rate is not None:
            amount = self._rate.take(amount)
        start, self._position = self._position, self._position + amount
        shares = self._parallelism
        bounds = [start + amount * number // shares for number in range(shares + 1)]
        return [
            # Shifted, so that few records do not always go to the same subtask.
            self._piece(str((start + number) % shares), *bounds[number : number + 2])
            for number in range(shares)
            if bounds[number] < bounds[number + 1]
        ]

    def _piece(self, split_id: str, start: int, end: int) -> Split:
        return Split(split_id, NumberRange(split_id, start, end), self.is_finished, end - start)

    @property
    def is_finished(self) -> bool:
        """True when the count is reached."""
        return self._count is not None and self._position >= self._count

    def next_poll_ms(self) -> int:
        """Wait until a record is due."""
        return super().next_poll_ms() if self._rate is None else self._rate.wait_ms()

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Go on, if the pace is that of the checkpoints."""
        if self._rate is not None:
            self._rate.notify_checkpoint_complete()

    def snapshot(self) -> int:
        """Return the number of indices that were handed out."""
        return self._position


class GeneratorReader(SequenceReader):
    """Calls the user's function for every index."""

    # Every subtask gets indices sooner or later: one that waits for its first must hold back event time, as in Flink.
    is_never_idle = True

    def __init__(self, function: Callable[[int], Any], type_info: TypeInformation | None, is_timed: bool) -> None:
        self._function = function
        self._type_info = type_info
        self._is_timed = is_timed

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        """Yield the values of a range of indices."""
        sizer = SliceSizer()
        for batch, _ in super().read(split):
            for indices, _ in sizer.slices(batch, None):
                yield self._batch(list(map(self._function, indices)))

    def _batch(self, values: list[Any]) -> Batch:
        timestamps = None
        if self._is_timed:
            timestamps = [timestamp for _, timestamp in values]
            values = [value for value, _ in values]
        return values if self._type_info is None else self._type_info.coerce_list(values), timestamps

"""A source that reads the state of an operator: one split per piece, read in parallel like any other source."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from funke.engine.connectors.source import Batch, ReadOutcome, Source, Split, SplitEnumerator, SplitReader
from funke.engine.formats.file_format import BATCH_RECORDS
from funke.engine.state_processor.state_parts import PIECE_BYTES, StatePiece

if TYPE_CHECKING:
    from funke.engine.types.information.type_information import TypeInformation

__all__ = ["PieceReading", "StateNames", "StateSource"]


@dataclass
class StateNames:
    """The states that a reader asked for, and those that it found."""

    wanted: set[str] = field(default_factory=set)
    found: set[str] = field(default_factory=set)

    def add(self, other: StateNames) -> None:
        """Takes in what was found elsewhere."""
        self.wanted |= other.wanted
        self.found |= other.found


class PieceReading(Protocol):
    """Makes elements of a piece of state; is pickled into the reading tasks."""

    def __call__(self, piece: StatePiece, names: StateNames) -> Iterator[Any]:
        """Yields the elements, and notes in `names` what was asked for and found."""
        ...


class StateSource(Source):
    """Reads pieces of state; `check` gets the states that were requested and found in the end."""

    def __init__(
        self,
        pieces: Sequence[StatePiece],
        reading: PieceReading,
        check: Callable[[StateNames], None],
        produced_type: TypeInformation | None,
    ) -> None:
        self._pieces = list(pieces)
        self._reading = reading
        self._check = check
        self.produced_type = produced_type

    def create_enumerator(self, parallelism: int, restored: Any = None) -> StateEnumerator:
        """Hands out the pieces in order."""
        return StateEnumerator(self._pieces, parallelism, self._check, restored)

    def create_reader(self) -> StateReader:
        """The reader of one piece after the other."""
        return StateReader(self._reading)


class StateEnumerator(SplitEnumerator):
    """Hands out as many pieces at once as keep all subtasks busy."""

    def __init__(
        self, pieces: list[StatePiece], parallelism: int, check: Callable[[StateNames], None], restored: Any
    ) -> None:
        self._pieces = pieces
        self._bytes_at_once = parallelism * PIECE_BYTES
        self._check = check
        start: tuple[int, int, StateNames] = restored or (0, 0, StateNames())
        self._next, self._reported_count, self._names = start
        if not pieces:
            check(self._names)

    def poll(self, max_records: int) -> list[Split]:
        """The next pieces."""
        splits: list[Split] = []
        size = 0
        while not self.is_finished and size < self._bytes_at_once:
            piece = self._pieces[self._next]
            splits.append(Split(f"piece-{self._next}", piece))
            size += piece.size
            self._next += 1
        return splits

    @property
    def is_finished(self) -> bool:
        """True when all pieces have been handed out."""
        return self._next >= len(self._pieces)

    def report(self, outcome: ReadOutcome) -> None:
        """Takes the names that a piece had; raises when a state is in none of them."""
        self._reported_count += 1
        self._names.add(outcome.result)
        if self._reported_count == len(self._pieces):
            self._check(self._names)

    def snapshot(self) -> Any:
        """What was handed out and found so far."""
        return self._next, self._reported_count, self._names


class StateReader(SplitReader):
    """Reads pieces."""

    def __init__(self, reading: PieceReading) -> None:
        self._reading = reading

    def read(self, split: Split) -> Generator[Batch, None, StateNames]:
        """Yields the elements of a piece; returns the names of its states."""
        names = StateNames()
        elements = self._reading(split.payload, names)
        while batch := list(islice(elements, BATCH_RECORDS)):
            yield batch, None
        return names

"""How large states are, by operator and name: noted while a snapshot is written, so that looking costs nothing more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sized
from itertools import chain, islice
from typing import Any, NamedTuple

from funke.engine.state.operator_state import OperatorStateSnapshot
from funke.engine.state.snapshot.file_format import GroupPart, HeldState, LocalFile
from funke.engine.state.value_codec import pack
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["StateSize", "StateSizes"]

# Entries from which the size of all others of the same state is estimated, where several states stand in one piece.
_SAMPLE = 8
_FRAME_BYTES = len(pack([]))
_OTHER = "positions and buffers"


class StateSize(NamedTuple):
    """A state of an operator; entries are its keys, or its elements if it is not keyed."""

    operator_id: str
    name: str
    kind: str
    entries: int
    bytes: int


class StateSizes:
    """Sums up the states of a snapshot."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str, str], list[float]] = defaultdict(lambda: [0, 0.0])

    def add_part(self, operator_id: str, part: GroupPart, size: int) -> None:
        """Keyed state and timers that take so many bytes together."""
        tables: dict[tuple[str, str], list[dict[Any, Any]]] = defaultdict(list)
        for table_id, table in part.tables.items():
            tables[table_id.name, table_id.kind].append(table)
        parts = [
            _Piece(
                name,
                kind,
                sum(map(_entries, tables_of_state)),
                chain.from_iterable(table.items() for table in tables_of_state),
                sum(map(len, tables_of_state)),
            )
            for (name, kind), tables_of_state in tables.items()
        ]
        timers = {"event-time timers": part.event_timers, "processing-time timers": part.processing_timers}
        parts += [
            _Piece(name, "timers", len(tables_of_state), tables_of_state)
            for name, tables_of_state in timers.items()
            if tables_of_state
        ]
        self._divide(operator_id, parts, size)

    def add_own(self, operator_id: str, own: Any, size: int) -> None:
        """State that is not keyed."""
        if not isinstance(own, OperatorStateSnapshot):
            parts = [_Piece(_OTHER, "operator", len(own) if isinstance(own, Sized) else 1, (own,))]
        else:
            kinds = (("list", own.lists), ("union list", own.unions))
            parts = [_Piece(name, kind, len(held), held) for kind, named in kinds for name, held in named.items()]
            parts += [_Piece(name, "broadcast", len(held), held.items()) for name, held in own.broadcasts.items()]
        self._divide(operator_id, parts, size)

    def add_files(self, operator_id: str, files: Iterable[LocalFile], size: int) -> None:
        """Files of a state backend's own, which knows roughly what is in them."""
        held = [each for file in files for each in file.holds]
        total = sum(each.bytes for each in held)
        for each in held:
            self._add(operator_id, each, size * each.bytes / total if total else 0.0)

    def _divide(self, operator_id: str, parts: list[_Piece], size: int) -> None:
        if len(parts) == 1:
            self._add(operator_id, parts[0], size)
            return
        weights = [each.weight() for each in parts]
        total = sum(weights)
        for state_part, weight in zip(parts, weights):
            self._add(operator_id, state_part, size * weight / total if total else 0.0)

    def _add(self, operator_id: str, state: _Piece | HeldState, size: float) -> None:
        sums = self._sums[operator_id, state.name, state.kind]
        sums[0] += state.entries
        sums[1] += size

    def add(self, others: Iterable[StateSize]) -> None:
        """Those of another subtask."""
        for each in others:
            sums = self._sums[each.operator_id, each.name, each.kind]
            sums[0] += each.entries
            sums[1] += each.bytes

    def all(self) -> tuple[StateSize, ...]:
        """The sums, the largest first."""
        sizes = (StateSize(*what, int(entries), round(size)) for what, (entries, size) in self._sums.items())
        return tuple(sorted(sizes, key=lambda each: -each.bytes))


def _entries(table: dict[Any, Any]) -> int:
    """The keys of a table; of one that holds rows as columns, the rows."""
    holds_rows = isinstance(next(iter(table.values()), None), ColumnBatch)
    return sum(map(len, table.values())) if holds_rows else len(table)


class _Piece(NamedTuple):
    """Entries of one state in a larger piece."""

    name: str
    kind: str
    entries: int
    content: Iterable[Any]
    # How many elements the content has, if these are not the entries.
    elements: int | None = None

    def weight(self) -> float:
        """What its entries take, by some of them."""
        sample = list(islice(self.content, _SAMPLE))
        count = self.entries if self.elements is None else self.elements
        return (len(pack(sample)) - _FRAME_BYTES) * count / len(sample) if sample else 0.0

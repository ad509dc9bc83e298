"""Sessions that are still open: what rows of a batch form is computed at once, and joined with what was there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.sql.operators.windows.key_codes import key_codes
from funke.engine.sql.operators.windows.session_windows.sessions import find_sessions, is_within_sessions
from funke.engine.sql.operators.windows.slices.aggregate_block import AggregateBlock, Aggregates
from funke.engine.types.columns import ColumnBatch

if TYPE_CHECKING:
    from funke.engine.types.columns import Array

__all__ = ["HeapSessions", "OpenSessions", "SessionBlock"]

# So many entries wait at least before they are put together.
_LEAST_ENTRIES = 1 << 16


@dataclass(frozen=True)
class SessionBlock:
    """Aggregates of keys, each from a start to an end; a key may come more than once."""

    block: AggregateBlock
    starts: Array
    ends: Array

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, indexes: Array) -> SessionBlock:
        """Some of the entries."""
        return SessionBlock(self.block.take(indexes), self.starts[indexes], self.ends[indexes])


class OpenSessions(ABC):
    """Sessions that are still open, in memory or in a state backend."""

    def __init__(self, aggregates: Aggregates, gap_ms: int) -> None:
        self._aggregates = aggregates
        self._gap = gap_ms

    @abstractmethod
    def first_end(self) -> int | None:
        """The earliest end of a piece; its session may have grown since."""

    @abstractmethod
    def add_piece(self, piece: SessionBlock) -> None:
        """Takes in what was computed before."""

    @abstractmethod
    def close(self, closed: int) -> SessionBlock | None:
        """Takes out the sessions that end at or before a time, in the order of their ends."""

    @abstractmethod
    def _open_sessions_of(self, keys: Sequence[pa.Array]) -> SessionBlock | None:
        """The open sessions of keys, and perhaps of others."""

    @abstractmethod
    def blocks(self) -> Iterator[tuple[Any, AggregateBlock]]:
        """Everything, with the bounds as further columns of the key."""

    def on_time(self, batch: ColumnBatch, times: Array, closed: int) -> Array | None:
        """True for rows whose session ends behind `closed`; None if that holds for all."""
        # The common case: no row's own session would be closed, so none is late.
        if not (times + self._gap <= closed).any():
            return None
        keys = self._aggregates.key_columns(batch.data)
        piece = self._open_sessions_of(keys)
        if piece is None:
            codes, _ = key_codes(keys, len(batch))
            none: Array = np.empty(0, np.int64)
            return is_within_sessions(codes, times, self._gap, closed, (none, none, none))
        both = [pa.concat_arrays([own, intervals]) for own, intervals in zip(keys, piece.block.keys)]
        codes, _ = key_codes(both, len(batch) + len(piece))
        intervals = (codes[len(batch) :], piece.starts, piece.ends)
        return is_within_sessions(codes[: len(batch)], times, self._gap, closed, intervals)

    def add(self, batch: ColumnBatch, times: Array) -> None:
        """Takes in rows."""
        codes, _ = key_codes(self._aggregates.key_columns(batch.data), len(batch))
        sessions = find_sessions(codes, times, times + self._gap)
        numbers: Array = np.empty(len(batch), np.int64)
        numbers[sessions.order] = np.repeat(np.arange(len(sessions)), sessions.lengths)
        block, _ = self._aggregates.of_rows(batch, numbers, len(sessions))
        self.add_piece(SessionBlock(block, sessions.starts, sessions.ends))

    def concatenated(self, pieces: list[SessionBlock]) -> SessionBlock:
        """The entries of several pieces."""
        if len(pieces) == 1:
            return pieces[0]
        starts = np.concatenate([piece.starts for piece in pieces])
        ends = np.concatenate([piece.ends for piece in pieces])
        return SessionBlock(self._aggregates.concatenated([piece.block for piece in pieces]), starts, ends)

    def joined(self, pieces: list[SessionBlock]) -> SessionBlock:
        """Several pieces as one, in which sessions of a key that meet are one."""
        together = self.concatenated(pieces)
        block = together.block
        codes, _ = key_codes(block.keys, len(block))
        sessions = find_sessions(codes, together.starts, together.ends)
        return SessionBlock(
            self._aggregates.folded(block.take(sessions.order), sessions.first), sessions.starts, sessions.ends
        )

    def restore(self, blocks: Iterable[tuple[Any, AggregateBlock]]) -> None:
        """Takes back what `blocks` gave."""
        for _, block in blocks:
            *keys, starts, ends = block.keys
            own = AggregateBlock(tuple(keys), block.counts, block.fields)
            self.add_piece(SessionBlock(own, np.asarray(starts), np.asarray(ends)))


class HeapSessions(OpenSessions):
    """Pieces, which are put together when they grow."""

    def __init__(self, aggregates: Aggregates, gap_ms: int) -> None:
        super().__init__(aggregates, gap_ms)
        self._pieces: list[SessionBlock] = []
        self._waiting = 0

    def first_end(self) -> int | None:
        return min((int(piece.ends.min()) for piece in self._pieces), default=None)

    def add_piece(self, piece: SessionBlock) -> None:
        self._pieces.append(piece)
        # Pieces wait until they are twice as many as what they are added to, so that each entry is copied only a few
        # times.
        self._waiting += self._aggregates.weight(piece.block)
        if self._waiting > max(_LEAST_ENTRIES, 2 * len(self._pieces[0])):
            self._put_together()

    def close(self, closed: int) -> SessionBlock | None:
        first = self.first_end()
        if first is None or first > closed:
            return None
        self._put_together()
        (piece,) = self._pieces
        is_due = piece.ends <= closed
        if not is_due.any():
            return None
        rest = np.flatnonzero(~is_due)
        self._pieces = [piece.take(rest)] if len(rest) else []
        due = np.flatnonzero(is_due)
        return piece.take(due[np.argsort(piece.ends[due], kind="stable")])

    def _open_sessions_of(self, keys: Sequence[pa.Array]) -> SessionBlock | None:
        self._put_together()
        return self._pieces[0] if self._pieces else None

    def _put_together(self) -> None:
        self._waiting = 0
        if len(self._pieces) > 1:
            self._pieces = [self.joined(self._pieces)]

    def blocks(self) -> Iterator[tuple[Any, AggregateBlock]]:
        for piece in self._pieces:
            own = piece.block
            keys = (*own.keys, pa.array(piece.starts), pa.array(piece.ends))
            yield None, AggregateBlock(keys, own.counts, own.fields)

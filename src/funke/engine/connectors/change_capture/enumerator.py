"""Hands out the parts of tables, and then the log piece by piece.

A piece is all transactions whose commits end behind one position and not behind another, so that it holds the same
changes whenever it is read.
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections import deque
from typing import Any, Generic, TypeVar

from funke.engine.connectors.change_capture.parts import CdcState, Chunk, FinishedChunk, LogPiece, TablePart
from funke.engine.connectors.change_capture.settings import CaptureSettings
from funke.engine.connectors.source import ReadOutcome, Split, SplitEnumerator
from funke.engine.errors import SourceError

__all__ = ["CHANGES", "ChangeEnumerator"]

S = TypeVar("S", bound=CaptureSettings)

# The id of the pieces of the log, which stay with one subtask.
CHANGES = "changes"
_POLL_MS = 50
_PARTS_AT_ONCE = 8


class ChangeEnumerator(SplitEnumerator, Generic[S]):
    """Holds a connection for questions; positions compare as the log is written."""

    def __init__(self, settings: S, restored: CdcState | None) -> None:
        self._settings = settings
        self._connection: Any = None
        # Of each snapshot: the position, and whether all parts of tables had been read.
        self._snapshots: deque[tuple[Any, bool]] = deque()
        self._confirmed: Any = None
        try:
            self._connection = settings.connect()
            state = self._fresh() if restored is None else self._continued(restored)
        except settings.database.error as error:
            self.close()
            what = "reached" if self._connection is None else "read"
            raise SourceError(f"the database cannot be {what}: {type(error).__name__}: {error}") from error
        except BaseException:
            self.close()
            raise
        self._tables, self._position = state.tables, state.position
        self._waiting, self._finished = deque(state.waiting), list(state.finished)
        self._seam_end, self._reads_log = state.seam_end, state.reads_log
        self._parts_out, self._has_piece = state.parts_out, state.has_piece
        # Whether whatever comes behind the rows of tables may come.
        self._is_settled = not settings.is_parallel or not (state.waiting or state.parts_out)

    @abstractmethod
    def _fresh(self) -> CdcState:
        """Where a job without state begins."""

    @abstractmethod
    def _continued(self, state: CdcState) -> CdcState:
        """Refuses to go on from where the log has been thrown away."""

    @abstractmethod
    def _end_of_log(self) -> Any:
        """A position that no transaction stands across."""

    def _part(self, chunk: Chunk) -> TablePart:
        return TablePart(chunk)

    def _begin_log(self) -> None:
        """All parts have been read."""

    def _is_due(self, end: Any) -> bool:
        """Whether a piece up to here is worth while."""
        return bool(end > self._position)

    def poll(self, max_records: int) -> list[Split]:
        """Parts of tables while there are some; then a piece of the log at a time."""
        try:
            if self._waiting:
                count = min(_PARTS_AT_ONCE, len(self._waiting))
                return [self._part_split(self._waiting.popleft()) for _ in range(count)]
            if self._parts_out or not self._is_settled or self._is_bounded:
                return []
            self._begin_log()
            self._reads_log = True
            return self._next_piece()
        except self._settings.database.error as error:
            raise SourceError(f"the database cannot be queried any more: {type(error).__name__}: {error}") from error

    def _part_split(self, chunk: Chunk) -> Split:
        part = self._part(chunk)
        self._parts_out += 1
        return Split(f"{chunk.table.path}:{chunk.low}", part)

    def _next_piece(self) -> list[Split]:
        if self._has_piece:
            return []
        end = self._end_of_log()
        if not self._is_due(end):
            return []
        if self._seam_end is not None and self._position >= self._seam_end:
            self._finished = []
        self._has_piece = True
        piece = LogPiece(self._position, max(end, self._position), self._confirmed, self._tables, tuple(self._finished))
        return [Split(CHANGES, piece, is_last=False)]

    def report(self, outcome: ReadOutcome) -> None:
        """A part was read, or a piece."""
        payload = outcome.split.payload
        if isinstance(payload, LogPiece):
            self._has_piece, self._position = False, payload.end
            return
        self._parts_out -= 1
        if outcome.result is None:
            self._give_back(payload)
        else:
            self._finished.append(FinishedChunk(payload.chunk, outcome.result))

    def _give_back(self, part: TablePart) -> None:
        """A part could not be read as it was asked for."""
        self._waiting.append(part.chunk)

    @property
    def _is_bounded(self) -> bool:
        return self._settings.is_bounded

    @property
    def is_finished(self) -> bool:
        return self._is_bounded and not self._waiting and not self._parts_out

    @property
    def is_processing_backlog(self) -> bool:
        """While tables are read."""
        return not self._reads_log

    def next_poll_ms(self) -> int:
        return _POLL_MS

    def snapshot(self) -> CdcState:
        """The position; the coordinator of splits keeps a piece that is being read."""
        self._snapshots.append((self._position, not self._waiting and not self._parts_out))
        return CdcState(
            self._tables,
            self._position,
            tuple(self._waiting),
            tuple(self._finished),
            self._seam_end,
            self._reads_log,
            self._parts_out,
            self._has_piece,
        )

    # Nothing says which snapshot belongs to a checkpoint. The oldest one is never later than that of the checkpoint.

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        if self._snapshots:
            self._confirmed, is_behind_parts = self._snapshots.popleft()
            self._is_settled = self._is_settled or is_behind_parts

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        if self._snapshots:
            self._snapshots.pop()

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(self._settings.database.error):
                self._connection.close()

"""The source: an enumerator that has tables read in parts and then the log piece by piece, and its reader.

A piece is all transactions whose commits end behind one position and not behind another, so that it holds the same
changes whenever it is read. Records are whole batches: a part of a table is one record, before a barrier or behind it.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.jdbc.sql_text import quote
from funke.engine.connectors.jdbc.table_read import Condition, TableRead
from funke.engine.connectors.postgres_cdc.message_run import MessageRun
from funke.engine.connectors.postgres_cdc.pgoutput import Begin, Commit, LogRelation, Message, Truncate, decode_message
from funke.engine.connectors.postgres_cdc.preparation import (
    check_slot,
    chunks_of,
    find_tables,
    insert_position,
    prepare_publication,
    prepare_slot,
)
from funke.engine.connectors.postgres_cdc.questions import DatabaseQuestions
from funke.engine.connectors.postgres_cdc.replication import ReplicationStream
from funke.engine.connectors.postgres_cdc.seam import Seam
from funke.engine.connectors.postgres_cdc.settings import CdcSettings, Chunk, FinishedChunk, SourceTable
from funke.engine.connectors.postgres_cdc.visibility import Visibility
from funke.engine.connectors.source import Batch, ReadOutcome, Source, Split, SplitEnumerator, SplitReader
from funke.engine.errors import SourceError

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["CdcState", "LogPiece", "PostgresCdcSource", "TablePart"]

_CHANGES = "changes"
_POLL_MS = 50
_WAIT_S = 0.005
_ASK_EVERY_S = 0.05


@dataclass(frozen=True)
class TablePart:
    """A chunk that is read in the snapshot that the driver holds open under a name."""

    chunk: Chunk
    snapshot: str
    seen: str


@dataclass(frozen=True)
class LogPiece:
    """Transactions whose commits end behind `start` and not behind `end`."""

    start: int
    end: int
    # What is before it will never be asked for again.
    confirmed: int
    tables: tuple[SourceTable, ...]
    # Parts of tables whose rows may hold changes of this piece.
    chunks: tuple[FinishedChunk, ...] = ()


@dataclass(frozen=True)
class CdcState:
    """Where the source stands, in checkpoints."""

    tables: tuple[SourceTable, ...]
    # From here on the log is to be read.
    position: int
    waiting: tuple[Chunk, ...] = ()
    finished: tuple[FinishedChunk, ...] = ()
    # Behind this no transaction was seen by any chunk; None while that is not known.
    seam_end: int | None = None
    reads_log: bool = False
    # Splits that are being read, which stand in the checkpoint beside this.
    parts_out: int = 0
    has_piece: bool = False


class PostgresCdcSource(Source):
    """Reads tables and their changes; with the start mode `snapshot`, the tables alone."""

    def __init__(self, settings: CdcSettings) -> None:
        self._settings = settings
        self.is_bounded = settings.start_mode == "snapshot"
        if not settings.is_parallel:
            self.fixed_parallelism = 1

    def create_enumerator(self, parallelism: int, restored: Any = None) -> CdcEnumerator:
        return CdcEnumerator(self._settings, restored)

    def create_reader(self) -> CdcReader:
        return CdcReader(self._settings)


class CdcEnumerator(SplitEnumerator):
    """Holds a connection for questions, and another whose transaction keeps a snapshot of the tables."""

    def __init__(self, settings: CdcSettings, restored: CdcState | None) -> None:
        self._settings = settings
        self._connection: Any = None
        self._holder: Any = None
        self._held: tuple[str, str] | None = None
        # Of each snapshot: the position, and whether all parts of tables had been read.
        self._snapshots: deque[tuple[int, bool]] = deque()
        self._confirmed = self._told = 0
        self._piece_at = 0.0
        try:
            self._connection = settings.connect()
            state = self._fresh() if restored is None else self._continued(restored)
        except settings.database.error as error:
            self.close()
            raise SourceError(f"the database cannot be reached: {type(error).__name__}: {error}") from error
        except BaseException:
            self.close()
            raise
        self._tables, self._position = state.tables, state.position
        self._waiting, self._finished = deque(state.waiting), list(state.finished)
        self._seam_end, self._reads_log = state.seam_end, state.reads_log
        self._parts_out, self._has_piece = state.parts_out, state.has_piece
        # Whether whatever comes behind the rows of tables may come.
        self._is_settled = not settings.is_parallel or not (state.waiting or state.parts_out)

    def _fresh(self) -> CdcState:
        connection, settings = self._connection, self._settings
        tables = tuple(find_tables(connection, settings))
        mode = settings.start_mode
        position = 0
        if mode != "snapshot":
            prepare_publication(connection, settings, tables)
            position = prepare_slot(connection, settings.slot)
        if mode == "latest-offset":
            position = insert_position(connection)
        if mode in ("initial", "snapshot"):
            chunks = [each for table in tables for each in chunks_of(connection, table, settings.chunk_rows)]
            return CdcState(tables, position, tuple(chunks))
        return CdcState(tables, position, reads_log=True, seam_end=0)

    def _continued(self, state: CdcState) -> CdcState:
        if self._settings.start_mode != "snapshot":
            check_slot(self._connection, self._settings.slot, state.position)
        return state

    def poll(self, max_records: int) -> list[Split]:
        """Parts of tables while there are some; then a piece of the log at a time."""
        try:
            if self._waiting:
                return [self._part(self._waiting.popleft()) for _ in range(min(8, len(self._waiting)))]
            if self._parts_out or not self._is_settled or self._settings.start_mode == "snapshot":
                return []
            self._release()
            self._reads_log = True
            return self._next_piece()
        except self._settings.database.error as error:
            raise SourceError(f"the database cannot be asked any more: {type(error).__name__}: {error}") from error

    def _part(self, chunk: Chunk) -> Split:
        snapshot, seen = self._snapshot_held()
        self._parts_out += 1
        return Split(f"{chunk.table.path}:{chunk.low}", TablePart(chunk, snapshot, seen))

    def _snapshot_held(self) -> tuple[str, str]:
        if self._held is None:
            self._holder = self._settings.database.connect()
            self._holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            found = self._holder.execute("SELECT pg_export_snapshot(), pg_current_snapshot()::text").fetchone()
            self._held = (found[0], found[1])
        return self._held

    def _release(self) -> None:
        holder, self._holder, self._held = self._holder, None, None
        if holder is not None:
            with contextlib.suppress(self._settings.database.error):
                holder.close()

    def _next_piece(self) -> list[Split]:
        if self._has_piece:
            return []
        self._find_seam_end()
        end, now = insert_position(self._connection), time.monotonic()
        is_due = now - self._piece_at >= self._settings.heartbeat_ms / 1000
        if end <= self._position and self._confirmed <= self._told and not is_due:
            return []
        is_behind_seam = self._seam_end is not None and self._position >= self._seam_end
        if is_behind_seam:
            self._finished = []
        self._has_piece, self._piece_at, self._told = True, now, self._confirmed
        piece = LogPiece(self._position, max(end, self._position), self._confirmed, self._tables, tuple(self._finished))
        return [Split(_CHANGES, piece, is_last=False)]

    def _find_seam_end(self) -> None:
        """Once all transactions are over that ran when tables were read, later ones were seen by nobody."""
        if self._seam_end is not None:
            return
        ends = [Visibility.from_text(each.seen).end for each in self._finished]
        now = Visibility.from_text(self._connection.execute("SELECT pg_current_snapshot()::text").fetchone()[0])
        if now.first >= max(ends, default=0):
            self._seam_end = insert_position(self._connection)

    def report(self, outcome: ReadOutcome) -> None:
        """A part was read, or could not be since its snapshot is gone; or a piece."""
        payload = outcome.split.payload
        if isinstance(payload, LogPiece):
            self._has_piece, self._position = False, payload.end
            return
        self._parts_out -= 1
        if outcome.result is None:
            # Another attempt had it read, whose snapshot has ended with it.
            self._waiting.append(payload.chunk)
            if self._held is not None and self._held[0] == payload.snapshot:
                self._release()
        else:
            self._finished.append(FinishedChunk(payload.chunk, outcome.result))

    @property
    def is_finished(self) -> bool:
        return self._settings.start_mode == "snapshot" and not self._waiting and not self._parts_out

    @property
    def is_processing_backlog(self) -> bool:
        """While tables are read."""
        return not self._reads_log

    def next_poll_ms(self) -> int:
        return _POLL_MS

    def snapshot(self) -> CdcState:
        """The position; a piece that is being read is kept by whoever keeps splits."""
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

    # Nobody says which snapshot belongs to a checkpoint. The oldest one is never later than that of the checkpoint.

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        if self._snapshots:
            position, is_behind_parts = self._snapshots.popleft()
            self._confirmed = max(self._confirmed, position)
            self._is_settled = self._is_settled or is_behind_parts

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        if self._snapshots:
            self._snapshots.pop()

    def close(self) -> None:
        self._release()
        if self._connection is not None:
            with contextlib.suppress(self._settings.database.error):
                self._connection.close()


class CdcReader(SplitReader):
    """Reads parts on one connection and the log on another; both stay open."""

    def __init__(self, settings: CdcSettings) -> None:
        self._settings = settings
        self._stream: ReplicationStream | None = None
        self._rows: Any = None
        self._is_in_transaction = False
        self._questions = DatabaseQuestions(settings)
        self._parts: Any = None
        # Messages that have come; the first may be of a transaction that belongs to a later piece.
        self._taken = MessageRun([])

    def behind(self, split: Split, records: int) -> Split | None:
        """A part is one record: behind it nothing is left, but what was seen is still to be told."""
        if records and isinstance(split.payload, TablePart):
            return Split(split.id, FinishedChunk(split.payload.chunk, split.payload.seen))
        return super().behind(split, records)

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        payload = split.payload
        if isinstance(payload, FinishedChunk):
            return payload.seen
        try:
            if isinstance(payload, TablePart):
                return (yield from self._part(payload))
            return (yield from self._piece(payload))
        except self._settings.database.error as error:
            raise SourceError(f"changes cannot be read: {type(error).__name__}: {error}") from error

    def _part(self, part: TablePart) -> Generator[Batch, None, str | None]:
        import psycopg
        import pyarrow as pa

        connection = self._for_parts()
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            connection.execute(f"SET TRANSACTION SNAPSHOT '{part.snapshot}'")
        except (psycopg.errors.InvalidParameterValue, psycopg.errors.UndefinedObject):
            connection.rollback()
            return None
        read = TableRead(part.chunk.table.path, self._settings.fields, _conditions(part.chunk))
        batches = list(self._settings.database.read(connection, read, 0))
        connection.rollback()
        if batches:
            yield [self._with_metadata(pa.concat_batches(batches), part.chunk.table)], None
        return part.seen

    def _for_parts(self) -> Any:
        if self._parts is None:
            self._parts = self._settings.database.connect()
            self._settings.database.prepare_reading(self._parts)
            self._parts.commit()
        return self._parts

    def _with_metadata(self, data: Any, table: SourceTable) -> Any:
        import numpy as np
        import pyarrow as pa

        from funke.engine.connectors.postgres_cdc.change_rows import metadata_columns, output_fields
        from funke.engine.formats.table.table_format import schema_of
        from funke.engine.types.columns.column_batch import ColumnBatch

        zeros: Any = np.zeros(len(data), np.int64)
        more = metadata_columns(self._settings, [table], zeros, zeros)
        schema = schema_of(output_fields(self._settings))
        return ColumnBatch(pa.RecordBatch.from_arrays([*data.columns, *more], schema=schema))

    def _piece(self, piece: LogPiece) -> Generator[Batch, None, None]:
        stream = self._opened(piece)
        stream.confirm(piece.confirmed)
        rows, asked_at = self._rows, 0.0
        rows.meet(Seam(piece.chunks) if piece.chunks else None)
        while True:
            if not self._taken:
                self._taken = MessageRun(stream.take(_WAIT_S))
            if not self._taken:
                if not self._is_in_transaction:
                    if stream.reached >= piece.end:
                        break
                    if time.monotonic() - asked_at > _ASK_EVERY_S:
                        asked_at = time.monotonic()
                        stream.tell(wants_answer=True)
                yield [], None
                continue
            changes = self._taken.changes()
            if changes:
                self._taken.skip(rows.add(changes))
                if rows.is_full:
                    yield _records(rows.take())
            elif self._is_of_piece(decode_message(self._taken.first()), piece.end):
                self._taken.skip(1)
            else:
                break
        yield _records(rows.take())

    def _is_of_piece(self, message: Message | None, end: int) -> bool:
        """Takes note of a message; False if a transaction begins that is not of the piece."""
        if isinstance(message, Begin):
            if message.position >= end:
                return False
            self._is_in_transaction = True
            self._rows.begin(message)
        elif isinstance(message, Commit):
            assert self._stream is not None
            self._is_in_transaction = False
            self._stream.reached = max(self._stream.reached, message.end)
        elif isinstance(message, LogRelation):
            self._rows.relate(message)
        elif isinstance(message, Truncate):
            self._rows.truncate(message)
        return True

    def _opened(self, piece: LogPiece) -> ReplicationStream:
        if self._stream is None:
            from funke.engine.connectors.postgres_cdc.change_rows import ChangeRows

            self._rows = ChangeRows(self._settings, piece.tables, self._questions)
            settings = self._settings
            self._stream = ReplicationStream(
                settings.database.settings, settings.slot, settings.publication, piece.start, piece.confirmed
            )
        return self._stream

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._questions.close()
        if self._parts is not None:
            with contextlib.suppress(self._settings.database.error):
                self._parts.close()


def _records(batch: ColumnBatch | None) -> Batch:
    return ([] if batch is None else [batch]), None


def _conditions(chunk: Chunk) -> tuple[Condition, ...]:
    if chunk.table.chunk_column is None:
        return ()
    column, value = quote(chunk.table.chunk_column), f"?::{chunk.table.chunk_type or 'bigint'}"
    low = () if chunk.low is None else (Condition(f"{column} >= {value}", (chunk.low,)),)
    high = () if chunk.high is None else (Condition(f"{column} < {value}", (chunk.high,)),)
    return (*low, *high)

"""The source: an enumerator that has tables read in parts and then the log piece by piece, and its reader."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Generator
from typing import Any

from funke.engine.connectors.change_capture.enumerator import ChangeEnumerator
from funke.engine.connectors.change_capture.parts import CdcState, Chunk, FinishedChunk, LogPiece, TablePart
from funke.engine.connectors.change_capture.reader import ChangeReader, conditions_of, records_of
from funke.engine.connectors.change_capture.seam import Seam
from funke.engine.connectors.change_capture.source import ChangeSource
from funke.engine.connectors.jdbc.table_read import TableRead
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
from funke.engine.connectors.postgres_cdc.questions import PostgresQuestions
from funke.engine.connectors.postgres_cdc.replication import ReplicationStream
from funke.engine.connectors.postgres_cdc.settings import PostgresCdcSettings, SourceTable
from funke.engine.connectors.postgres_cdc.visibility import Visibility
from funke.engine.connectors.source import Batch, Split

# States of older versions name their classes by this module.
__all__ = ["CdcState", "LogPiece", "PostgresCdcSource", "TablePart"]

_WAIT_S = 0.005
_ASK_EVERY_S = 0.05


class PostgresCdcSource(ChangeSource[PostgresCdcSettings]):
    """Reads tables of PostgreSQL, and the log of a replication slot."""

    def __init__(self, settings: PostgresCdcSettings) -> None:
        super().__init__(settings)
        if not self.is_bounded:
            where = settings.database.settings
            address = f"{where.get('host')}:{where.get('port')}"
            self.sole_reader_of = f"replication slot '{settings.slot}' of '{where.get('dbname')}' at {address}"

    def create_enumerator(self, parallelism: int, restored: Any = None) -> CdcEnumerator:
        return CdcEnumerator(self._settings, restored)

    def create_reader(self) -> CdcReader:
        return CdcReader(self._settings)


class CdcEnumerator(ChangeEnumerator[PostgresCdcSettings]):
    """Holds a second connection, whose transaction keeps a snapshot of the tables."""

    def __init__(self, settings: PostgresCdcSettings, restored: CdcState | None) -> None:
        self._owner: Any = None
        self._held: tuple[str, str] | None = None
        self._sent_position: int | None = None
        # Positions of complete checkpoints that the server has not heard of yet.
        self._complete: deque[int] = deque()
        self._piece_at = 0.0
        super().__init__(settings, restored)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        before, waiting = self._confirmed, len(self._snapshots)
        super().notify_checkpoint_complete(checkpoint_id)
        if len(self._snapshots) < waiting:
            self._complete.append(self._confirmed)
            is_due = len(self._complete) > self._settings.confirm_delay
            self._confirmed = self._complete.popleft() if is_due else before

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

    def _part(self, chunk: Chunk) -> TablePart:
        return TablePart(chunk, *self._snapshot_held())

    def _snapshot_held(self) -> tuple[str, str]:
        if self._held is None:
            self._owner = self._settings.database.connect()
            self._owner.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            row = self._owner.execute("SELECT pg_export_snapshot(), pg_current_snapshot()::text").fetchone()
            self._held = (row[0], row[1])
        return self._held

    def _begin_log(self) -> None:
        self._release()

    def _release(self) -> None:
        owner, self._owner, self._held = self._owner, None, None
        if owner is not None:
            with contextlib.suppress(self._settings.database.error):
                owner.close()

    def _give_back(self, part: TablePart) -> None:
        """Another attempt had it read, whose snapshot has ended with it."""
        super()._give_back(part)
        if self._held is not None and self._held[0] == part.snapshot:
            self._release()

    def _end_of_log(self) -> int:
        self._find_seam_end()
        return insert_position(self._connection)

    def _is_due(self, end: int) -> bool:
        """Also to tell the server what is confirmed, and that the job lives."""
        now = time.monotonic()
        is_silent = now - self._piece_at >= self._settings.heartbeat_ms / 1000
        if not (super()._is_due(end) or self._confirmed != self._sent_position or is_silent):
            return False
        self._piece_at, self._sent_position = now, self._confirmed
        return True

    def _find_seam_end(self) -> None:
        """When all transactions that ran during the reading have ended, no part has seen a later one."""
        if self._seam_end is not None:
            return
        ends = [Visibility.from_text(each.seen).end for each in self._finished]
        now = Visibility.from_text(self._connection.execute("SELECT pg_current_snapshot()::text").fetchone()[0])
        if now.first >= max(ends, default=0):
            self._seam_end = insert_position(self._connection)

    def close(self) -> None:
        self._release()
        super().close()


class CdcReader(ChangeReader[PostgresCdcSettings]):
    """Parts are read in the snapshot that the enumerator holds."""

    _stream: ReplicationStream | None

    def __init__(self, settings: PostgresCdcSettings) -> None:
        self._questions = PostgresQuestions(settings)
        super().__init__(settings, self._questions)
        self._stream = None
        self._rows: Any = None
        self._is_in_transaction = False
        # Messages that have come; the first may be of a transaction that belongs to a later piece.
        self._messages = MessageRun([])

    def behind(self, split: Split, records: int) -> Split | None:
        """A part is one record: nothing follows it, but what it saw still has to be reported."""
        if records and isinstance(split.payload, TablePart):
            return Split(split.id, FinishedChunk(split.payload.chunk, split.payload.seen))
        return super().behind(split, records)

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
        conditions = conditions_of(part.chunk, f"?::{part.chunk.table.chunk_type or 'bigint'}")
        read = TableRead(part.chunk.table.path, self._settings.fields, conditions)
        batches = list(self._settings.database.read(connection, read, 0))
        connection.rollback()
        if batches:
            yield [self._with_metadata(pa.concat_batches(batches), part.chunk.table)], None
        return part.seen

    def _connect_for_parts(self) -> Any:
        """Its statements are in transactions: each has a snapshot."""
        connection = self._settings.database.connect()
        self._settings.database.prepare_reading(connection)
        connection.commit()
        return connection

    def _with_metadata(self, data: Any, table: SourceTable) -> Any:
        import numpy as np
        import pyarrow as pa

        from funke.engine.connectors.change_capture.change_rows import metadata_columns
        from funke.engine.connectors.postgres_cdc.change_rows import origins_of
        from funke.engine.formats.table.table_format import schema_of
        from funke.engine.types.columns.column_batch import ColumnBatch

        zeros: Any = np.zeros(len(data), np.int64)
        more = metadata_columns(self._settings, origins_of(self._settings, [table], zeros), zeros, zeros)
        schema = schema_of(self._settings.output_fields)
        return ColumnBatch(pa.RecordBatch.from_arrays([*data.columns, *more], schema=schema))

    def _piece(self, piece: LogPiece) -> Generator[Batch, None, None]:
        stream = self._opened(piece)
        if piece.confirmed is not None:
            stream.confirm(piece.confirmed)
        rows, asked_at = self._rows, 0.0
        rows.meet(Seam(piece.chunks, Visibility.from_text) if piece.chunks else None)
        while True:
            if not self._messages:
                self._messages = MessageRun(stream.take(_WAIT_S))
            if not self._messages:
                if not self._is_in_transaction:
                    if stream.reached >= piece.end:
                        break
                    if time.monotonic() - asked_at > _ASK_EVERY_S:
                        asked_at = time.monotonic()
                        stream.tell(wants_answer=True)
                yield [], None
                continue
            changes = self._messages.changes()
            if changes:
                self._messages.skip(rows.add(changes))
                if rows.is_full:
                    yield records_of(rows.take())
            elif self._is_of_piece(decode_message(self._messages.first()), piece.end):
                self._messages.skip(1)
            else:
                break
        yield records_of(rows.take())

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
                settings.database.settings, settings.slot, settings.publication, piece.start, piece.confirmed or 0
            )
        return self._stream

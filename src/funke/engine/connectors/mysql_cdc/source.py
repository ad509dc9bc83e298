"""The source: an enumerator that has tables read in parts and then the binary log piece by piece, and its reader."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.connectors.change_capture.change_rows import metadata_columns
from funke.engine.connectors.change_capture.enumerator import ChangeEnumerator
from funke.engine.connectors.change_capture.parts import CdcState, Chunk, FinishedChunk, LogPiece, TablePart
from funke.engine.connectors.change_capture.reader import ChangeReader, conditions_of, records_of
from funke.engine.connectors.change_capture.seam import Seam
from funke.engine.connectors.change_capture.source import ChangeSource
from funke.engine.connectors.jdbc.sql_text import quote, to_format_style
from funke.engine.connectors.jdbc.table_read import TableRead
from funke.engine.connectors.mysql_cdc import log_events
from funke.engine.connectors.mysql_cdc.change_rows import ChangeRows, origins_of
from funke.engine.connectors.mysql_cdc.consistent_read import begin_consistent_read
from funke.engine.connectors.mysql_cdc.fitted_columns import column_fitter
from funke.engine.connectors.mysql_cdc.gtids import GtidSet, gtid_of
from funke.engine.connectors.mysql_cdc.log_events import LogEvent
from funke.engine.connectors.mysql_cdc.log_position import LogPosition
from funke.engine.connectors.mysql_cdc.part_columns import cell_text, selected_column
from funke.engine.connectors.mysql_cdc.preparation import (
    check_log,
    check_position,
    chunks_of,
    end_of_log,
    find_tables,
    log_files,
    made_gtids,
)
from funke.engine.connectors.mysql_cdc.questions import MySqlQuestions
from funke.engine.connectors.mysql_cdc.replication import LogStream, gtids_before_file, time_of_file
from funke.engine.connectors.mysql_cdc.selected_rows import selected_rows
from funke.engine.connectors.mysql_cdc.settings import MySqlCdcSettings
from funke.engine.connectors.source import Batch, ReadOutcome, Split
from funke.engine.errors import SourceError
from funke.engine.formats.table.table_format import schema_of
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["MySqlCdcSource"]

_WAIT_S = 0.005
_FIRST_EVENT = 4


class MySqlCdcSource(ChangeSource[MySqlCdcSettings]):
    """Reads tables of MySQL and MariaDB, and the binary log."""

    def create_enumerator(self, parallelism: int, restored: Any = None) -> MySqlEnumerator:
        return MySqlEnumerator(self._settings, restored)

    def create_reader(self) -> MySqlReader:
        return MySqlReader(self._settings)


class MySqlEnumerator(ChangeEnumerator[MySqlCdcSettings]):
    """Parts say themselves where in the log they were read."""

    def __init__(self, settings: MySqlCdcSettings, restored: CdcState | None) -> None:
        self._server = ""
        self._log_time_s: int | None = None
        super().__init__(settings, restored)

    def _fresh(self) -> CdcState:
        connection, settings = self._connection, self._settings
        self._server = check_log(connection)
        tables = tuple(find_tables(connection, settings))
        if settings.start_mode in ("initial", "snapshot"):
            chunks = [each for table in tables for each in chunks_of(connection, table, settings.chunk_rows)]
            return CdcState(tables, end_of_log(connection), tuple(chunks))
        return CdcState(tables, self._first_position(), reads_log=True)

    def _first_position(self) -> LogPosition:
        settings, connection = self._settings, self._connection
        if settings.start_mode == "latest-offset":
            return end_of_log(connection)
        if settings.start_position is not None:
            check_position(connection, settings.start_position)
            return settings.start_position
        files = [LogPosition(each.file, _FIRST_EVENT) for each in log_files(connection)]
        if settings.start_gtids is not None:
            return self._file_with_the_rest_of(settings.start_gtids, files)
        if settings.start_mode == "timestamp":
            # The last file that was begun before; without one, what is wanted may have been thrown away.
            for file in reversed(files):
                if time_of_file(settings, file) * 1000 <= settings.start_time_ms:
                    return file
            raise SourceError(
                f"the server's binary log does not reach back to 'scan.startup.timestamp-millis' = "
                f"'{settings.start_time_ms}'; 'earliest-offset' reads all of it"
            )
        return files[0]

    def _file_with_the_rest_of(self, seen: GtidSet, files: list[LogPosition]) -> LogPosition:
        """The last file before which there is nothing else than what was seen."""
        if not made_gtids(self._connection).holds(seen):
            raise SourceError(
                "'scan.startup.specific-offset.gtid-set' holds transactions that the server has not made, or it keeps "
                "no GTIDs: the set is that of another server"
            )
        for file in reversed(files):
            if seen.holds(gtids_before_file(self._settings, file)):
                return file
        raise SourceError(
            "the server's binary log does not reach back to 'scan.startup.specific-offset.gtid-set': transactions that "
            "are not in the set have been thrown away; read the tables again ('initial')"
        )

    def _continued(self, state: CdcState) -> CdcState:
        self._server, self._log_time_s = state.server, state.log_time_s
        if not self._is_bounded:
            server = check_log(self._connection)
            if server != state.server:
                raise SourceError(
                    f"the job stands in the binary log of another server ({state.server}, not {server}), whose "
                    "positions mean nothing here: start it anew without its state, so that the tables are read again"
                )
            check_position(self._connection, state.position)
            self._check_log_time(state.position)
        return state

    def _check_log_time(self, position: LogPosition) -> None:
        if self._log_time_s not in (None, time_of_file(self._settings, LogPosition(position.file, _FIRST_EVENT))):
            raise SourceError(
                f"the binary log was begun anew (RESET MASTER) since the job stood at {position}. Changes since then "
                "are lost: start the job anew without its state, so that the tables are read again"
            )

    def report(self, outcome: ReadOutcome) -> None:
        super().report(outcome)
        if isinstance(outcome.split.payload, LogPiece):
            self._log_time_s = outcome.result

    def snapshot(self) -> CdcState:
        return replace(super().snapshot(), server=self._server, log_time_s=self._log_time_s)

    def _begin_log(self) -> None:
        """The log is read from the first part on; behind the last no part has seen anything."""
        if self._seam_end is None and self._finished:
            seen = [LogPosition.from_text(each.seen) for each in self._finished]
            self._position, self._seam_end = min(seen), max(seen)

    def _end_of_log(self) -> LogPosition:
        return end_of_log(self._connection)


class MySqlReader(ChangeReader[MySqlCdcSettings]):
    """Parts say themselves where in the log they were read."""

    _stream: LogStream | None

    def __init__(self, settings: MySqlCdcSettings) -> None:
        self._questions = MySqlQuestions(settings)
        super().__init__(settings, self._questions)
        # Where parts were read whose records are on their way.
        self._seen: dict[Chunk, str] = {}
        self._stream = None
        self._rows: Any = None
        # Events that have come; the first may be of a transaction that belongs to a later piece.
        self._events: deque[LogEvent] = deque()
        # Where the transaction began that has not ended yet.
        self._begun: LogPosition | None = None
        self._is_xa = False
        # Whether the transaction is one of those that need not be read.
        self._is_known = False

    def rest(self, split: Split, records: int) -> Split | None:
        """A part is one record: nothing follows it, but its log position still has to be reported."""
        payload = split.payload
        if records and isinstance(payload, TablePart):
            return replace(split, payload=FinishedChunk(payload.chunk, self._seen[payload.chunk]))
        return None

    def _part(self, part: TablePart) -> Generator[Batch, None, str]:
        table = part.chunk.table
        connection = self._for_parts()
        seen = str(begin_consistent_read(self._settings, connection, table))
        columns = [table.column(each.name) for each in self._settings.fields]
        read = TableRead(table.path, self._settings.fields, conditions_of(part.chunk, table.chunk_value or "?"))
        query = read.select([cell_text(each) for each in columns], quote)
        count, values = selected_rows(connection, to_format_style(query.text), query.values)
        connection.rollback()
        if count:
            self._seen[part.chunk] = seen
            yield [self._batch(part, columns, values)], None
            del self._seen[part.chunk]
        return seen

    def _batch(self, part: TablePart, columns: list[Any], selected: list[Any]) -> Any:
        arrays = [
            column_fitter(column, field.data_type, self._settings.zone)(selected_column(column, values))
            for field, column, values in zip(self._settings.fields, columns, selected)
        ]
        zeros: Any = np.zeros(len(selected[0]), np.int64)
        arrays += metadata_columns(self._settings, origins_of(part.chunk.table, len(zeros)), zeros, zeros)
        return ColumnBatch(pa.RecordBatch.from_arrays(arrays, schema=schema_of(self._settings.output_fields)))

    def _piece(self, piece: LogPiece) -> Generator[Batch, None, int | None]:
        stream, changes = self._opened(piece)
        changes.meet(Seam(piece.chunks, LogPosition.from_text) if piece.chunks else None)
        while True:
            if not self._events:
                self._events.extend(stream.take(_WAIT_S))
            if not self._events:
                if stream.position >= piece.end and self._begun is None:
                    break
                yield [], None
                continue
            if self._begun is None and self._events[0].start >= piece.end:
                break
            self._note(self._events.popleft())
            if changes.is_full:
                yield records_of(changes.take())
        yield records_of(changes.take())
        return stream.file_times.get(piece.end.file)

    def _note(self, event: LogEvent) -> None:
        """Takes note of an event: where transactions begin and end, what tables are, and their rows."""
        event = log_events.plain_event(event)
        kind = event.kind
        if self._settings.start_gtids is not None:
            number = gtid_of(event)
            self._is_known = self._settings.start_gtids.has(*number) if number is not None else self._is_known
            if self._is_known and (kind in log_events.ROWS or kind == log_events.TABLE_MAP):
                return
        if kind in log_events.ROWS:
            if self._is_xa and self._rows.reads(event):
                raise SourceError(
                    f"unsupported XA transaction in the binary log at {event.start}: "
                    "whether they were committed is not in the log"
                )
            self._rows.add(event, self._begun or event.start)
        elif kind == log_events.TABLE_MAP:
            self._rows.relate(event)
        elif log_events.is_transaction_start(event):
            self._begun, self._is_xa = self._begun or event.start, log_events.is_of_xa(event)
        elif log_events.is_commit(event):
            self._begun, self._is_xa = None, False
        elif kind == log_events.QUERY and not self._is_known:
            self._rows.state(event)

    def _opened(self, piece: LogPiece) -> tuple[LogStream, Any]:
        if self._stream is None:
            self._rows = ChangeRows(self._settings, piece.tables, self._questions)
            self._stream = LogStream(self._settings, piece.start)
        return self._stream, self._rows

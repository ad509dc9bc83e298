"""Changes of the log as batches of columns with kinds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.connectors.change_capture.seam import Seam, TableSeam
from funke.engine.connectors.mysql_cdc.log_columns import logged_column
from funke.engine.connectors.mysql_cdc.log_events import (
    DELETES,
    INSERTS,
    LogEvent,
    rows_at,
    statement_of,
    table_of,
)
from funke.engine.connectors.mysql_cdc.log_position import LogPosition
from funke.engine.connectors.mysql_cdc.row_block import RowBlock
from funke.engine.connectors.mysql_cdc.settings import MySqlCdcSettings, MySqlTable
from funke.engine.connectors.mysql_cdc.table_layout import LayoutFinder, TableLayout, TableQuestions
from funke.engine.errors import SourceError
from funke.engine.formats.table.table_format import schema_of
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.logical.row_type import RowField
from funke.engine.types.row import RowKind

__all__ = ["METADATA", "ChangeRows", "metadata_columns", "output_fields"]

_INSERT, _BEFORE, _AFTER, _DELETE = (kind.value for kind in RowKind)
_NO_ROW = -1
# Bytes of the number that a table has in the log.
_NUMBER = 6
# Events in one record, and their bytes: records must be the same when a piece is read again, so nothing else may cut
# them.
EVENTS_IN_RECORD = 10_000
_BYTES_IN_RECORD = 1 << 22
# What can be told beside a row, as Flink's connector names it.
METADATA: Mapping[str, Any] = {
    "table_name": DataTypes.STRING(False),
    "database_name": DataTypes.STRING(False),
    "op_ts": DataTypes.TIMESTAMP_LTZ(3, False),
    "row_kind": DataTypes.STRING(False),
}
_COMMENTS = re.compile(r"/\*.*?\*/|--[^\n]*|#[^\n]*", re.DOTALL)
_DEFINITION = re.compile(r"\s*(?:ALTER|RENAME|DROP|CREATE)\b", re.IGNORECASE)
_TRUNCATE = re.compile(r"\s*TRUNCATE\s+(?:TABLE\s+)?(.*)", re.IGNORECASE | re.DOTALL)
_DROP = re.compile(r"\s*(?:DROP\s+TABLE|CREATE\s+OR\s+REPLACE\s+TABLE)\b", re.IGNORECASE)
_MANIPULATION = re.compile(r"\s*(?:INSERT|UPDATE|DELETE|REPLACE|LOAD|MERGE)\b", re.IGNORECASE)


def output_fields(settings: MySqlCdcSettings) -> tuple[RowField, ...]:
    """The columns of the rows that are given."""
    return (*settings.fields, *(RowField(name, METADATA[key]) for key, name in settings.metadata))


def metadata_columns(settings: MySqlCdcSettings, table: MySqlTable, times_ms: Any, kinds: Any) -> list[Any]:
    """The columns of metadata for rows of a table: when they were changed, and how."""
    count = len(times_ms)
    columns = {
        "table_name": lambda: pa.repeat(pa.scalar(table.name, pa.string()), count),
        "database_name": lambda: pa.repeat(pa.scalar(table.database, pa.string()), count),
        "op_ts": lambda: pa.array(times_ms, pa.int64()).cast(pa.timestamp("ms", "UTC")),
        "row_kind": lambda: pa.array([str(kind) for kind in RowKind], pa.string()).take(pa.array(kinds)),
    }
    return [columns[key]() for key, _ in settings.metadata]


class ChangeRows:
    """Gathers events until their rows are taken as a batch."""

    def __init__(self, settings: MySqlCdcSettings, tables: Sequence[MySqlTable], questions: TableQuestions) -> None:
        self._settings = settings
        self._schema = schema_of(output_fields(settings))
        self._finder = LayoutFinder(settings, tables, questions)
        self._questions = questions
        # By the numbers that the log has for tables: how it describes them now, and those of them that are read.
        self._described: dict[bytes, bytes] = {}
        self._layouts: dict[bytes, TableLayout] = {}
        self._seam: Seam | None = None
        # Events, each with the place where its transaction begins.
        self._events: list[tuple[LogEvent, LogPosition]] = []
        self._decoded: list[ColumnBatch] = []
        self._count = self._size = 0

    def meet(self, seam: Seam | None) -> None:
        """What follows may have been read with the tables."""
        self._seam = seam

    def relate(self, event: LogEvent) -> None:
        """Changes of a table follow, which may have other columns than before."""
        number = event.body[:_NUMBER]
        if self._described.get(number) == event.body:
            return
        if number in self._layouts:
            self._decode()
            del self._layouts[number]
        self._described[number] = event.body
        layout = self._finder.layout(table_of(event.body))
        if layout is not None:
            self._layouts[number] = layout

    def reads(self, event: LogEvent) -> bool:
        """Whether the rows of an event are of a table that is read."""
        return event.body[:_NUMBER] in self._layouts

    def add(self, event: LogEvent, transaction: LogPosition) -> None:
        """Adds an event of rows, of a transaction that begins somewhere."""
        if self.reads(event) and event.time_s * 1000 >= self._settings.start_time_ms:
            self._events.append((event, transaction))
            self._count, self._size = self._count + 1, self._size + len(event.body)

    def state(self, event: LogEvent) -> None:
        """Looks at a statement: it may change what tables are, or say that their rows are gone."""
        database, text = statement_of(event.body)
        text = _COMMENTS.sub(" ", text)
        if _MANIPULATION.match(text):
            for table in self._named(database, text):
                raise SourceError(
                    f"the binary log holds at {event.start} a statement that changes {table.path} instead of its rows: "
                    "a session has set binlog_format to something else than ROW"
                )
        truncated = _TRUNCATE.match(text)
        if truncated or _DROP.match(text):
            self._check_gone(
                self._named(database, truncated[1] if truncated else text), "truncated" if truncated else "dropped"
            )
        if _DEFINITION.match(text):
            found = self._named(database, text)
            if found:
                self._decode()
                self._described.clear()
            for table in found:
                self._finder.table_changed(table)

    def _check_gone(self, tables: Sequence[MySqlTable], what: str) -> None:
        if tables and not (what == "truncated" and self._settings.ignores_truncate):
            hint = ", or set 'debezium.skipped.operations' = 't' to go on without their deletion"
            raise SourceError(
                f"the table {tables[0].path} was {what}, and the log does not say which rows it had. Start the job "
                f"anew without its state{hint if what == 'truncated' else ''}"
            )

    def _named(self, database: str, text: str) -> list[MySqlTable]:
        """The tables that a statement may be about."""
        words = set(re.findall(r"[^\s`\"().,;=]+", text)) | set(re.findall(r"[`\"]([^`\"]+)[`\"]", text))
        return [
            each
            for each in self._finder.tables
            if each.name in words and (each.database == database or each.database in words)
        ]

    @property
    def is_full(self) -> bool:
        return self._count >= EVENTS_IN_RECORD or self._size >= _BYTES_IN_RECORD

    def take(self) -> ColumnBatch | None:
        """The rows so far, but for those that were read with the tables; None if there are none."""
        self._decode()
        decoded, self._decoded = self._decoded, []
        self._count = self._size = 0
        return ColumnBatch.concat(decoded) if decoded else None

    def _decode(self) -> None:
        events, self._events = self._events, []
        by_table: dict[bytes, list[int]] = {}
        for place, (event, _) in enumerate(events):
            by_table.setdefault(event.body[:_NUMBER], []).append(place)
        found = [
            self._table_rows(self._layouts[number], [events[place] for place in places], np.asarray(places))
            for number, places in by_table.items()
        ]
        batches = [batch for batch, _ in found if len(batch)]
        if batches:
            whole = ColumnBatch.concat(batches)
            if len(found) > 1:
                # As they stand in the log.
                whole = whole.take(np.lexsort(np.concatenate([order for _, order in found], axis=1)[::-1]))
            self._decoded.append(whole)

    def _table_rows(
        self, layout: TableLayout, events: Sequence[tuple[LogEvent, LogPosition]], places: Any
    ) -> tuple[ColumnBatch, Any]:
        """The rows of a table, and their order: the places of their events, and their own there."""
        starts = [rows_at(event, len(layout.stored)) for event, _ in events]
        block = RowBlock([event.body for event, _ in events], starts, layout.stored)
        kinds = _kinds_of([event for event, _ in events], block)
        if self._seam is not None:
            self._leave_out(kinds, layout, block, [transaction for _, transaction in events])
        rows = np.flatnonzero(kinds != _NO_ROW)
        kinds = kinds[rows]
        columns = (
            [
                each.fit(logged_column(block, block.cells(each.place).of(rows), each.column, each.store))
                for each in layout.wanted
            ]
            if len(block)
            else [pa.array([], each.type) for each in self._schema][: len(layout.wanted)]
        )
        times_ms = np.array([event.time_s * 1000 for event, _ in events], np.int64)[block.events[rows]]
        columns += metadata_columns(self._settings, layout.table, times_ms, kinds)
        batch = ColumnBatch(pa.RecordBatch.from_arrays(columns, schema=self._schema), None, kinds)
        return batch, np.array([places[block.events[rows]], block.numbers[rows]])

    def _leave_out(self, kinds: Any, layout: TableLayout, block: RowBlock, transactions: Sequence[LogPosition]) -> None:
        """Takes out rows whose parts were read behind their transactions."""
        assert self._seam is not None
        parts = self._seam.table(layout.table.path)
        if parts is None:
            return
        seen = np.array([self._seam.snapshots_that_see(each) for each in transactions])[block.events]
        if not seen.any():
            return
        is_out = seen[np.arange(len(seen)), self._snapshots(layout, block, parts)]
        # Half of an update is a deletion or an insertion.
        before = np.flatnonzero(kinds == _BEFORE)
        kinds[before[is_out[before + 1]]] = _DELETE
        kinds[before[is_out[before]] + 1] = _INSERT
        kinds[is_out] = _NO_ROW

    def _snapshots(self, layout: TableLayout, block: RowBlock, parts: TableSeam) -> Any:
        chunk = layout.chunk
        if not parts.needs_keys or chunk is None:
            return np.full(len(block), parts.snapshots[0])
        keys = logged_column(block, block.cells(chunk.place), chunk.column, chunk.store)
        if layout.table.chunk_value is None:
            return parts.snapshots[np.searchsorted(np.array(parts.lows, object), keys.to_pylist(), "right")]
        texts = _key_texts(keys, chunk.column.digits)
        return parts.snapshots[np.asarray(self._questions.chunks(layout.table, parts.lows, texts), np.int64)]


def _key_texts(keys: Any, digits: int) -> list[str | None]:
    """Keys as the bounds of parts are written."""
    if pa.types.is_binary(keys.type):
        return [None if key is None else key.hex() for key in keys.to_pylist()]
    return keys.cast(pa.string()).to_pylist()  # type: ignore[no-any-return]


def _kinds_of(events: Sequence[LogEvent], block: RowBlock) -> Any:
    """Updates are rows before and behind in turn."""
    first = [_INSERT if each.kind in INSERTS else _DELETE if each.kind in DELETES else _BEFORE for each in events]
    kinds = np.array(first, np.int8)[block.events]
    kinds[(kinds == _BEFORE) & (block.numbers % 2 == 1)] = _AFTER
    return kinds

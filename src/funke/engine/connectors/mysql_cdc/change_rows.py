"""Changes of the log as batches of columns with kinds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.connectors.change_capture.change_rows import GatheredChanges, metadata_columns, reject_lost_rows
from funke.engine.connectors.change_capture.seam import TableSeam
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
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind

__all__ = ["ChangeRows", "origins_of"]

_INSERT, _BEFORE, _AFTER, _DELETE = (kind.value for kind in RowKind)
_NO_ROW = -1
# Bytes of the number that a table has in the log.
_NUMBER = 6
# Comments, and those that the server takes for statements.
_COMMENTS = re.compile(r"/\*.*?\*/|^\s*(?:--|#)[^\n]*", re.DOTALL | re.MULTILINE)
_MEANT_COMMENTS = re.compile(r"/\*M?!\d*(.*?)\*/", re.DOTALL)
_DEFINITION = re.compile(r"\s*(?:ALTER|RENAME|DROP|CREATE)\b", re.IGNORECASE)
_TRUNCATE = re.compile(r"\s*TRUNCATE\b", re.IGNORECASE)
_DROP_DATABASE = re.compile(r"\s*DROP\s+(?:DATABASE|SCHEMA)\b", re.IGNORECASE)
_DROP = re.compile(r"\s*(?:DROP\s+(?:TABLE|DATABASE|SCHEMA)|CREATE\s+OR\s+REPLACE\s+TABLE)\b", re.IGNORECASE)
_MANIPULATION = re.compile(r"\s*(?:INSERT|UPDATE|DELETE|REPLACE|LOAD|MERGE)\b", re.IGNORECASE)
_WORDS = re.compile(r"[^\s`\"().,;=]+")
_QUOTED = re.compile(r"[`\"]([^`\"]+)[`\"]")


def origins_of(table: MySqlTable, count: int) -> dict[str, Callable[[], Any]]:
    """What METADATA columns say of rows of a table."""
    return {
        "table_name": lambda: pa.repeat(pa.scalar(table.name, pa.string()), count),
        "database_name": lambda: pa.repeat(pa.scalar(table.database, pa.string()), count),
    }


class ChangeRows(GatheredChanges[MySqlCdcSettings]):
    """Gathers events until their rows are taken as a batch."""

    max_bytes = 1 << 22

    def __init__(self, settings: MySqlCdcSettings, tables: Sequence[MySqlTable], questions: TableQuestions) -> None:
        super().__init__(settings)
        self._finder = LayoutFinder(settings, tables, questions)
        self._questions = questions
        # By the numbers that the log has for tables: how it describes them now, and those of them that are read.
        self._described: dict[bytes, bytes] = {}
        self._layouts: dict[bytes, TableLayout] = {}
        # Events, each with the place where its transaction begins.
        self._events: list[tuple[LogEvent, LogPosition]] = []

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
        text = _COMMENTS.sub(" ", _MEANT_COMMENTS.sub(r" \1 ", text))
        if _MANIPULATION.match(text):
            for table in self._named(database, text, event.start):
                raise SourceError(
                    f"the binary log holds at {event.start} a statement that changes {table.path} instead of its rows: "
                    "a session has set binlog_format to a value other than ROW"
                )
        if _TRUNCATE.match(text):
            self._check_gone(self._named(database, text, event.start), "truncated")
        if _DROP.match(text):
            self._check_gone(self._named(database, text, event.start), "dropped")
        if _DEFINITION.match(text):
            self._define(text)

    def _define(self, text: str) -> None:
        """Whichever tables a definition mentions are looked at: that does no harm to others."""
        lowered = text.casefold()
        mentioned = [each for each in self._finder.tables if each.name.replace("`", "``").casefold() in lowered]
        if mentioned:
            self._decode()
            self._described.clear()
        for table in mentioned:
            self._finder.table_changed(table)

    def _check_gone(self, tables: Sequence[MySqlTable], what: str) -> None:
        if tables and not (what == "truncated" and self._settings.ignores_truncate):
            reject_lost_rows(tables[0].path, what, "without its state")

    def _named(self, database: str, text: str, position: LogPosition) -> list[MySqlTable]:
        """The tables that a statement names, or whose database it drops, but for those that were read behind it."""
        words = {each.casefold() for each in _WORDS.findall(text)} | {each.casefold() for each in _QUOTED.findall(text)}
        is_of_database = _DROP_DATABASE.match(text) is not None
        return [
            each
            for each in self._finder.tables
            if (each.database.casefold() in words or (each.database == database and not is_of_database))
            and (each.name.casefold() in words or is_of_database)
            and not self._was_read_behind(each, position)
        ]

    def _was_read_behind(self, table: MySqlTable, position: LogPosition) -> bool:
        parts = None if self._seam is None else self._seam.table(table.path)
        return (
            self._seam is not None
            and parts is not None
            and bool(self._seam.snapshots_that_see(position)[parts.snapshots].all())
        )

    def _decode(self) -> None:
        events, self._events = self._events, []
        by_table: dict[bytes, list[int]] = {}
        for index, (event, _) in enumerate(events):
            by_table.setdefault(event.body[:_NUMBER], []).append(index)
        decoded = [
            self._table_rows(self._layouts[number], [events[index] for index in indexes], np.asarray(indexes))
            for number, indexes in by_table.items()
        ]
        batches = [batch for batch, _ in decoded if len(batch)]
        if batches:
            whole = ColumnBatch.concat(batches)
            if len(decoded) > 1:
                # As they stand in the log.
                whole = whole.take(np.lexsort(np.concatenate([order for _, order in decoded], axis=1)[::-1]))
            self._decoded.append(whole)

    def _table_rows(
        self, layout: TableLayout, events: Sequence[tuple[LogEvent, LogPosition]], indexes: Any
    ) -> tuple[ColumnBatch, Any]:
        """The rows of a table, and their order: the places of their events, and their own there."""
        starts = [rows_at(event, len(layout.stored)) for event, _ in events]
        block = RowBlock([event.body for event, _ in events], starts, layout.stored)
        kinds = _kinds_of([event for event, _ in events], block)
        if self._seam is not None:
            self._leave_out(kinds, layout, block, [transaction for _, transaction in events])
        rows = np.flatnonzero(kinds != _NO_ROW)
        kinds = kinds[rows]
        columns = [
            each.fit(logged_column(block, block.cells(each.index).of(rows), each.column, each.store))
            for each in layout.columns
        ]
        times_ms = np.array([event.time_s * 1000 for event, _ in events], np.int64)[block.events[rows]]
        columns += metadata_columns(self._settings, origins_of(layout.table, len(rows)), times_ms, kinds)
        batch = ColumnBatch(pa.RecordBatch.from_arrays(columns, schema=self._schema), None, kinds)
        return batch, np.array([indexes[block.events[rows]], block.numbers[rows]])

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
        keys = logged_column(block, block.cells(chunk.index), chunk.column, chunk.store)
        if layout.table.chunk_value is None:
            return parts.snapshots[np.searchsorted(np.array(parts.lows, object), keys.to_pylist(), "right")]
        strings = _key_strings(keys)
        return parts.snapshots[np.asarray(self._questions.chunks(layout.table, parts.lows, strings), np.int64)]


def _key_strings(keys: Any) -> list[str | None]:
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

"""Where the columns that are wanted stand in the rows of the log, which may not name them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from funke.engine.connectors.mysql_cdc.fitted_columns import column_fitter
from funke.engine.connectors.mysql_cdc.log_events import MappedTable
from funke.engine.connectors.mysql_cdc.settings import MySqlCdcSettings, MySqlColumn, MySqlTable
from funke.engine.connectors.mysql_cdc.stored_columns import StoredColumn, stored_columns
from funke.engine.errors import SourceError

__all__ = ["LayoutFinder", "TableLayout", "TableQuestions", "ReadColumn"]

_ADVICE = (
    "The log does not name columns, so columns cannot be identified: set binlog_row_metadata = FULL for later "
    "changes of tables, and start the job anew without its state"
)


@dataclass(frozen=True)
class ReadColumn:
    """A column: its place in rows, what it is, and what makes it the declared type."""

    index: int
    column: MySqlColumn
    store: StoredColumn
    fit: Callable[[Any], Any]


@dataclass(frozen=True)
class TableLayout:
    """A table, its columns in the log, and those of the fields, in their order."""

    table: MySqlTable
    stored: tuple[StoredColumn, ...]
    columns: tuple[ReadColumn, ...]
    chunk: ReadColumn | None


class TableQuestions(Protocol):
    """What the log does not say and the server knows."""

    def columns(self, table: MySqlTable) -> tuple[MySqlColumn, ...]:
        """Those of a table as they are now; none if it is gone."""

    def names_are_logged(self) -> bool:
        """Whether the log names columns, of what is written now."""

    def chunks(self, table: MySqlTable, lows: Sequence[Any], keys: Sequence[str | None]) -> Sequence[int]:
        """In which part of a table rows are, by the values of its chunk column."""


class LayoutFinder:
    """Knows the columns of tables as they were when the job began, and asks for them when tables have changed."""

    def __init__(self, settings: MySqlCdcSettings, tables: Sequence[MySqlTable], questions: TableQuestions) -> None:
        self._settings = settings
        self._tables = {(each.database, each.name): each for each in tables}
        self._columns = {each.path: each.columns for each in tables}
        self._questions = questions

    def table(self, database: str, name: str) -> MySqlTable | None:
        """The table, if it is one that is read."""
        return self._tables.get((database, name))

    @property
    def tables(self) -> Collection[MySqlTable]:
        return self._tables.values()

    def table_changed(self, table: MySqlTable) -> None:
        """A statement has changed a table: unless the log names columns, others may only have come behind them."""
        now = self._questions.columns(table)
        if not now:
            raise SourceError(
                f"the table {table.path} was dropped or renamed, and the log does not say which rows it had. Start the "
                "job anew without its state"
            )
        if not _begins_with(now, self._columns[table.path]) and not self._questions.names_are_logged():
            raise SourceError(f"the columns of the table {table.path} were changed. {_ADVICE}")
        self._columns[table.path] = now

    def layout(self, mapped: MappedTable) -> TableLayout | None:
        """How rows of a table stand; None if it is not read. Refuses to guess."""
        table = self.table(mapped.database, mapped.name)
        if table is None:
            return None
        stored = stored_columns(mapped)
        columns = self._columns_by_index(table, mapped, stored)
        read_columns = [
            self._read_column(table, columns, stored, each.name, each.data_type) for each in self._settings.fields
        ]
        chunk = None if table.chunk_column is None else self._read_column(table, columns, stored, table.chunk_column)
        return TableLayout(table, tuple(stored), tuple(read_columns), chunk)

    def _columns_by_index(
        self, table: MySqlTable, mapped: MappedTable, stored: Sequence[StoredColumn]
    ) -> Sequence[MySqlColumn | None]:
        """What stands at each place; None for columns that are not known."""
        known_columns = self._columns[table.path]
        by_index = _placed(known_columns, mapped)
        if _fits(by_index, stored):
            return by_index
        now = self._questions.columns(table)
        by_index = _placed(now, mapped)
        if not _fits(by_index, stored) or (mapped.names is None and not _begins_with(now, known_columns)):
            has = ", ".join(f"{each.name} {each.kind.upper()}" for each in known_columns)
            raise SourceError(
                f"the table {table.path} was changed: its rows have {len(stored)} columns in the log, which do not fit "
                f"{has}. {_ADVICE}"
            )
        self._columns[table.path] = now
        return by_index

    def _read_column(
        self,
        table: MySqlTable,
        columns: Sequence[MySqlColumn | None],
        stored: Sequence[StoredColumn],
        name: str,
        data_type: Any = None,
    ) -> ReadColumn:
        candidates = ((index, each) for index, each in enumerate(columns) if each is not None and each.name == name)
        index, column = next(candidates, (len(stored), None))
        if column is None or index >= len(stored):
            raise SourceError(f"the table {table.path} has lost its column {name}")
        fit = column_fitter(column, data_type, self._settings.zone) if data_type is not None else _as_it_is
        return ReadColumn(index, column, stored[index], fit)


def _as_it_is(values: Any) -> Any:
    return values


def _begins_with(now: Sequence[MySqlColumn], before: Sequence[MySqlColumn]) -> bool:
    return len(now) >= len(before) and all(new.is_like(old) for new, old in zip(now, before))


def _placed(columns: Sequence[MySqlColumn], mapped: MappedTable) -> Sequence[MySqlColumn | None]:
    if mapped.names is None:
        return columns
    named = {each.name: each for each in columns}
    return [named.get(name) for name in mapped.names]


def _fits(columns: Sequence[MySqlColumn | None], stored: Sequence[StoredColumn]) -> bool:
    is_known = all(each is not None and store.may_be(each.kind) for each, store in zip(columns, stored))
    return is_known and len(columns) >= len(stored)

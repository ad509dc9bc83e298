"""Lookups in a database: one query for the keys of a batch."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from funke.engine.connectors.jdbc.table_read import Condition, TableRead
from funke.engine.errors import SourceError
from funke.engine.formats.table.table_format import schema_of
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.connectors.lookup.lookup import KeyedTable, Lookup, LookupTable, TableOfThread
from funke.engine.sql.connectors.lookup.lookup_options import LookupSettings

if TYPE_CHECKING:
    from funke.engine.connectors.jdbc.database import Database
    from funke.engine.operators.time.clock import Clock
    from funke.engine.types.logical.sql_value import SqlValue

__all__ = ["JdbcLookupTable"]

T = TypeVar("T")

# Databases bound the length of a statement, and plan long ones slowly.
_KEYS_PER_QUERY = 500
_FETCH_ROWS = 10_000


@dataclass(frozen=True)
class JdbcLookupTable(LookupTable):
    database: Database
    read: TableRead
    settings: LookupSettings

    @property
    def is_async(self) -> bool:  # type: ignore[override]
        return self.settings.is_async

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(each.name, each.data_type) for each in self.read.fields)

    def create_lookup(self, keys: Sequence[int], clock: Clock) -> Lookup:
        names = [self.read.fields[index].name for index in keys]
        connect = partial(DatabaseRows, self.database, self.read, names, self.settings.max_retries)
        return self.settings.lookup(TableOfThread(connect), keys, clock)


class DatabaseRows(KeyedTable):
    """Rows of a database over one connection. After an error it is renewed, up to `max_retries` times for a query."""

    def __init__(
        self,
        database: Database,
        read: TableRead,
        keys: Sequence[str],
        max_retries: int,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._database = database
        self._read = read
        self._keys = [database.quote(each) for each in keys]
        self._max_retries = max_retries
        self._pause = pause
        self._opened: Any = None

    def fetch(self, keys: pa.RecordBatch) -> pa.RecordBatch:
        asked = list(zip(*(each.to_pylist() for each in keys.columns)))
        reads = [
            replace(
                self._read, conditions=(*self._read.conditions, self._condition(asked[start : start + _KEYS_PER_QUERY]))
            )
            for start in range(0, len(asked), _KEYS_PER_QUERY)
        ]
        return self._repeated(lambda: self._rows(reads))

    def _condition(self, keys: Sequence[tuple[SqlValue, ...]]) -> Condition:
        values = tuple(self._value(value) for key in keys for value in key)
        if len(self._keys) == 1:
            return Condition(f"{self._keys[0]} IN ({', '.join('?' for _ in keys)})", values)
        one = " AND ".join(f"{each} = ?" for each in self._keys)
        return Condition(" OR ".join(f"({one})" for _ in keys), values)

    def _value(self, value: SqlValue) -> SqlValue:
        convert = self._database.converter(type(value))
        return value if convert is None else convert(value)

    def fetch_all(self) -> pa.RecordBatch:
        return self._repeated(lambda: self._rows([self._read]))

    def _rows(self, reads: Sequence[TableRead]) -> pa.RecordBatch:
        return _together(schema_of(self._read.fields), (data for read in reads for data in self._batches(read)))

    def _batches(self, read: TableRead) -> Iterator[pa.RecordBatch]:
        connection = self._connection()
        yield from self._database.read(connection, read, _FETCH_ROWS)
        # No transaction stays open: the next query is to see what others have written since.
        connection.commit()

    def _connection(self) -> Any:
        if self._opened is None:
            self._opened = self._database.connect()
            self._database.prepare_reading(self._opened)
        return self._opened

    def _repeated(self, read: Callable[[], T]) -> T:
        for retry in range(self._max_retries + 1):
            try:
                return read()
            except self._database.error as error:
                self.close()
                if retry == self._max_retries or isinstance(error, self._database.lasting_errors):
                    raise SourceError(
                        f"rows of {self._read.table!r} could not be looked up: {type(error).__name__}: {error}"
                    ) from error
                # Flink's pauses: none, one second, two seconds …
                self._pause(float(retry))
        raise AssertionError

    def close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            with contextlib.suppress(self._database.error):
                opened.close()


def _together(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch:
    parts = list(batches)
    return pa.concat_batches(parts) if parts else pa.RecordBatch.from_pylist([], schema=schema)

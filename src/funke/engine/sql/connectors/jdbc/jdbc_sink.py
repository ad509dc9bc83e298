"""Writes the tables of the connector jdbc: the last change of each key, or every row if there is no key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.jdbc.database import Database
from funke.engine.connectors.jdbc.sink import BatchSettings, JdbcSink, JdbcWriter
from funke.engine.connectors.jdbc.statements import Statements, Work
from funke.engine.connectors.sink import Sink, SinkWriter, WriterContext
from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.connectors.table_sink import UPSERTS, TableSink
from funke.engine.sql.connectors.table_source import INSERTS
from funke.engine.sql.functions.values import to_values
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.types.columns.form_change import RowsToColumns
from funke.engine.types.logical import ArrayType, MapType, MultisetType, RowType, to_sql_text
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    import pyarrow as pa

    from funke.engine.types.columns.column_batch import ColumnBatch
    from funke.engine.types.logical import SqlValue

__all__ = ["JdbcTableSink"]

_NO_VALUE = (RowType, MapType, MultisetType)
_DELETING = (RowKind.DELETE.value, RowKind.UPDATE_BEFORE.value)


@dataclass(frozen=True)
class JdbcTableSink(TableSink):
    """Takes updates and deletions if the table has a primary key."""

    database: Database
    table: str
    primary_key: tuple[str, ...]
    batches: BatchSettings = field(default_factory=BatchSettings)
    parallelism: int | None = None
    summary = "jdbc"

    def accepted_kinds(self, requested: frozenset[RowKind]) -> frozenset[RowKind]:
        # With a key an update needs no row of before: the statement replaces the row that has the key.
        if self.primary_key:
            return UPSERTS
        if requested != INSERTS:
            raise ValidationException(
                "please declare primary key for sink table when query contains update/delete record."
            )
        return INSERTS

    def create_sink(self, columns: Sequence[Column], upsert_key: Sequence[int] = ()) -> Sink:
        _check(columns)
        names = [each.name for each in columns]
        if not self.primary_key:
            statements = Statements((self.database.insert_statement(self.table, names),), len(names))
        else:
            # By these indexes `write_columns` names the statement of a row.
            strings = (
                self.database.upsert_statement(self.table, names, self.primary_key),
                self.database.delete_statement(self.table, self.primary_key),
            )
            indexes = tuple(names.index(each) for each in self.primary_key)
            statements = Statements(strings, len(names), indexes)
        return _ColumnSink(self.database, statements, self.batches, tuple(columns))


def _check(columns: Sequence[Column]) -> None:
    for each in columns:
        kind = each.type.element_type if isinstance(each.type, ArrayType) else each.type
        if isinstance(kind, (*_NO_VALUE, ArrayType)):
            raise UnsupportedFeatureError(f"{to_sql_text(each.type)} in a table of a database")


@dataclass(frozen=True)
class _ColumnSink(JdbcSink):
    columns: tuple[Column, ...] = ()

    takes_columns = True

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        return _ColumnWriter(self, context)


class _ColumnWriter(JdbcWriter):
    def __init__(self, sink: _ColumnSink, context: WriterContext) -> None:
        super().__init__(sink, context)
        self._columns, self._schema = sink.columns, schema_of(sink.columns)
        self._input_type = context.input_type

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Takes rows in the form of columns too."""
        if values:
            self.write_columns(RowsToColumns(self._input_type).convert(values, timestamps))

    def write_columns(self, batch: ColumnBatch) -> None:
        data = batch.data.rename_columns(self._schema.names)
        if data.schema != self._schema:
            data = data.cast(self._schema, safe=False)
        rows = list(zip(*(self._cells(column, own) for column, own in zip(data.columns, self._columns))))
        keys = self._statements.key_indexes
        if batch.kinds is None or not keys:
            self.take([(0, row) for row in rows])
            return
        self.take(
            [
                # A DELETE needs the values of the key alone.
                (1, tuple(row[index] for index in keys)) if kind in _DELETING else (0, row)
                for kind, row in zip(batch.kinds.tolist(), rows)
            ]
        )

    def _cells(self, column: pa.Array, own: Column) -> list[SqlValue]:
        values = to_values(column, own.type)
        # Which values a driver cannot take depends on their type: one value tells it for the column.
        first = next((each for each in values if each is not None), None)
        convert = None if first is None else self._connection.database.converter(type(first))
        return values if convert is None else [None if each is None else convert(each) for each in values]

    def _run(self, batch: list[Work]) -> None:
        """Of several changes of one row only the last is written, as in Flink; then their order does not matter."""
        keys = self._statements.key_indexes
        if keys:
            last = {work[1] if work[0] else tuple(work[1][index] for index in keys): work for work in batch}
            # Sorted by statement, so that each is executed once for many rows.
            batch = sorted(last.values(), key=lambda work: work[0])
        super()._run(batch)

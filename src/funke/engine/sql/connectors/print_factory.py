"""The connector print: every change becomes a line of the driver's standard output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.print_sink import line_prefix
from funke.engine.connectors.sink import Sink, SinkWriter, WriterContext
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.connectors.external_text import external_text
from funke.engine.sql.connectors.table_factory import TableContext, TableFactory
from funke.engine.sql.connectors.table_option import TableOption
from funke.engine.sql.connectors.table_sink import SINK_PARALLELISM, TableSink
from funke.engine.sql.functions.values import to_values
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.types.columns.form_change import RowsToColumns
from funke.engine.types.driver_messages import PrintedText
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["PrintFactory", "PrintTableSink"]

_IDENTIFIER = TableOption("print-identifier", description="The prefix of every line.")
_TO_ERROR = TableOption("standard-error", "Boolean", "false", "Prints to the standard error instead.")
_KINDS = [str(kind) for kind in RowKind]


class PrintFactory(TableFactory):
    identifier = "print"
    purpose = "Prints every change of a row."
    writes = True
    optional_options = (_IDENTIFIER, _TO_ERROR, SINK_PARALLELISM)

    def create_sink(self, context: TableContext) -> PrintTableSink:
        values = context.values
        return PrintTableSink(values[_IDENTIFIER] or None, values[_TO_ERROR], values[SINK_PARALLELISM])


@dataclass(frozen=True)
class PrintTableSink(TableSink):
    """Takes all kinds of changes."""

    identifier: str | None = None
    is_error: bool = False
    parallelism: int | None = None
    summary = "print"

    def accepted_kinds(self, requested: frozenset[RowKind]) -> frozenset[RowKind]:
        return requested

    def create_sink(self, columns: Sequence[Column], upsert_key: Sequence[int] = ()) -> Sink:
        return _PrintColumns(tuple(columns), self.identifier, self.is_error)


@dataclass(frozen=True)
class _PrintColumns(Sink):
    columns: tuple[Column, ...]
    identifier: str | None
    is_error: bool

    takes_columns = True

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        return _PrintWriter(self, context)


class _PrintWriter(SinkWriter):
    def __init__(self, sink: _PrintColumns, context: WriterContext) -> None:
        self._send = context.send_to_driver
        self._prefix = line_prefix(sink.identifier, context.subtask, context.parallelism)
        self._is_error = sink.is_error
        self._schema = schema_of(sink.columns)
        self._types = [each.type for each in sink.columns]
        self._strings = [external_text(each) for each in self._types]
        self._input_type = context.input_type

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Takes rows in the form of columns too."""
        if values:
            self.write_columns(RowsToColumns(self._input_type).convert(values, timestamps))

    def write_columns(self, batch: ColumnBatch) -> None:
        """Sends the lines of a batch as one text."""
        data = batch.data if batch.data.schema == self._schema else batch.data.cast(self._schema, safe=False)
        cells = [
            list(map(to_text, to_values(column, data_type)))
            for column, data_type, to_text in zip(data.columns, self._types, self._strings)
        ]
        kinds = ["+I"] * len(batch) if batch.kinds is None else [_KINDS[kind] for kind in batch.kinds]
        lines = [f"{self._prefix}{kind}[{', '.join(row)}]\n" for kind, row in zip(kinds, zip(*cells))]
        self._send(PrintedText("".join(lines), self._is_error))

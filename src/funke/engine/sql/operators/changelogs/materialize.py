"""Keeps the rows that a query has for each primary key of a sink, and decides which one the sink shows.

Flink's rules: the row that came last counts. When it is taken back, the one before it counts again; when another one
is, nothing changes. Of rows that are equal the first one goes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.graph.state_meaning import StateMoves
from funke.engine.sql.meaning.state_parts import COLUMNS
from funke.engine.sql.operators.aggregates.aggregate import signs_of
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.plain_rows import (
    Values,
    column_of,
    index_of,
    moved_lists,
    plain_values,
    require_rows,
    row_lists,
)
from funke.engine.sql.state.keyed_columns import ColumnLayout
from funke.engine.sql.state.keyed_columns_operator import KeyedColumnsOperator
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.sql.plan.changelogs.sink_materialize import SinkMaterialize

__all__ = ["MaterializeOperator"]

_LOG = logging.getLogger(__name__)
_INSERT, _AFTER, _DELETE = (kind.value for kind in (RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE))


class MaterializeOperator(KeyedColumnsOperator):
    """Takes rows one by one: what each one changes depends on those before it."""

    def __init__(self, node: SinkMaterialize) -> None:
        self._node = node
        self._schema = schema_of(node.columns)
        self._keys = KeyColumns(node.keys, [node.columns[index].type for index in node.keys])
        # Without an upsert key only equal rows are the same row.
        self._compared = range(len(node.columns)) if node.upsert_key is None else node.upsert_key
        self._has_warned = False

    def layout(self) -> ColumnLayout:
        return ColumnLayout("rows-of-primary-key", row_lists, self._node.ttl_ms)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        super().restore_keyed(require_rows(parts, self.layout().name, len(self._schema)))

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        return moved_lists(part, self.layout().name, moves[COLUMNS])

    def process_columns(self, batch: ColumnBatch) -> None:
        """Takes rows in, or back, and sends the changes of the sink's rows."""
        self.records_in += len(batch)
        if not len(batch):
            return
        batch = as_schema(batch, self._schema)
        codes, keys = self._keys.encode(batch.data)
        fetched = self.state.fetch(keys)
        (rows_of_keys,) = fetched.columns
        signs = signs_of(batch)
        steps = [1] * len(batch) if signs is None else signs.tolist()
        rows = zip(*map(plain_values, batch.data.columns))
        sent: list[tuple[int, int, Values]] = []
        for source, (code, step, row) in enumerate(zip(codes.tolist(), steps, rows)):
            changes = self._added(rows_of_keys[code], row) if step > 0 else self._removed(rows_of_keys[code], row)
            sent.extend((source, *change) for change in changes)
        self.state.store(fetched, (rows_of_keys,), np.fromiter(map(bool, rows_of_keys), np.bool_, len(rows_of_keys)))
        self._send(batch, sent)

    def _added(self, rows: list[Values], row: Values) -> Iterator[tuple[int, Values]]:
        yield _AFTER if rows else _INSERT, row
        # As in Flink a row that replaces another one takes its index in the list, though the sink shows it as the
        # latest.
        index = None if self._node.upsert_key is None else index_of(row, rows, self._compared)
        if index is None:
            rows.append(row)
        else:
            rows[index] = row

    def _removed(self, rows: list[Values], row: Values) -> Iterator[tuple[int, Values]]:
        # A search through all rows of the key: a primary key that many rows of the query share gets slow.
        index = index_of(row, rows, self._compared)
        if index is None:
            self._warn()
            return
        del rows[index]
        # As in Flink's SinkUpsertMaterializer: the table shows the row that came last. When that one goes, the one
        # before it is shown again; a row in the middle goes without a trace.
        if not rows:
            yield _DELETE, row
        elif index == len(rows):
            yield _AFTER, rows[-1]

    def _warn(self) -> None:
        """Warns as Flink does, but once for each subtask."""
        if not self._has_warned:
            self._has_warned = True
            _LOG.warning(
                "An unknown row is retracted, because its state has expired: the table may have rows that "
                "the query does not have. A higher table.exec.state.ttl avoids this."
            )

    def _send(self, batch: ColumnBatch, sent: list[tuple[int, int, Values]]) -> None:
        if not sent:
            return
        sources, kinds, rows = zip(*sent)
        columns = [column_of(values, each.type) for values, each in zip(zip(*rows), self._schema)]
        timestamps = None if batch.timestamps is None else batch.timestamps[list(sources)]
        marks = np.array(kinds, np.int8)
        data = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        self.output.emit_columns(ColumnBatch(data, timestamps, marks if marks.any() else None))

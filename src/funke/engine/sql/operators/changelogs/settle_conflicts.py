"""Settles ON CONFLICT by watermarks: one row of the query for each primary key of a sink; a second one is a conflict.

Flink's rules: rows wait until the watermark has passed the one at which they were sent, so that a row before an update
and the row after it, which may come from two subtasks, are looked at together. What is there and not taken back by then
must be one row; if it is not, the job fails, or the row that was there first stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from funke.engine.flink_exceptions import TableException
from funke.engine.formats.column_types import to_type_info
from funke.engine.graph.state_meaning import StateMoves
from funke.engine.operators.operator import MIN_WATERMARK, Operator
from funke.engine.sql.meaning.state_parts import COLUMNS
from funke.engine.sql.operators.aggregates.aggregate import signs_of
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.plain_rows import Values, column_of, index_of, moved_lists, plain_values, row_lists
from funke.engine.sql.operators.waiting_rows_operator import WaitingRowsOperator
from funke.engine.sql.operators.windows.over.row_buffer import RowBuffer
from funke.engine.sql.state.keyed_columns import ColumnLayout
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.sql.plan.changelogs.sink_materialize import SinkMaterialize

__all__ = ["SettleConflictsOperator", "StampWatermarksOperator"]

_INSERT, _AFTER, _DELETE = (kind.value for kind in (RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE))


class StampWatermarksOperator(Operator):
    """Gives rows the current watermark as their timestamp."""

    takes_rows = False
    takes_columns = True

    def __init__(self) -> None:
        self._watermark = MIN_WATERMARK

    def process_columns(self, batch: ColumnBatch) -> None:
        self.records_in += len(batch)
        self.output.emit_columns(batch.with_timestamps(np.full(len(batch), self._watermark, np.int64)))

    def process_watermark(self, watermark: int) -> None:
        self._watermark = watermark
        super().process_watermark(watermark)


class SettleConflictsOperator(WaitingRowsOperator):
    """Rows wait in memory; state has the row that each key has. Each row is looked at by itself, since what it does
    depends on those of its key before it."""

    def __init__(self, node: SinkMaterialize) -> None:
        self._node = node
        self._schema = schema_of(node.columns)
        types = [node.columns[index].type for index in node.keys]
        self._keys = KeyColumns(node.keys, types)
        self._waiting = RowBuffer("waiting-changes", node.keys, list(map(to_type_info, types)), self._schema)
        self._compared = range(len(node.columns)) if node.upsert_key is None else node.upsert_key

    def layout(self) -> ColumnLayout:
        return ColumnLayout("row-of-primary-key", row_lists, self._node.ttl_ms)

    def process_columns(self, batch: ColumnBatch) -> None:
        """Buffers the rows until a later watermark."""
        self.records_in += len(batch)
        self._waiting.add(as_schema(batch, self._schema))

    def process_watermark(self, watermark: int) -> None:
        """Settles what was sent before it, then sends it on."""
        first = self._waiting.first_time()
        # What was sent at one watermark belongs together. A later watermark says that it is complete.
        while first is not None and first < watermark:
            rows = self._waiting.all()
            assert rows is not None and rows.timestamps is not None
            self._settle(self._waiting.take_out(rows.timestamps == first))
            first = self._waiting.first_time()
        super().process_watermark(watermark)

    def _settle(self, batch: ColumnBatch) -> None:
        codes, keys = self._keys.encode(batch.data)
        fetched = self.state.fetch(keys)
        (rows_of_keys,) = fetched.columns
        signs = signs_of(batch)
        steps = [1] * len(batch) if signs is None else signs.tolist()
        changes: list[list[tuple[int, Values]]] = [[] for _ in rows_of_keys]
        for code, step, row in zip(codes.tolist(), steps, zip(*map(plain_values, batch.data.columns))):
            _add_or_cancel(changes[code], step, row)
        sent = [change for index, each in enumerate(changes) for change in self._changed(rows_of_keys[index], each)]
        self.state.store(fetched, (rows_of_keys,), np.fromiter(map(bool, rows_of_keys), np.bool_, len(rows_of_keys)))
        if sent:
            kinds, rows = zip(*sent)
            columns = [column_of(values, each.type) for values, each in zip(zip(*rows), self._schema)]
            data = pa.RecordBatch.from_arrays(columns, schema=self._schema)
            self.output.emit_columns(ColumnBatch(data, None, np.array(kinds, np.int8)))

    def _changed(self, kept: list[Values], changes: list[tuple[int, Values]]) -> Iterator[tuple[int, Values]]:
        """The change of a key's row, if there is one; `kept` has the row, and then the one that follows it."""
        before = kept[0] if kept else None
        rows = self._after(kept, changes)
        # Only now: a second row may be gone again when the watermark comes.
        if len(rows) > 1 and self._node.strategy == "error":
            raise _violation(self._node, rows[0])
        # DO NOTHING: of several rows the one that the sink has stays; if it has none, the first that came.
        after = before if len(rows) > 1 and before is not None else rows[0] if rows else None
        kept[:] = [] if after is None else [after]
        if before is None and after is not None:
            yield _INSERT, after
        elif before is not None and after is None:
            yield _DELETE, before
        elif after is not None and after != before:
            yield _AFTER, after

    def _after(self, kept: list[Values], changes: list[tuple[int, Values]]) -> list[Values]:
        """The rows that changes leave."""
        rows = kept[:]
        for step, row in changes:
            # Without an upsert key each row stands by itself; with one a row replaces that of its key.
            is_beside = step > 0 and self._node.upsert_key is None
            index = None if is_beside else index_of(row, rows, self._compared)
            if index is not None:
                rows[index : index + 1] = [row] if step > 0 else []
            elif step > 0:
                rows.append(row)
        return rows

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        own = moves[COLUMNS]
        return moved_lists(self._waiting.moved(part, own), self.layout().name, own)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        """Restored rows wait for the first watermark: their stamps are watermarks of the earlier attempt."""
        super().restore_keyed(parts)
        rows = self._waiting.all()
        if rows is not None:
            assert rows.timestamps is not None
            self._waiting.take_out(np.ones(len(rows), np.bool_))
            in_order = rows.take(rows.timestamps.argsort(kind="stable"))
            self._waiting.add(in_order.with_timestamps(np.full(len(rows), MIN_WATERMARK, np.int64)))


def _add_or_cancel(changes: list[tuple[int, Values]], step: int, row: Values) -> None:
    """A row that comes and one that goes leave nothing, whichever was first."""
    # They may come from two subtasks, so a row may be taken back before it is here.
    opposite = (-step, row)
    if opposite in changes:
        changes.remove(opposite)
    else:
        changes.append((step, row))


def _violation(node: SinkMaterialize, row: Values) -> TableException:
    key = ", ".join(f"{node.columns[index].name}={row[index]}" for index in node.keys)
    return TableException(
        "Primary key constraint violation: multiple distinct records with the same primary key detected. Conflicting "
        f"key: [{key}]. Use ON CONFLICT DO NOTHING to keep the first record."
    )

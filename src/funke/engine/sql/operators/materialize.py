"""Keeps the rows that a query has for each primary key of a table, and says which one the table has.

Flink's rules: the row that came last counts. When it is taken back, the one before it counts again; when another one
is, nothing changes. Of rows that are equal the first one goes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from funke.engine.graph.state_meaning import StateMeaning, StateMoves
from funke.engine.operators.operator import TaskInfo
from funke.engine.sql.binding.materialization import Materialization
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.meaning.column_texts import ColumnTexts
from funke.engine.sql.meaning.state_parts import COLUMNS, columns_of, primary_key_facts
from funke.engine.sql.operators.aggregate import signs_of
from funke.engine.sql.operators.calculate import as_schema, schema_of
from funke.engine.sql.operators.key_columns import KeyColumns
from funke.engine.sql.operators.plain_rows import (
    Values,
    column_of,
    moved_lists,
    place_of,
    plain_values,
    require_rows,
    row_lists,
)
from funke.engine.sql.state.keyed_columns import ColumnLayout
from funke.engine.sql.state.keyed_columns_operator import KeyedColumnsOperator
from funke.engine.state.snapshot.file_format import GroupPart
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind

__all__ = ["Materialize", "MaterializeOperator"]

_LOG = logging.getLogger(__name__)
_INSERT, _AFTER, _DELETE = (kind.value for kind in (RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE))


@dataclass(frozen=True)
class Materialize:
    """Makes the operator for a subtask."""

    columns: tuple[Column, ...]
    keys: tuple[int, ...]
    # The columns by which rows replace each other; all rows stand beside each other without.
    upsert_key: tuple[int, ...] | None = None
    ttl_ms: int = 0

    @staticmethod
    def of(relation: Materialization) -> Materialize:
        return Materialize(relation.columns, relation.keys, relation.upsert_key, relation.ttl_ms)

    @staticmethod
    def meaning(relation: Materialization) -> StateMeaning:
        """What its state means: the rows that are there for each primary key, the last of which counts."""
        texts = ColumnTexts()
        facts = primary_key_facts(texts, relation)
        return StateMeaning("SinkMaterializer", facts, ((COLUMNS, columns_of(texts, relation.input)),))

    def __call__(self, task: TaskInfo) -> MaterializeOperator:
        return MaterializeOperator(self)


class MaterializeOperator(KeyedColumnsOperator):
    """Takes rows one by one: what each one changes depends on those before it."""

    def __init__(self, spec: Materialize) -> None:
        self._spec = spec
        self._schema = schema_of(spec.columns)
        self._keys = KeyColumns(spec.keys, [spec.columns[place].type for place in spec.keys])
        self._compared = range(len(spec.columns)) if spec.upsert_key is None else spec.upsert_key
        self._has_warned = False

    def layout(self) -> ColumnLayout:
        return ColumnLayout("rows-of-primary-key", row_lists, self._spec.ttl_ms)

    def restore_keyed(self, parts: Iterable[tuple[int, GroupPart]]) -> None:
        super().restore_keyed(require_rows(parts, self.layout().name, len(self._schema)))

    def moved(self, part: GroupPart, moves: StateMoves) -> GroupPart:
        return moved_lists(part, self.layout().name, moves[COLUMNS])

    def process_columns(self, batch: ColumnBatch) -> None:
        """Takes rows in, or back, and sends what the table has then."""
        self.records_in += len(batch)
        if not len(batch):
            return
        batch = as_schema(batch, self._schema)
        codes, keys = self._keys.encode(batch.data)
        fetched = self.state.fetch(keys)
        (known,) = fetched.columns
        signs = signs_of(batch)
        steps = [1] * len(batch) if signs is None else signs.tolist()
        rows = zip(*map(plain_values, batch.data.columns))
        sent: list[tuple[int, int, Values]] = []
        for source, (code, step, row) in enumerate(zip(codes.tolist(), steps, rows)):
            changes = self._added(known[code], row) if step > 0 else self._removed(known[code], row)
            sent.extend((source, *change) for change in changes)
        self.state.store(fetched, (known,), np.fromiter(map(bool, known), np.bool_, len(known)))
        self._send(batch, sent)

    def _added(self, known: list[Values], row: Values) -> Iterator[tuple[int, Values]]:
        yield _AFTER if known else _INSERT, row
        place = None if self._spec.upsert_key is None else place_of(row, known, self._compared)
        if place is None:
            known.append(row)
        else:
            known[place] = row

    def _removed(self, known: list[Values], row: Values) -> Iterator[tuple[int, Values]]:
        place = place_of(row, known, self._compared)
        if place is None:
            self._warn()
            return
        del known[place]
        if not known:
            yield _DELETE, row
        elif place == len(known):
            yield _AFTER, known[-1]

    def _warn(self) -> None:
        """As Flink does; once is enough for the log of a subtask."""
        if not self._has_warned:
            self._has_warned = True
            _LOG.warning(
                "A row is taken back that is not known, because its state has expired: the table may have rows that "
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

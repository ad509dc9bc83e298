"""Writes the kinds of changes into a column, and takes them from one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.errors import FunkeError
from funke.engine.operators.operator import Operator, TaskInfo
from funke.engine.sql.binding.changelog_tables import ChangesAsRows, RowsAsChanges
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind

__all__ = ["ReadKinds", "WriteKinds"]


@dataclass(frozen=True)
class WriteKinds:
    """Makes the operator that adds the column."""

    columns: tuple[Column, ...]
    codes: tuple[tuple[RowKind, str], ...]

    @staticmethod
    def of(relation: ChangesAsRows) -> WriteKinds:
        return WriteKinds(relation.columns, relation.codes)

    def __call__(self, task: TaskInfo) -> Operator:
        return _WriteOperator(self)


@dataclass(frozen=True)
class ReadKinds:
    """Makes the operator that takes the column away."""

    columns: tuple[Column, ...]
    op: int
    codes: tuple[tuple[str, RowKind], ...]

    @staticmethod
    def of(relation: RowsAsChanges) -> ReadKinds:
        return ReadKinds(relation.columns, relation.op, relation.codes)

    def __call__(self, task: TaskInfo) -> Operator:
        return _ReadOperator(self)


class _WriteOperator(Operator):
    takes_rows = False
    takes_columns = True

    def __init__(self, spec: WriteKinds) -> None:
        self._schema = schema_of(spec.columns)
        known = {kind.value: code for kind, code in spec.codes}
        self._codes = pa.array([known.get(kind.value) for kind in RowKind], pa.string())

    def process_columns(self, batch: ColumnBatch) -> None:
        self.records_in += len(batch)
        kinds: Any = np.zeros(len(batch), np.int8) if batch.kinds is None else batch.kinds
        codes = self._codes.take(pa.array(kinds))
        data = pa.RecordBatch.from_arrays([codes, *batch.data.columns], schema=self._schema)
        rows = ColumnBatch(data, batch.timestamps)
        if codes.null_count:
            rows = rows.filter(codes.is_valid())
        if len(rows):
            self.output.emit_columns(rows)


class _ReadOperator(Operator):
    takes_rows = False
    takes_columns = True

    def __init__(self, spec: ReadKinds) -> None:
        self._schema = schema_of(spec.columns)
        self._op = spec.op
        self._names = pa.array([code for code, _ in spec.codes], pa.string())
        self._kinds = np.array([kind.value for _, kind in spec.codes], np.int8)

    def process_columns(self, batch: ColumnBatch) -> None:
        self.records_in += len(batch)
        if not len(batch):
            return
        codes = batch.data.column(self._op).cast(pa.string())
        places = pc.index_in(codes, self._names)
        if places.null_count:
            wrong = codes.filter(places.is_null())[0].as_py()
            known = ", ".join(self._names.to_pylist())
            raise FunkeError(f"Received invalid op code '{wrong}'. Defined op codes are: [{known}].")
        others = [column for place, column in enumerate(batch.data.columns) if place != self._op]
        kinds = self._kinds[np.asarray(places)]
        data = pa.RecordBatch.from_arrays(others, schema=self._schema)
        self.output.emit_columns(ColumnBatch(data, batch.timestamps, kinds if kinds.any() else None))

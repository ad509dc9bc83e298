"""Changes as rows that say what they are, and rows as the changes that they say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.flink_exceptions import TableException
from funke.engine.operators.operator import Operator, TaskInfo
from funke.engine.sql.binding.changelog_functions import FromChangelog, ToChangelog
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind

__all__ = ["ReadKinds", "WriteKinds"]


@dataclass(frozen=True)
class WriteKinds:
    """Makes the operator of TO_CHANGELOG."""

    columns: tuple[Column, ...]
    codes: tuple[tuple[RowKind, str], ...]

    @staticmethod
    def of(relation: ToChangelog) -> WriteKinds:
        return WriteKinds(relation.columns, relation.codes)

    def __call__(self, task: TaskInfo) -> Operator:
        return _WriteOperator(self)


class _WriteOperator(Operator):
    takes_rows = False
    takes_columns = True

    def __init__(self, made: WriteKinds) -> None:
        self._schema = schema_of(made.columns)
        codes = {kind.value: code for kind, code in made.codes}
        # By the value of a kind; None if such changes are dropped.
        self._codes = pa.array([codes.get(kind.value) for kind in RowKind], pa.utf8())

    def process_columns(self, batch: ColumnBatch) -> None:
        """Sends on what the changes of a batch are called, and their columns."""
        self.records_in += len(batch)
        kinds = np.zeros(len(batch), np.int8) if batch.kinds is None else batch.kinds
        codes = self._codes.take(pa.array(kinds))
        data = pa.RecordBatch.from_arrays([codes, *batch.data.columns], schema=self._schema)
        rows = ColumnBatch(data, batch.timestamps)
        if codes.null_count:
            rows = rows.filter(pc.is_valid(codes))
        if len(rows):
            self.output.emit_columns(rows)


@dataclass(frozen=True)
class ReadKinds:
    """Makes the operator of FROM_CHANGELOG."""

    columns: tuple[Column, ...]
    place: int
    kinds: tuple[tuple[str, RowKind], ...]

    @staticmethod
    def of(relation: FromChangelog) -> ReadKinds:
        return ReadKinds(relation.columns, relation.place, relation.kinds)

    def __call__(self, task: TaskInfo) -> Operator:
        return _ReadOperator(self)


class _ReadOperator(Operator):
    takes_rows = False
    takes_columns = True

    def __init__(self, made: ReadKinds) -> None:
        self._schema = schema_of(made.columns)
        self._place = made.place
        self._codes = pa.array([code for code, _ in made.kinds], pa.utf8())
        self._kinds = np.array([kind.value for _, kind in made.kinds], np.int8)

    def process_columns(self, batch: ColumnBatch) -> None:
        """Sends on the rows of a batch as the changes that they say."""
        self.records_in += len(batch)
        codes = batch.data.column(self._place)
        found = pc.index_in(codes, value_set=self._codes)
        if found.null_count:
            self._refuse(codes.filter(pc.is_null(found))[0].as_py())
        arrays = [array for place, array in enumerate(batch.data.columns) if place != self._place]
        data = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        self.output.emit_columns(ColumnBatch(data, batch.timestamps, self._kinds[np.asarray(found)]))

    def _refuse(self, code: str | None) -> None:
        if code is None:
            raise TableException("Received NULL op code. Every changelog row must carry an operation code.")
        known = ", ".join(self._codes.to_pylist())
        raise TableException(f"Received invalid op code '{code}'. Defined op codes are: [{known}].")

"""TO_CHANGELOG and FROM_CHANGELOG: the kind of a change becomes a column, and a column becomes the kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from funke.engine.flink_exceptions import TableException
from funke.engine.operators.operator import Operator
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.sql.plan.changelogs.process_table_function import FromChangelogFunction, ToChangelogFunction

__all__ = ["ReadKindsOperator", "WriteKindsOperator"]


class WriteKindsOperator(Operator):
    """The operator of TO_CHANGELOG."""

    takes_rows = False
    takes_columns = True

    def __init__(self, node: ToChangelogFunction) -> None:
        self._schema = schema_of(node.columns)
        codes = {kind.value: code for kind, code in node.codes}
        # By the value of a kind; None if such changes are dropped.
        self._codes = pa.array([codes.get(kind.value) for kind in RowKind], pa.utf8())

    def process_columns(self, batch: ColumnBatch) -> None:
        """Sends the rows of a batch, each with the code of its kind as the first column."""
        self.records_in += len(batch)
        kinds = np.zeros(len(batch), np.int8) if batch.kinds is None else batch.kinds
        codes = self._codes.take(pa.array(kinds))
        data = pa.RecordBatch.from_arrays([codes, *batch.data.columns], schema=self._schema)
        rows = ColumnBatch(data, batch.timestamps)
        if codes.null_count:
            rows = rows.filter(pc.is_valid(codes))
        if len(rows):
            self.output.emit_columns(rows)


class ReadKindsOperator(Operator):
    """The operator of FROM_CHANGELOG."""

    takes_rows = False
    takes_columns = True

    def __init__(self, node: FromChangelogFunction) -> None:
        self._schema = schema_of(node.columns)
        self._op_index = node.op_index
        self._codes = pa.array([code for code, _ in node.kinds], pa.utf8())
        self._kinds = np.array([kind.value for _, kind in node.kinds], np.int8)

    def process_columns(self, batch: ColumnBatch) -> None:
        """Sends the rows of a batch as the changes that their codes name."""
        self.records_in += len(batch)
        codes = batch.data.column(self._op_index)
        numbers = pc.index_in(codes, value_set=self._codes)
        # As in Flink an unknown code fails the job: to drop the row would change the table silently.
        if numbers.null_count:
            self._reject(codes.filter(pc.is_null(numbers))[0].as_py())
        arrays = [array for index, array in enumerate(batch.data.columns) if index != self._op_index]
        data = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        self.output.emit_columns(ColumnBatch(data, batch.timestamps, self._kinds[np.asarray(numbers)]))

    def _reject(self, code: str | None) -> None:
        if code is None:
            raise TableException("Received NULL op code. Every changelog row must carry an operation code.")
        codes = ", ".join(self._codes.to_pylist())
        raise TableException(f"Received invalid op code '{code}'. Defined op codes are: [{codes}].")

"""Changes of the log as batches of columns with kinds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.connectors.change_capture.seam import Seam
from funke.engine.connectors.postgres_cdc.change_block import ChangeBlock
from funke.engine.connectors.postgres_cdc.change_images import ChangeImages, Layout, TableQuestions
from funke.engine.connectors.postgres_cdc.pgoutput import Begin, LogRelation, Truncate
from funke.engine.connectors.postgres_cdc.settings import CdcSettings, SourceTable
from funke.engine.connectors.postgres_cdc.text_columns import column_reader
from funke.engine.errors import SourceError
from funke.engine.formats.table.table_format import schema_of
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.logical.row_type import RowField
from funke.engine.types.row import RowKind

__all__ = ["METADATA", "ChangeRows", "metadata_columns", "output_fields"]

# Changes in one record, and their bytes: records must be the same when a piece is read again, so nothing else may cut
# them.
CHANGES_IN_RECORD = 10_000
_BYTES_IN_RECORD = 1 << 24
# What can be told beside a row, as Flink's connector names it.
METADATA: Mapping[str, Any] = {
    "table_name": DataTypes.STRING(False),
    "schema_name": DataTypes.STRING(False),
    "database_name": DataTypes.STRING(False),
    "op_ts": DataTypes.TIMESTAMP_LTZ(3, False),
    "row_kind": DataTypes.STRING(False),
}


def output_fields(settings: CdcSettings) -> tuple[RowField, ...]:
    """The columns of the rows that are given."""
    return (*settings.fields, *(RowField(name, METADATA[key]) for key, name in settings.metadata))


def metadata_columns(
    settings: CdcSettings, tables: Sequence[SourceTable], origins: Any, times_ms: Any, kinds: Any
) -> list[Any]:
    """The columns of metadata for rows: the numbers of their tables, when they were changed, and how."""
    columns = {
        "table_name": lambda: pa.array([each.name for each in tables], pa.string()).take(pa.array(origins)),
        "schema_name": lambda: pa.array([each.schema for each in tables], pa.string()).take(pa.array(origins)),
        "database_name": lambda: pa.repeat(pa.scalar(settings.database.settings["dbname"], pa.string()), len(origins)),
        "op_ts": lambda: pa.array(times_ms, pa.int64()).cast(pa.timestamp("ms", "UTC")),
        "row_kind": lambda: pa.array([str(kind) for kind in RowKind], pa.string()).take(pa.array(kinds)),
    }
    return [columns[key]() for key, _ in settings.metadata]


class ChangeRows:
    """Gathers messages of changes until they are taken as a batch."""

    def __init__(self, settings: CdcSettings, tables: Sequence[SourceTable], questions: TableQuestions) -> None:
        self._settings = settings
        self._tables = {(each.schema, each.name): each for each in tables}
        self._schema = schema_of(output_fields(settings))
        self._readers = [column_reader(each.name, each.data_type) for each in settings.fields]
        self._questions = questions
        self._layouts: dict[int, Layout] = {}
        self._seam: Seam | None = None
        self._messages: list[Any] = []
        # Transactions, and how many messages stand in front of them.
        self._transactions: list[tuple[int, Begin]] = []
        self._decoded: list[ColumnBatch] = []
        # How many changes there are, decoded or not, and how long their messages.
        self._count = self._size = 0

    def meet(self, seam: Seam | None) -> None:
        """What follows may have been read with the tables."""
        self._seam = seam

    def relate(self, relation: LogRelation) -> None:
        """Changes of a table follow, which may have other columns than before."""
        known = self._layouts.get(relation.id)
        if known is not None and known.relation == relation:
            return
        self._decode()
        self._layouts.pop(relation.id, None)
        table = self._tables.get((relation.schema, relation.name))
        if table is not None:
            self._layouts[relation.id] = Layout(self._settings, table, relation)

    def begin(self, transaction: Begin) -> None:
        self._transactions.append((len(self._messages), transaction))

    def truncate(self, truncated: Truncate) -> None:
        known = [self._layouts[each] for each in truncated.relation_ids if each in self._layouts]
        if known and not self._settings.ignores_truncate:
            raise SourceError(
                f"the table {known[0].table.path} was truncated, and the log does not say which rows it had. Start the "
                "job anew with another slot, or set 'debezium.skipped.operations' = 't' to go on without their deletion"
            )

    def add(self, messages: Sequence[Any]) -> int:
        """Adds messages of changes, of the transaction that has begun last, until it is full; says how many."""
        chosen = messages[: CHANGES_IN_RECORD - self._count]
        size = self._size + sum(map(len, chosen))
        if size >= _BYTES_IN_RECORD:
            sizes = list(accumulate(map(len, chosen), initial=self._size))
            chosen = chosen[: bisect_left(sizes, _BYTES_IN_RECORD)]
            size = sizes[len(chosen)]
        self._messages += chosen
        self._count, self._size = self._count + len(chosen), size
        return len(chosen)

    @property
    def is_full(self) -> bool:
        return self._count >= CHANGES_IN_RECORD or self._size >= _BYTES_IN_RECORD

    def take(self) -> ColumnBatch | None:
        """The rows so far, but for those that were read with the tables; None if there are none."""
        self._decode()
        decoded, self._decoded = self._decoded, []
        self._count = self._size = 0
        return ColumnBatch.concat(decoded) if decoded else None

    def _decode(self) -> None:
        messages, self._messages = self._messages, []
        counts = np.diff([*(count for count, _ in self._transactions), len(messages)])
        transactions = [each for _, each in self._transactions]
        # The last one goes on.
        self._transactions = [(0, each) for each in transactions[-1:]]
        if messages:
            block = ChangeBlock(messages)
            batch = self._batch(block, transactions, np.repeat(np.arange(len(transactions)), counts))
            if batch is not None:
                self._decoded.append(batch)

    def _batch(self, block: ChangeBlock, transactions: Sequence[Begin], owners: Any) -> ColumnBatch | None:
        images = ChangeImages(block, len(self._readers), self._settings.is_upsert, self._questions)
        seen = None
        if self._seam is not None:
            seen = np.array([self._seam.snapshots_that_see(each.transaction) for each in transactions])[owners]
        tables: list[SourceTable] = []
        for number, layout in self._layouts.items():
            messages = np.flatnonzero(block.relations == number)
            if len(messages):
                parts = None if self._seam is None else self._seam.table(layout.table.path)
                images.add(layout, messages, len(tables), parts, seen)
                tables.append(layout.table)
        rows = images.rows()
        if not len(rows):
            return None
        columns = [read(images.texts(place, rows)) for place, read in enumerate(self._readers)]
        kinds = images.kinds.ravel()[rows]
        if self._settings.metadata:
            times_ms = np.array([each.committed_ms for each in transactions])[owners]
            columns += metadata_columns(self._settings, tables, images.tables[rows // 2], times_ms[rows // 2], kinds)
        data = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        return ColumnBatch(data, None, kinds if kinds.any() else None)

"""Changes of the log as batches of columns with kinds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa

from funke.engine.connectors.change_capture.change_rows import GatheredChanges, metadata_columns, reject_lost_rows
from funke.engine.connectors.postgres_cdc.change_block import ChangeBlock
from funke.engine.connectors.postgres_cdc.change_images import ChangeImages, Layout, TableQuestions
from funke.engine.connectors.postgres_cdc.pgoutput import Begin, LogRelation, Truncate
from funke.engine.connectors.postgres_cdc.settings import PostgresCdcSettings, SourceTable
from funke.engine.connectors.postgres_cdc.text_columns import column_reader
from funke.engine.types.columns.column_batch import ColumnBatch

__all__ = ["ChangeRows", "origins_of"]


def origins_of(
    settings: PostgresCdcSettings, tables: Sequence[SourceTable], numbers: Any
) -> dict[str, Callable[[], Any]]:
    """What METADATA columns say of rows, by the numbers of their tables."""
    return {
        "table_name": lambda: pa.array([each.name for each in tables], pa.string()).take(pa.array(numbers)),
        "schema_name": lambda: pa.array([each.schema for each in tables], pa.string()).take(pa.array(numbers)),
        "database_name": lambda: pa.repeat(pa.scalar(settings.database.settings["dbname"], pa.string()), len(numbers)),
    }


class ChangeRows(GatheredChanges[PostgresCdcSettings]):
    """Gathers messages of changes until they are taken as a batch."""

    max_bytes = 1 << 24

    def __init__(self, settings: PostgresCdcSettings, tables: Sequence[SourceTable], questions: TableQuestions) -> None:
        super().__init__(settings)
        self._tables = {(each.schema, each.name): each for each in tables}
        self._readers = [column_reader(each.name, each.data_type) for each in settings.fields]
        self._questions = questions
        self._layouts: dict[int, Layout] = {}
        self._messages: list[Any] = []
        # Transactions, and how many messages stand in front of them.
        self._transactions: list[tuple[int, Begin]] = []

    def relate(self, relation: LogRelation) -> None:
        """Changes of a table follow, which may have other columns than before."""
        layout = self._layouts.get(relation.id)
        if layout is not None and layout.relation == relation:
            return
        self._decode()
        self._layouts.pop(relation.id, None)
        table = self._tables.get((relation.schema, relation.name))
        if table is not None:
            self._layouts[relation.id] = Layout(self._settings, table, relation)

    def begin(self, transaction: Begin) -> None:
        self._transactions.append((len(self._messages), transaction))

    def truncate(self, truncated: Truncate) -> None:
        layouts = [self._layouts[each] for each in truncated.relation_ids if each in self._layouts]
        if layouts and not self._settings.ignores_truncate:
            reject_lost_rows(layouts[0].table.path, "truncated", "with another slot")

    def add(self, messages: Sequence[Any]) -> int:
        """Adds messages of changes, of the transaction that has begun last, until it is full; says how many."""
        chosen = messages[: self.max_changes - self._count]
        size = self._size + sum(map(len, chosen))
        if size >= self.max_bytes:
            sizes = list(accumulate(map(len, chosen), initial=self._size))
            chosen = chosen[: bisect_left(sizes, self.max_bytes)]
            size = sizes[len(chosen)]
        self._messages += chosen
        self._count, self._size = self._count + len(chosen), size
        return len(chosen)

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
        columns = [read(images.strings(index, rows)) for index, read in enumerate(self._readers)]
        kinds = images.kinds.ravel()[rows]
        if self._settings.metadata:
            times_ms = np.array([each.committed_ms for each in transactions])[owners]
            origins = origins_of(self._settings, tables, images.tables[rows // 2])
            columns += metadata_columns(self._settings, origins, times_ms[rows // 2], kinds)
        data = pa.RecordBatch.from_arrays(columns, schema=self._schema)
        return ColumnBatch(data, None, kinds if kinds.any() else None)

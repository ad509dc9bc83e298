"""As much of Spark's DataFrames as plans need, in this process: one partition, cut into small batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


class LocalSpark:
    """Stands for a session."""

    def createDataFrame(self, table: Any) -> LocalFrame:
        return LocalFrame(table)

    def range(self, start: int, end: int, step: int, partitions: int) -> LocalFrame:
        return LocalFrame(pa.table({"id": pa.array(range(start, end), pa.int64())}))


@dataclass(frozen=True)
class LocalColumn:
    """A column by its name, or an order by it."""

    name: str
    direction: str = "ascending"
    nulls_first: bool = True

    def alias(self, name: str) -> LocalColumn:
        return self

    def asc_nulls_first(self) -> LocalColumn:
        return self

    def asc_nulls_last(self) -> LocalColumn:
        return LocalColumn(self.name, nulls_first=False)

    def desc_nulls_first(self) -> LocalColumn:
        return LocalColumn(self.name, "descending")

    def desc_nulls_last(self) -> LocalColumn:
        return LocalColumn(self.name, "descending", nulls_first=False)


class LocalFrame:
    """Rows; each method does at once what Spark would plan."""

    def __init__(self, table: Any, batch_rows: int = 3) -> None:
        self.table = table
        self._batch_rows = batch_rows

    def __getitem__(self, name: str) -> LocalColumn:
        return LocalColumn(name)

    def withColumnRenamed(self, old: str, new: str) -> LocalFrame:
        return LocalFrame(self.table.rename_columns([new if name == old else name for name in self.table.column_names]))

    def toDF(self, *names: str) -> LocalFrame:
        return LocalFrame(self.table.rename_columns(list(names)))

    def mapInArrow(self, function: Callable[[Iterator[Any]], Iterator[Any]], schema: Any) -> LocalFrame:
        from pyspark.sql.pandas.types import to_arrow_schema

        batches = list(function(iter(self.table.to_batches(max_chunksize=self._batch_rows))))
        return LocalFrame(pa.Table.from_batches(batches, batches[0].schema if batches else to_arrow_schema(schema)))

    def coalesce(self, partitions: int) -> LocalFrame:
        return self

    def repartition(self, *by: Any) -> LocalFrame:
        return self

    def orderBy(self, *keys: LocalColumn) -> LocalFrame:
        return self.sortWithinPartitions(*keys)

    def sortWithinPartitions(self, *keys: LocalColumn) -> LocalFrame:
        columns: dict[str, Any] = {}
        orders = []
        for index, key in enumerate(keys):
            column = self.table.column(key.name)
            columns[f"null{index}"] = (column.is_valid() if key.nulls_first else column.is_null()).cast(pa.int8())
            columns[f"value{index}"] = column
            orders += [(f"null{index}", "ascending"), (f"value{index}", key.direction)]
        return LocalFrame(self.table.take(pc.sort_indices(pa.table(columns), sort_keys=orders)))

    def select(self, *columns: LocalColumn) -> LocalFrame:
        return LocalFrame(self.table.select([each.name for each in columns]))

    def distinct(self) -> LocalFrame:
        numbered = self.table.rename_columns([f"c{index}" for index in range(self.table.num_columns)])
        return LocalFrame(numbered.group_by(numbered.column_names).aggregate([]))

    def offset(self, count: int) -> LocalFrame:
        return LocalFrame(self.table.slice(count))

    def limit(self, count: int) -> LocalFrame:
        return LocalFrame(self.table.slice(0, count))

    def union(self, other: LocalFrame) -> LocalFrame:
        return LocalFrame(pa.concat_tables([self.table, other.table]))

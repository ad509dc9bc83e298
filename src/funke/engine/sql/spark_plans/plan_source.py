"""The sources of rows that Spark computes: one reads a DataFrame plan, one is empty because Spark writes the rows."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.source import Batch, Source, Split, SplitEnumerator, SplitReader
from funke.engine.connectors.spark.source import ArrowReader, SparkBatchSource
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.plan.spark_rows import SparkRows
from funke.engine.sql.spark_plans.carried_columns import from_carried
from funke.engine.sql.spark_plans.task_code import PlanSettings
from funke.engine.sql.stream_types import row_type_of
from funke.engine.types.columns.arrow_rows import ArrowRows
from funke.engine.types.columns.column_batch import ColumnBatch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["PlanFrame", "PlanSource", "WrittenPlan"]


@dataclass(frozen=True)
class PlanFrame:
    """Makes the DataFrame of rows: with columns as they are carried, or as Spark's writers take them."""

    rows: SparkRows
    settings: PlanSettings
    is_written: bool = False

    def __call__(self, spark: SparkSession) -> DataFrame:
        # Not at the top: Spark is loaded when a job runs.
        from funke.engine.sql.spark_plans.spark_frames import frame_of, written_frame_of

        return (written_frame_of if self.is_written else frame_of)(spark, self.rows.input, self.settings)


class PlanSource(SparkBatchSource):
    """Reads the rows of a DataFrame plan; rows in an order have one reader."""

    def __init__(self, rows: SparkRows, settings: PlanSettings) -> None:
        super().__init__(PlanFrame(rows, settings))
        self.produced_type = row_type_of(rows.columns)
        self.fixed_parallelism = 1 if rows.is_ordered else None
        self._columns = rows.columns

    def create_reader(self) -> ArrowReader:
        return _PlanReader(self._columns)


class _PlanReader(ArrowReader):
    def __init__(self, columns: tuple[Column, ...]) -> None:
        self._columns = columns

    def read_columns(self, split: Split) -> Generator[ColumnBatch, None, None]:
        for batch in split.payload:
            if len(batch):
                yield ColumnBatch(from_carried(batch, self._columns))

    def read(self, split: Split) -> Generator[Batch, None, None]:
        to_rows = ArrowRows(row_type_of(self._columns))
        for batch in self.read_columns(split):
            yield list(to_rows.rows(batch.data)), None


class WrittenPlan(Source):
    """Stands in a job for rows that Spark computes and writes by itself: there is nothing to read."""

    fixed_parallelism = 1

    def create_enumerator(self, parallelism: int, restored: Any = None) -> SplitEnumerator:
        return _NoSplits()

    def create_reader(self) -> SplitReader:
        return ArrowReader()


class _NoSplits(SplitEnumerator):
    is_finished = True

    def poll(self, max_records: int) -> list[Split]:
        return []

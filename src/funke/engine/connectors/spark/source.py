"""Sources that Spark itself reads: anything that `spark.read` or `spark.readStream` gives a DataFrame of."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from funke.engine.connectors.source import Batch, Source, Split, SplitReader
from funke.engine.errors import SourceError, UnsupportedFeatureError
from funke.engine.formats.file_format import in_batches
from funke.engine.types.columns.arrow_rows import ArrowRows, row_type_of
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.information.spark_types import from_spark_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from funke.engine.types.information.type_information import TypeInformation

__all__ = ["SparkBatchSource", "SparkStreamSource"]


class SparkSource(Source):
    """Rows of a DataFrame that a function of the user makes; its columns are the fields of the rows.

    Spark decides what to read and keeps the position: the runtime plans the DataFrame into its own job and hands the
    Arrow batches to the readers.
    """

    is_spark = True

    def __init__(self, dataframe_factory: Callable[[SparkSession], DataFrame]) -> None:
        self._dataframe_factory = dataframe_factory

    def load(self, spark: SparkSession) -> DataFrame:
        """Make the DataFrame."""
        frame = self._dataframe_factory(spark)
        if frame.isStreaming == self.is_bounded:
            expected, actual = ("read", "readStream") if self.is_bounded else ("readStream", "read")
            raise SourceError(f"{type(self).__name__} needs a DataFrame of spark.{expected}, got one of spark.{actual}")
        return frame

    @staticmethod
    def produced_type_for(schema: Any) -> TypeInformation:
        """Return the row type of a Spark schema (StructType) or an Arrow schema."""
        if hasattr(schema, "jsonValue"):
            return from_spark_json(json.loads(schema.json()))
        return row_type_of(schema)

    def create_enumerator(self, parallelism: int, restored: Any = None) -> NoReturn:
        """Spark plans the reading."""
        raise UnsupportedFeatureError(f"enumerating splits of {type(self).__name__}", "Spark plans what it reads")

    def create_reader(self) -> ArrowReader:
        """Spark does the reading; what comes of it is turned into rows."""
        return ArrowReader()


class ArrowReader(SplitReader):
    """Makes rows of Arrow record batches, which are the payload of its splits."""

    def read(self, split: Split) -> Generator[Batch, None, None]:
        """Yield batches of rows."""
        to_rows: ArrowRows | None = None
        for batch in split.payload:
            if to_rows is None:
                to_rows = ArrowRows(row_type_of(batch.schema))
            for rows in in_batches(to_rows.rows(batch)):
                yield rows, None

    def read_columns(self, split: Split) -> Generator[ColumnBatch, None, None]:
        """Yield what Spark has read as it is."""
        return (ColumnBatch(batch) for batch in split.payload if len(batch))


class SparkBatchSource(SparkSource):
    """Reads a DataFrame of `spark.read`, a table or a query once.

    >>> source = SparkBatchSource(lambda spark: spark.read.parquet("orders"))
    >>> source.is_bounded
    True
    """


class SparkStreamSource(SparkSource):
    """Reads a streaming DataFrame of `spark.readStream`; `trigger` is what DataStreamWriter.trigger takes.

    >>> SparkStreamSource(lambda spark: spark.readStream.format("rate").load()).is_bounded
    False
    """

    is_bounded = False

    def __init__(
        self, dataframe_factory: Callable[[SparkSession], DataFrame], trigger: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(dataframe_factory)
        self.trigger = dict(trigger or {})

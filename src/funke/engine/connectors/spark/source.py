"""Sources that Spark itself reads: anything that `spark.read` or `spark.readStream` gives a DataFrame of."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from funke.engine.connectors.source import Batch, Source
from funke.engine.errors import SourceError, UnsupportedFeatureError
from funke.engine.formats.file_format import in_batches
from funke.engine.types.columns.arrow_rows import ArrowRows, row_type_of
from funke.engine.types.spark_types import from_spark_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from funke.engine.types.type_information import TypeInformation

__all__ = ["SparkBatchSource", "SparkStreamSource"]


class SparkSource(Source):
    """Rows of a DataFrame that a function of the user makes; its columns are the fields of the rows.

    Spark decides what to read and keeps the position, so there are no splits: the runtime plans the DataFrame into its
    own job and hands the Arrow batches to `read_rows`.
    """

    is_spark = True

    def __init__(self, dataframe_factory: Callable[[SparkSession], DataFrame]) -> None:
        self._dataframe_factory = dataframe_factory

    def load(self, spark: SparkSession) -> DataFrame:
        """Make the DataFrame."""
        frame = self._dataframe_factory(spark)
        if frame.isStreaming == self.is_bounded:
            wanted, got = ("read", "readStream") if self.is_bounded else ("readStream", "read")
            raise SourceError(f"{type(self).__name__} needs a DataFrame of spark.{wanted}, got one of spark.{got}")
        return frame

    @staticmethod
    def produced_type_for(schema: Any) -> TypeInformation:
        """Return the row type of a Spark schema (StructType) or an Arrow schema."""
        if hasattr(schema, "jsonValue"):
            return from_spark_json(json.loads(schema.json()))
        return row_type_of(schema)

    @staticmethod
    def read_rows(batches: Iterator[Any]) -> Generator[Batch, None, None]:
        """Turn Arrow record batches into batches of rows; this runs inside `mapInArrow`."""
        to_rows: ArrowRows | None = None
        for batch in batches:
            if to_rows is None:
                to_rows = ArrowRows(row_type_of(batch.schema))
            for rows in in_batches(to_rows.rows(batch)):
                yield rows, None

    def create_enumerator(self, parallelism: int, restored: Any = None) -> NoReturn:
        """Spark plans the reading."""
        raise UnsupportedFeatureError(f"enumerating splits of {type(self).__name__}", "Spark plans what it reads")

    def create_reader(self) -> NoReturn:
        """Spark does the reading."""
        raise UnsupportedFeatureError(f"reading splits of {type(self).__name__}", "Spark plans what it reads")


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

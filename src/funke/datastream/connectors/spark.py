"""Sources and sinks for everything that Spark itself reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from funke.datastream.connectors.base import Sink, Source
from funke.engine.connectors.spark.sink import SparkSink as EngineSparkSink
from funke.engine.connectors.spark.source import SparkBatchSource, SparkStreamSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkSink", "SparkSource"]


class SparkSource(Source):
    """Reads with Spark: the rows of the DataFrame that a function makes of the session, once or as a stream.

    A stream is read by a Spark streaming query, with the trigger that is given, such as
    `{"processingTime": "10 seconds"}` or `{"availableNow": True}`. Its position is part of checkpoints and savepoints.

    >>> from funke.common import WatermarkStrategy
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors.spark import SparkSource
    >>> source = SparkSource(lambda spark: spark.range(3))
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows of Spark")
    >>> rows.map(lambda row: row.id).get_name()
    'Map'
    """

    def __init__(
        self,
        load: Callable[[SparkSession], DataFrame],
        is_streaming: bool = False,
        trigger: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(SparkStreamSource(load, trigger) if is_streaming else SparkBatchSource(load))


class SparkSink(Sink):
    """Writes with Spark: tables, JDBC, Delta, Parquet and whatever else a DataFrameWriter knows.

    Give it a function, which is called in the driver with the DataFrame of every epoch that has elements (and the
    epoch's number, if it takes two arguments), or format, options and mode for the DataFrameWriter and a path or table.

    In a job with checkpoints, what came since the last one is written when the next one is complete: exactly once into
    files and tables of files (with mode append) and into Delta tables, and at least once anywhere else, with the same
    number when it is written again. Without checkpoints it is written at the end of every epoch.

    >>> from funke.common import Row, Types
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors.spark import SparkSink
    >>> by_function = SparkSink(lambda frame: frame.write.mode("append").saveAsTable("orders"))
    >>> by_format = SparkSink(format="parquet", path="/data/orders", partition_by=["day"])
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> orders = env.from_collection([Row("19", 3)], Types.ROW_NAMED(["day", "price"], [Types.STRING(), Types.INT()]))
    >>> type(orders.sink_to(by_format)).__name__
    'DataStreamSink'
    """

    engine_sink: EngineSparkSink

    def __init__(
        self,
        write: Callable[..., None] | None = None,
        *,
        format: str | None = None,
        options: Mapping[str, str] | None = None,
        mode: str = "append",
        path: str | None = None,
        table: str | None = None,
        partition_by: Sequence[str] = (),
    ) -> None:
        super().__init__(EngineSparkSink(write, format, dict(options or {}), mode, path, table, tuple(partition_by)))

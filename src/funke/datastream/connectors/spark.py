"""Sources and sinks for everything that Spark itself reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from funke.datastream.connectors.base import Sink
from funke.engine.connectors.spark.sink import SparkSink as EngineSparkSink

__all__ = ["SparkSink"]


class SparkSink(Sink):
    """Writes with Spark: tables, JDBC, Delta, Parquet and whatever else a DataFrameWriter knows.

    Give it a function, which is called in the driver with the DataFrame of every epoch that has elements (and the
    epoch's number, if it takes two arguments), or format, options and mode for the DataFrameWriter and a path or table.

    >>> by_function = SparkSink(lambda frame: frame.write.mode("append").saveAsTable("orders"))
    >>> by_format = SparkSink(format="parquet", path="/data/orders", partition_by=["day"])
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

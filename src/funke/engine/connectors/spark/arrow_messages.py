"""Records on their way from slots to Spark: Arrow tables as bytes, and the DataFrame of several of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from funke.engine.errors import SinkError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["to_frame", "to_message"]


def to_message(table: Any) -> bytes:
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, table.schema) as stream:
        stream.write_table(table)
    return bytes(buffer.getvalue())


def to_frame(spark: SparkSession, batches: list[bytes]) -> DataFrame:
    """The DataFrame of Arrow messages."""
    return spark.createDataFrame(_join_batches(batches))


def _join_batches(batches: list[bytes]) -> Any:
    tables = [pa.ipc.open_stream(batch).read_all() for batch in batches]
    try:
        # Untyped streams are read batch by batch: a column may be integers in one and fractions in another.
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise SinkError(
            f"the records for Spark do not agree on their columns: {error}; give the stream a type"
        ) from error

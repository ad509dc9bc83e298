"""The sink for anything that a Spark DataFrameWriter writes: tables, JDBC, Delta, Parquet, Kafka and so on.

Slots send batches as Arrow data to the driver; the driver makes one DataFrame of an epoch's batches and writes it.
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from funke.engine.connectors.arrow_records import TableEncoder, table_encoder
from funke.engine.connectors.sink import Sink, SinkWriter, WriterContext
from funke.engine.errors import ConfigurationError, SinkError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkSink"]

_MODES = ("append", "overwrite", "error", "errorifexists", "ignore")


@dataclass(frozen=True)
class SparkSink(Sink):
    """Writes with a function of the user, or with the DataFrameWriter's format, options and mode.

    `write` is given the DataFrame of an epoch, and the epoch's number if it takes two arguments; it runs in the driver.
    Without it, `path` or `table` says where to write. Nothing is written for an epoch without records.
    """

    write: Callable[..., None] | None = None
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    mode: str = "append"
    path: str | None = None
    table: str | None = None
    partition_by: tuple[str, ...] = ()
    sink_id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        """Refuses settings that leave open what is to be done."""
        if self.write is None and self.format is None and self.table is None:
            raise ConfigurationError("a Spark sink needs a function that writes a DataFrame, a format, or a table")
        if self.path is not None and self.table is not None:
            raise ConfigurationError(f"a Spark sink writes to a path or a table, got {self.path!r} and {self.table!r}")
        if self.mode not in _MODES:
            raise ConfigurationError(f"the mode of a Spark sink is one of {', '.join(_MODES)}, got {self.mode!r}")

    @property
    def channel(self) -> str:
        """The channel on which batches reach the driver."""
        return f"spark:{self.sink_id}"

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        """Makes the writer of one subtask."""
        return _SparkWriter(context, self.channel)

    def write_epoch(self, spark: SparkSession, batches: list[bytes], epoch_id: int) -> None:
        """Writes the batches that slots sent in one epoch; called in the driver."""
        if not batches:
            return
        frame = spark.createDataFrame(_join_batches(batches))
        if self.write is None:
            self._write_frame(frame)
        elif _takes_epoch(self.write):
            self.write(frame, epoch_id)
        else:
            self.write(frame)

    def _write_frame(self, frame: DataFrame) -> None:
        writer = frame.write.mode(self.mode).options(**self.options)
        if self.format is not None:
            writer = writer.format(self.format)
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        if self.table is not None:
            writer.saveAsTable(self.table)
        else:
            writer.save(self.path)

    def __reduce__(self) -> tuple[Any, ...]:
        # Slots only send data: the user's function stays in the driver, where it may hold a Spark session.
        return _without_function, (self.sink_id,)


def _without_function(sink_id: str) -> SparkSink:
    return SparkSink(format="", sink_id=sink_id)


def _takes_epoch(write: Callable[..., None]) -> bool:
    try:
        inspect.signature(write).bind(None, 0)
    except (TypeError, ValueError):
        return False
    return True


class _SparkWriter(SinkWriter):
    """Gathers the records of an epoch, so that they travel as one Arrow message."""

    def __init__(self, context: WriterContext, channel: str) -> None:
        self._send = context.send_to_driver
        self._channel = channel
        self._encode: TableEncoder = table_encoder(context.input_type)
        self._values: list[Any] = []

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Gathers a batch."""
        self._values += values

    def flush(self, end_of_input: bool) -> None:
        """Sends what the epoch brought."""
        if self._values:
            values, self._values = self._values, []
            self._send(self._channel, _to_bytes(self._encode(values)))


def _to_bytes(table: Any) -> bytes:
    buffer = pa.BufferOutputStream()
    with pa.ipc.new_stream(buffer, table.schema) as stream:
        stream.write_table(table)
    return bytes(buffer.getvalue())


def _join_batches(batches: list[bytes]) -> Any:
    tables = [pa.ipc.open_stream(batch).read_all() for batch in batches]
    try:
        # Untyped streams are read batch by batch: a column may be integers in one and fractions in another.
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise SinkError(
            f"the records for Spark do not agree on their columns: {error}; give the stream a type"
        ) from error

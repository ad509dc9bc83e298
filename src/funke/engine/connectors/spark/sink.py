"""The sink for anything that a Spark DataFrameWriter writes: tables, JDBC, Delta, Parquet, Kafka and so on.

Slots make Arrow data of what comes in an epoch. Without checkpoints they send it to the driver, which writes it when
the epoch is done. With checkpoints they stage it, and the driver writes it when the checkpoint is complete. Rows that
Spark itself computes are written where they are, without slots.
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.sink import Committer, Sink, SinkWriter, WriterContext
from funke.engine.connectors.spark.arrow_messages import to_frame, to_message
from funke.engine.connectors.spark.catalog_table import CatalogTable
from funke.engine.connectors.spark.committer import FILE_FORMATS, SparkCommitter
from funke.engine.connectors.spark.spark_files import active_session
from funke.engine.connectors.staging import UnitWriter
from funke.engine.errors import ConfigurationError
from funke.engine.types.columns.arrow_records import TableEncoder, table_encoder
from funke.engine.types.driver_messages import SparkRecords

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkSink"]

_MODES = ("append", "overwrite", "error", "errorifexists", "ignore")
# Their writes, also those that replace what is there, are seen when they are complete, or never.
_TRANSACTIONAL = frozenset({"delta", "hudi", "iceberg"})


@dataclass(frozen=True)
class SparkSink(Sink):
    """Writes with a function of the user, or with the DataFrameWriter's format, options and mode.

    `write` is given the DataFrame of an epoch, and the epoch's number if it takes two arguments; it runs in the driver.
    Without it, `path` or `table` says where to write. Nothing is written for an epoch without records. In a job with
    checkpoints, an epoch is what came between two of them, and its number is the same when it is written again.
    """

    is_spark = True

    write: Callable[..., None] | None = None
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    mode: str = "append"
    path: str | None = None
    table: str | None = None
    partition_by: tuple[str, ...] = ()
    # Makes the DataFrame that is written once, at the end of the job, if rows do not come from slots.
    rows: Callable[[SparkSession], DataFrame] | None = None
    sink_id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        """Rejects settings that leave open what is to be done."""
        if self.write is None and self.format is None and self.table is None:
            raise ConfigurationError("a Spark sink needs a function that writes a DataFrame, a format, or a table")
        if self.path is not None and self.table is not None:
            raise ConfigurationError(f"a Spark sink writes to a path or a table, got {self.path!r} and {self.table!r}")
        if self.mode not in _MODES:
            raise ConfigurationError(f"the mode of a Spark sink is one of {', '.join(_MODES)}, got {self.mode!r}")

    def create_writer(self, context: WriterContext, restored: Any = None) -> SinkWriter:
        return _SparkWriter(context, self.sink_id)

    def create_committer(self) -> Committer:
        """The committer that writes what was staged, with the session that is active then."""
        return self.committer_with(active_session)

    def committer_with(self, session: Callable[[], SparkSession]) -> Committer:
        """The committer that writes what was staged, with a session that is asked for when it is needed."""
        return SparkCommitter(self, session)

    def write_epoch(self, spark: SparkSession, batches: list[bytes], epoch_id: int) -> None:
        """Writes the batches that slots sent in one epoch; called in the driver."""
        if batches:
            self.write_frame(to_frame(spark, batches), epoch_id)

    def write_rows(self, spark: SparkSession) -> None:
        """Writes what Spark itself computes; if that cannot be computed, nothing is seen of it, nor deleted for it."""
        assert self.rows is not None
        frame = self.rows(spark)
        self._write_frame(frame if self._is_seen_whole(spark) else frame.localCheckpoint())

    def _is_seen_whole(self, spark: SparkSession) -> bool:
        """Whether a write that fails half way leaves everything as it was."""
        table = CatalogTable.find(spark, self.table) if self.table is not None else None
        kind = table.provider if table is not None else self.format or spark.conf.get("spark.sql.sources.default")
        return kind in _TRANSACTIONAL or (kind in FILE_FORMATS and self.mode != "overwrite")

    def write_frame(self, frame: DataFrame, epoch_id: int) -> None:
        """Writes with the user's function or the DataFrameWriter."""
        if self.write is None:
            self._write_frame(frame)
        elif _takes_epoch(self.write):
            self.write(frame, epoch_id)
        else:
            self.write(frame)

    def _write_frame(self, frame: DataFrame) -> None:
        writer = self.writer_of(frame)
        if self.table is not None:
            writer.saveAsTable(self.table)
        else:
            writer.save(self.path)

    def writer_of(self, frame: DataFrame, mode: str | None = None) -> Any:
        """Spark's writer with everything that is set but the place."""
        writer = frame.write.mode(mode or self.mode).options(**self.options)
        if self.format is not None:
            writer = writer.format(self.format)
        if self.partition_by:
            writer = writer.partitionBy(*self.partition_by)
        return writer

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
    """Gathers the records of an epoch into one Arrow message, to be sent or to be staged."""

    def __init__(self, context: WriterContext, sink_id: str) -> None:
        self._send = context.send_to_driver
        self._unit_writer = UnitWriter(context) if context.staging_folder is not None else None
        self._sink_id = sink_id
        self._encode: TableEncoder = table_encoder(context.input_type)
        self._values: list[Any] = []

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._values += values

    def flush(self, end_of_input: bool) -> None:
        """Sends or stages what the epoch brought."""
        if not self._values:
            return
        values, self._values = self._values, []
        message = to_message(self._encode(values))
        if self._unit_writer is None:
            self._send(SparkRecords(self._sink_id, message))
        else:
            self._unit_writer.add(message)

    def prepare_commit(self) -> list[Any]:
        """What was staged since the last call, as one unit."""
        staged = self._unit_writer.finish() if self._unit_writer is not None else None
        return [staged] if staged is not None else []

    def close(self) -> None:
        """Drops what was not prepared."""
        if self._unit_writer is not None:
            self._unit_writer.discard()

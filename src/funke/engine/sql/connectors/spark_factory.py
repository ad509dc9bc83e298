"""The connector spark: formats that Spark reads and writes, and tables of its catalog."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from funke.engine.connectors.sink import Sink
from funke.engine.connectors.source import Batch, Source, Split
from funke.engine.connectors.spark.sink import SparkSink
from funke.engine.connectors.spark.source import ArrowReader, SparkBatchSource, SparkStreamSource
from funke.engine.flink_exceptions import TableException, ValidationException
from funke.engine.sql.binding.relations import Column
from funke.engine.sql.connectors.table_factory import TableContext, TableFactory
from funke.engine.sql.connectors.table_option import OptionValues, TableOption
from funke.engine.sql.connectors.table_sink import FrameMaker, TableSink
from funke.engine.sql.connectors.table_source import INSERTS, TableSource
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.stream_types import row_type_of
from funke.engine.types.columns.arrow_rows import ArrowRows
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.logical import DataType, LocalZonedTimestampType, TimestampType
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SparkFactory", "SparkTableSink", "SparkTableSource"]

_FORMAT = TableOption("format", description="A format of Spark's readers and writers: jdbc, delta, parquet, kafka …")
_PATH = TableOption("path", description="Where the data is, for formats that have a path.")
_TABLE = TableOption("table", description="A table of Spark's catalog; instead of 'format' and 'path'.")
_STREAMING = TableOption("streaming", "Boolean", "false", "Reads with spark.readStream, including later data.")
_TRIGGER = TableOption("trigger.processing-time", description="The trigger of the stream, such as '10 seconds'.")
_MODE = TableOption("mode", default="append", description="How Spark's writer treats existing data: append, ignore …")


class SparkFactory(TableFactory):
    identifier = "spark"
    purpose = (
        "Everything that Spark reads and writes; options that begin with `options.` are passed to Spark without this "
        "prefix."
    )
    reads = writes = True
    optional_options = (_FORMAT, _PATH, _TABLE, _STREAMING, _TRIGGER, _MODE)
    free_prefixes = ("options.",)

    def create_source(self, context: TableContext) -> SparkTableSource:
        values = _checked(context)
        load = SparkLoad(
            values[_FORMAT],
            values[_PATH],
            values[_TABLE],
            tuple(values.behind("options").strings.items()),
            values[_STREAMING],
            context.columns,
        )
        return SparkTableSource(context.columns, load, values[_TRIGGER])

    def create_sink(self, context: TableContext) -> SparkTableSink:
        values = _checked(context)
        options = dict(values.behind("options").strings)
        sink = SparkSink(
            None, values[_FORMAT], options, values[_MODE], values[_PATH], values[_TABLE], context.partition_keys
        )
        return SparkTableSink(sink, context.is_batch)


def _checked(context: TableContext) -> OptionValues:
    values = context.values
    if values[_FORMAT] is None and values[_TABLE] is None:
        raise ValidationException("Connector 'spark' needs one of the options 'format' and 'table'.")
    if values[_TABLE] is not None and values[_PATH] is not None:
        raise ValidationException("Connector 'spark' takes one of the options 'path' and 'table', not both.")
    return values


@dataclass(frozen=True)
class SparkLoad:
    """Makes the DataFrame of a table's columns; called in the driver."""

    form: str | None
    path: str | None
    table: str | None
    options: tuple[tuple[str, str], ...]
    is_streaming: bool
    columns: tuple[Column, ...]

    def __call__(self, spark: SparkSession) -> DataFrame:
        reader: Any = spark.readStream if self.is_streaming else spark.read
        reader = reader.options(**dict(self.options))
        if self.form is not None:
            reader = reader.format(self.form)
        frame: DataFrame = reader.table(self.table) if self.table is not None else reader.load(self.path)
        # By name, as Flink's sources do: the order of Spark's columns is not part of the table's schema.
        chosen = frame.select(*(f"`{each.name}`" for each in self.columns))
        casts = [
            _other_timestamp(each.type, field.dataType.typeName()) for each, field in zip(self.columns, chosen.schema)
        ]
        if not any(casts):
            return chosen
        return chosen.select(*(chosen[index].cast(each) if each else chosen[index] for index, each in enumerate(casts)))


def _other_timestamp(data_type: DataType, spark_type: str) -> str | None:
    """The cast between timestamps with and without a zone, which uses the zone of Spark's session."""
    if isinstance(data_type, TimestampType) and spark_type == "timestamp":
        return "timestamp_ntz"
    return "timestamp" if isinstance(data_type, LocalZonedTimestampType) and spark_type == "timestamp_ntz" else None


@dataclass(frozen=True)
class SparkTableSource(TableSource):
    """Rows of a DataFrame, with the columns of the table by their names."""

    read: tuple[Column, ...]
    load: SparkLoad
    trigger: str | None = None
    summary = "spark"

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.read

    @property
    def is_bounded(self) -> bool:
        return not self.load.is_streaming

    @property
    def is_loaded_for_lookups(self) -> bool:  # type: ignore[override]
        """Spark is in the driver, not in the slots that would ask it."""
        return self.is_bounded

    def with_columns(self, indexes: Sequence[int]) -> SparkTableSource:
        read = tuple(self.read[index] for index in indexes)
        # Spark's own planner prunes the columns that are not selected.
        return replace(self, read=read, load=replace(self.load, columns=read))

    def create_source(self) -> Source:
        if self.load.is_streaming:
            return _SparkStreamTable(self)
        return _SparkTable(self)


class _SparkTable(SparkBatchSource):
    def __init__(self, table: SparkTableSource) -> None:
        super().__init__(table.load)
        self.produced_type = row_type_of(table.columns)
        self._columns = table.columns

    def create_reader(self) -> ArrowReader:
        return _TypedReader(self._columns)


class _SparkStreamTable(SparkStreamSource):
    def __init__(self, table: SparkTableSource) -> None:
        super().__init__(table.load, {} if table.trigger is None else {"processingTime": table.trigger})
        self.produced_type = row_type_of(table.columns)
        self._columns = table.columns

    def create_reader(self) -> ArrowReader:
        return _TypedReader(self._columns)


class _TypedReader(ArrowReader):
    """Gives Spark's columns the types of the table."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self._columns = columns

    def read_columns(self, split: Split) -> Generator[ColumnBatch, None, None]:
        schema = schema_of(self._columns)
        for batch in split.payload:
            if len(batch):
                # Spark's timestamps have microseconds; those of a TIMESTAMP(3) are cut.
                yield ColumnBatch(batch.rename_columns(schema.names).cast(schema, safe=False))

    def read(self, split: Split) -> Generator[Batch, None, None]:
        to_rows = ArrowRows(row_type_of(self._columns))
        for batch in self.read_columns(split):
            yield list(to_rows.rows(batch.data)), None


@dataclass(frozen=True)
class SparkTableSink(TableSink):
    """Takes inserts, which Spark's writer writes with every checkpoint or epoch."""

    sink: SparkSink
    is_batch: bool
    summary = "spark"
    takes_frames = True

    def accepted_kinds(self, requested: frozenset[RowKind]) -> frozenset[RowKind]:
        # Spark's writers append or overwrite; they have no updates by key.
        return INSERTS

    def create_sink(self, columns: Sequence[Column], upsert_key: Sequence[int] = ()) -> Sink:
        return self.sink

    def with_frame(self, make: FrameMaker) -> SparkTableSink:
        return replace(self, sink=replace(self.sink, rows=make))

    def with_overwrite(self) -> SparkTableSink:
        if not self.is_batch:
            raise TableException("Streaming mode not support overwrite.")
        return replace(self, sink=replace(self.sink, mode="overwrite"))

    def with_partition(self, values: Mapping[str, str]) -> SparkTableSink:
        return self

"""Rows of tables as records: columns from keys, values and what Kafka keeps of a record, and the other way round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from funke.engine.connectors.kafka.partitioners import Partitioner
from funke.engine.connectors.kafka.producing import OutputRecords, RecordWriter
from funke.engine.connectors.kafka.records import RecordReader, malformed
from funke.engine.connectors.kafka.subscription import Subscription
from funke.engine.connectors.sink import WriterContext
from funke.engine.errors import SinkError
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.columns.form_change import ColumnsToRows, RowsToColumns
from funke.engine.types.logical import column_schema
from funke.engine.types.row import RowKind

if TYPE_CHECKING:
    from funke.engine.formats.messages.message_format import DecodedRows, MessageDecoder, MessageEncoder
    from funke.engine.types.logical import RowField

__all__ = ["OF_VALUES", "TableRecordReader", "TableRecordWriter"]

_DELETE, _AFTER = RowKind.DELETE.value, RowKind.UPDATE_AFTER.value
_TAKEN_BACK = (RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value)
# What keys of metadata begin with that the format of values has.
OF_VALUES = "value."
_TIMESTAMP_TYPES = ("NoTimestampType", "CreateTime", "LogAppendTime")


@dataclass(frozen=True)
class TableRecordReader(RecordReader):
    """Reads a table's rows; `places` say for each physical column where it is: in the value, or in the key."""

    fields: tuple[RowField, ...]
    value: MessageDecoder
    indexes: tuple[tuple[str, int], ...]
    key: MessageDecoder | None = None
    # A record without a value deletes the row of its key.
    is_upsert: bool = False
    # Columns behind the physical ones: what Kafka keeps of a record, and what the format of values tells (`value.…`).
    metadata: tuple[tuple[str, RowField], ...] = ()

    has_columns = True

    @property
    def all_fields(self) -> tuple[RowField, ...]:
        """What its rows hold."""
        return (*self.fields, *(each for _, each in self.metadata))

    def read(self, messages: list[Any]) -> list[Any]:
        """Not used: rows are made of columns."""
        raise NotImplementedError

    def read_columns(self, messages: list[Any]) -> tuple[ColumnBatch, list[Any]]:
        """The rows of messages, and for each row the message that it comes from."""
        try:
            return self._read(messages)
        except Exception:
            for message in messages:
                try:
                    self._read([message])
                except Exception as error:
                    raise malformed(message, error) from error
            raise

    def _read(self, messages: list[Any]) -> tuple[ColumnBatch, list[Any]]:
        decoded = self._upserts(messages) if self.is_upsert else self._decoded(messages)
        columns, kinds, origins = decoded
        # As many rows as messages do not mean one of each: an update is two, and others may be left out.
        is_one_of_each = np.array_equal(origins, np.arange(len(messages)))
        chosen = messages if is_one_of_each else [messages[index] for index in origins.tolist()]
        metadata_columns = iter(columns[len(self.fields) :])
        columns = columns[: len(self.fields)]
        columns += [
            next(metadata_columns) if key.startswith(OF_VALUES) else _metadata(key, own, chosen)
            for key, own in self.metadata
        ]
        schema = column_schema([each.name for each in self.all_fields], [each.data_type for each in self.all_fields])
        data = pa.RecordBatch.from_arrays(
            [_as(column, kind) for column, kind in zip(columns, schema.types)], schema=schema
        )
        return ColumnBatch(data, None, kinds), chosen

    def _decoded(self, messages: list[Any]) -> tuple[list[Any], Any, Any]:
        rows = self.value.decode([message.value() for message in messages])
        origins = np.asarray(rows.origins)
        keys = self._keys(messages, origins)
        metadata_columns = sum(key.startswith(OF_VALUES) for key, _ in self.metadata)
        columns = self._columns(rows.data, keys) + rows.data.columns[rows.data.num_columns - metadata_columns :]
        return columns, rows.kinds, origins

    def _keys(self, messages: list[Any], origins: Any) -> Any:
        if self.key is None or not any(side == "key" for side, _ in self.indexes):
            return None
        keys = self.key.decode([message.key() for message in messages])
        # A record without a key has none of its columns.
        at = np.full(len(messages), -1)
        at[np.asarray(keys.origins)] = np.arange(len(keys.origins))
        indexes = at[origins]
        return keys.data.take(pa.array(indexes, mask=indexes < 0))

    def _columns(self, values: Any, keys: Any) -> list[Any]:
        return [keys.column(index) if side == "key" else values.column(index) for side, index in self.indexes]

    def _upserts(self, messages: list[Any]) -> tuple[list[Any], Any, Any]:
        """All records in order: those without a value have the columns of their key alone."""
        contents = [message.value() for message in messages]
        rows: DecodedRows = self.value.decode(contents)
        assert self.key is not None
        is_gone = np.array([content is None for content in contents])
        at = np.full(len(messages), -1)
        at[np.asarray(rows.origins)] = np.arange(len(rows.origins))
        origins = np.flatnonzero(is_gone | (at >= 0))
        indexes = at[origins]
        values = rows.data.take(pa.array(indexes, mask=indexes < 0))
        keys = self.key.decode([message.key() for message in messages]).data.take(pa.array(origins))
        kinds = np.where(is_gone[origins], _DELETE, _AFTER).astype(np.int8)
        return self._columns(values, keys), kinds, origins


def _as(column: Any, kind: Any) -> Any:
    return column if column.type == kind else column.cast(kind, safe=False)


def _metadata(key: str, own: RowField, messages: list[Any]) -> Any:
    kind = column_schema([own.name], [own.data_type]).types[0]
    if key == "timestamp":
        stamps = pa.array([message.timestamp()[1] for message in messages], pa.timestamp("ms"))
        return stamps.cast(pa.timestamp(kind.unit)).cast(kind) if kind.tz is None else _zoned(stamps, kind)
    return pa.array([_METADATA[key](message) for message in messages], kind)


def _zoned(stamps: Any, kind: Any) -> Any:
    import pyarrow.compute as pc

    return pc.assume_timezone(stamps, "UTC").cast(kind)


def _headers(message: Any) -> list[tuple[str, bytes | None]]:
    # As a map: of headers with the same name the last one counts.
    return list(dict(message.headers() or ()).items())


_METADATA: dict[str, Callable[[Any], Any]] = {
    "topic": lambda message: message.topic(),
    "partition": lambda message: message.partition(),
    "offset": lambda message: message.offset(),
    "leader-epoch": lambda message: message.leader_epoch(),
    "timestamp-type": lambda message: _TIMESTAMP_TYPES[message.timestamp()[0]],
    "headers": _headers,
}


@dataclass
class TableRecordWriter(RecordWriter):
    """Writes a table's rows; key and value have the physical columns at these places."""

    # Where they go: to the only topic, or to one of them, or to one whose name matches, which each row says.
    topics: Subscription
    fields: tuple[RowField, ...]
    value: MessageEncoder
    value_indexes: tuple[int, ...]
    key: MessageEncoder | None = None
    key_indexes: tuple[int, ...] = ()
    is_upsert: bool = False
    # What METADATA columns, which follow the physical ones, say of a record.
    metadata: tuple[str, ...] = ()
    # Without one, the key or chance decides; and who knows how many partitions there are.
    partitioner: Partitioner | None = None
    partitions: Callable[[str], int] | None = None

    takes_columns = True

    def open(self, context: WriterContext) -> None:
        """Prepares what must not travel."""
        self._to_columns = RowsToColumns(context.input_type) if context.input_type is not None else None
        if self.partitioner is not None:
            self._numbers: dict[str, list[int]] = {}
            self._to_rows = ColumnsToRows(context.input_type)
            self.partitioner.open(context.subtask, context.parallelism)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if not key.startswith("_")}

    def records(self, values: list[Any], timestamps: list[int] | None) -> OutputRecords:
        """Takes rows in the form of columns too."""
        if not values:
            return OutputRecords("", [])
        assert self._to_columns is not None
        return self.records_of(self._to_columns.convert(values, timestamps))

    def records_of(self, batch: ColumnBatch) -> OutputRecords:
        """The records of columns."""
        schema = column_schema([each.name for each in self.fields], [each.data_type for each in self.fields])
        columns = [_as(batch.data.column(index), kind) for index, kind in enumerate(schema.types)]
        data = pa.RecordBatch.from_arrays(columns, schema=schema)
        kinds = None if self.is_upsert else batch.kinds
        values: list[bytes | None] = list(self.value.encode(data.select(self.value_indexes), kinds))
        if self.is_upsert and batch.kinds is not None:
            gone = np.isin(batch.kinds, _TAKEN_BACK).tolist()
            values = [None if is_gone else value for value, is_gone in zip(values, gone)]
        keys = None if self.key is None else self.key.encode(data.select(self.key_indexes), None)
        extra = {key: batch.data.column(len(self.fields) + index) for index, key in enumerate(self.metadata)}
        topics = self.topics.only or self._checked(extra["topic"])
        return OutputRecords(
            topics,
            values,
            keys,
            None if self.partitioner is None else self._chosen(batch, topics, keys, values),
            _milliseconds(extra["timestamp"]) if "timestamp" in extra else None,
            extra["headers"].to_pylist() if "headers" in extra else None,
        )

    def _checked(self, topics: Any) -> list[str]:
        """What rows say about where they go, which must be one of the table's topics."""
        wrong = next((each for each in topics.unique().to_pylist() if not self.topics.has(each)), "")
        if wrong is None:
            raise SinkError("a row does not say which topic it goes to: the METADATA column 'topic' is NULL")
        if wrong:
            raise SinkError(
                f"a row goes to the topic '{wrong}', which is not one of the table's: {self.topics.summary}"
            )
        names: list[str] = topics.to_pylist()
        return names

    def _chosen(
        self,
        batch: ColumnBatch,
        topics: str | list[str],
        keys: Sequence[bytes | None] | None,
        values: Sequence[bytes | None],
    ) -> list[int]:
        assert self.partitioner is not None
        rows, _ = self._to_rows.convert(batch)
        choose, numbers = self.partitioner.partition, self._partitions_of
        parts = zip(
            rows,
            repeat(None) if keys is None else keys,
            values,
            repeat(topics) if isinstance(topics, str) else topics,
        )
        return [choose(row, key, value, topic, numbers(topic)) for row, key, value, topic in parts]

    def _partitions_of(self, topic: str) -> list[int]:
        if topic not in self._numbers:
            assert self.partitions is not None
            self._numbers[topic] = list(range(self.partitions(topic)))
        return self._numbers[topic]


def _milliseconds(column: Any) -> list[int]:
    """Where there is none, 0."""
    plain = column.cast(pa.timestamp("ms", tz=column.type.tz), safe=False)
    milliseconds: list[int] = plain.cast(pa.int64()).fill_null(0).to_pylist()
    return milliseconds

"""The connectors kafka and upsert-kafka: from their options to sources and sinks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from funke.engine.connectors.kafka.last_rows import HoldingBack
from funke.engine.connectors.kafka.offsets import Offsets
from funke.engine.connectors.kafka.partitioners import FixedPartitioner, Partitioner, find_partitioner
from funke.engine.connectors.kafka.source import KafkaSource
from funke.engine.connectors.kafka.table_records import TableRecordReader, TableRecordWriter
from funke.engine.flink_exceptions import ValidationException
from funke.engine.formats.messages.message_format import INSERTS
from funke.engine.sql.connectors.error_causes import caused_by
from funke.engine.sql.connectors.formats.file_formats import find_file_format
from funke.engine.sql.connectors.kafka import kafka_options as options
from funke.engine.sql.connectors.kafka.kafka_tables import KafkaTableSink, KafkaTableSource
from funke.engine.sql.connectors.kafka.key_columns import KeyColumns
from funke.engine.sql.connectors.table_factory import TableContext, TableFactory
from funke.engine.sql.connectors.table_option import OptionValues, TableOption
from funke.engine.sql.connectors.table_sink import SINK_PARALLELISM
from funke.engine.types.logical.row_type import RowField

__all__ = ["KafkaFactory", "UpsertKafkaFactory"]

_SCAN = (
    options.START,
    options.START_OFFSETS,
    options.START_TIME,
    options.STOP,
    options.STOP_OFFSETS,
    options.STOP_TIME,
    options.DISCOVERY,
    options.SCAN_PARALLELISM,
)
_SINK = (options.GUARANTEE, options.TRANSACTIONS, options.NAMING, SINK_PARALLELISM)


class KafkaFactory(TableFactory):
    identifier = "kafka"
    purpose = (
        "Records of topics in Kafka; 'properties.…' are those of Kafka's clients. METADATA columns: topic, partition, "
        "headers, leader-epoch, offset, timestamp, timestamp-type; headers and timestamp can be written, and topic if "
        "the table has several. Metadata of change formats is read as 'value.…', such as value.source.table."
    )
    reads = writes = True
    required_options = (options.SERVERS,)
    optional_options = (
        options.TOPIC,
        options.PATTERN,
        options.GROUP,
        options.FORMAT,
        options.VALUE_FORMAT,
        options.KEY_FORMAT,
        options.KEY_FIELDS,
        options.KEY_PREFIX,
        options.INCLUDE,
        *_SCAN,
        *_SINK,
        options.PARTITIONER,
    )
    free_prefixes = (options.PREFIX,)

    def options_for(self, context: TableContext) -> tuple[tuple[TableOption, ...], tuple[TableOption, ...]]:
        values = context.values
        if options.FORMAT not in values and options.VALUE_FORMAT not in values:
            raise ValidationException("A value format must be specified: 'format' or 'value.format'.")
        return self.required_options, (*self.optional_options, *_formats(values))

    def create_source(self, context: TableContext) -> KafkaTableSource:
        values = context.values
        columns = self._columns(context)
        value, key = _decoders(values, columns)
        # Records that only insert cannot keep a key unique: the same key may come again. Change formats can.
        if context.primary_key and value.kinds == INSERTS:
            raise ValidationException(
                f"The Kafka table '{context.identifier.summary}' with '{_value_format(values)[0]}' format doesn't "
                "support defining PRIMARY KEY constraint on the table, because it can't guarantee the semantic of "
                "primary key."
            )
        records = TableRecordReader(columns.fields, value, columns.indexes, key)
        return KafkaTableSource(_source(values, records), records)

    def create_sink(self, context: TableContext) -> KafkaTableSink:
        values = context.values
        # Records of one key would lose their order, which depends on the partition.
        if values[options.PARTITIONER] == "round-robin" and values[options.KEY_FIELDS]:
            raise ValidationException(
                "Currently 'round-robin' partitioner only works when option 'key.fields' is not specified."
            )
        records = _writer(values, self._columns(context))
        records.partitioner = _partitioner(values[options.PARTITIONER])
        return _sink(values, records)

    def _columns(self, context: TableContext) -> KeyColumns:
        values = context.values
        names = values[options.KEY_FIELDS]
        if names and options.KEY_FORMAT not in values:
            raise ValidationException(
                "The option 'key.fields' can only be declared if a key format is defined using 'key.format'."
            )
        if options.KEY_FORMAT in values and not names:
            raise ValidationException(
                "A key format 'key.format' requires the declaration of one or more of key fields using 'key.fields'."
            )
        return KeyColumns.of(_fields(context), names, values[options.KEY_PREFIX], values[options.INCLUDE] == "ALL")


class UpsertKafkaFactory(TableFactory):
    identifier = "upsert-kafka"
    purpose = (
        "The last record of each key in a topic, as a table with a primary key: a record without a value deletes. "
        "Options and METADATA columns as those of kafka."
    )
    reads = writes = True
    required_options = (options.SERVERS, options.KEY_FORMAT, options.VALUE_FORMAT)
    optional_options = (
        options.TOPIC,
        options.PATTERN,
        options.KEY_PREFIX,
        options.INCLUDE,
        options.STOP,
        options.STOP_OFFSETS,
        options.STOP_TIME,
        options.DISCOVERY,
        options.SCAN_PARALLELISM,
        *_SINK,
        options.BUFFER_ROWS,
        options.BUFFER_TIME,
    )
    free_prefixes = (options.PREFIX,)

    def options_for(self, context: TableContext) -> tuple[tuple[TableOption, ...], tuple[TableOption, ...]]:
        return self.required_options, (*self.optional_options, *_formats(context.values))

    def create_source(self, context: TableContext) -> KafkaTableSource:
        values = context.values
        columns = self._columns(context)
        value, key = _decoders(values, columns)
        _require_inserts(value)
        records = TableRecordReader(columns.fields, value, _from_keys(columns), key, is_upsert=True)
        return KafkaTableSource(_source(values, records, is_upsert=True), records, context.primary_key)

    def create_sink(self, context: TableContext) -> KafkaTableSink:
        values = context.values
        records = _writer(values, self._columns(context))
        _require_inserts(records.value)
        records.is_upsert = True
        return replace(_sink(values, records), holding_back=_holding_back(values, records.key_indexes))

    def _columns(self, context: TableContext) -> KeyColumns:
        values = context.values
        if not context.primary_key:
            raise ValidationException(
                "'upsert-kafka' tables require to define a PRIMARY KEY constraint. The PRIMARY KEY specifies which "
                "columns should be read from or write to the Kafka message key. The PRIMARY KEY also defines records "
                "in the 'upsert-kafka' table should update or delete on which keys."
            )
        includes = values[options.INCLUDE] == "ALL"
        # The key of a record is the primary key of its row, in the order of the table's columns.
        names = [each.name for each in context.columns if each.name in context.primary_key]
        return KeyColumns.of(_fields(context), names, values[options.KEY_PREFIX], includes)


def _from_keys(columns: KeyColumns) -> tuple[tuple[str, int], ...]:
    """The location of each column: in the key if it is there, since the record of a deleted row has no value."""
    return tuple(
        ("key", columns.key.index(index)) if index in columns.key else ("value", columns.value.index(index))
        for index in range(len(columns.fields))
    )


def _require_inserts(form: Any) -> None:
    if form.kinds != INSERTS:
        raise ValidationException(
            "'upsert-kafka' connector doesn't support value formats that have changes themselves."
        )


def _fields(context: TableContext) -> tuple[RowField, ...]:
    return tuple(RowField(each.name, each.type) for each in context.columns)


def _value_format(values: OptionValues) -> tuple[str, str]:
    """The name of the format, and where its options are."""
    if options.VALUE_FORMAT in values:
        name = values[options.VALUE_FORMAT]
        return name, f"value.{name}"
    return values[options.FORMAT], values[options.FORMAT]


def _formats(values: OptionValues) -> tuple[TableOption, ...]:
    return (
        *options.format_options(values, options.FORMAT, ""),
        *options.format_options(values, options.VALUE_FORMAT, "value."),
        *options.format_options(values, options.KEY_FORMAT, "key."),
    )


def _decoders(values: OptionValues, columns: KeyColumns) -> tuple[Any, Any]:
    name, space = _value_format(values)
    with caused_by(f"Error creating scan format '{name}' in option space '{space}.'."):
        value = find_file_format(name).create_decoder(columns.value_fields, values.behind(space))
    key = values[options.KEY_FORMAT]
    if key is None:
        return value, None
    with caused_by(f"Error creating scan format '{key}' in option space 'key.{key}.'."):
        return value, find_file_format(key).create_decoder(columns.key_fields, values.behind(f"key.{key}"))


def _source(values: OptionValues, records: TableRecordReader, is_upsert: bool = False) -> KafkaSource:
    topics = options.subscription(values)
    stopping = options.stopping(values, topics.topics)
    return KafkaSource(
        options.properties(values),
        topics,
        records,
        # The rows of an upsert table are the last records of all keys: reading starts at the beginning of the topic.
        Offsets("earliest") if is_upsert else options.starting(values, topics.topics),
        stopping,
        is_bounded=stopping is not None,
        fixed_parallelism=values[options.SCAN_PARALLELISM],
    )


def _writer(values: OptionValues, columns: KeyColumns) -> TableRecordWriter:
    name, space = _value_format(values)
    with caused_by(f"Error creating sink format '{name}' in option space '{space}.'."):
        value = find_file_format(name).create_encoder(columns.value_fields, _with_subject(values, space, "value"))
    key, encoder = values[options.KEY_FORMAT], None
    if key is not None:
        with caused_by(f"Error creating sink format '{key}' in option space 'key.{key}.'."):
            encoder = find_file_format(key).create_encoder(
                columns.key_fields, _with_subject(values, f"key.{key}", "key")
            )
    return TableRecordWriter(options.subscription(values), columns.fields, value, columns.value, encoder, columns.key)


def _with_subject(values: OptionValues, space: str, part: str) -> OptionValues:
    """The options of a format; schemas in a registry have the topic's name unless the table says otherwise."""
    own, topic = values.behind(space), options.subscription(values).only
    if space.endswith("avro-confluent") and topic is not None:
        return OptionValues({"subject": f"{topic}-{part}", **own.strings})
    return own


def _partitioner(name: str) -> Partitioner | None:
    """The partitioner of a sink; None leaves the choice to the client, which spreads records without a key."""
    if name in ("default", "round-robin"):
        return None
    if name == "fixed":
        return FixedPartitioner()
    partitioner: Partitioner | None = find_partitioner(name)
    if partitioner is None:
        raise ValidationException(
            f"Could not find and instantiate partitioner class '{name}'; it is to be a Python class, named with its "
            "module, with the methods open(parallel_instance_id, parallel_instances) and partition(record, key, value, "
            "target_topic, partitions)."
        )
    return partitioner


def _holding_back(values: OptionValues, key: tuple[int, ...]) -> HoldingBack | None:
    rows, interval_ms = values[options.BUFFER_ROWS], values[options.BUFFER_TIME].to_millis()
    # As in Flink changes of a key are only held back, and the last one written, when both bounds are set.
    return HoldingBack(rows, interval_ms, key) if rows > 0 and interval_ms > 0 else None


def _sink(values: OptionValues, records: TableRecordWriter) -> KafkaTableSink:
    guarantee, prefix = values[options.GUARANTEE], values[options.TRANSACTIONS]
    if guarantee == "exactly-once" and prefix is None:
        raise ValidationException(
            f"'{options.TRANSACTIONS.key}' must be specified when using DeliveryGuarantee.EXACTLY_ONCE."
        )
    # Discovery is for readers: the client of a writer would warn of an unknown property.
    properties = options.properties(values, has_discovery=False)
    return KafkaTableSink(properties, records, guarantee, prefix, values[SINK_PARALLELISM])

"""Descriptors of Flink 1.x: a connector, a format and a schema, put together by calls.

A descriptor becomes the properties that Flink 1.x made of it; `old_properties` says what they mean today.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from funke.engine.errors import UnsupportedFeatureError, at_user_line
from funke.engine.flink_exceptions import ValidationException
from funke.table.schema import Schema as DeclaredSchema
from funke.table.table_schema import TableSchema
from funke.table.types import DataType

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Avro",
    "ConnectorDescriptor",
    "Csv",
    "CustomConnectorDescriptor",
    "CustomFormatDescriptor",
    "Elasticsearch",
    "FileSystem",
    "FormatDescriptor",
    "HBase",
    "Json",
    "Kafka",
    "OldCsv",
    "Rowtime",
    "Schema",
]

# Names of types that only the texts of Flink 1.x know.
_OLD_TYPE_STRINGS = {
    "LONG": "BIGINT",
    "SHORT": "SMALLINT",
    "BYTE": "TINYINT",
    "BIG_DEC": "DECIMAL(38, 18)",
    "SQL_DATE": "DATE",
    "SQL_TIME": "TIME",
    "SQL_TIMESTAMP": "TIMESTAMP(3)",
    "LOCAL_DATE_TIME": "TIMESTAMP(3)",
    "VARCHAR": "STRING",
}


class Descriptor:
    """Collects properties of Flink 1.x."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = dict(properties)

    def to_properties(self) -> dict[str, str]:
        """Return the properties that Flink 1.x stored."""
        return dict(self._properties)

    def _set(self, key: str, value: Any) -> Self:
        self._properties[key] = str(value).lower() if isinstance(value, bool) else str(value)
        return self


class ConnectorDescriptor(Descriptor):
    """Where a table is kept."""

    def __init__(self, connector: str, version: int = 1) -> None:
        super().__init__({"connector.type": connector, "connector.property-version": str(version)})


class FormatDescriptor(Descriptor):
    """How rows are written."""

    def __init__(self, file_format: str, version: int = 1) -> None:
        super().__init__({"format.type": file_format, "format.property-version": str(version)})


class FileSystem(ConnectorDescriptor):
    """Files of a path."""

    def __init__(self) -> None:
        super().__init__("filesystem")

    def path(self, path_str: str) -> FileSystem:
        """Set the file or directory."""
        self._set("connector.path", path_str)
        return self


class Kafka(ConnectorDescriptor):
    """A topic of Kafka."""

    def __init__(self) -> None:
        super().__init__("kafka")

    def version(self, version: str) -> Kafka:
        """Set the version of Kafka; it has no effect."""
        self._set("connector.version", version)
        return self

    def topic(self, topic: str) -> Kafka:
        """Set the topic."""
        self._set("connector.topic", topic)
        return self

    def properties(self, property_dict: dict[str, str]) -> Kafka:
        """Set properties of Kafka's clients."""
        for key, value in property_dict.items():
            self.property(key, value)
        return self

    def property(self, key: str, value: str) -> Kafka:
        """Set a property of Kafka's clients."""
        self._set(f"connector.properties.{key}", value)
        return self

    def start_from_earliest(self) -> Kafka:
        """Read from the first record."""
        self._set("connector.startup-mode", "earliest-offset")
        return self

    def start_from_latest(self) -> Kafka:
        """Read what comes from now on."""
        self._set("connector.startup-mode", "latest-offset")
        return self

    def start_from_group_offsets(self) -> Kafka:
        """Read from the offsets that the consumer group committed."""
        self._set("connector.startup-mode", "group-offsets")
        return self

    def start_from_specific_offsets(self, specific_offsets_dict: dict[int, int]) -> Kafka:
        """Read each partition from an offset."""
        for partition, offset in specific_offsets_dict.items():
            self.start_from_specific_offset(partition, offset)
        return self

    def start_from_specific_offset(self, partition: int, specific_offset: int) -> Kafka:
        """Read a partition from an offset."""
        offsets = self._properties.get("connector.specific-offsets", "")
        pair = f"partition:{partition},offset:{specific_offset}"
        self._set("connector.startup-mode", "specific-offsets")
        self._set("connector.specific-offsets", f"{offsets};{pair}" if offsets else pair)
        return self

    def start_from_timestamp(self, timestamp: int) -> Kafka:
        """Read records from a timestamp on, in milliseconds."""
        self._set("connector.startup-mode", "timestamp")
        self._set("connector.startup-timestamp-millis", timestamp)
        return self

    def sink_partitioner_fixed(self) -> Kafka:
        """Let each subtask write to one partition."""
        self._set("connector.sink-partitioner", "fixed")
        return self

    def sink_partitioner_round_robin(self) -> Kafka:
        """Let records go to the partitions in turn."""
        self._set("connector.sink-partitioner", "round-robin")
        return self

    def sink_partitioner_custom(self, partitioner_class_name: str) -> Kafka:
        """Reject a partitioner in Java."""
        raise UnsupportedFeatureError(f"the Java partitioner {partitioner_class_name}", "use sink_partitioner_fixed()")


class Elasticsearch(ConnectorDescriptor):
    """An index of Elasticsearch: there is no connector for it."""

    def __init__(self) -> None:
        raise UnsupportedFeatureError("the Elasticsearch connector", "write to Kafka, to files or over jdbc instead")


class HBase(ConnectorDescriptor):
    """A table of HBase: there is no connector for it."""

    def __init__(self) -> None:
        raise UnsupportedFeatureError("the HBase connector", "write to Kafka, to files or over jdbc instead")


class CustomConnectorDescriptor(ConnectorDescriptor):
    """A connector by its name and properties."""

    def __init__(self, type: str, version: int, format_needed: bool) -> None:
        super().__init__(type, version)
        self._format_needed = format_needed

    def property(self, key: str, value: str) -> CustomConnectorDescriptor:
        """Set a property."""
        self._set(key, value)
        return self

    def properties(self, property_dict: dict[str, str]) -> CustomConnectorDescriptor:
        """Set properties."""
        for key, value in property_dict.items():
            self.property(key, value)
        return self


class CustomFormatDescriptor(FormatDescriptor):
    """A format by its name and properties."""

    def __init__(self, type: str, version: int) -> None:
        super().__init__(type, version)

    def property(self, key: str, value: str) -> CustomFormatDescriptor:
        """Set a property."""
        self._set(key, value)
        return self

    def properties(self, property_dict: dict[str, str]) -> CustomFormatDescriptor:
        """Set properties."""
        for key, value in property_dict.items():
            self.property(key, value)
        return self


class _CsvFormat(FormatDescriptor):
    """What both CSV formats of Flink 1.x have."""

    def __init__(self) -> None:
        super().__init__("csv")

    def field_delimiter(self, delimiter: str) -> Self:
        """Set the character between two cells."""
        return self._set("format.field-delimiter", delimiter)

    def line_delimiter(self, delimiter: str) -> Self:
        """Set what ends a line, beside line breaks."""
        return self if delimiter in ("\n", "\r\n", "\r", "") else self._set("format.line-delimiter", delimiter)

    def quote_character(self, quote_character: str) -> Self:
        """Set the character around cells that hold delimiters."""
        return self._set("format.quote-character", quote_character)

    def ignore_parse_errors(self) -> Self:
        """Read cells that cannot be parsed as NULL."""
        return self._set("format.ignore-parse-errors", True)


class OldCsv(_CsvFormat):
    """CSV as the file system of Flink 1.x had it."""

    def __init__(self, schema: Any = None, field_delimiter: str = ",", line_delimiter: str = "\n") -> None:
        super().__init__()
        self._fields: list[tuple[str, DataType | str]] = []
        if schema is not None:
            self.schema(schema)
        self.field_delimiter(field_delimiter)
        self.line_delimiter(line_delimiter)
        # Without a quote character Flink 1.x reads quotes as they are.
        self._set("format.disable-quote-character", True)

    def quote_character(self, quote_character: str) -> Self:
        """Set the character around cells that hold delimiters."""
        self._properties.pop("format.disable-quote-character", None)
        return super().quote_character(quote_character)

    def schema(self, table_schema: TableSchema) -> OldCsv:
        """Set the columns of the files."""
        self._fields = list(zip(table_schema.get_field_names(), table_schema.get_field_data_types()))
        return self

    def field(self, field_name: str, field_type: DataType | str) -> OldCsv:
        """Add a column of the files."""
        self._fields.append((field_name, field_type))
        return self

    def comment_prefix(self, prefix: str) -> OldCsv:
        """Set what lines begin with that are comments: `#`."""
        if prefix != "#":
            raise UnsupportedFeatureError(f"comments of CSV that begin with {prefix!r}", "only '#' is known")
        self._set("format.comment-prefix", prefix)
        return self

    def ignore_first_line(self) -> OldCsv:
        """Skip the first line of each file."""
        self._set("format.ignore-first-line", True)
        return self


class Csv(_CsvFormat):
    """CSV."""

    def __init__(self, schema: Any = None) -> None:
        super().__init__()

    def allow_comments(self) -> Csv:
        """Skip lines that begin with `#`."""
        self._set("format.allow-comments", True)
        return self

    def array_element_delimiter(self, delimiter: str) -> Csv:
        """Set the character between elements of an array."""
        self._set("format.array-element-delimiter", delimiter)
        return self

    def escape_character(self, escape_character: str) -> Csv:
        """Set the character that escapes the next one."""
        self._set("format.escape-character", escape_character)
        return self

    def null_literal(self, null_literal: str) -> Csv:
        """Set the cell that means NULL."""
        self._set("format.null-literal", null_literal)
        return self

    def derive_schema(self) -> Csv:
        """Take the columns of the table, as is always done."""
        return self

    def schema(self, schema_data_type: Any) -> Csv:
        """Take the columns of the table instead; they are the same."""
        return self


class Json(FormatDescriptor):
    """JSON."""

    def __init__(self, json_schema: str | None = None, schema: Any = None, derive_schema: bool = False) -> None:
        super().__init__("json")

    def fail_on_missing_field(self, fail_on_missing_field: bool) -> Json:
        """Say whether a missing field is an error."""
        self._set("format.fail-on-missing-field", bool(fail_on_missing_field))
        return self

    def ignore_parse_errors(self, ignore_parse_errors: bool) -> Json:
        """Say whether what cannot be parsed is skipped."""
        self._set("format.ignore-parse-errors", bool(ignore_parse_errors))
        return self

    def json_schema(self, json_schema: str) -> Json:
        """Take the columns of the table instead."""
        return self

    def schema(self, schema_data_type: Any) -> Json:
        """Take the columns of the table instead."""
        return self

    def derive_schema(self) -> Json:
        """Take the columns of the table, as is always done."""
        return self


class Avro(FormatDescriptor):
    """Avro."""

    def __init__(self, record_class: str | None = None, avro_schema: str | None = None) -> None:
        super().__init__("avro")

    def record_class(self, record_class: str) -> Avro:
        """Take the columns of the table instead of a class in Java."""
        return self

    def avro_schema(self, avro_schema: str) -> Avro:
        """Take the columns of the table instead."""
        return self


class Rowtime(Descriptor):
    """How a column becomes event time."""

    def __init__(self) -> None:
        super().__init__({})
        self._field: str | None = None
        self._delay_ms: int | None = None

    def timestamps_from_field(self, field_name: str) -> Rowtime:
        """Take the timestamps from a field of the input."""
        self._field = field_name
        self._set("rowtime.timestamps.type", "from-field")
        self._set("rowtime.timestamps.from", field_name)
        return self

    def timestamps_from_source(self) -> Rowtime:
        """Reject timestamps of Kafka's records."""
        raise UnsupportedFeatureError("timestamps_from_source()", "declare a METADATA column in CREATE TABLE")

    def timestamps_from_extractor(self, extractor: str) -> Rowtime:
        """Reject an extractor in Java."""
        raise UnsupportedFeatureError(f"the Java extractor {extractor}", "use timestamps_from_field()")

    def watermarks_periodic_ascending(self) -> Rowtime:
        """Send watermarks for timestamps that only grow."""
        self._delay_ms = 1
        self._set("rowtime.watermarks.type", "periodic-ascending")
        return self

    def watermarks_periodic_bounded(self, delay: int) -> Rowtime:
        """Send watermarks that lie some milliseconds behind the highest timestamp."""
        self._delay_ms = int(delay)
        self._set("rowtime.watermarks.type", "periodic-bounded")
        self._set("rowtime.watermarks.delay", delay)
        return self

    def watermarks_from_source(self) -> Rowtime:
        """Reject watermarks of the source."""
        raise UnsupportedFeatureError("watermarks_from_source()", "use watermarks_periodic_bounded()")

    def watermarks_from_strategy(self, strategy: str) -> Rowtime:
        """Reject a strategy in Java."""
        raise UnsupportedFeatureError(f"the Java strategy {strategy}", "use watermarks_periodic_bounded()")


class Schema(Descriptor):
    """The columns of a table, each with its origin in the input."""

    def __init__(
        self, schema: Any = None, fields: dict[str, DataType | str] | None = None, rowtime: Rowtime | None = None
    ) -> None:
        super().__init__({})
        self._fields: list[tuple[str, DataType | str]] = []
        self._origins: dict[str, str] = {}
        self._rowtimes: dict[str, Rowtime] = {}
        self._proctimes: set[str] = set()
        if schema is not None:
            self.schema(schema)
        if fields is not None:
            self.fields(fields)
        if rowtime is not None:
            self.rowtime(rowtime)

    def schema(self, table_schema: TableSchema) -> Schema:
        """Add the columns of a schema."""
        for name, data_type in zip(table_schema.get_field_names(), table_schema.get_field_data_types()):
            self.field(name, data_type)
        return self

    def fields(self, fields: dict[str, DataType | str]) -> Schema:
        """Add columns."""
        for name, data_type in fields.items():
            self.field(name, data_type)
        return self

    def field(self, field_name: str, field_type: DataType | str) -> Schema:
        """Add a column."""
        self._fields.append((field_name, field_type))
        return self

    def from_origin_field(self, origin_field_name: str) -> Schema:
        """Say which field of the input the last column is."""
        self._origins[self._last()] = origin_field_name
        return self

    def proctime(self) -> Schema:
        """Make the last column processing time."""
        self._proctimes.add(self._last())
        return self

    def rowtime(self, rowtime: Rowtime) -> Schema:
        """Make the last column event time."""
        self._rowtimes[self._last()] = rowtime
        return self

    def to_properties(self) -> dict[str, str]:
        """Return the properties that Flink 1.x stored."""
        properties: dict[str, str] = {}
        for index, (name, data_type) in enumerate(self._fields):
            of_column = {"name": name, "data-type": str(_to_type(data_type))}
            if name in self._proctimes:
                of_column["proctime"] = "true"
            if name in self._rowtimes:
                of_column |= self._rowtimes[name].to_properties()
            if name in self._origins:
                of_column["from"] = self._origins[name]
            properties |= {f"schema.{index}.{key}": value for key, value in of_column.items()}
        return properties

    def _last(self) -> str:
        if not self._fields:
            raise ValidationException(at_user_line("No field previously defined. Use field() before."))
        return self._fields[-1][0]

    def _names(self) -> list[str]:
        return [name for name, _ in self._fields]

    def _declared(self, fields_of_lines: list[tuple[str, DataType | str]]) -> DeclaredSchema:
        """Return what a table of today declares: the fields of the input, then what is computed of them."""
        builder = DeclaredSchema.new_builder()
        physical = dict(fields_of_lines or self._input_fields())
        for name, data_type in physical.items():
            builder.column(name, _to_type(data_type))
        for name in self._names():
            rowtime, origin = self._rowtimes.get(name), self._origins.get(name, name)
            if name in self._proctimes:
                builder.column_by_expression(name, "PROCTIME()")
            elif rowtime is not None:
                self._add_rowtime(builder, name, rowtime, physical)
            elif origin != name:
                builder.column_by_expression(name, f"`{origin}`")
        return builder.build()

    def _input_fields(self) -> list[tuple[str, DataType | str]]:
        named: dict[str, DataType | str] = {}
        for name, data_type in self._fields:
            if name not in self._proctimes:
                rowtime = self._rowtimes.get(name)
                named[self._origins.get(name, name) if rowtime is None else rowtime._field or name] = data_type
        return list(named.items())

    def _add_rowtime(
        self, builder: DeclaredSchema.Builder, name: str, rowtime: Rowtime, physical: dict[str, DataType | str]
    ) -> None:
        origin = rowtime._field or name
        if origin != name:
            is_number = str(_to_type(physical[origin])).upper().startswith("BIGINT")
            value = f"TO_TIMESTAMP_LTZ(`{origin}`, 3)" if is_number else f"CAST(`{origin}` AS TIMESTAMP(3))"
            builder.column_by_expression(name, value)
        delay = f" - INTERVAL '{rowtime._delay_ms / 1000:.3f}' SECOND(10, 3)" if rowtime._delay_ms else ""
        builder.watermark(name, f"`{name}`{delay}")


def _to_type(data_type: DataType | str) -> DataType | str:
    if not isinstance(data_type, str):
        return data_type
    text = data_type.strip()
    return _OLD_TYPE_STRINGS.get(text.upper(), text)

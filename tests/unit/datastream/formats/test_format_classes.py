"""PyFlink's format classes over the engine's formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from funke.common.configuration import Configuration
from funke.common.serialization import RowDataBulkWriterFactory
from funke.common.typeinfo import Types
from funke.common.types import Row
from funke.datastream.formats.csv import (
    CsvBulkWriters,
    CsvReaderFormat,
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
    CsvSchema,
)
from funke.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from funke.datastream.formats.orc import OrcBulkWriters
from funke.datastream.formats.parquet import ParquetBulkWriters, ParquetColumnarRowInputFormat
from funke.engine.errors import ConfigurationError, TypeMismatchError

ROW_TYPE = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])


def test_json_schemas() -> None:
    reader = JsonRowDeserializationSchema.builder().type_info(ROW_TYPE).ignore_parse_errors().build()
    writer = JsonRowSerializationSchema.builder().with_type_info(ROW_TYPE).build()

    assert writer.serialize(Row(1, "a")) == b'{"id":1,"name":"a"}'
    assert reader.deserialize(b'{"id":1,"name":"a"}') == Row(id=1, name="a")
    assert reader.deserialize(b"bad") is None
    assert reader.get_produced_type() == ROW_TYPE


def test_json_schemas_need_a_type() -> None:
    with pytest.raises(TypeError, match=r"call type_info\(\) or json_schema\(\)"):
        JsonRowDeserializationSchema.builder().build()
    with pytest.raises(TypeError, match=r"call with_type_info\(\)"):
        JsonRowSerializationSchema.builder().build()
    with pytest.raises(TypeMismatchError, match="a row type was expected"):
        JsonRowSerializationSchema.builder().with_type_info(Types.INT()).build()
    with pytest.raises(ConfigurationError, match="contradict"):
        JsonRowDeserializationSchema.builder().type_info(ROW_TYPE).fail_on_missing_field().ignore_parse_errors().build()


def test_json_schema_by_json_schema() -> None:
    schema = json.dumps({"type": "object", "properties": {"name": {"type": "string"}}})
    reader = JsonRowDeserializationSchema.builder().json_schema(schema).build()

    assert reader.deserialize(b'{"name":"a"}') == Row(name="a")


def test_csv_schemas() -> None:
    reader = CsvRowDeserializationSchema.Builder(ROW_TYPE).set_field_delimiter("|").set_null_literal("-").build()
    writer = CsvRowSerializationSchema.Builder(ROW_TYPE).set_field_delimiter("|").set_line_delimiter("").build()

    assert reader.deserialize(b"1|-") == Row(id=1, name=None)
    assert writer.serialize(Row(1, "a|b")) == b'1|"a|b"'
    with pytest.raises(ConfigurationError, match="must be a single character"):
        CsvRowSerializationSchema.Builder(ROW_TYPE).set_field_delimiter("||")


def test_building_again_does_not_change_what_was_built() -> None:
    builder = CsvRowDeserializationSchema.Builder(ROW_TYPE)
    first = builder.build()
    second = builder.set_field_delimiter(";").build()

    assert first.deserialize(b"1,a") == second.deserialize(b"1;a") == Row(id=1, name="a")


def csv_schema() -> CsvSchema:
    builder = CsvSchema.builder().add_number_column("id", Types.INT()).add_string_column("name")
    builder.add_boolean_column("ok").add_array_column("tags", "#").add_number_column("n")
    return builder.set_column_separator("|").set_use_header().set_null_value("-").build()


def test_csv_schema_describes_files_for_reading() -> None:
    schema = csv_schema()
    engine_format: Any = CsvReaderFormat.for_schema(schema).engine_format

    assert len(schema) == schema.size() == 5
    assert [column.name for column in engine_format.columns] == ["id", "name", "ok", "tags", "n"]
    assert engine_format.produced_type == Types.ROW(
        [Types.INT(), Types.STRING(), Types.BOOLEAN(), Types.LIST(Types.STRING()), Types.LONG()]
    )
    assert (engine_format.separator, engine_format.null_literal, engine_format.has_header) == ("|", "-", True)


def test_csv_schema_describes_files_for_writing(tmp_path: Path) -> None:
    factory = CsvBulkWriters.for_schema(csv_schema())
    path = tmp_path / "out.csv"
    with path.open("wb") as stream:
        writer = factory.bulk_format.create_writer(stream, None)
        writer.write([Row(1, "a", True, ["x", "y"], None)])
        writer.finish()

    assert path.read_text() == '"id"|"name"|"ok"|"tags"|"n"\n1|"a"|true|"x#y"|-\n'


def test_csv_builder_columns() -> None:
    builder = CsvSchema.builder().add_columns_from(csv_schema())
    assert builder.size() == 5
    assert len(builder.clear_columns().add_string_column("a")) == 1
    with pytest.raises(ValueError, match="Column separator must be a single char"):
        builder.set_column_separator("||")


def test_parquet_and_orc() -> None:
    reading = ParquetColumnarRowInputFormat(ROW_TYPE, batch_size=10)
    parquet: Any = ParquetBulkWriters.for_row_type(ROW_TYPE)
    orc: Any = OrcBulkWriters.for_row_type(ROW_TYPE)
    config = Configuration()
    config.set_string("parquet.compression", "GZIP")
    zipped: Any = ParquetBulkWriters.for_row_type(ROW_TYPE, config)

    assert (reading.row_type, reading.batch_size, reading.is_case_sensitive) == (ROW_TYPE, 10, True)
    assert isinstance(parquet, RowDataBulkWriterFactory) and parquet.get_row_type() == ROW_TYPE
    assert (parquet.bulk_format.compression, zipped.bulk_format.compression) == ("snappy", "gzip")
    assert orc.bulk_format.row_type == ROW_TYPE
    with pytest.raises(TypeMismatchError, match="neither a TypeInformation nor a DataType"):
        ParquetBulkWriters.for_row_type("ROW")

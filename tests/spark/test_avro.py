"""Avro in whole jobs, and together with Java's Avro, which Spark brings along."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyspark.sql import SparkSession

from funke.common import WatermarkStrategy
from funke.datastream import MapFunction, StreamExecutionEnvironment
from funke.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource
from funke.datastream.formats.avro import AvroBulkWriters, AvroInputFormat, AvroSchema, GenericRecordAvroTypeInfo
from funke.datastream.formats.parquet import AvroParquetReaders, AvroParquetWriters
from funke.engine.connectors.file_sink.avro_format import AvroBulkFormat
from funke.engine.connectors.files.file_source import FileSource as EngineFileSource
from tests.spark.job_running import collect, new_environment
from tests.unit.connectors.source_draining import drain
from tests.unit.formats.avro.records import ITEM, avro_file, record, written

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

SCHEMA = record("test", ("id", "long"), ("item", ["null", ITEM]), ("counts", {"type": "map", "values": "int"}))
RECORDS = [{"id": n, "item": {"int": n, "double": 0.5} if n % 2 else None, "counts": {"a": n}} for n in range(40)]


class Same(MapFunction):
    """Takes records through a slot."""

    def map(self, value: Any) -> Any:
        return value


def by_id(records: Any) -> list[Any]:
    return sorted(records, key=lambda each: each["id"])


def test_records_are_read_and_written(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    schema = AvroSchema(SCHEMA)
    avro_file(tmp_path / "in.avro", SCHEMA, RECORDS)
    records = env.create_input(AvroInputFormat(str(tmp_path / "in.avro"), schema))
    typed = records.map(Same(), output_type=GenericRecordAvroTypeInfo(schema))
    for name, factory in (("avro", AvroBulkWriters), ("parquet", AvroParquetWriters)):
        sink = FileSink.for_bulk_format(str(tmp_path / name), factory.for_generic_record(schema))
        typed.sink_to(sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())

    env.execute()

    results = []
    for path in (tmp_path / "avro").glob("part-*"):
        with path.open("rb") as stream:
            results += list(fastavro.reader(stream))
    assert by_id(results) == RECORDS
    reading = FileSource.for_record_stream_format(
        AvroParquetReaders.for_generic_record(schema), str(tmp_path / "parquet")
    )
    columns = new_environment(2).from_source(reading.build(), WatermarkStrategy.no_watermarks(), "parquet")
    assert by_id(collect(columns.map(Same()))) == RECORDS


def test_files_of_java_are_read_whatever_their_codec(spark: SparkSession, tmp_path: Path) -> None:
    avro = spark._jvm.org.apache.avro
    schema = avro.Schema.Parser().parse(json.dumps(SCHEMA))
    item_schema = schema.getField("item").schema().getTypes().get(1)
    for codec in ("null", "deflate", "snappy", "zstandard", "bzip2", "xz"):
        writer = avro.file.DataFileWriter(avro.generic.GenericDatumWriter(schema))
        writer.setCodec(avro.file.CodecFactory.fromString(codec)).setSyncInterval(64)
        writer.create(schema, spark._jvm.java.io.File(str(tmp_path / f"{codec}.avro")))
        for each in RECORDS[:6]:
            writer.append(java_record(avro, schema, item_schema, each))
        writer.close()

    source = EngineFileSource([str(tmp_path)], AvroInputFormat(str(tmp_path), AvroSchema(SCHEMA)).engine_format)

    assert by_id(drain(source)) == [each for each in RECORDS[:6] for _ in range(6)]


def java_record(avro: Any, schema: Any, item_schema: Any, values: Any) -> Any:
    created = avro.generic.GenericData.Record(schema)
    created.put("id", values["id"])
    created.put("counts", values["counts"])
    if values["item"] is not None:
        item = avro.generic.GenericData.Record(item_schema)
        item.put("int", values["item"]["int"])
        item.put("double", values["item"]["double"])
        created.put("item", item)
    return created


def test_java_reads_our_files(spark: SparkSession, tmp_path: Path) -> None:
    avro = spark._jvm.org.apache.avro
    written(AvroBulkFormat(json.dumps(SCHEMA)), tmp_path / "a.avro", RECORDS)

    file = spark._jvm.java.io.File(str(tmp_path / "a.avro"))
    reader = avro.file.DataFileReader(file, avro.generic.GenericDatumReader())
    results = []
    while reader.hasNext():
        results.append(json.loads(reader.next().toString()))

    assert results == RECORDS

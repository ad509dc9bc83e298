"""Avro container files: what functions see of each type, ranges, other schemas, compression, damage."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.connectors.file_sink.avro_format import AvroBulkFormat
from funke.engine.connectors.files.file_source import FileSource
from funke.engine.errors import SourceError, TypeMismatchError
from funke.engine.formats.avro.avro_files import AvroFileFormat
from funke.engine.formats.input_file import InputFile
from tests.unit.connectors.source_draining import drain
from tests.unit.formats.avro.records import KINDS, avro_file, read, record, records_of, schema_of, written

NUMBERS = record("test", ("id", "long"))
MANY = [{"id": number} for number in range(500)]


@pytest.mark.parametrize("kind", KINDS)
def test_records_come_back(tmp_path: Path, kind: str) -> None:
    schema, records = schema_of(kind), records_of(kind)
    file = written(AvroBulkFormat(schema), tmp_path / "a.avro", records)

    elements = read(AvroFileFormat(schema), file)

    assert elements == records
    assert [type(each["value"]) for each in elements] == [type(each["value"]) for each in records]
    with (tmp_path / "a.avro").open("rb") as stream:
        assert json.loads(fastavro.reader(stream).metadata["avro.schema"]) == json.loads(schema)


@given(cuts=st.lists(st.integers(0, 6_000), max_size=5))
@settings(max_examples=60)
def test_ranges_read_every_record_once(tmp_path_factory: pytest.TempPathFactory, cuts: list[int]) -> None:
    path = tmp_path_factory.getbasetemp() / "ranges.avro"
    if not path.exists():
        avro_file(path, NUMBERS, MANY, block_bytes=100)
    file = InputFile(str(path), path.stat().st_size)
    reading = AvroFileFormat(json.dumps(NUMBERS))
    edges = [0, *sorted(min(cut, file.size) for cut in cuts), file.size]

    results = [each for start, end in pairwise(edges) for each in read(reading, file, start, end)]

    assert results == MANY


def test_a_large_file_is_read_in_several_ranges(tmp_path: Path) -> None:
    records = [{"text": "x" * 1000} for _ in range(300)]
    schema = record("test", ("text", "string"))
    avro_file(tmp_path / "a.avro", schema, records)
    source = FileSource([str(tmp_path)], AvroFileFormat(json.dumps(schema)))

    assert len(source.create_enumerator(parallelism=2).poll(10_000)) > 1
    assert drain(source) == records


def deflated(data: bytes) -> bytes:
    squeeze = zlib.compressobj(wbits=-15)
    return squeeze.compress(data) + squeeze.flush()


def snapped(data: bytes) -> bytes:
    squeezed: bytes = pa.compress(data, "snappy", asbytes=True)
    return squeezed + struct.pack(">I", zlib.crc32(data))


CODECS: dict[str, Callable[[bytes], bytes]] = {
    "null": lambda data: data,
    "deflate": deflated,
    "snappy": snapped,
    "zstandard": lambda data: pa.compress(data, "zstd", asbytes=True),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


def recoded(path: Path, codec: str, squeeze: Callable[[bytes], bytes]) -> InputFile:
    """A file whose blocks are compressed here, since fastavro needs further packages for some codecs."""
    plain = io.BytesIO()
    fastavro.writer(plain, NUMBERS, MANY, sync_interval=400)
    plain.seek(0)
    content = io.BytesIO()
    fastavro.writer(content, NUMBERS, [], metadata={"avro.codec": codec}, sync_marker=b"s" * 16)
    header = content.getvalue().replace(b"\x08null", bytes([2 * len(codec)]) + codec.encode())
    blocks = b""
    for block in fastavro.block_reader(plain):
        data = squeeze(block.bytes_.getvalue())
        numbers = io.BytesIO()
        for number in (block.num_records, len(data)):
            fastavro.schemaless_writer(numbers, "long", number)
        blocks += numbers.getvalue() + data + b"s" * 16
    path.write_bytes(header + blocks)
    return InputFile(str(path), len(header + blocks))


@pytest.mark.parametrize("codec", CODECS)
def test_compressed_blocks(tmp_path: Path, codec: str) -> None:
    file = recoded(tmp_path / "a.avro", codec, CODECS[codec])
    half = file.size // 2
    reading = AvroFileFormat(json.dumps(NUMBERS))

    assert read(reading, file) == MANY
    assert read(reading, file, 0, half) + read(reading, file, half) == MANY


def test_a_codec_that_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="compressed by 'lzo'; expected one of null, deflate, snappy"):
        read(AvroFileFormat(json.dumps(NUMBERS)), recoded(tmp_path / "a.avro", "lzo", lambda data: data))


def test_a_wrong_checksum(tmp_path: Path) -> None:
    file = recoded(tmp_path / "a.avro", "snappy", lambda data: snapped(data)[:-1] + b"?")

    with pytest.raises(ValueError, match="checksum of a block is wrong"):
        read(AvroFileFormat(json.dumps(NUMBERS)), file)


def test_a_file_that_is_compressed_as_a_whole(tmp_path: Path) -> None:
    avro_file(tmp_path / "plain", NUMBERS, MANY)
    (tmp_path / "a.avro.gz").write_bytes(gzip.compress((tmp_path / "plain").read_bytes()))

    assert drain(FileSource([str(tmp_path / "a.avro.gz")], AvroFileFormat(json.dumps(NUMBERS)))) == MANY


def test_files_of_another_schema_are_adapted(tmp_path: Path) -> None:
    old = record("old", ("id", "int"), ("gone", "string"), ("was", "int"))
    new = record("new", ("id", "long"))
    new["fields"] += [
        {"name": "is", "type": "double", "aliases": ["was"]},
        {"name": "added", "type": ["null", "string"], "default": None},
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": ["none"]},
    ]
    file = avro_file(tmp_path / "a.avro", old, [{"id": 1, "gone": "x", "was": 2}])

    assert read(AvroFileFormat(json.dumps(new)), file) == [{"id": 1, "is": 2.0, "added": None, "tags": ["none"]}]


def test_a_schema_that_cannot_be_adapted(tmp_path: Path) -> None:
    avro_file(tmp_path / "a.avro", NUMBERS, MANY)
    source = FileSource([str(tmp_path)], AvroFileFormat(json.dumps(record("test", ("id", "boolean")))))

    with pytest.raises(SourceError, match=r"cannot read file '.*a.avro': its records cannot be read: SchemaResolution"):
        drain(source)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: b"PAR1" + data[4:], "it is not an Avro file: it does not begin with"),
        (
            lambda data: data.replace(b'"name": "id"', b'"nome": "id"', 1),
            "it is not an Avro file: the Avro schema is not valid",
        ),
        (lambda data: data[:20], "it is not an Avro file"),
        (lambda data: data[:-5], "it ends in the middle of a block"),
        (lambda data: data[:-16] + b"?" * 16, "a block does not end with the marker of the file"),
        (lambda data: data.replace(data[-16:], data[-16:] + b"\x01\x01", 1), "-1 records in -1 bytes"),
        (lambda data: data.replace(data[-16:], data[-16:] + b"\xff" * 12, 1), "more than 64 bits"),
        (lambda data: data + b"\x80", "ends in the middle of a number"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, damage: Callable[[bytes], bytes], reason: str) -> None:
    path = tmp_path / "a.avro"
    avro_file(path, NUMBERS, MANY, block_bytes=10_000)
    path.write_bytes(damage(path.read_bytes()))

    with pytest.raises(SourceError, match=rf"cannot read file '.*a.avro': .*{reason}"):
        drain(FileSource([str(path)], AvroFileFormat(json.dumps(NUMBERS))))


@given(position=st.integers(0, 400), byte=st.integers(0, 255))
@settings(max_examples=150)
def test_flipped_bytes_give_records_or_a_clear_error(
    tmp_path_factory: pytest.TempPathFactory, position: int, byte: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "flipped.avro"
    schema = record("test", ("id", "long"), ("text", "string"), ("tags", {"type": "array", "items": "string"}))
    avro_file(path, schema, [{"id": 1, "text": "abc", "tags": ["x", "y"]}] * 5, block_bytes=30)
    data = bytearray(path.read_bytes())
    data[position % len(data)] = byte
    path.write_bytes(data)

    try:
        read(AvroFileFormat(json.dumps(schema)), InputFile(str(path), len(data)))
    except (ValueError, OSError, EOFError) as error:
        assert str(error)


def test_missing_fields_have_defaults_and_nulls(tmp_path: Path) -> None:
    schema = record("test", ("id", "long"), ("note", ["null", "string"]))
    schema["fields"].append({"name": "kind", "type": "string", "default": "plain"})
    file = written(AvroBulkFormat(json.dumps(schema)), tmp_path / "a.avro", [{"id": 1}])

    assert read(AvroFileFormat(json.dumps(schema)), file) == [{"id": 1, "note": None, "kind": "plain"}]


ITEMS = record("test", ("id", "long"), ("items", {"type": "array", "items": ["null", record("item", ("n", "int"))]}))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"id": "x", "items": []}, "does not fit the Avro schema of the sink"),
        ({"items": []}, "no value and no default for id"),
        ({"id": 2**63, "items": []}, "does not fit the Avro schema of the sink"),
        ({"id": 1, "items": [], "more": 1, "most": 2}, "has fields that the Avro schema lacks: more, most"),
        ({"id": 1, "items": [None, {"n": 1, "m": 2}]}, "has fields that the Avro schema lacks: m"),
        (("a", 1), "a record of Avro must be a dict, got tuple"),
    ],
)
def test_records_that_do_not_fit_are_rejected(tmp_path: Path, value: Any, reason: str) -> None:
    with pytest.raises(TypeMismatchError, match=reason):
        written(AvroBulkFormat(json.dumps(ITEMS)), tmp_path / "a.avro", [value])


def test_a_record_may_contain_itself(tmp_path: Path) -> None:
    schema = json.dumps(record("node", ("n", "int"), ("next", ["null", "node"])))
    records = [{"n": 1, "next": {"n": 2, "next": None}}]
    bulk_format = AvroBulkFormat(schema)

    assert read(AvroFileFormat(schema), written(bulk_format, tmp_path / "a.avro", records)) == records
    with pytest.raises(TypeMismatchError, match="lacks: x"):
        written(bulk_format, tmp_path / "a.avro", [{"n": 1, "next": {"n": 2, "next": {"n": 3, "x": 4}}}])

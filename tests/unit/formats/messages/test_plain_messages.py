"""Messages of json, csv, raw, avro and avro-confluent as columns and back; the registry is a real HTTP server."""

from __future__ import annotations

import base64
import datetime
import io
import json
import threading
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.connectors.file_sink.csv_format import CsvDialect
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.formats.messages.avro_messages import _encoded
from funke.engine.formats.table.avro_writer import avro_schema
from funke.engine.formats.table.table_format import schema_of
from funke.engine.sql.connectors.formats.file_formats import find_file_format
from funke.engine.sql.connectors.formats.json_lines import JsonLines
from funke.engine.sql.connectors.formats.value_writers import plain_text, text_column
from funke.engine.sql.connectors.table_option import OptionValues
from funke.engine.sql.functions.values import to_values
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.logical.row_type import RowField

FIELDS = (
    RowField("id", DataTypes.BIGINT()),
    RowField("name", DataTypes.STRING()),
    RowField("price", DataTypes.DECIMAL(8, 2)),
    RowField("at", DataTypes.TIMESTAMP(3)),
)
ROWS = [
    {"id": 1, "name": 'a "b"', "price": Decimal("1.50"), "at": datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)},
    {"id": 2, "name": None, "price": None, "at": None},
]


def data(rows=ROWS, fields=FIELDS):
    return pa.RecordBatch.from_pylist(rows, schema=schema_of(fields))


def both(name, fields=FIELDS, **options):
    strings = {key.replace("__", ".").replace("_", "-"): text for key, text in options.items()}
    factory = find_file_format(name)
    return factory.create_decoder(fields, OptionValues(strings)), factory.create_encoder(fields, OptionValues(strings))


@pytest.mark.parametrize(("name", "options"), [("json", {}), ("csv", {"null_literal": "-"}), ("avro", {})])
def test_there_and_back(name, options):
    decoder, encoder = both(name, **options)
    first, second = encoder.encode(data(), None)
    results = decoder.decode([None, first, b"", second])
    assert results.data.to_pylist() == ROWS
    assert (results.kinds, results.origins.tolist()) == (None, [1, 3])
    narrow = decoder.selecting([2]).decode([first])
    assert narrow.data.to_pylist() == [{"price": Decimal("1.50")}]
    assert len(decoder.decode([]).data) == 0


TIMESTAMPS = (DataTypes.TIMESTAMP(0), DataTypes.TIMESTAMP(3), DataTypes.TIMESTAMP(9), DataTypes.TIMESTAMP_LTZ(3))


@pytest.mark.parametrize("kind", TIMESTAMPS)
@pytest.mark.parametrize("separator", [" ", "T"])
@settings(max_examples=15)
@given(
    timestamps=st.lists(st.none() | st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 1, 1)), max_size=5)
)
def test_timestamps_are_written_at_once_as_one_by_one(kind, separator, timestamps):
    (arrow,) = schema_of([RowField("at", kind)]).types
    # What a type has no room for is cut off.
    column = pa.array(timestamps, pa.timestamp("us")).cast(pa.timestamp(arrow.unit), safe=False)
    column = column.cast(pa.int64()).cast(arrow)
    write = plain_text(kind, separator)
    expected = [None if each is None else write(each) for each in to_values(column, kind)]
    assert text_column(column, kind, separator).to_pylist() == expected


@given(
    st.builds(
        CsvDialect,
        separator=st.sampled_from([",", ";", "\t", "ä"]),
        quote=st.sampled_from(['"', "'", "\x01", None]),
        escape=st.sampled_from([None, "\\", "!"]),
    ),
    st.lists(st.none() | st.text(max_size=5) | st.text("abc-\"'!\\,; \n€", max_size=30), max_size=6),
)
def test_strings_of_csv_are_quoted_at_once_as_one_by_one(dialect, strings):
    write = dialect.quoting()
    expected = [None if each is None else write(each) for each in strings]
    assert dialect.quoted(pa.array(strings, pa.large_string())).to_pylist() == expected


TYPES = (DataTypes.BIGINT(), DataTypes.STRING(), DataTypes.BOOLEAN(), DataTypes.DOUBLE())


@given(
    st.booleans(),
    st.lists(
        st.tuples(
            st.none() | st.integers(-(2**63), 2**63 - 1),
            st.none() | st.text(max_size=5) | st.text('ab"\\\n\x1f\x7f€', max_size=8),
            st.none() | st.booleans(),
            st.none() | st.floats(-1e6, 1e6).map(float),
        ),
        max_size=6,
    ),
)
def test_lines_of_json_are_rows(ignores_nulls, rows):
    fields = [RowField(name, kind) for name, kind in zip("itbd", TYPES)]
    schema = schema_of(fields)
    data = pa.RecordBatch.from_pylist([dict(zip("itbd", row)) for row in rows], schema=schema)
    expected = [
        {name: value for name, value in zip("itbd", row) if value is not None or not ignores_nulls} for row in rows
    ]
    lines = JsonLines(tuple(fields), ignores_nulls=ignores_nulls).pieces(data)
    assert all(line.endswith(b"}\n") for line in lines)
    assert list(map(json.loads, lines)) == expected


MANY = (
    RowField("big", DataTypes.BIGINT()),
    RowField("sure", DataTypes.BIGINT(nullable=False)),
    RowField("tiny", DataTypes.TINYINT()),
    RowField("text", DataTypes.STRING()),
    RowField("double", DataTypes.DOUBLE()),
    RowField("float", DataTypes.FLOAT()),
    RowField("yes", DataTypes.BOOLEAN()),
    RowField("day", DataTypes.DATE()),
    RowField("at", DataTypes.TIMESTAMP(3)),
    RowField("exact", DataTypes.TIMESTAMP_LTZ(6)),
)
LONGS = st.integers(-(2**63), 2**63 - 1) | st.integers(-200, 200)
TIMESTAMP = st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 1, 1))
SECONDS = TIMESTAMP.map(lambda timestamp: timestamp.replace(microsecond=timestamp.microsecond // 1000 * 1000))
ZONED = TIMESTAMP.map(lambda timestamp: timestamp.replace(tzinfo=datetime.UTC))
VALUES = {
    "big": LONGS,
    "tiny": st.integers(-128, 127),
    "text": st.text(),
    "double": st.floats(allow_nan=False),
    "float": st.floats(allow_nan=False, width=32),
    "yes": st.booleans(),
    "day": st.dates(),
    "at": SECONDS,
    "exact": ZONED,
}
MANY_ROWS = st.fixed_dictionaries({name: st.none() | each for name, each in VALUES.items()} | {"sure": LONGS})


@settings(max_examples=30)
@given(st.lists(MANY_ROWS, max_size=4))
def test_records_of_avro_from_columns_are_those_from_rows(rows):
    import fastavro

    decoder, encoder = both("avro", MANY)
    batch = data(rows, MANY)
    expected = _encoded(MANY, fastavro.parse_schema(avro_schema(MANY)), batch, b"")
    encoded = encoder.encode(batch, None)
    assert encoded == expected
    assert decoder.decode(encoded).data.to_pylist() == batch.to_pylist()


def test_a_message_of_json_may_hold_several_rows_and_line_breaks():
    decoder, _ = both("json", FIELDS[:2])
    results = decoder.decode([b'{"id":\n 1}', b'[{"id": 2}, {"id": 3, "name": "x"}]'])
    assert results.data.column("id").to_pylist() == [1, 2, 3]
    assert results.origins.tolist() == [0, 1, 1]


def test_bad_messages_of_json_are_reported_or_left_out():
    decoder, _ = both("json", FIELDS[:2])
    with pytest.raises(ValueError, match="Failed to deserialize JSON 'nonsense'"):
        decoder.decode([b'{"id": 1}', b"nonsense"])
    decoder, _ = both("json", FIELDS[:2], ignore_parse_errors="true")
    assert decoder.decode([b'{"id": 1}', b"nonsense", b'{"id": 2}']).origins.tolist() == [0, 2]


def test_raw_messages():
    decoder, encoder = both("raw", (RowField("x", DataTypes.STRING()),))
    results = decoder.decode([b"a\nb", None, "ä".encode()])
    assert results.data.column("x").to_pylist() == ["a\nb", None, "ä"]
    assert encoder.encode(results.data, None) == [b"a\nb", None, "ä".encode()]


@pytest.mark.parametrize(
    ("kind", "value", "content"),
    [
        (DataTypes.BOOLEAN(), True, "01"),
        (DataTypes.TINYINT(), -2, "fe"),
        (DataTypes.SMALLINT(), 258, "0102"),
        (DataTypes.INT(), -1, "ffffffff"),
        (DataTypes.BIGINT(), 258, "0000000000000102"),
        (DataTypes.FLOAT(), 1.5, "3fc00000"),
        (DataTypes.DOUBLE(), -2.0, "c000000000000000"),
        (DataTypes.BYTES(), b"\x00\n", "000a"),
    ],
)
def test_raw_numbers_and_bytes(kind, value, content):
    fields = (RowField("x", kind),)
    big, little = both("raw", fields), both("raw", fields, endianness="little-endian")
    for (decoder, encoder), expected in ((big, bytes.fromhex(content)), (little, bytes.fromhex(content)[::-1])):
        expected = expected if value != b"\x00\n" else value
        assert encoder.encode(data([{"x": value}, {"x": None}], fields), None) == [expected, None]
        assert decoder.decode([expected, None]).data.column("x").to_pylist() == [value, None]


def test_what_raw_cannot_be():
    decoder, _ = both("raw", (RowField("x", DataTypes.INT()),))
    with pytest.raises(ValueError, match="a message of 3 bytes is not a value of type INT, which has 4"):
        decoder.decode([b"abc"])
    with pytest.raises(UnsupportedFeatureError, match="raw with a column of type DATE"):
        both("raw", (RowField("x", DataTypes.DATE()),))


class Registry(BaseHTTPRequestHandler):
    """Gives numbers to schemas, and asks for a password."""

    schemas: ClassVar[list[str]] = []
    requests: ClassVar[list[str]] = []

    def do_GET(self):
        self.requests.append(self.path)
        number = int(self.path.rpartition("/")[2])
        if number >= len(self.schemas):
            self._answer(404, {"error_code": 40403, "message": "Schema not found"})
        else:
            self._answer(200, {"schema": self.schemas[number]})

    def do_POST(self):
        self.requests.append(self.path)
        schema = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["schema"]
        if schema not in self.schemas:
            self.schemas.append(schema)
        self._answer(200, {"id": self.schemas.index(schema)})

    def _answer(self, code, body):
        expected = f"Basic {base64.b64encode(b'me:hush').decode()}"
        if self.headers["Authorization"] != expected:
            code, body = 401, {"message": "Unauthorized"}
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        pass


@pytest.fixture
def registry():
    Registry.schemas, Registry.requests = ["{}", "{}"], []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_records_with_the_number_of_their_schema(registry):
    decoder, encoder = both("avro-confluent", url=registry, subject="a b", basic_auth__user_info="me:hush")
    messages = encoder.encode(data(), None)
    assert [each[:5] for each in messages] == [b"\x00\x00\x00\x00\x02"] * 2
    assert json.loads(Registry.schemas[2])["fields"][0]["name"] == "id"
    assert decoder.decode([*messages, None]).data.to_pylist() == ROWS
    encoder.encode(data(), None)
    assert Registry.requests == ["/subjects/a%20b/versions", "/schemas/ids/2"]


def test_records_of_another_schema_are_read_by_name(registry):
    address = registry.replace("http://", "http://me:hush@")
    _, encoder = both("avro-confluent", FIELDS[:2], url=address, subject="s")
    messages = encoder.encode(data([{"id": 1, "name": "a"}], FIELDS[:2]), None)
    more = (FIELDS[1], RowField("later", DataTypes.INT()))
    decoder, _ = both("avro-confluent", more, url=address, subject="s")
    assert decoder.decode(messages).data.to_pylist() == [{"name": "a", "later": None}]


def test_timestamps_of_another_schema(registry):
    import fastavro

    timestamps = [{"type": "long", "logicalType": f"timestamp-{unit}"} for unit in ("millis", "micros")]
    fields = [
        {"name": name, "type": ["null", kind]} for name, kind in zip(("a", "b", "number"), [*timestamps, *timestamps])
    ]
    schema = {"type": "record", "name": "r", "fields": fields}
    Registry.schemas.append(json.dumps(schema))
    out = io.BytesIO(b"\x00\x00\x00\x00\x02")
    out.seek(5)
    timestamp = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000, datetime.UTC)
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), {"a": timestamp, "b": timestamp, "number": None})
    columns = [RowField(name, DataTypes.TIMESTAMP(6)) for name in "ab"]
    columns.append(RowField("number", DataTypes.BIGINT()))
    decoder, _ = both("avro-confluent", tuple(columns), url=registry, subject="s", basic_auth__user_info="me:hush")
    at = timestamp.replace(tzinfo=None)
    assert decoder.decode([out.getvalue()]).data.to_pylist() == [{"a": at, "b": at, "number": None}]


def test_what_a_registry_rejects_is_reported_without_secrets(registry):
    decoder, _ = both("avro-confluent", url=registry, subject="s", basic_auth__user_info="me:wrong")
    with pytest.raises(ConfigurationError, match=r"rejected /schemas/ids/0: 401 Unauthorized") as rejected:
        decoder.decode([b"\x00\x00\x00\x00\x00x"])
    assert "wrong" not in str(rejected.value) + repr(decoder)
    decoder, _ = both("avro-confluent", url=registry, subject="s", basic_auth__user_info="me:hush")
    with pytest.raises(ConfigurationError, match=r"rejected /schemas/ids/9: 404 Schema not found"):
        decoder.decode([b"\x00\x00\x00\x00\x09x"])
    with pytest.raises(ValueError, match="Magic number does not match"):
        decoder.decode([b"\x01\x00\x00\x00\x00"])


def test_a_registry_must_be_named():
    with pytest.raises(ValidationException, match=r"avro-confluent.url"):
        both("avro-confluent")
    with pytest.raises(ValidationException, match=r"avro-confluent.subject is required"):
        both("avro-confluent", url="http://127.0.0.1:1")
    with pytest.raises(UnsupportedFeatureError, match="reading files of format 'avro-confluent'"):
        find_file_format("avro-confluent").create_reader(FIELDS, OptionValues({}))

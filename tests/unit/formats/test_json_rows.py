"""JSON messages; the expected values are what Flink 2.3's own schemas give."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from typing import Any

import pytest

from funke.engine.errors import SinkError, SourceError
from funke.engine.formats.json_format import JsonRowReader
from funke.engine.formats.json_writer import JsonRowWriter
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.row import Row

ALL = Types.ROW_NAMED(
    ["i", "s", "b", "d", "m", "arr", "r", "dec"],
    [
        Types.INT(),
        Types.STRING(),
        Types.BOOLEAN(),
        Types.DOUBLE(),
        Types.MAP(Types.STRING(), Types.INT()),
        Types.OBJECT_ARRAY(Types.INT()),
        Types.ROW_NAMED(["x"], [Types.LONG()]),
        Types.BIG_DEC(),
    ],
)
TIMES = Types.ROW_NAMED(
    ["d", "t", "ts", "by", "by1", "ch", "f", "bi"],
    [
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.SQL_TIMESTAMP(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.BYTE(),
        Types.CHAR(),
        Types.FLOAT(),
        Types.BIG_INT(),
    ],
)


def present(row: Row | None) -> dict[str, Any] | None:
    """The fields that are not null, by name."""
    return None if row is None else {name: value for name, value in row.as_dict().items() if value is not None}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            b'{"i":1,"s":"x","b":true,"d":1.5,"m":{"a":1},"arr":[1,null],"r":{"x":5},"dec":1.10}',
            {
                "i": 1,
                "s": "x",
                "b": True,
                "d": 1.5,
                "m": {"a": 1},
                "arr": [1, None],
                "r": Row(x=5),
                "dec": Decimal("1.1"),
            },
        ),
        (b'{"i":"7","s":5,"b":"true","d":"2"}', {"i": 7, "s": "5", "b": True, "d": 2.0}),
        (b"{}", {}),
        (b'{"i":null}', {}),
        (b'{"s":{"k": [1, 2]}}', {"s": '{"k":[1,2]}'}),
        (b'{"s":true}', {"s": "true"}),
        (b'{"s":1.50}', {"s": "1.5"}),
        (b'{"i":1.9}', {"i": 1}),
        (b'{"b":"yes"}', {"b": False}),
        (b'{"b":1}', {"b": False}),
        (b'{"dec":"1.5"}', {"dec": Decimal("1.5")}),
        (b'{"i":1} trailing', {"i": 1}),
        (b'{"i":1,"i":2}', {"i": 2}),
        (b"null", None),
    ],
)
def test_reads_an_object(message: bytes, expected: dict[str, Any] | None) -> None:
    assert present(JsonRowReader(ALL).read(message)) == expected


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b'{"i":"x"}', "field 'i': 'x' is not an integer"),
        (b'{"i":99999999999}', "field 'i': 99999999999 does not fit into 32 bits"),
        (b'{"i":true}', "field 'i': 'true' is not an integer"),
        (b'{"arr":5}', "field 'arr': an array was expected, got 5"),
        (b'{"r":5}', "field 'r': an object was expected, got 5"),
        (b"[1,2]", "an object was expected"),
        (b"not json", "Expecting value"),
        (b"", "Expecting value"),
    ],
)
def test_shows_what_is_wrong(message: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=f"failed to deserialize JSON.*{reason}"):
        JsonRowReader(ALL).read(message)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            b'{"d":"2020-01-02","t":"01:02:03Z","ts":"2020-01-02T03:04:05Z","by":"aGk=","by1":5,"f":1.5,"bi":12345678901234567890}',
            {
                "d": datetime.date(2020, 1, 2),
                "t": datetime.time(1, 2, 3),
                "ts": datetime.datetime(2020, 1, 2, 3, 4, 5),
                "by": b"hi",
                "by1": 5,
                "f": 1.5,
                "bi": 12345678901234567890,
            },
        ),
        (b'{"ts":"2020-01-02T03:04:05.678Z"}', {"ts": datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)}),
        (b'{"ch":"x"}', {"ch": "x"}),
    ],
)
def test_reads_dates_times_and_bytes(message: bytes, expected: dict[str, Any]) -> None:
    assert present(JsonRowReader(TIMES).read(message)) == expected


@pytest.mark.parametrize(
    "message",
    [
        b'{"t":"01:02:03"}',
        b'{"t":"01:02:03.5Z"}',
        b'{"ts":"2020-01-02 03:04:05"}',
        b'{"ts":"2020-01-02T03:04:05+02:00"}',
        b'{"by1":300}',
        b'{"d":"20200102"}',
    ],
)
def test_other_forms_of_times_are_rejected(message: bytes) -> None:
    with pytest.raises(SourceError):
        JsonRowReader(TIMES).read(message)


def test_missing_fields_may_be_errors() -> None:
    with pytest.raises(SourceError, match="could not find field with name 's'"):
        JsonRowReader(ALL, fails_on_missing_field=True).read(b'{"i":1}')


def test_ignoring_errors() -> None:
    reader = JsonRowReader(ALL, ignores_errors=True)

    assert reader.read(b"bad") is None
    assert present(reader.read(b'{"i":"x","s":"y"}')) == {"s": "y"}
    assert present(reader.read(b'{"r":{"x":"q"},"s":"z"}')) == {"s": "z", "r": Row(x=None)}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (Row(1, 'h"i/ü', 1.0, True), '{"i":1,"s":"h\\"i/ü","d":1.0,"b":true}'),
        (Row(None, None, None, None), '{"i":null,"s":null,"d":null,"b":null}'),
        (Row(1, "x", 1e21, False), '{"i":1,"s":"x","d":1.0E21,"b":false}'),
    ],
)
def test_writes_an_object(row: Row, expected: str) -> None:
    row_type = Types.ROW_NAMED(["i", "s", "d", "b"], [Types.INT(), Types.STRING(), Types.DOUBLE(), Types.BOOLEAN()])

    assert JsonRowWriter(row_type).write(row) == expected.encode()  # type: ignore[arg-type]


def test_writes_every_kind_of_value() -> None:
    row_type = Types.ROW_NAMED(
        ["d", "t", "ts", "dec", "by", "m", "r", "a"],
        [
            Types.SQL_DATE(),
            Types.SQL_TIME(),
            Types.SQL_TIMESTAMP(),
            Types.BIG_DEC(),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.MAP(Types.STRING(), Types.INT()),
            Types.ROW([Types.INT(), Types.STRING()]),
            Types.OBJECT_ARRAY(Types.STRING()),
        ],
    )
    writer = JsonRowWriter(row_type)  # type: ignore[arg-type]
    timestamp = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)
    full = Row(
        timestamp.date(), datetime.time(1, 2, 3), timestamp, Decimal("1.10"), b"hi", {"k": 1}, Row(1, "x"), ["p", None]
    )
    sparse = Row(None, None, timestamp.replace(microsecond=0), Decimal("1E+3"), None, None, None, None)

    assert writer.write(full) == (
        b'{"d":"2020-01-02","t":"01:02:03Z","ts":"2020-01-02T03:04:05.678Z","dec":1.10,"by":"aGk=",'
        b'"m":{"k":1},"r":{"f0":1,"f1":"x"},"a":["p",null]}'
    )
    assert writer.write(sparse) == (
        b'{"d":null,"t":null,"ts":"2020-01-02T03:04:05Z","dec":1000,"by":null,"m":null,"r":null,"a":null}'
    )


def test_a_row_that_does_not_fit_is_rejected() -> None:
    with pytest.raises(SinkError, match="could not serialize row"):
        JsonRowWriter(ALL).write(Row("too", "short"))


def test_what_is_written_is_read_back_also_after_pickling() -> None:
    row = Row(i=1, s="x", b=False, d=0.1, m={"a": 1}, arr=[1], r=Row(x=2), dec=Decimal("1.5"))
    reader, writer = JsonRowReader(ALL), JsonRowWriter(ALL)
    message = writer.write(row)

    assert reader.read(message) == row
    assert pickle.loads(pickle.dumps(reader)).read(pickle.loads(pickle.dumps(writer)).write(row)) == row

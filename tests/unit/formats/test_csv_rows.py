"""CSV messages; the expected values are what Flink 2.3's own schemas give."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from typing import Any

import pytest

from funke.engine.connectors.file_sink.csv_format import CsvDialect
from funke.engine.errors import ConfigurationError, SinkError, SourceError
from funke.engine.formats.csv_format import CsvRowReader, CsvRowWriter
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.row import Row

PERSON = Types.ROW_NAMED(
    ["a", "b", "c", "d", "e"], [Types.INT(), Types.STRING(), Types.BOOLEAN(), Types.DOUBLE(), Types.BIG_DEC()]
)
MIXED = Types.ROW(
    [
        Types.OBJECT_ARRAY(Types.STRING()),
        Types.BASIC_ARRAY(Types.INT()),
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.SQL_TIMESTAMP(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.ROW([Types.INT(), Types.STRING()]),
    ]
)
SIMPLE = Types.ROW([Types.INT(), Types.STRING(), Types.BOOLEAN(), Types.DOUBLE()])


def values(row: Row | None) -> list[Any] | None:
    return None if row is None else list(row)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b"1,hi,true,2.5,3.14", [1, "hi", True, 2.5, Decimal("3.14")]),
        (b" 1 , hi ,TRUE, 2.5 ,3.14", [1, " hi ", True, 2.5, Decimal("3.14")]),
        (b'1,"a,""b""",false,1,2', [1, 'a,"b"', False, 1.0, Decimal("2")]),
        (b"1,,yes,1e3,1\n2,b,true,1,1", [1, "", False, 1000.0, Decimal("1")]),
        (b'1, "q" ,true,1,1', [1, ' "q" ', True, 1.0, Decimal("1")]),
    ],
)
def test_reads_a_line(message: bytes, expected: list[Any]) -> None:
    row = CsvRowReader(PERSON).read(message)

    assert values(row) == expected
    assert row is not None and row["b"] == expected[1]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"1,hi,true", "5 fields were expected, but there are 3"),
        (b"1,hi,true,2.5,3.14,9", "5 fields were expected, but there are 6"),
        (b",hi,true,2.5,3.14", "'' is not an integer"),
        (b"x,hi,true,2.5,3", "'x' is not an integer"),
        (b"99999999999,a,true,1,1", "99999999999 does not fit into 32 bits"),
        (b"", "there is no content"),
        (b"\n", "5 fields were expected, but there are 1"),
        (b"#c\n1,a,true,1,1", "5 fields were expected, but there are 1"),
        (b'1,"unterminated,true,1,1', "unexpected end of data"),
    ],
)
def test_shows_what_is_wrong(message: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        CsvRowReader(PERSON).read(message)


def test_null_literal() -> None:
    reader = CsvRowReader(PERSON, null_literal="", allows_comments=True)

    assert values(reader.read(b",,,,")) == [None] * 5
    assert values(reader.read(b'1,"",true,1,1')) == [1, None, True, 1.0, Decimal(1)]
    assert values(reader.read(b"#c\n1,a,true,1,1")) == [1, "a", True, 1.0, Decimal(1)]


def test_ignoring_errors() -> None:
    reader = CsvRowReader(PERSON, ignores_errors=True)

    assert values(reader.read(b"1,hi,true")) == [1, "hi", True, None, None]
    assert values(reader.read(b"x,hi,true,2.5,3")) == [None, "hi", True, 2.5, Decimal(3)]
    assert reader.read(b"1,hi,true,2.5,3.14,9") is None


def test_arrays_times_bytes_and_rows() -> None:
    read = CsvRowReader(MIXED).read

    assert values(read(b"a;b,1;2,2020-01-02,01:02:03,2020-01-02 03:04:05.678,aGk=,1;x")) == [
        ["a", "b"],
        [1, 2],
        datetime.date(2020, 1, 2),
        datetime.time(1, 2, 3),
        datetime.datetime(2020, 1, 2, 3, 4, 5, 678000),
        b"hi",
        Row(f0=1, f1="x"),
    ]
    assert values(read(b",,2020-01-02,01:02:03,2020-01-02 03:04:05,aGk=,1;x"))[:2] == [[], []]  # type: ignore[index]
    with pytest.raises(SourceError, match="is not a timestamp like"):
        read(b"a,1,2020-1-2,1:2:3,2020-01-02T03:04:05,aGk=,1;x")


def test_other_special_characters() -> None:
    reader = CsvRowReader(PERSON, CsvDialect(separator="|", quote="'", escape="\\"))

    assert values(reader.read(b"1|'a|b'|true|1|1")) == [1, "a|b", True, 1.0, Decimal(1)]
    assert values(reader.read(b"1|a\\|b|true|1|1")) == [1, "a|b", True, 1.0, Decimal(1)]


ROWS = [
    Row(1, "hi", True, 2.5),
    Row(1, 'a,b "q" c\\d', False, 1e10),
    Row(None, None, None, None),
    Row(1, "", True, 0.1),
    Row(1, "line\nbreak", True, 100.0),
]


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        (
            CsvDialect(),
            [
                b"1,hi,true,2.5\n",
                b'1,"a,b ""q"" c\\d",false,1.0E10\n',
                b",,,\n",
                b"1,,true,0.1\n",
                b'1,"line\nbreak",true,100.0\n',
            ],
        ),
        (
            CsvDialect(quote=None, line_end=""),
            [b"1,hi,true,2.5", b'1,a,b "q" c\\d,false,1.0E10', b",,,", b"1,,true,0.1", b"1,line\nbreak,true,100.0"],
        ),
        (
            CsvDialect(separator=";", quote="'", null_text="NULL", line_end="\r\n"),
            [
                b"1;hi;true;2.5\r\n",
                b"1;'a,b \"q\" c\\d';false;1.0E10\r\n",
                b"NULL;NULL;NULL;NULL\r\n",
                b"1;;true;0.1\r\n",
                b"1;'line\nbreak';true;100.0\r\n",
            ],
        ),
        (
            CsvDialect(escape="\\"),
            [
                b"1,hi,true,2.5\n",
                b'1,"a,b ""q"" c\\\\d",false,1.0E10\n',
                b",,,\n",
                b"1,,true,0.1\n",
                b'1,"line\nbreak",true,100.0\n',
            ],
        ),
    ],
)
def test_writes_lines(dialect: CsvDialect, expected: list[bytes]) -> None:
    writer = CsvRowWriter(SIMPLE, dialect)  # type: ignore[arg-type]

    assert [writer.write(row) for row in ROWS] == expected


NESTED = Types.ROW_NAMED(
    ["i", "r", "a"],
    [Types.INT(), Types.ROW_NAMED(["p", "q"], [Types.STRING(), Types.INT()]), Types.OBJECT_ARRAY(Types.STRING())],
)
OTHER_SIGNS = CsvDialect(array_separator="|", quote="'", null_text="n/a")


def inner(p: str | None, q: int | None) -> Row:
    return Row(p=p, q=q)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (Row(7, inner("a", 1), ["x", "y"]), b"7,a;1,x;y\n"),
        (Row(7, inner("", 1), []), b"7,;1,\n"),
        (Row(7, None, ["", ""]), b"7,,;\n"),
        (Row(7, inner('a"b', 1), ['a"b', "c,d"]), b'7,"a""b;1","a""b;c,d"\n'),
        (Row(7, inner("a,b", 1), ["x y", "z"]), b'7,"a,b;1","x y;z"\n'),
        (Row(7, inner(" a", 1), ["b"]), b'7," a;1",b\n'),
    ],
)
def test_nested_rows_and_arrays_go_there_and_back(row: Row, expected: bytes) -> None:
    assert CsvRowWriter(NESTED).write(row) == expected
    assert values(CsvRowReader(NESTED).read(expected)) == list(row)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (Row(7, inner("a;b", 1), ["a;b", None]), b"7,a;b|1,a;b|n/a\n"),
        (Row(7, inner(None, None), [None]), b"7,n/a|n/a,n/a\n"),
        (Row(None, None, []), b"n/a,n/a,\n"),
    ],
)
def test_nulls_within_nested_rows_and_arrays(row: Row, expected: bytes) -> None:
    reader = CsvRowReader(NESTED, OTHER_SIGNS, null_literal="n/a")

    assert CsvRowWriter(NESTED, OTHER_SIGNS).write(row) == expected
    assert values(reader.read(expected)) == list(row)


def test_no_array_is_read_as_one_null_as_in_flink() -> None:
    reader = CsvRowReader(NESTED, OTHER_SIGNS, null_literal="n/a")

    assert values(reader.read(CsvRowWriter(NESTED, OTHER_SIGNS).write(Row(7, inner("a", 1), None))))[2] == [None]  # type: ignore[index]


def test_nested_rows_that_do_not_fit() -> None:
    with pytest.raises(SourceError, match="2 nested fields were expected, but there are 3"):
        CsvRowReader(NESTED).read(b"7,a;b;1,x")

    forgiving = CsvRowReader(NESTED, ignores_errors=True)
    assert values(forgiving.read(b"7,a;b;1,x")) == [7, Row(p="a", q=None), ["x"]]
    assert values(forgiving.read(b"7,a,x")) == [7, Row(p="a", q=None), ["x"]]


def test_bytes_are_written_in_base_64() -> None:
    row_type = Types.ROW([Types.INT(), Types.PRIMITIVE_ARRAY(Types.BYTE())])
    written = CsvRowWriter(row_type).write(Row(7, b"\xfb\xef\xbe"))  # type: ignore[arg-type]

    assert written == b'7,"++++"\n'
    assert values(CsvRowReader(row_type).read(written)) == [7, b"\xfb\xef\xbe"]  # type: ignore[arg-type]


@pytest.mark.parametrize("deep", [Types.ROW([Types.INT()]), Types.OBJECT_ARRAY(Types.INT())])
def test_deeper_nesting_is_rejected(deep: Any) -> None:
    for outer in (Types.ROW([deep]), Types.OBJECT_ARRAY(deep)):
        row_type: Any = Types.ROW_NAMED(["r"], [outer])
        with pytest.raises(ConfigurationError, match="second level nesting of field 'r'"):
            CsvRowReader(row_type)
        with pytest.raises(ConfigurationError, match="second level nesting of field 'r'"):
            CsvRowWriter(row_type)


def test_a_row_that_does_not_fit_is_rejected() -> None:
    with pytest.raises(SinkError, match="could not serialize row"):
        CsvRowWriter(SIMPLE).write(Row(1, "too short"))  # type: ignore[arg-type]


def test_used_readers_and_writers_pickle() -> None:
    reader, writer = CsvRowReader(PERSON), CsvRowWriter(SIMPLE)  # type: ignore[arg-type]
    reader.read(b"1,a,true,1,1")
    writer.write(ROWS[0])

    assert pickle.loads(pickle.dumps(reader)).read(b"1,a,true,1,1") == reader.read(b"1,a,true,1,1")
    assert pickle.loads(pickle.dumps(writer)).write(ROWS[0]) == b"1,hi,true,2.5\n"

"""CSV, JSON lines and Parquet files as rows: Flink's rules for cells, cuts that respect quotes, projections."""

from __future__ import annotations

import datetime
import gzip
import json
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from funke.engine.connectors.files.file_source import FileSource
from funke.engine.errors import ConfigurationError, SourceError
from funke.engine.formats.csv_reader import CsvColumn, CsvFileFormat
from funke.engine.formats.file_format import FileFormat
from funke.engine.formats.input_file import InputFile
from funke.engine.formats.json_lines_reader import JsonLinesFormat
from funke.engine.formats.parquet_reader import ParquetFileFormat
from funke.engine.types.information.decimal_type import DecimalTypeInfo
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.row import Row
from tests.unit.connectors.source_draining import drain, drain_with_restart

COLUMNS = (
    CsvColumn("id", Types.LONG()),
    CsvColumn("name", Types.STRING()),
    CsvColumn("price", Types.DOUBLE()),
    CsvColumn("ok", Types.BOOLEAN()),
)
TWO = (CsvColumn("a", Types.INT()), CsvColumn("b", Types.STRING()))


def read(tmp_path: Path, content: str | bytes, file_format: FileFormat, name: str = "a.csv") -> list[Any]:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return drain(FileSource([str(path)], file_format))


def values(rows: list[Row]) -> list[list[Any]]:
    return [list(row) for row in rows]


# What PyFlink 2.3 gives for the same files.
def test_cells_become_typed_fields(tmp_path: Path) -> None:
    text = (
        'id;name;price;ok\n1;"quoted; text";1.5;true\n2;plain;-2.25;false\n# a comment\n3;"with ""quotes""";1e3;TRUE\n'
    )
    file_format = CsvFileFormat(
        COLUMNS, ";", null_literal="plain", allows_comments=True, has_header=True, is_header_strict=True
    )
    assert read(tmp_path, text, file_format) == [
        Row(id=1, name="quoted; text", price=1.5, ok=True),
        Row(id=2, name=None, price=-2.25, ok=False),
        Row(id=3, name='with "quotes"', price=1000.0, ok=True),
    ]


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        (" 1 , a , 2.5 , true \n", {}, [[1, " a ", 2.5, True]]),
        ("1,a,1,yes\n2,a,1,1\n", {}, [[1, "a", 1.0, False], [2, "a", 1.0, False]]),
        ('1,"a\nb",1,true\r\n2,"c\r\nd",1,true\r\n', {}, [[1, "a\nb", 1.0, True], [2, "c\r\nd", 1.0, True]]),
        ('1,a"b,1,true\n2,c"d"e,1,true\n', {}, [[1, 'a"b', 1.0, True], [2, 'c"d"e', 1.0, True]]),
        ('1,,1,true\n2,"",1,true\n', {}, [[1, "", 1.0, True], [2, "", 1.0, True]]),
        ('1,,1,true\n2,"",1,true\n', {"null_literal": ""}, [[1, None, 1.0, True], [2, None, 1.0, True]]),
        ('N,c,N,N\n2,"N",1,true\n', {"null_literal": "N"}, [[None, "c", None, None], [2, None, 1.0, True]]),
        ('1,a\\,b,1,true\n2,"c\\"d",1,true\n', {"escape": "\\"}, [[1, "a,b", 1.0, True], [2, 'c"d', 1.0, True]]),
        ('1,"a",1,true\n', {"quote": None}, [[1, '"a"', 1.0, True]]),
        ("+1,a,+2.5,true\n", {}, [[1, "a", 2.5, True]]),
        (
            "#x\n1,a,1,true\n  # y\n2,#b,1,true\n",
            {"allows_comments": True},
            [[1, "a", 1.0, True], [2, "#b", 1.0, True]],
        ),
        ('1,"x\n# no comment\n",1,true\n', {"allows_comments": True}, [[1, "x\n# no comment\n", 1.0, True]]),
        ("head\n9,skip,1,true\n2,b,1,true\n", {"has_header": True, "skips_first_row": True}, [[2, "b", 1.0, True]]),
        ("\ufeff1,a,1,true\r2,b,1,true", {}, [[1, "a", 1.0, True], [2, "b", 1.0, True]]),
        ("", {}, []),
        ("head\n", {"has_header": True}, []),
        ("# only\n\n", {"allows_comments": True}, []),
    ],
)
def test_csv_rules(tmp_path: Path, text: str, options: dict[str, Any], expected: list[Any]) -> None:
    assert values(read(tmp_path, text, CsvFileFormat(COLUMNS, **options))) == expected


def test_numbers_arrays_and_decimals(tmp_path: Path) -> None:
    columns = (
        CsvColumn("t", Types.BYTE()),
        CsvColumn("f", Types.FLOAT()),
        CsvColumn("d", DecimalTypeInfo(10, 2)),
        CsvColumn("numbers", Types.INT(), array_separator="|"),
        CsvColumn("texts", Types.STRING(), array_separator=";"),
        CsvColumn("day", Types.SQL_DATE()),
    )
    text = "1,1.1,2.345,1|2|3,a;b,2020-02-29\n-1,1e3,12345678901.5,5,,1999-12-31\nN,N,1.005,N,N; b,N\n"
    assert values(read(tmp_path, text, CsvFileFormat(columns, null_literal="N"))) == [
        [1, 1.100000023841858, Decimal("2.35"), [1, 2, 3], ["a", "b"], datetime.date(2020, 2, 29)],
        [-1, 1000.0, None, [5], [], datetime.date(1999, 12, 31)],
        [None, None, Decimal("1.01"), [None], [None, " b"], None],
    ]


def test_an_empty_line_is_a_cell_when_there_is_one_column(tmp_path: Path) -> None:
    file_format = CsvFileFormat((CsvColumn("s", Types.STRING()),))
    assert values(read(tmp_path, "a\n\nb\n", file_format)) == [["a"], [""], ["b"]]
    assert values(read(tmp_path, "1,a\n\n2,b\n", CsvFileFormat(TWO))) == [[1, "a"], [2, "b"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1,a\nx,b\n", "column a: 'x' is not an integer"),
        ("1,a\n5000000000,b\n", "column a: 5000000000 does not fit into 32 bits"),
        (",a\n", "column a: '' is not an integer"),
        ("1\n", "Expected 2 columns, got 1"),
        ("1,a,x\n", "Expected 2 columns, got 3"),
        ("1,gr\xfcn\n".encode("latin-1"), "invalid UTF8"),
    ],
)
def test_what_is_no_csv_of_this_schema_is_named(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message) as raised:
        read(tmp_path, content, CsvFileFormat(TWO))
    assert "a.csv" in str(raised.value)


def test_a_strict_header_must_name_the_columns(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="its header is b, a, the schema says a, b"):
        read(tmp_path, "b,a\n1,x\n", CsvFileFormat(TWO, has_header=True, is_header_strict=True))
    with pytest.raises(ConfigurationError, match="at least one column"):
        CsvFileFormat(())


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.sampled_from(['""', "\n", "\r\n", "x", ","]), max_size=12), min_size=1, max_size=12),
    st.lists(st.integers(0, 200), max_size=5),
)
def test_csv_is_never_cut_between_quotes(tmp_path: Path, cells: list[list[str]], wanted_cuts: list[int]) -> None:
    text = "".join(f'{number},"{"".join(cell)}"\n' for number, cell in enumerate(cells))
    (tmp_path / "a.csv").write_text(text, newline="")
    file = InputFile(str(tmp_path / "a.csv"), len(text))
    file_format = CsvFileFormat(TWO)
    position, results = 0, []
    for expected in [*sorted(wanted_cuts), len(text)]:
        if position < expected <= len(text):
            end = file_format.cut_at(file, position, expected)
            assert end >= expected
            results += [row for batch in file_format.read(file, position, end) for row in batch]
            position = end
    assert values(results) == [[number, "".join(cell).replace('""', '"')] for number, cell in enumerate(cells)]


def test_a_big_csv_file_is_read_in_ranges_and_after_a_restart(tmp_path: Path) -> None:
    rows = [[number, f"text\n{number}" if number % 7 == 0 else f"text {number}"] for number in range(60_000)]
    text = "a,b\n" + "".join(f'{number},"{text}"\n' for number, text in rows)
    (tmp_path / "big.csv").write_text(text)
    source = FileSource([str(tmp_path)], CsvFileFormat(TWO, has_header=True))
    assert len(source.create_enumerator(3).poll(3000)) == 3
    assert values(drain_with_restart(source, 2, 3, 3000)) == rows


def test_stray_quotes_cost_ranges_but_no_rows(tmp_path: Path) -> None:
    text = '0,5" nails\n' + "".join(f"{number},text {number}\n" for number in range(1, 20_000))
    (tmp_path / "a.csv").write_text(text)
    assert len(drain(FileSource([str(tmp_path)], CsvFileFormat(TWO)), max_records=1000)) == 20_000


def test_compressed_csv(tmp_path: Path) -> None:
    assert values(read(tmp_path, gzip.compress(b'1,a\n2,"b\nc"\n'), CsvFileFormat(TWO), "a.csv.gz")) == [
        [1, "a"],
        [2, "b\nc"],
    ]


def test_json_lines_become_dicts(tmp_path: Path) -> None:
    text = '{"a": 1, "b": [1, null]}\r\n\n  \n{"a": "line\\nend"}\n[1, 2]\n3'
    assert read(tmp_path, text, JsonLinesFormat()) == [{"a": 1, "b": [1, None]}, {"a": "line\nend"}, [1, 2], 3]


def test_json_lines_become_rows(tmp_path: Path) -> None:
    nested = Types.ROW_NAMED(["x"], [Types.DOUBLE()])
    row_type = Types.ROW_NAMED(
        ["id", "name", "d", "nested", "tags", "at"],
        [Types.INT(), Types.STRING(), Types.BIG_DEC(), nested, Types.LIST(Types.STRING()), Types.SQL_TIMESTAMP()],
    )
    text = (
        '{"id": 1, "name": "a", "d": 1.10, "nested": {"x": 2}, "tags": ["t"], "at": "2020-02-29T01:02:03.5Z"}\n'
        '{"name": 5, "more": 1}\n'
    )
    source_format = JsonLinesFormat(row_type)
    assert source_format.produced_type == row_type
    assert read(tmp_path, text, source_format) == [
        Row(
            id=1,
            name="a",
            d=Decimal("1.1"),
            nested=Row(x=2.0),
            tags=["t"],
            at=datetime.datetime(2020, 2, 29, 1, 2, 3, 500_000),
        ),
        Row(id=None, name="5", d=None, nested=None, tags=None, at=None),
    ]


@pytest.mark.parametrize("text", ['{"i": 1, "s": "a", "d": 1.5, "b": true}', '{"i": 1, "s": 7, "d": 2, "b": "true"}'])
def test_rows_are_the_same_whether_their_fields_fit_at_once_or_not(tmp_path: Path, text: str) -> None:
    names, types = ["i", "s", "d", "b"], [Types.BYTE(), Types.STRING(), Types.DOUBLE(), Types.BOOLEAN()]
    with_list = Types.ROW_NAMED([*names, "none"], [*types, Types.LIST(Types.INT())])
    fast = read(tmp_path, text + "\n{}\n", JsonLinesFormat(Types.ROW_NAMED(names, types)))
    slow = read(tmp_path, text + "\n{}\n", JsonLinesFormat(with_list))
    assert [list(row) for row in fast] == [list(row)[:4] for row in slow]
    assert [[type(value) for value in row] for row in fast] == [[type(value) for value in row][:4] for row in slow]
    with pytest.raises(SourceError, match="does not fit into 8 bits"):
        read(tmp_path, '{"i": 128}', JsonLinesFormat(Types.ROW_NAMED(names, types)))


def test_lines_that_are_not_json(tmp_path: Path) -> None:
    text = '{"a": 1}\n{"a": \n1, 2\n{"a": "x"}\n'
    with pytest.raises(SourceError, match=r"a.csv'.*a line is not JSON.*\{\"a\":"):
        read(tmp_path, text, JsonLinesFormat())
    assert read(tmp_path, text, JsonLinesFormat(ignores_errors=True)) == [{"a": 1}, {"a": "x"}]
    row_type = Types.ROW_NAMED(["a"], [Types.INT()])
    with pytest.raises(SourceError, match="field 'a'"):
        read(tmp_path, '{"a": "x"}', JsonLinesFormat(row_type))
    assert values(read(tmp_path, text, JsonLinesFormat(row_type, ignores_errors=True))) == [[1], [None]]


def test_big_json_files_are_read_in_ranges(tmp_path: Path) -> None:
    records = [{"number": number, "text": "ä" * (number % 50)} for number in range(20_000)]
    (tmp_path / "a.json").write_text("\n".join(json.dumps(record) for record in records))
    assert drain_with_restart(FileSource([str(tmp_path)], JsonLinesFormat()), 3, 2, 1500) == records


def write_parquet(path: Path, rows: int = 100, group: int = 30) -> pa.Table:
    table = pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "name": pa.array([None if n % 10 == 0 else f"n{n}" for n in range(rows)]),
            "at": pa.array([datetime.datetime(2020, 1, 1, microsecond=n) for n in range(rows)], pa.timestamp("ns")),
            "inner": pa.array([{"x": n, "y": [n]} for n in range(rows)]),
            "price": pa.array([Decimal(n) / 4 for n in range(rows)], pa.decimal128(10, 2)),
            "entries": pa.array([[("k", n)] for n in range(rows)], pa.map_(pa.string(), pa.int32())),
        }
    )
    pq.write_table(table, path, row_group_size=group)
    return table


def test_parquet_rows_have_the_types_of_the_file(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet")
    rows = drain(FileSource([str(tmp_path)], ParquetFileFormat()))
    assert len(rows) == 100
    assert rows[10] == Row(
        id=10,
        name=None,
        at=datetime.datetime(2020, 1, 1, microsecond=10),
        inner=Row(x=10, y=[10]),
        price=Decimal("2.50"),
        entries={"k": 10},
    )


def test_parquet_columns_are_projected_and_cast(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet")
    row_type = Types.ROW_NAMED(["NAME", "id"], [Types.STRING(), Types.INT()])
    source = FileSource([str(tmp_path)], ParquetFileFormat(row_type, is_case_sensitive=False, batch_size=7))
    assert drain(source)[11] == Row(NAME="n11", id=11)
    with pytest.raises(SourceError, match=r"a.parquet'.*no column NAME; its columns are id, name"):
        drain(FileSource([str(tmp_path)], ParquetFileFormat(row_type)))
    wrong = Types.ROW_NAMED(["name"], [Types.INT()])
    with pytest.raises(SourceError, match="column name is string, the row type says int32"):
        drain(FileSource([str(tmp_path)], ParquetFileFormat(wrong)))


def test_row_groups_are_splits(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet")
    source = FileSource([str(tmp_path)], ParquetFileFormat())
    splits = source.create_enumerator(parallelism=2).poll(120)
    assert [split.weight for split in splits] == [30, 30, 40]
    assert [(split.payload.start, split.payload.end) for split in splits] == [(0, 1), (1, 2), (2, 4)]
    ids = [row.id for row in drain_with_restart(source, 1, 2, 40)]
    assert ids == list(range(100))


@pytest.mark.parametrize(
    ("is_utc", "is_int96", "zone", "hour"),
    [(False, False, "UTC", 11), (False, True, None, 11), (True, False, "UTC", 10), (True, True, None, 10)]
    + [(is_utc, False, None, 10) for is_utc in (True, False)],
)
def test_instants_are_read_as_local_times_or_in_utc_and_times_without_zone_as_they_are(
    tmp_path: Path, is_utc: bool, is_int96: bool, zone: str | None, hour: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = pa.array([datetime.datetime(2020, 1, 1, 10), None], pa.timestamp("us", zone))
    pq.write_table(pa.table({"at": at}), tmp_path / "a.parquet", use_deprecated_int96_timestamps=is_int96)
    row_type = Types.ROW_NAMED(["at"], [Types.SQL_TIMESTAMP()])
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        rows = drain(FileSource([str(tmp_path)], ParquetFileFormat(row_type, is_utc_timestamp=is_utc)))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert values(rows) == [[datetime.datetime(2020, 1, 1, hour)], [None]]


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"cannot read file '.*bad.parquet'"):
        read(tmp_path, "no parquet at all", ParquetFileFormat(), "bad.parquet")

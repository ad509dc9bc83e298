"""CSV as Flink's csv format reads it: what comes out of texts was recorded with PyFlink."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from funke.engine.formats.input_file import InputFile
from funke.engine.formats.table.csv_columns import CsvCells, CsvTableFormat
from funke.engine.types.logical.column_types import to_column_type
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.logical.row_type import RowField

INT, STRING = DataTypes.INT(), DataTypes.STRING()
STRINGS = [INT, STRING]


def read(folder: Path, types: list[DataType], text: str | bytes, **cells: Any) -> list[tuple[Any, ...]]:
    path = folder / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    fields = tuple(RowField(f"f{index}", each) for index, each in enumerate(types))
    batches = list(CsvTableFormat(fields, CsvCells(**cells)).columns_of(InputFile(str(path), path.stat().st_size)))
    assert all(batch.schema.types == [to_column_type(each) for each in types] for batch in batches)
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("types", "cells", "text", "rows"),
    [
        (STRINGS, {"null_literal": ""}, '1,x\n,y\n2,\n"",""\n', [(1, "x"), (None, "y"), (2, None), (None, None)]),
        (STRINGS, {"null_literal": "n/a"}, '1,n/a\nn/a,y\n2,"n/a"\n', [(1, None), (None, "y"), (2, None)]),
        ([INT, STRING, DataTypes.DOUBLE()], {}, " 1 , x , 2.5 \n+3,y,1e3\n-0,z,-Infinity\n",
         [(1, " x ", 2.5), (3, "y", 1000.0), (0, "z", float("-inf"))]),
        (STRINGS, {"ignores_errors": True}, "x1,a\n2,b\n", [(None, "a"), (2, "b")]),
        (STRINGS, {"ignores_errors": True}, "1\n2,b\n", [(1, None), (2, "b")]),
        (STRINGS, {"ignores_errors": True}, "1,a,b\n2,b\n3,c\n", [(2, "b"), (3, "c")]),
        (STRINGS, {"ignores_errors": True}, "1,a\n\n2,b\n   \n3,c\n",
         [(1, "a"), (None, None), (2, "b"), (None, None), (3, "c")]),
        ([STRING], {}, "a\n\nb\n", [("a",), ("",), ("b",)]),
        (STRINGS, {"allows_comments": True}, "#c\n1,a\n #d\n2,#b\n", [(1, "a"), (2, "#b")]),
        ([STRING], {}, "#c\na\n", [("#c",), ("a",)]),
        (STRINGS, {}, '"1","x,""y"""\n2,"a\nb"\n3,a"b"c\n', [(1, 'x,"y"'), (2, "a\nb"), (3, 'a"b"c')]),
        (STRINGS, {"quote": None}, '1,"x"\n2,a"b\n', [(1, '"x"'), (2, 'a"b')]),
        (STRINGS, {"quote": "'"}, "1,'x,y'\n", [(1, "x,y")]),
        (STRINGS, {"escape": "\\"}, '1,"x\\"y"\n2,a\\,b\n3,a\\nb\n', [(1, 'x"y'), (2, "a,b"), (3, "a\nb")]),
        (STRINGS, {"separator": "\t"}, "1\tx,y\n", [(1, "x,y")]),
        ([DataTypes.BOOLEAN()], {}, "true\nTRUE\n false\nyes\n1\n\n", [(True,), (True,), *[(False,)] * 4]),
        ([DataTypes.DECIMAL(5, 2)], {}, "1.234\n1.235\n-1.235\n99999.99\n1e2\n",
         [(Decimal("1.23"),), (Decimal("1.24"),), (Decimal("-1.24"),), (None,), (Decimal("100.00"),)]),
        ([DataTypes.TIMESTAMP(3)], {}, "2020-01-02 03:04:05\n2020-01-02 03:04:05.123456\n 2020-01-02 03:04:05.1 \n",
         [(datetime.datetime(2020, 1, 2, 3, 4, 5, each),) for each in (0, 123000, 100000)]),
        ([DataTypes.TIMESTAMP(3)], {}, "1960-01-02 03:04:05.999\n",
         [(datetime.datetime(1960, 1, 2, 3, 4, 5, 999000),)]),
        ([DataTypes.TIMESTAMP_LTZ(3)], {}, "2020-01-02 03:04:05.123Z\n",
         [(datetime.datetime(2020, 1, 2, 3, 4, 5, 123000, datetime.UTC),)]),
        ([DataTypes.DATE()], {}, "2020-01-02\n2020-1-2\n2020-02-30\n",
         [(datetime.date(2020, 1, 2),), (datetime.date(2020, 1, 2),), (datetime.date(2020, 3, 1),)]),
        ([DataTypes.TIME()], {}, "03:04:05\n03:04\n03:04:05.6\n",
         [(datetime.time(3, 4, 5),), (datetime.time(3, 4),), (datetime.time(3, 4, 5),)]),
        ([DataTypes.TIME(3)], {}, "03:04:05.678\n", [(datetime.time(3, 4, 5, 678000),)]),
        ([DataTypes.BYTES(), INT], {}, "aGVsbG8=,1\n", [(b"hello", 1)]),
        ([DataTypes.ARRAY(INT), DataTypes.ROW([DataTypes.FIELD("x", INT), DataTypes.FIELD("y", STRING)]), INT], {},
         "1;2;3,4;z,9\n,5;,9\n", [([1, 2, 3], {"x": 4, "y": "z"}, 9), ([], {"x": 5, "y": ""}, 9)]),
        ([DataTypes.ARRAY(STRING)], {"array_separator": "|"}, "a|b|c\n", [(["a", "b", "c"],)]),
        ([DataTypes.TINYINT(), DataTypes.SMALLINT(), DataTypes.BIGINT()], {}, "127,32767,9223372036854775807\n",
         [(127, 32767, 9223372036854775807)]),
        ([DataTypes.DOUBLE()], {}, "1.\n.5\n1e400\nInfinity\n-Infinity\n1d\n",
         [(1.0,), (0.5,), (float("inf"),), (float("inf"),), (float("-inf"),), (1.0,)]),
        ([DataTypes.CHAR(3), DataTypes.VARCHAR(2)], {}, "abcdef,xyz\na,b\n", [("abcdef", "xyz"), ("a", "b")]),
        (STRINGS, {}, "1,x\r\n2,y\r\n", [(1, "x"), (2, "y")]),
        (STRINGS, {}, b"\xef\xbb\xbf1,x\n", [(1, "x")]),
        (STRINGS, {}, "1,x\n2,y", [(1, "x"), (2, "y")]),
        (STRINGS, {}, "1,x,\n2,y,\n", [(1, "x"), (2, "y")]),
    ],
)  # fmt: skip
def test_strings_become_columns(
    tmp_path: Path, types: list[DataType], cells: dict[str, Any], text: str | bytes, rows: list[Any]
) -> None:
    assert read(tmp_path, types, text, **cells) == rows


@pytest.mark.parametrize(
    ("types", "text", "message"),
    [
        (STRINGS, "1,x\n,y\n", 'column f0: For input string: ""'),
        (STRINGS, "x1,a\n", 'column f0: For input string: "x1"'),
        (STRINGS, "1\n2,b\n", "Row length mismatch. 2 fields expected but was 1."),
        (STRINGS, "1,a,b\n", "Too many entries: expected at most 2"),
        (STRINGS, "1,a\n\n2,b\n", "Row length mismatch. 2 fields expected but was 1."),
        ([STRING, STRING], "1,a\n\n2,b\n", "Row length mismatch. 2 fields expected but was 1."),
        (STRINGS, '1, "x,y"\n', "Too many entries: expected at most 2"),
        ([DataTypes.TIMESTAMP(3)], "2020-1-2 3:4:5\n", "could not be parsed"),
        ([DataTypes.TINYINT()], "128\n", 'Value out of range. Value:"128" Radix:10'),
        ([INT], "1.5\n", 'For input string: "1.5"'),
        ([INT], "1_000\n", 'For input string: "1_000"'),
        ([DataTypes.DECIMAL(5, 2)], "1_0\n", "not a decimal number"),
        (STRINGS, b"1,x\xffy\n", "utf-8"),
    ],
)
def test_strings_that_are_rejected(tmp_path: Path, types: list[DataType], text: str | bytes, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        read(tmp_path, types, text)


def test_only_the_columns_that_are_wanted_are_converted(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("".join(f"{number},not a number,{number * 2}\n" for number in range(50_000)))
    fields = tuple(RowField(name, INT) for name in "abc")
    reader = CsvTableFormat(fields).selecting([2, 0])
    table = pa.Table.from_batches(reader.columns_of(InputFile(str(path), path.stat().st_size)))
    assert table.column_names == ["c", "a"]
    assert table.column("c").to_pylist() == [number * 2 for number in range(50_000)]
    assert reader.selecting([1]).fields[0].name == "a"


def test_rows_are_the_same_as_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,x\n2,y\n")
    reader = CsvTableFormat(tuple(RowField(*each) for each in zip("ab", STRINGS, strict=True)))
    assert [row.as_dict() for rows in reader.read(InputFile(str(path), 8), 0, 8) for row in rows] == [
        {"a": 1, "b": "x"},
        {"a": 2, "b": "y"},
    ]

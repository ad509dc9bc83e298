"""Types as they are written in SQL."""

from __future__ import annotations

import pytest

from funke.engine.errors import SqlParserError, SqlValidationError, UnsupportedFeatureError
from funke.engine.sql.parsing import parse_type
from funke.table.types import DataTypes, RowField, YearMonthIntervalType

ROW = DataTypes.ROW([RowField("a", DataTypes.INT().not_null()), RowField("b c", DataTypes.STRING())])


@pytest.mark.parametrize(
    ("text", "data_type"),
    [
        ("INT", DataTypes.INT()),
        ("integer not null", DataTypes.INT().not_null()),
        ("BIGINT NULL", DataTypes.BIGINT()),
        ("DOUBLE PRECISION", DataTypes.DOUBLE()),
        ("DECIMAL", DataTypes.DECIMAL(10, 0)),
        ("NUMERIC(5)", DataTypes.DECIMAL(5, 0)),
        ("DEC(5, 2)", DataTypes.DECIMAL(5, 2)),
        ("CHAR", DataTypes.CHAR(1)),
        ("VARCHAR", DataTypes.STRING()),
        ("CHARACTER VARYING", DataTypes.STRING()),
        ("VARBINARY", DataTypes.BYTES()),
        ("BINARY", DataTypes.BINARY(1)),
        ("TIME(6)", DataTypes.TIME(3)),
        ("TIMESTAMP(12)", DataTypes.TIMESTAMP(9)),
        ("DECIMAL(50, 2)", DataTypes.DECIMAL(38, 2)),
        ("VARCHAR(7)", DataTypes.VARCHAR(7)),
        ("STRING", DataTypes.STRING()),
        ("BINARY(4)", DataTypes.BINARY(4)),
        ("BYTES", DataTypes.BYTES()),
        ("TIME(3)", DataTypes.TIME(3)),
        ("TIMESTAMP", DataTypes.TIMESTAMP(6)),
        ("TIMESTAMP(3) WITHOUT TIME ZONE", DataTypes.TIMESTAMP(3)),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", DataTypes.TIMESTAMP_LTZ(3)),
        ("TIMESTAMP_LTZ", DataTypes.TIMESTAMP_LTZ(6)),
        ("INTERVAL DAY(3) TO SECOND(2)", DataTypes.INTERVAL(DataTypes.DAY(3), DataTypes.SECOND(2))),
        ("INTERVAL YEAR(4) TO MONTH", YearMonthIntervalType(3, 4)),
        ("ARRAY<INT NOT NULL> NOT NULL", DataTypes.ARRAY(DataTypes.INT().not_null()).not_null()),
        (
            "MAP<STRING, ARRAY<ARRAY<INT>>>",
            DataTypes.MAP(DataTypes.STRING(), DataTypes.ARRAY(DataTypes.ARRAY(DataTypes.INT()))),
        ),
        ("MULTISET<DATE>", DataTypes.MULTISET(DataTypes.DATE())),
        ("INT NOT NULL ARRAY MULTISET", DataTypes.MULTISET(DataTypes.ARRAY(DataTypes.INT().not_null()))),
        ("ROW<a INT NOT NULL 'first', `b c` STRING>", ROW),
        ("ROW(a INT NOT NULL 'first', `b c` STRING)", ROW),
        ("ROW<>", DataTypes.ROW([])),
    ],
)
def test_a_type_is_read(text, data_type):
    assert parse_type(text) == data_type


@pytest.mark.parametrize(
    ("text", "column"),
    [("DECIMAL(5, 6)", 8), ("ARRAY<INT", 9), ("INT INT", 5), ("VARCHAR(0)", 8), ("MAP<INT>", 8)],
)
def test_what_is_no_type_is_rejected(text, column):
    with pytest.raises(SqlParserError) as caught:
        parse_type(text)
    assert (caught.value.line, caught.value.column) == (1, column)


def test_a_name_that_no_type_has():
    with pytest.raises(
        SqlValidationError, match="From line 1, column 1 to line 1, column 4: Unknown identifier 'INTT'"
    ):
        parse_type("INTT")


def test_fields_of_a_row_have_names_of_their_own():
    with pytest.raises(SqlValidationError, match=r"Field names must be unique. Found duplicates: \[a\]"):
        parse_type("ROW<a INT, b INT, a STRING>")


def test_a_type_of_java_is_unsupported():
    with pytest.raises(UnsupportedFeatureError, match="the type RAW"):
        parse_type("RAW('class', 'serializer')")

"""Data types as SQL texts, both ways."""

from __future__ import annotations

import pytest

from funke.engine.errors import ConfigurationError
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.logical.interval_types import DayTimeIntervalType, YearMonthIntervalType
from funke.engine.types.logical.sql_text import from_sql_text, to_full_sql_text, to_sql_text
from funke.engine.types.logical.time_types import ZonedTimestampType

# The text that DESCRIBE shows, the long text (None: the same), the type.
STRINGS = [
    ("BOOLEAN", None, DataTypes.BOOLEAN()),
    ("TINYINT", None, DataTypes.TINYINT()),
    ("INT NOT NULL", None, DataTypes.INT(False)),
    ("FLOAT", None, DataTypes.FLOAT()),
    ("DOUBLE", None, DataTypes.DOUBLE()),
    ("DECIMAL(10, 2)", None, DataTypes.DECIMAL(10, 2)),
    ("CHAR(3)", None, DataTypes.CHAR(3)),
    ("VARCHAR(20) NOT NULL", None, DataTypes.VARCHAR(20, False)),
    ("STRING", "VARCHAR(2147483647)", DataTypes.STRING()),
    ("BINARY(3)", None, DataTypes.BINARY(3)),
    ("BYTES", "VARBINARY(2147483647)", DataTypes.BYTES()),
    ("DATE", None, DataTypes.DATE()),
    ("TIME(0)", None, DataTypes.TIME()),
    ("TIMESTAMP(3)", None, DataTypes.TIMESTAMP(3)),
    ("TIMESTAMP_LTZ(3) NOT NULL", "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL", DataTypes.TIMESTAMP_LTZ(3, False)),
    ("TIMESTAMP(6) WITH TIME ZONE", None, ZonedTimestampType()),
    ("ARRAY<INT NOT NULL>", None, DataTypes.ARRAY(DataTypes.INT(False))),
    ("MULTISET<DATE>", None, DataTypes.MULTISET(DataTypes.DATE())),
    (
        "MAP<STRING, ARRAY<INT>>",
        "MAP<VARCHAR(2147483647), ARRAY<INT>>",
        DataTypes.MAP(DataTypes.STRING(), DataTypes.ARRAY(DataTypes.INT())),
    ),
    (
        "ROW<`a` INT, `b ``c` STRING 'what it''s for'> NOT NULL",
        "ROW<`a` INT, `b ``c` VARCHAR(2147483647) 'what it''s for'> NOT NULL",
        DataTypes.ROW(
            [DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b `c", DataTypes.STRING(), "what it's for")], False
        ),
    ),
    ("ROW<>", None, DataTypes.ROW()),
    ("NULL", None, DataTypes.NULL()),
    ("INTERVAL YEAR(2)", None, DataTypes.INTERVAL(DataTypes.YEAR())),
    ("INTERVAL MONTH", None, DataTypes.INTERVAL(DataTypes.MONTH())),
    ("INTERVAL YEAR(2) TO MONTH", None, DataTypes.INTERVAL(DataTypes.YEAR(), DataTypes.MONTH())),
    ("INTERVAL DAY(3) TO SECOND(9)", None, DataTypes.INTERVAL(DataTypes.DAY(3), DataTypes.SECOND(9))),
    ("INTERVAL HOUR TO MINUTE", None, DataTypes.INTERVAL(DataTypes.HOUR(), DataTypes.MINUTE())),
    ("INTERVAL SECOND(3)", None, DataTypes.INTERVAL(DataTypes.SECOND(3))),
]


@pytest.mark.parametrize(("text", "full", "data_type"), STRINGS)
def test_both_ways(text: str, full: str | None, data_type: DataType) -> None:
    assert to_sql_text(data_type) == text
    assert to_full_sql_text(data_type) == (full or text)
    assert from_sql_text(text) == data_type
    assert from_sql_text(full or text) == data_type


@pytest.mark.parametrize(
    ("text", "data_type"),
    [
        ("integer", DataTypes.INT()),
        ("dec", DataTypes.DECIMAL(10, 0)),
        ("numeric(5)", DataTypes.DECIMAL(5, 0)),
        ("double precision", DataTypes.DOUBLE()),
        ("varchar(5)", DataTypes.VARCHAR(5)),
        ("varchar", DataTypes.VARCHAR(1)),
        ("char", DataTypes.CHAR(1)),
        ("timestamp", DataTypes.TIMESTAMP(6)),
        ("TIMESTAMP (3) WITHOUT TIME ZONE", DataTypes.TIMESTAMP(3)),
        ("timestamp_ltz", DataTypes.TIMESTAMP_LTZ(6)),
        ("time(3) without time zone", DataTypes.TIME(3)),
        ("INT NULL", DataTypes.INT()),
        ("INT NOT NULL ARRAY NOT NULL", DataTypes.ARRAY(DataTypes.INT(False), False)),
        ("DATE MULTISET", DataTypes.MULTISET(DataTypes.DATE())),
        ("ROW(f0 INT, `f 1` ROW<x DATE>)", from_sql_text("ROW<`f0` INT, `f 1` ROW<`x` DATE>>")),
    ],
)
def test_other_spellings(text: str, data_type: DataType) -> None:
    assert from_sql_text(text) == data_type


@pytest.mark.parametrize(
    "text", ["", "NUMBER", "INT INT", "ARRAY<INT", "DECIMAL(1,2,3)", "DECIMAL(a)", "INT;", "INT NOT"]
)
def test_what_is_no_type(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not understood"):
        from_sql_text(text)


def test_intervals_have_their_own_classes() -> None:
    assert isinstance(from_sql_text("INTERVAL YEAR"), YearMonthIntervalType)
    assert isinstance(from_sql_text("INTERVAL DAY TO SECOND"), DayTimeIntervalType)

"""The type that several types have in common."""

from __future__ import annotations

import pytest

from funke.engine.types.logical.common_type import common_type
from funke.engine.types.logical.sql_text import from_sql_text, to_sql_text

COMMON = [
    ("INT", "INT NOT NULL", "INT"),
    ("INT NOT NULL", "BIGINT NOT NULL", "BIGINT NOT NULL"),
    ("TINYINT", "DECIMAL(4, 2)", "DECIMAL(5, 2)"),
    ("DECIMAL(10, 2)", "DECIMAL(6, 4)", "DECIMAL(12, 4)"),
    ("BIGINT", "FLOAT", "FLOAT"),
    ("FLOAT", "DOUBLE", "DOUBLE"),
    ("FLOAT", "DECIMAL(4, 2)", "DOUBLE"),
    ("CHAR(3)", "CHAR(3)", "CHAR(3)"),
    ("CHAR(3)", "CHAR(5)", "VARCHAR(5)"),
    ("CHAR(3)", "STRING", "STRING"),
    ("BINARY(3)", "VARBINARY(2)", "VARBINARY(3)"),
    ("TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(6)"),
    ("TIMESTAMP(3)", "TIMESTAMP_LTZ(0)", "TIMESTAMP_LTZ(3)"),
    ("TIME(0)", "TIME(3)", "TIME(3)"),
    ("DATE", "TIMESTAMP(3)", "DATE"),
    ("TIMESTAMP(3)", "TIME(0)", "TIME(0)"),
    ("NULL", "INT NOT NULL", "INT"),
    ("INTERVAL YEAR", "INTERVAL MONTH", "INTERVAL YEAR(2) TO MONTH"),
    ("INTERVAL DAY(4)", "INTERVAL MINUTE TO SECOND(3)", "INTERVAL DAY(4) TO SECOND(6)"),
    ("INTERVAL DAY", "INTERVAL HOUR", "INTERVAL DAY(2) TO HOUR"),
    ("ARRAY<INT NOT NULL>", "ARRAY<BIGINT>", "ARRAY<BIGINT>"),
    ("MAP<INT, CHAR(1)>", "MAP<INT, CHAR(2)>", "MAP<INT, VARCHAR(2)>"),
    ("ROW<`a` INT>", "ROW<`b` DOUBLE> NOT NULL", "ROW<`a` DOUBLE>"),
]
NOTHING_IN_COMMON = [
    ("INT", "STRING"),
    ("BOOLEAN", "INT"),
    ("DATE", "TIME"),
    ("DATE", "TIMESTAMP_LTZ"),
    ("NULL", "NULL"),
    ("ROW<`a` INT>", "ROW<`a` INT, `b` INT>"),
    ("ARRAY<INT>", "ARRAY<STRING>"),
    ("ARRAY<INT>", "MULTISET<INT>"),
    ("INTERVAL YEAR", "INTERVAL DAY"),
]


@pytest.mark.parametrize(("left", "right", "result"), COMMON)
def test_common_type(left: str, right: str, result: str) -> None:
    results = common_type([from_sql_text(left), from_sql_text(right)])
    assert results is not None
    assert to_sql_text(results) == result


@pytest.mark.parametrize(("left", "right"), NOTHING_IN_COMMON)
def test_nothing_in_common(left: str, right: str) -> None:
    assert common_type([from_sql_text(left), from_sql_text(right)]) is None
    assert common_type([from_sql_text(right), from_sql_text(left)]) is None


def test_of_many() -> None:
    results = common_type([from_sql_text(each) for each in ("NULL", "INT", "TINYINT", "DECIMAL(3, 1)", "DOUBLE")])
    assert results is not None
    assert to_sql_text(results) == "DOUBLE"

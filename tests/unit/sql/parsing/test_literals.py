"""Constants have the value and the type that their form means."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from funke.engine.errors import SqlParserError, SqlValidationError
from funke.engine.sql.parsing import parse_expression
from funke.engine.sql.syntax.expressions import Call, Literal
from funke.table.types import DataTypes

DAY_TIME = [
    ("INTERVAL '5' SECOND", 5_000, DataTypes.INTERVAL(DataTypes.SECOND(3))),
    ("INTERVAL '10' MINUTES", 600_000, DataTypes.INTERVAL(DataTypes.MINUTE())),
    ("INTERVAL '1 2' DAY TO HOUR", 93_600_000, DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.HOUR())),
    ("INTERVAL '1 2:03:04.567' DAY TO SECOND(3)", 93_784_567, DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND(3))),
    ("INTERVAL '10:20' HOUR TO MINUTE", 37_200_000, DataTypes.INTERVAL(DataTypes.HOUR(), DataTypes.MINUTE())),
    ("INTERVAL '1.5' SECOND", 1_500, DataTypes.INTERVAL(DataTypes.SECOND(3))),
    ("INTERVAL -'5' HOUR", -18_000_000, DataTypes.INTERVAL(DataTypes.HOUR())),
    ("INTERVAL '-5' HOUR", -18_000_000, DataTypes.INTERVAL(DataTypes.HOUR())),
    ("INTERVAL '100' DAY(3)", 8_640_000_000, DataTypes.INTERVAL(DataTypes.DAY(3))),
    ("INTERVAL '2' WEEK", 1_209_600_000, DataTypes.INTERVAL(DataTypes.DAY())),
]
YEAR_MONTH = [
    ("INTERVAL '1' YEAR", 12, DataTypes.INTERVAL(DataTypes.YEAR())),
    ("INTERVAL '1-2' YEAR TO MONTH", 14, DataTypes.INTERVAL(DataTypes.YEAR(), DataTypes.MONTH())),
    ("INTERVAL '2' QUARTER", 6, DataTypes.INTERVAL(DataTypes.MONTH())),
]


@pytest.mark.parametrize(
    ("text", "value", "data_type"),
    [
        ("1", 1, DataTypes.INT()),
        ("2147483647", 2**31 - 1, DataTypes.INT()),
        ("2147483648", 2**31, DataTypes.BIGINT()),
        ("9223372036854775808", Decimal(2**63), DataTypes.DECIMAL(19, 0)),
        ("1.5", Decimal("1.5"), DataTypes.DECIMAL(2, 1)),
        ("0.05", Decimal("0.05"), DataTypes.DECIMAL(3, 2)),
        (".5", Decimal("0.5"), DataTypes.DECIMAL(1, 1)),
        ("5.", 5, DataTypes.INT()),
        ("1e3", 1000.0, DataTypes.DOUBLE()),
        ("1.5E-3", 0.0015, DataTypes.DOUBLE()),
        ("'ab'", "ab", DataTypes.CHAR(2)),
        ("''", "", DataTypes.CHAR(0)),
        ("'it''s'", "it's", DataTypes.CHAR(4)),
        ("'a' 'b'", "ab", DataTypes.CHAR(2)),
        (r"U&'\00e4\\'", "ä\\", DataTypes.CHAR(2)),
        ("U&'!00e4' UESCAPE '!'", "ä", DataTypes.CHAR(1)),
        ("x'0aFF'", b"\x0a\xff", DataTypes.BINARY(2)),
        ("TRUE", True, DataTypes.BOOLEAN()),
        ("DATE '2024-02-29'", datetime.date(2024, 2, 29), DataTypes.DATE()),
        ("TIME '12:34:56'", datetime.time(12, 34, 56), DataTypes.TIME(0)),
        ("TIMESTAMP '2024-02-29 12:34:56'", datetime.datetime(2024, 2, 29, 12, 34, 56), DataTypes.TIMESTAMP(0)),
        (
            "TIMESTAMP '2024-02-29 12:34:56.789'",
            datetime.datetime(2024, 2, 29, 12, 34, 56, 789_000),
            DataTypes.TIMESTAMP(3),
        ),
        *DAY_TIME,
        *YEAR_MONTH,
    ],
)
def test_a_constant_has_a_value_and_a_type_without_nulls(text, value, data_type):
    assert parse_expression(text) == Literal(value, data_type.not_null())


def test_null_has_a_type_of_its_own_and_unknown_is_a_boolean():
    assert parse_expression("NULL") == Literal(None, DataTypes.NULL())
    assert parse_expression("UNKNOWN") == Literal(None, DataTypes.BOOLEAN())


def test_nanoseconds_are_kept():
    literal = parse_expression("TIMESTAMP '2024-01-01 00:00:00.123456789'")
    assert (literal.value.microsecond, literal.value.nanosecond) == (123_456, 789)
    assert literal.type == DataTypes.TIMESTAMP(9).not_null()


def test_a_sign_is_a_call():
    assert parse_expression("-1") == Call("-", (Literal(1, DataTypes.INT().not_null()),))


@pytest.mark.parametrize(
    "text",
    [
        "DATE '2024-02-30'",
        "TIMESTAMP '2024'",
        "TIME '25:00:00'",
        "x'0'",
        "INTERVAL '1 25' DAY TO HOUR",
        "INTERVAL 'x' DAY",
        "1" * 39,
    ],
)
def test_a_constant_that_means_nothing_is_rejected(text):
    position = f"From line 1, column 1 to line 1, column {len(text)}: "
    with pytest.raises(SqlValidationError, match=rf"SQL validation failed\. {position}"):
        parse_expression(text)


@pytest.mark.parametrize("text", ["INTERVAL a DAY TO HOUR", "INTERVAL '1' HOUR TO DAY", "U&'\\zz'"])
def test_what_is_no_constant_is_rejected(text):
    with pytest.raises(SqlParserError, match=r"SQL parse failed\. .* at line 1, column \d+"):
        parse_expression(text)

"""The types of sums, products, quotients and remainders of numbers."""

from __future__ import annotations

import pytest

from funke.engine.types.logical.arithmetic_types import arithmetic_type, average_type, round_type, sum_type
from funke.engine.types.logical.sql_text import from_sql_text, to_sql_text

# Left, operators, right, result.
ARITHMETIC = [
    ("TINYINT", "+-*/%", "TINYINT", "TINYINT"),
    ("INT", "+-*/", "SMALLINT", "INT"),
    ("BIGINT", "%", "INT", "INT"),
    ("INT", "+-*/%", "BIGINT", "BIGINT"),
    ("INT", "+-*/", "FLOAT", "FLOAT"),
    ("BIGINT", "+-*/", "DOUBLE", "DOUBLE"),
    ("FLOAT", "+-*/", "DOUBLE", "FLOAT"),
    ("DOUBLE", "+-*/", "FLOAT", "DOUBLE"),
    ("DECIMAL(10, 2)", "+-*/", "FLOAT", "DOUBLE"),
    ("DECIMAL(10, 2)", "+-*/", "DOUBLE", "DOUBLE"),
    ("DECIMAL(10, 2)", "+-", "DECIMAL(5, 3)", "DECIMAL(12, 3)"),
    ("DECIMAL(10, 2)", "*", "DECIMAL(5, 3)", "DECIMAL(16, 5)"),
    ("DECIMAL(10, 2)", "/", "DECIMAL(5, 3)", "DECIMAL(19, 8)"),
    ("DECIMAL(10, 2)", "%", "DECIMAL(5, 3)", "DECIMAL(5, 3)"),
    ("DECIMAL(3, 3)", "*", "BIGINT", "DECIMAL(23, 3)"),
    ("DECIMAL(10, 2)", "+", "INT", "DECIMAL(13, 2)"),
    ("INT", "/", "DECIMAL(10, 2)", "DECIMAL(23, 11)"),
    ("DECIMAL(38, 8)", "+", "DECIMAL(32, 8)", "DECIMAL(38, 7)"),
    ("DECIMAL(38, 18)", "*", "DECIMAL(38, 18)", "DECIMAL(38, 6)"),
    ("DECIMAL(38, 18)", "/", "DECIMAL(38, 18)", "DECIMAL(38, 6)"),
    ("DECIMAL(30, 2)", "*", "DECIMAL(20, 3)", "DECIMAL(38, 5)"),
    ("INT NOT NULL", "+-*/%", "INT NOT NULL", "INT NOT NULL"),
    ("INT NOT NULL", "+-*/%", "INT", "INT"),
    ("DECIMAL(4, 2) NOT NULL", "+", "INT NOT NULL", "DECIMAL(13, 2) NOT NULL"),
]


@pytest.mark.parametrize(
    ("left", "operator", "right", "result"),
    [(left, operator, right, result) for left, operators, right, result in ARITHMETIC for operator in operators],
)
def test_arithmetic(left: str, operator: str, right: str, result: str) -> None:
    data_type = arithmetic_type(operator, from_sql_text(left), from_sql_text(right))
    assert data_type is not None
    assert to_sql_text(data_type) == result


def test_what_is_no_number() -> None:
    assert arithmetic_type("+", from_sql_text("INT"), from_sql_text("STRING")) is None
    assert arithmetic_type("%", from_sql_text("INT"), from_sql_text("DOUBLE")) is None


@pytest.mark.parametrize(
    ("argument", "total", "average"),
    [
        ("TINYINT", "TINYINT", "TINYINT"),
        ("BIGINT NOT NULL", "BIGINT NOT NULL", "BIGINT NOT NULL"),
        ("FLOAT", "FLOAT", "FLOAT"),
        ("DECIMAL(10, 2)", "DECIMAL(38, 2)", "DECIMAL(38, 6)"),
        ("DECIMAL(20, 8)", "DECIMAL(38, 8)", "DECIMAL(38, 8)"),
    ],
)
def test_aggregates(argument: str, total: str, average: str) -> None:
    assert to_sql_text(sum_type(from_sql_text(argument))) == total
    assert to_sql_text(average_type(from_sql_text(argument))) == average


@pytest.mark.parametrize(
    ("argument", "digits", "result"),
    [
        ("DECIMAL(10, 4)", 2, "DECIMAL(9, 2)"),
        ("DECIMAL(10, 4)", 0, "DECIMAL(7, 0)"),
        ("DECIMAL(10, 4)", -1, "DECIMAL(7, 0)"),
        ("DECIMAL(10, 4)", 6, "DECIMAL(10, 4)"),
        ("DOUBLE", 2, "DOUBLE"),
        ("INT", -1, "INT"),
    ],
)
def test_rounding(argument: str, digits: int, result: str) -> None:
    assert to_sql_text(round_type(from_sql_text(argument), digits)) == result

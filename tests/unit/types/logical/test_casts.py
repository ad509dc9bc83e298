"""Which casts there are, as a table: rows are sources, columns targets."""

from __future__ import annotations

import pytest

from funke.engine.types.logical.casts import are_comparable, can_cast, can_cast_implicitly, is_injective_cast
from funke.engine.types.logical.sql_text import from_sql_text

TARGETS = "CHAR(3) STRING BOOLEAN BYTES DECIMAL(5,2) TINYINT INT BIGINT FLOAT DOUBLE DATE TIME TIMESTAMP TIMESTAMP_LTZ"
# i: by itself; e: by CAST alone; a point: never.
MATRIX = """
CHAR(3)       i i e e e e e e e e e e e e
STRING        e i e e e e e e e e e e e e
BOOLEAN       e e i . e e e e e e . . . .
BYTES         e e . i . . . . . . . . . .
DECIMAL(5,2)  e e e . i e e e i i . . . .
TINYINT       e e e . i i i i i i . . . .
INT           e e e . i e i i i i . . . .
BIGINT        e e e . i e e i i i . . . .
FLOAT         e e . . i e e e i i . . . .
DOUBLE        e e . . i e e e e i . . . .
DATE          e e . . . . . . . . i . e e
TIME          e e . . . . . . . . . i e e
TIMESTAMP     e e . . e e e e e e i i i i
TIMESTAMP_LTZ e e . . e e e e e e e e i i
NULL          i i i i i i i i i i i i i i
"""
CELLS = [
    (line.split()[0], target, mark)
    for line in MATRIX.strip().splitlines()
    for target, mark in zip(TARGETS.split(), line.split()[1:])
]


@pytest.mark.parametrize(("source", "target", "mark"), CELLS)
def test_matrix(source: str, target: str, mark: str) -> None:
    assert can_cast_implicitly(from_sql_text(source), from_sql_text(target)) == (mark == "i")
    assert can_cast(from_sql_text(source), from_sql_text(target)) == (mark != ".")


@pytest.mark.parametrize(
    ("source", "target", "is_possible"),
    [
        ("ARRAY<INT>", "ARRAY<STRING>", True),
        ("ARRAY<INT>", "STRING", True),
        ("ARRAY<INT>", "INT", False),
        ("INT", "ARRAY<INT>", False),
        ("ROW<`a` INT>", "ROW<`x` STRING>", True),
        ("ROW<`a` INT>", "ROW<`x` STRING, `y` INT>", False),
        ("MAP<INT, INT>", "MAP<STRING, BIGINT>", True),
        ("INTERVAL DAY", "BIGINT", False),
        ("INTERVAL DAY TO SECOND", "BIGINT", False),
        ("INT", "INTERVAL MONTH", True),
        ("INT", "INTERVAL YEAR TO MONTH", False),
    ],
)
def test_explicit_casts_of_others(source: str, target: str, is_possible: bool) -> None:
    assert can_cast(from_sql_text(source), from_sql_text(target)) == is_possible


def test_null_needs_a_type_with_nulls() -> None:
    assert not can_cast_implicitly(from_sql_text("INT"), from_sql_text("INT NOT NULL"))
    assert can_cast_implicitly(from_sql_text("INT NOT NULL"), from_sql_text("BIGINT"))


@pytest.mark.parametrize(
    ("left", "right", "is_comparable"),
    [
        ("INT", "DECIMAL(3,1)", True),
        ("CHAR(2)", "STRING", True),
        ("TIMESTAMP(3)", "STRING", True),
        ("STRING", "DATE", True),
        ("TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", True),
        ("BOOLEAN", "BOOLEAN", True),
        ("ARRAY<INT>", "ARRAY<INT>", True),
        ("NULL", "INT", True),
        ("BOOLEAN", "INT", False),
        ("DATE", "INT", False),
        ("INT", "STRING", False),
        ("STRING", "BOOLEAN", False),
        ("BYTES", "STRING", False),
        ("DATE", "TIMESTAMP(3)", False),
        ("DATE", "TIME", False),
    ],
)
def test_comparable(left: str, right: str, is_comparable: bool) -> None:
    assert are_comparable(from_sql_text(left), from_sql_text(right)) == is_comparable


@pytest.mark.parametrize(
    ("source", "kept", "lost"),
    [
        ("TINYINT", "SMALLINT INT BIGINT STRING VARCHAR(5) CHAR(5)", "FLOAT DOUBLE DECIMAL(38,0) BOOLEAN"),
        ("SMALLINT", "INT BIGINT STRING", "TINYINT VARCHAR(5) CHAR(5)"),
        ("INT", "BIGINT STRING", "TINYINT SMALLINT FLOAT DOUBLE DECIMAL(38,0) VARCHAR(5)"),
        ("BIGINT", "STRING", "INT DOUBLE DECIMAL(38,0)"),
        ("DOUBLE", "STRING", "FLOAT BIGINT VARCHAR(5)"),
        ("DECIMAL(10,2)", "DECIMAL(10,2)", "DECIMAL(20,5) STRING DOUBLE"),
        ("BOOLEAN", "STRING VARCHAR(5) CHAR(5)", "INT"),
        ("STRING", "BYTES", "VARCHAR(5) CHAR(5) BINARY(3) INT DATE TIMESTAMP(3)"),
        ("VARCHAR(5)", "STRING BYTES", "CHAR(5) BINARY(3)"),
        ("CHAR(5)", "STRING VARCHAR(5) BYTES", "BINARY(3)"),
        ("BINARY(3)", "BYTES", "STRING"),
        ("BYTES", "BYTES", "STRING BINARY(3)"),
        ("DATE", "STRING", "VARCHAR(5) TIMESTAMP(3)"),
        ("TIME", "STRING", "VARCHAR(5) TIMESTAMP(3)"),
        ("TIMESTAMP(3)", "STRING TIMESTAMP_LTZ(3)", "TIMESTAMP(6) TIMESTAMP_LTZ(6) DATE TIME BIGINT"),
        ("TIMESTAMP_LTZ(6)", "STRING TIMESTAMP(6)", "TIMESTAMP(3) TIMESTAMP_LTZ(3)"),
    ],
)
def test_which_keep_values_apart(source: str, kept: str, lost: str) -> None:
    """By these the reference tells keys apart that are cast, and by those not."""
    of_type = from_sql_text(source)
    assert [each for each in kept.split() if not is_injective_cast(of_type, from_sql_text(each))] == []
    assert [each for each in lost.split() if is_injective_cast(of_type, from_sql_text(each))] == []

"""Every data type has an Arrow type for columns, at any depth."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from funke.engine.types.logical.column_types import column_schema, from_column_type, to_column_type
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.logical.sql_text import from_sql_text

BOTH_WAYS = [
    ("TIMESTAMP_LTZ(3)", pa.timestamp("ms", "UTC")),
    ("TIMESTAMP(9)", pa.timestamp("ns")),
    ("ARRAY<TIMESTAMP_LTZ(6)>", pa.list_(pa.timestamp("us", "UTC"))),
    ("ARRAY<INT NOT NULL>", pa.list_(pa.field("item", pa.int32(), False))),
    ("ROW<`a` ROW<`b` STRING> NOT NULL>", pa.struct([pa.field("a", pa.struct([("b", pa.utf8())]), False)])),
    ("MAP<STRING NOT NULL, ROW<`b` BIGINT>>", pa.map_(pa.utf8(), pa.struct([("b", pa.int64())]))),
    ("DECIMAL(38, 18)", pa.decimal128(38, 18)),
]


@pytest.mark.parametrize(("text", "arrow_type"), BOTH_WAYS)
def test_both_ways(text: str, arrow_type: Any) -> None:
    assert to_column_type(from_sql_text(text)) == arrow_type
    assert to_column_type(from_column_type(arrow_type)) == arrow_type


@pytest.mark.parametrize(
    ("text", "arrow_type"),
    [
        ("INTERVAL YEAR TO MONTH", pa.int32()),
        ("INTERVAL DAY TO SECOND", pa.int64()),
        ("MULTISET<STRING>", pa.map_(pa.utf8(), pa.field("value", pa.int32(), False))),
        ("VARCHAR(3)", pa.utf8()),
    ],
)
def test_what_arrow_does_not_tell_apart(text: str, arrow_type: Any) -> None:
    assert to_column_type(from_sql_text(text)) == arrow_type


def test_schema() -> None:
    assert column_schema(["a", "b"], [DataTypes.INT(False), DataTypes.TIMESTAMP_LTZ(3)]) == pa.schema(
        [pa.field("a", pa.int32(), False), pa.field("b", pa.timestamp("ms", "UTC"))]
    )

"""Data types and Arrow types become each other, with the gaps that PyFlink has."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from funke.table.types import DataType, DataTypes, create_arrow_schema, from_arrow_type, to_arrow_type

BOTH_WAYS = [
    (DataTypes.TINYINT(), pa.int8()),
    (DataTypes.SMALLINT(), pa.int16()),
    (DataTypes.INT(), pa.int32()),
    (DataTypes.BIGINT(), pa.int64()),
    (DataTypes.BOOLEAN(), pa.bool_()),
    (DataTypes.FLOAT(), pa.float32()),
    (DataTypes.DOUBLE(), pa.float64()),
    (DataTypes.STRING(), pa.utf8()),
    (DataTypes.BINARY(3), pa.binary(3)),
    (DataTypes.BYTES(), pa.binary()),
    (DataTypes.DECIMAL(10, 2), pa.decimal128(10, 2)),
    (DataTypes.DATE(), pa.date32()),
    (DataTypes.TIME(0), pa.time32("s")),
    (DataTypes.TIME(3), pa.time32("ms")),
    (DataTypes.TIME(6), pa.time64("us")),
    (DataTypes.TIME(9), pa.time64("ns")),
    (DataTypes.TIMESTAMP(0), pa.timestamp("s")),
    (DataTypes.TIMESTAMP(3), pa.timestamp("ms")),
    (DataTypes.TIMESTAMP(6), pa.timestamp("us")),
    (DataTypes.TIMESTAMP(9), pa.timestamp("ns")),
    (DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()), pa.map_(pa.utf8(), pa.int32())),
    (DataTypes.ARRAY(DataTypes.INT()), pa.list_(pa.int32())),
    (DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT(False))]), pa.struct([pa.field("a", pa.int32(), False)])),
    (DataTypes.NULL(), pa.null()),
]


@pytest.mark.parametrize(("data_type", "arrow_type"), BOTH_WAYS)
def test_both_ways(data_type: DataType, arrow_type: Any) -> None:
    assert to_arrow_type(data_type) == arrow_type
    assert from_arrow_type(arrow_type) == data_type


@pytest.mark.parametrize(
    ("data_type", "arrow_type"),
    [
        (DataTypes.CHAR(3), pa.utf8()),
        (DataTypes.TIME(1), pa.time32("ms")),
        (DataTypes.TIMESTAMP(5), pa.timestamp("us")),
        (DataTypes.TIMESTAMP_LTZ(3), pa.timestamp("ms")),
    ],
)
def test_what_arrow_does_not_tell_apart(data_type: DataType, arrow_type: Any) -> None:
    assert to_arrow_type(data_type) == arrow_type


def test_nulls() -> None:
    assert from_arrow_type(pa.int8(), False) == DataTypes.TINYINT(False)
    assert create_arrow_schema(["a", "b"], [DataTypes.INT(False), DataTypes.STRING()]) == pa.schema(
        [pa.field("a", pa.int32(), False), pa.field("b", pa.utf8())]
    )


@pytest.mark.parametrize(
    ("data_type", "error"),
    [
        (DataTypes.MULTISET(DataTypes.INT()), ValueError),
        (DataTypes.INTERVAL(DataTypes.MONTH()), ValueError),
        (DataTypes.ARRAY(DataTypes.TIMESTAMP_LTZ()), ValueError),
        (DataTypes.ROW([DataTypes.FIELD("r", DataTypes.ROW())]), TypeError),
    ],
)
def test_types_without_an_arrow_type(data_type: DataType, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"no Arrow type|Arrow conversion has no"):
        to_arrow_type(data_type)


@pytest.mark.parametrize("arrow_type", [pa.uint8(), pa.date64(), pa.struct([pa.field("a", pa.struct([]))])])
def test_arrow_types_without_a_data_type(arrow_type: Any) -> None:
    with pytest.raises(TypeError, match=r"no data type|no rows within rows"):
        from_arrow_type(arrow_type)

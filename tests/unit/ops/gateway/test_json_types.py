"""Types and values in the gateway's JSON: those of Flink's serializers."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import pytest

from funke.common import Row
from funke.engine.sql.binding.relations import Column
from funke.engine.types.logical import DataType
from funke.engine.types.logical.data_types import DataTypes
from funke.ops.gateway.json_types import column_json, row_json

UTC = datetime.UTC
TS = datetime.datetime(2024, 1, 2, 3, 4, 5, 120_000)
NUMBER = {"type": "INTEGER", "nullable": True}

CASES: list[tuple[DataType, dict[str, Any], Any, Any, str]] = [
    (DataTypes.INT(), {"type": "INTEGER"}, 7, 7, "7"),
    (DataTypes.BOOLEAN(), {"type": "BOOLEAN"}, True, True, "TRUE"),
    (DataTypes.DOUBLE(), {"type": "DOUBLE"}, 0.5, 0.5, "0.5"),
    (DataTypes.DOUBLE(), {"type": "DOUBLE"}, float("nan"), "NaN", "NaN"),
    (DataTypes.STRING(), {"type": "VARCHAR", "length": 2147483647}, 'a"b', 'a"b', 'a"b'),
    (DataTypes.CHAR(3), {"type": "CHAR", "length": 3}, "abc", "abc", "abc"),
    (DataTypes.BYTES(), {"type": "VARBINARY", "length": 2147483647}, b"\1\2", "AQI=", "x'0102'"),
    (DataTypes.DECIMAL(20, 2), {"type": "DECIMAL", "precision": 20, "scale": 2}, Decimal("1.5"), 1.5, "1.50"),
    (DataTypes.DATE(), {"type": "DATE"}, datetime.date(2024, 1, 2), "2024-01-02", "2024-01-02"),
    (
        DataTypes.TIME(3),
        {"type": "TIME_WITHOUT_TIME_ZONE", "precision": 3},
        datetime.time(3, 4, 5, 120_000),
        "03:04:05.12",
        "03:04:05.120",
    ),
    (
        DataTypes.TIMESTAMP(3),
        {"type": "TIMESTAMP_WITHOUT_TIME_ZONE", "precision": 3},
        TS,
        "2024-01-02T03:04:05.12",
        "2024-01-02 03:04:05.120",
    ),
    (
        DataTypes.TIMESTAMP_LTZ(0),
        {"type": "TIMESTAMP_WITH_LOCAL_TIME_ZONE", "precision": 0},
        TS.replace(tzinfo=UTC, microsecond=0),
        "2024-01-02T03:04:05Z",
        "2024-01-02 03:04:05",
    ),
    (DataTypes.ARRAY(DataTypes.INT()), {"type": "ARRAY", "elementType": NUMBER}, [1, None], [1, None], "[1, NULL]"),
    (
        DataTypes.MAP(DataTypes.INT(), DataTypes.INT()),
        {"type": "MAP", "keyType": NUMBER, "valueType": NUMBER},
        {1: 2},
        {"1": 2},
        "{1=2}",
    ),
    (
        DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]),
        {"type": "ROW", "fields": [{"name": "a", "fieldType": NUMBER}]},
        Row(1),
        {"a": 1},
        "(1)",
    ),
    (
        DataTypes.INTERVAL(DataTypes.MONTH()),
        {"type": "INTERVAL_YEAR_MONTH", "precision": 2, "resolution": "MONTH"},
        14,
        14,
        "+1-02",
    ),
]


@pytest.mark.parametrize(
    ("data_type", "json_type", "value", "in_json", "in_text"), CASES, ids=lambda each: str(each)[:20]
)
def test_a_column_and_its_values(
    data_type: DataType, json_type: dict[str, Any], value: Any, in_json: Any, in_text: str
) -> None:
    column = column_json(Column("c", data_type))
    assert column == {"name": "c", "logicalType": {**json_type, "nullable": True}, "comment": None}
    row = json.loads(row_json(Row(value, None), (data_type, data_type), False, UTC))
    assert row == {"kind": "INSERT", "fields": [in_json, None]}
    row = json.loads(row_json(Row(value, None), (data_type, data_type), True, UTC))
    assert row == {"kind": "INSERT", "fields": [in_text, None]}

"""Values become the texts that Flink's results show."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from funke.engine.sql.results.value_text import value_text
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.row import Row

PERSON = DataTypes.ROW([DataTypes.FIELD("id", DataTypes.INT()), DataTypes.FIELD("name", DataTypes.STRING())])


@pytest.mark.parametrize(
    ("value", "data_type", "text"),
    [
        (None, DataTypes.INT(), "NULL"),
        (True, DataTypes.BOOLEAN(), "TRUE"),
        (-5, DataTypes.INT(), "-5"),
        (1e10, DataTypes.DOUBLE(), "1.0E10"),
        (1.1, DataTypes.FLOAT(), "1.1"),
        (Decimal("1.5"), DataTypes.DECIMAL(10, 3), "1.500"),
        (Decimal("0E-7"), DataTypes.DECIMAL(10, 7), "0.0000000"),
        (b"\n\xff", DataTypes.BYTES(), "x'0aff'"),
        (date(20, 1, 2), DataTypes.DATE(), "0020-01-02"),
        (time(1, 2, 3), DataTypes.TIME(), "01:02:03"),
        (time(1, 2, 3, 4000), DataTypes.TIME(3), "01:02:03.004"),
        (datetime(2020, 1, 2, 3, 4, 5, 100_000), DataTypes.TIMESTAMP(3), "2020-01-02 03:04:05.100"),
        (datetime(2020, 1, 2, 3, 4, 5), DataTypes.TIMESTAMP(0), "2020-01-02 03:04:05"),
        (datetime(20, 1, 2), DataTypes.TIMESTAMP(9), "0020-01-02 00:00:00.000000000"),
        (-14, DataTypes.INTERVAL(DataTypes.MONTH()), "-1-02"),
        (timedelta(days=1, milliseconds=5), DataTypes.INTERVAL(DataTypes.SECOND(3)), "+1 00:00:00.005"),
        (-3_600_000, DataTypes.INTERVAL(DataTypes.HOUR()), "-0 01:00:00.000"),
        ([1, None], DataTypes.ARRAY(DataTypes.INT()), "[1, NULL]"),
        ({"a": 1, "b": None}, DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()), "{a=1, b=NULL}"),
        ({"a": 2}, DataTypes.MULTISET(DataTypes.STRING()), "{a=2}"),
        (["a", "b", "a"], DataTypes.MULTISET(DataTypes.STRING()), "{a=2, b=1}"),
        (Row(1, "x"), PERSON, "(1, x)"),
        ([Row(1, None)], DataTypes.ARRAY(PERSON), "[(1, NULL)]"),
    ],
)
def test_text(value: Any, data_type: DataType, text: str) -> None:
    assert value_text(value, data_type) == text


def test_instants_are_shown_in_the_zone_of_the_session() -> None:
    noon = datetime(2020, 1, 1, 12, tzinfo=UTC)

    assert value_text(noon, DataTypes.TIMESTAMP_LTZ(0), timezone(timedelta(hours=8))) == "2020-01-01 20:00:00"

"""Columns of pandas travel as Arrow, with the names that PyFlink has for it."""

from __future__ import annotations

import io

import pandas as pd
import pytest

from funke import common
from funke.datastream.formats.json import JsonRowDeserializationSchema
from funke.table.serializers import ArrowSerializer
from funke.table.types import DataTypes, create_arrow_schema
from funke.table.utils import tz_convert_from_internal, tz_convert_to_internal

ROW = DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT()), DataTypes.FIELD("y", DataTypes.STRING())])
TYPE = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", ROW)])


def test_columns_are_written_and_read() -> None:
    schema = create_arrow_schema(TYPE.field_names(), TYPE.field_types())
    serializer = ArrowSerializer(schema, TYPE, "UTC")
    frame = pd.DataFrame({"x": [1, 2], "y": ["p", "q"]})
    stream = io.BytesIO()
    serializer.serialize([[pd.Series([1, 2]), frame]] * 2, stream)
    stream.seek(0)

    batches = list(serializer.deserialize(stream))

    assert [[list(first), second.to_dict("list")] for first, second in batches] == [
        [[1, 2], {"x": [1, 2], "y": ["p", "q"]}]
    ] * 2


def test_a_column_of_another_type_is_reported() -> None:
    serializer = ArrowSerializer(create_arrow_schema(["a"], [DataTypes.INT()]), DataTypes.ROW(TYPE.fields[:1]), "UTC")

    with pytest.raises(RuntimeError, match="int32"):
        serializer.serialize([[pd.Series(["p"])]], io.BytesIO())


def test_instants_in_a_zone() -> None:
    instants = pd.Series(pd.to_datetime(["2020-06-01 04:00:00"]).tz_localize("UTC"))
    local = pd.Series(pd.to_datetime(["2020-06-01 12:00:00"]))
    data_type = DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(3)

    assert list(tz_convert_to_internal(instants, data_type, "Asia/Shanghai")) == list(local)
    assert list(tz_convert_to_internal(local, data_type, "Asia/Shanghai")) == list(local)
    assert list(tz_convert_from_internal(local, data_type, "Asia/Shanghai")) == list(instants)
    assert tz_convert_to_internal(local, DataTypes.TIMESTAMP(3), "Asia/Shanghai") is local
    assert tz_convert_from_internal(local, DataTypes.TIMESTAMP(3), "Asia/Shanghai") is local


def test_schemas_are_passed_on_by_common() -> None:
    assert common.JsonRowDeserializationSchema is JsonRowDeserializationSchema

"""Rows of tables as a DataFrame of pandas: with the types of their columns, as in PyFlink."""

from __future__ import annotations

import datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from funke.engine.sql.binding.relations import Column
from funke.engine.sql.table_elements import frame_relation, to_frame
from funke.engine.types.logical.data_type import DataType
from funke.table import DataTypes

UTC = datetime.UTC
COLUMNS: dict[str, DataType] = {
    "tiny": DataTypes.TINYINT(),
    "small": DataTypes.SMALLINT(),
    "whole": DataTypes.INT(),
    "big": DataTypes.BIGINT(),
    "single": DataTypes.FLOAT(),
    "double": DataTypes.DOUBLE(),
    "at": DataTypes.TIMESTAMP(3),
    "text": DataTypes.STRING(),
}
ROW = (1, 2, 3, 4, 0.5, 0.5, datetime.datetime(2024, 1, 2), "x")


def test_columns_have_the_width_of_their_types() -> None:
    columns = [Column(*each) for each in COLUMNS.items()]
    frame = to_frame(columns, [ROW, ROW], UTC)
    kinds = ["int8", "int16", "int32", "int64", "float32", "float64", "datetime64[ms]"]
    assert list(map(str, frame.dtypes))[:-1] == kinds
    assert list(frame.columns) == list(COLUMNS)
    assert frame["text"].tolist() == ["x", "x"]


def test_missing_values_and_columns_of_one_name() -> None:
    frame = to_frame([Column("n", DataTypes.INT()), Column("n", DataTypes.FLOAT())], [(1, None), (None, 1.5)], UTC)
    assert list(map(str, frame.dtypes)) == ["float64", "float32"]
    assert to_frame([Column("n", DataTypes.INT())], [], UTC).empty


def test_collections_are_those_of_arrow() -> None:
    pair = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.STRING())])
    columns = [
        Column("array", DataTypes.ARRAY(DataTypes.INT())),
        Column("row", pair),
        Column("map", DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())),
        Column("none", DataTypes.ARRAY(DataTypes.INT())),
        Column("day", DataTypes.DATE()),
    ]
    day = datetime.date(2020, 1, 1)
    (results,) = to_frame(columns, [([1, 2], (1, "x"), {"k": 1}, None, day)], UTC).to_numpy().tolist()
    assert isinstance(results[0], np.ndarray) and results[0].dtype == np.int32 and results[0].tolist() == [1, 2]
    assert results[1:] == [{"a": 1, "b": "x"}, [("k", 1)], None, day]


def test_instants_have_the_zone_of_the_session() -> None:
    zone = ZoneInfo("Asia/Tokyo")
    instant = datetime.datetime(1970, 1, 1, tzinfo=UTC)
    frame = to_frame([Column("at", DataTypes.TIMESTAMP_LTZ(3))], [(instant,)], zone)
    assert str(frame["at"][0]) == "1970-01-01 09:00:00+09:00"
    written = frame_relation(
        pd.DataFrame({"at": [pd.Timestamp("1970-01-01 09:00")]}), [DataTypes.TIMESTAMP_LTZ(3)], zone
    )
    assert written.rows == ((instant,),)


@pytest.mark.parametrize(
    ("values", "data_type", "message"),
    [
        ([1, 2], DataTypes.STRING(), r"pandas.Series \(int64\) to pyarrow.Array \(string\)"),
        (["x"], DataTypes.INT(), r"pandas.Series \(object\) to pyarrow.Array \(int32\)"),
        ([1.5], DataTypes.INT(), r"pandas.Series \(float64\) to pyarrow.Array \(int32\)"),
        ([300], DataTypes.TINYINT(), r"pandas.Series \(int64\) to pyarrow.Array \(int8\)"),
    ],
)
def test_a_frame_must_fit_its_schema(values: list[Any], data_type: DataType, message: str) -> None:
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object if isinstance(values[0], str) else None)})
    with pytest.raises(RuntimeError, match=message):
        frame_relation(frame, DataTypes.ROW([DataTypes.FIELD("a", data_type)]), UTC)


def test_columns_of_a_frame_are_taken_by_index() -> None:
    frame = pd.DataFrame({"a": [1], "b": [2]})
    fields = [DataTypes.FIELD("b", DataTypes.INT()), DataTypes.FIELD("a", DataTypes.DOUBLE())]
    assert frame_relation(frame, DataTypes.ROW(fields), UTC).rows == ((1, 2.0),)
    assert frame_relation(frame, DataTypes.ROW(fields[:1]), UTC).rows == ((1,),)
    assert [each.name for each in frame_relation(frame, ["x"], UTC).columns] == ["x"]
    with pytest.raises(IndexError, match="the schema has 3 fields, the DataFrame 2 columns"):
        frame_relation(frame, DataTypes.ROW([*fields, DataTypes.FIELD("c", DataTypes.INT())]), UTC)

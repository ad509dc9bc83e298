"""Rows of tables as a DataFrame of pandas: with the types of their columns, as in PyFlink."""

from __future__ import annotations

import datetime

from funke.engine.sql.binding.relations import Column
from funke.engine.types.logical.data_type import DataType
from funke.table import DataTypes
from funke.table.table_elements import to_frame

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
    frame = to_frame(columns, [ROW, ROW])
    kinds = ["int8", "int16", "int32", "int64", "float32", "float64", "datetime64[ms]"]
    assert list(map(str, frame.dtypes))[:-1] == kinds
    assert list(frame.columns) == list(COLUMNS)
    assert frame["text"].tolist() == ["x", "x"]


def test_missing_values_and_columns_of_one_name() -> None:
    frame = to_frame([Column("n", DataTypes.INT()), Column("n", DataTypes.FLOAT())], [(1, None), (None, 1.5)])
    assert list(map(str, frame.dtypes)) == ["float64", "float32"]
    assert to_frame([Column("n", DataTypes.INT())], []).empty

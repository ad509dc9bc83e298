"""JSON lines as Flink's json format reads them, quickly or line by line."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from funke.engine.formats.input_file import InputFile
from funke.engine.formats.table.json_columns import JsonTableFormat
from funke.engine.types.logical.column_types import to_column_type
from funke.engine.types.logical.data_type import DataType
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.logical.row_type import RowField

INT, STRING = DataTypes.INT(), DataTypes.STRING()
XY = DataTypes.ROW([DataTypes.FIELD("x", INT), DataTypes.FIELD("y", STRING)])
UTC = datetime.UTC


def read(folder: Path, types: list[DataType], text: str, **settings: Any) -> list[tuple[Any, ...]]:
    path = folder / "t.json"
    path.write_text(text)
    fields = tuple(RowField(name, each) for name, each in zip("abcdefgh", types))
    batches = list(JsonTableFormat(fields, **settings).columns_of(InputFile(str(path), path.stat().st_size)))
    assert all(batch.schema.types == [to_column_type(each) for each in types] for batch in batches)
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize(
    ("types", "settings", "text", "rows"),
    [
        ([INT, STRING], {}, '{"a":1,"b":"x","z":[9]}\n\n{"b":null,"a":2}\n{}', [(1, "x"), (2, None), (None, None)]),
        ([INT, STRING], {}, '{"a":"5","b":1}\n{"a":1.9,"b":{"k":[1, 2.50]}}\n{"a":null,"b":true}\n',
         [(5, "1"), (1, '{"k":[1,2.5]}'), (None, "true")]),
        ([DataTypes.BOOLEAN(), DataTypes.DOUBLE()], {}, '{"a":"TRUE","b":"1e3"}\n{"a":"x","b":7}\n',
         [(True, 1000.0), (False, 7.0)]),
        ([DataTypes.DECIMAL(5, 2)], {}, '{"a":1.25}\n{"a":"2.5"}\n{"a":1.255}\n{"a":99999}\n',
         [(Decimal("1.25"),), (Decimal("2.50"),), (Decimal("1.26"),), (None,)]),
        ([DataTypes.TIMESTAMP(3), DataTypes.TIMESTAMP_LTZ(3)], {},
         '{"a":"2020-01-02 03:04:05.12","b":"2020-01-02 03:04:05.12Z"}\n',
         [(datetime.datetime(2020, 1, 2, 3, 4, 5, 120000), datetime.datetime(2020, 1, 2, 3, 4, 5, 120000, UTC))]),
        ([DataTypes.TIMESTAMP(3), STRING], {"is_iso": True}, '{"a":"2020-01-02T03:04:05.123456","b":1}\n',
         [(datetime.datetime(2020, 1, 2, 3, 4, 5, 123000), "1")]),
        ([DataTypes.DATE(), DataTypes.TIME()], {}, '{"a":"2020-01-02","b":"03:04:05"}\n',
         [(datetime.date(2020, 1, 2), datetime.time(3, 4, 5))]),
        ([DataTypes.BYTES(), DataTypes.ARRAY(INT), XY], {}, '{"a":"aGk=","b":[1,null],"c":{"x":1}}\n',
         [(b"hi", [1, None], {"x": 1, "y": None})]),
        ([DataTypes.ARRAY(INT), XY], {}, '{"a":[1,null],"b":{"y":"z","x":1}}\n', [([1, None], {"x": 1, "y": "z"})]),
        ([DataTypes.MAP(STRING, INT)], {}, '{"a":{"k":7,"l":null}}\n', [([("k", 7), ("l", None)],)]),
        ([INT], {}, '[{"a":1},{"a":2}]\n', [(1,), (2,)]),
        ([INT, STRING], {"ignores_errors": True}, '{"a":"x","b":"y"}\nno json\n7\n{"a":3}\n', [(None, "y"), (3, None)]),
        ([INT], {"fails_on_missing": True}, '{"a":1}\n{"a":null}\n', [(1,), (None,)]),
    ],
)  # fmt: skip
def test_lines_become_columns(
    tmp_path: Path, types: list[DataType], settings: dict[str, Any], text: str, rows: list[Any]
) -> None:
    assert read(tmp_path, types, text, **settings) == rows


@pytest.mark.parametrize(
    ("settings", "text", "message"),
    [
        ({}, '{"a":"x"}\n', "Fail to deserialize at field: a."),
        ({}, "no json\n", "Failed to deserialize JSON 'no json'."),
        ({"fails_on_missing": True}, "{}\n", "Could not find field with name 'a'."),
        ({}, '{"a":3000000000}\n', "Fail to deserialize at field: a."),
    ],
)
def test_lines_that_are_rejected(tmp_path: Path, settings: dict[str, Any], text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        read(tmp_path, [INT], text, **settings)


def test_only_the_fields_that_are_wanted_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"a":"not a number","b":"x"}\n' * 3)
    reader = JsonTableFormat((RowField("a", INT), RowField("b", STRING))).selecting([1])
    (batch,) = reader.columns_of(InputFile(str(path), path.stat().st_size))
    assert batch.to_pydict() == {"b": ["x"] * 3}

"""Columns on their way through Spark come back as they were, whatever their type."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from funke.engine.sql.binding.relations import Column
from funke.engine.sql.functions.values import from_values
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.spark_plans.carried_columns import carried_schema, from_carried, is_key, to_carried
from funke.engine.types.logical.sql_text import from_sql_text

NOON = datetime.datetime(1969, 2, 28, 12, 30, 15, 123456)


@pytest.mark.parametrize(
    ("type_text", "values", "carried"),
    [
        ("INT", [1, None, -1], pa.int32()),
        ("VARCHAR(3)", ["ß", None, ""], pa.utf8()),
        ("DECIMAL(38, 5)", [Decimal("1.00001"), None], pa.decimal128(38, 5)),
        ("DATE NOT NULL", [NOON.date()], pa.date32()),
        ("TIME(3)", [NOON.time().replace(microsecond=123000), None], pa.int32()),
        ("TIME(9)", [NOON.time(), None], pa.int64()),
        ("TIMESTAMP(0)", [NOON.replace(microsecond=0), None], pa.int64()),
        ("TIMESTAMP_LTZ(9)", [NOON.replace(tzinfo=datetime.UTC), None], pa.int64()),
        ("INTERVAL DAY", [86_400_000, None], pa.int64()),
        ("BINARY(2)", [b"ab", None], pa.binary()),
        ("NULL", [None, None], pa.utf8()),
        ("ARRAY<ROW<a INT NOT NULL, t TIME(0)>>", [[(1, NOON.time().replace(microsecond=0)), None], None], pa.binary()),
        ("MAP<STRING, ARRAY<DATE>>", [{"a": [NOON.date(), None], "b": None}, None], pa.binary()),
        ("MULTISET<INT>", [{1: 2}, {}, None], pa.binary()),
    ],
)
def test_columns_come_back(type_text: str, values: list[Any], carried: Any) -> None:
    columns = (Column("same name", from_sql_text(type_text)), Column("same name", from_sql_text("INT")))
    arrays = [from_values(values, columns[0].type), pa.array(range(len(values)), pa.int32())]
    batch = pa.RecordBatch.from_arrays(arrays, schema=schema_of(columns))
    schema = carried_schema(columns)
    assert schema.types == [carried, pa.int32()]
    for part in (batch, batch.slice(1), batch.slice(0, 0)):
        assert from_carried(to_carried(part, columns, schema), columns).equals(part)


def test_what_spark_takes_for_the_same() -> None:
    kinds = ("INT", "STRING", "TIMESTAMP(9)", "DECIMAL(3, 1)", "DOUBLE", "ARRAY<INT>", "NULL")
    assert [is_key(from_sql_text(each)) for each in kinds] == [True, True, True, True, False, False, False]

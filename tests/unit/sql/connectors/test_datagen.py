"""Rows that are made up: every type, every option, as many as were asked for."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.connectors.datagen.datagen_factory import DatagenTableSource
from funke.engine.types.logical.column_types import to_column_type
from funke.engine.types.logical.data_type import DataType
from tests.harness.sql_tables import source_of

TYPES = (
    "BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(10, 2), CHAR(3), VARCHAR(5), STRING, BINARY(3), "
    "VARBINARY(4), BYTES, DATE, TIME, TIME(3), TIMESTAMP(0), TIMESTAMP(3), TIMESTAMP(6), TIMESTAMP_LTZ(3), ARRAY<INT>, "
    "MAP<STRING, INT>, MULTISET<INT>, ROW<x INT, y STRING>"
)


def source(columns: str, options: str = "") -> DatagenTableSource:
    table_source = source_of(f"CREATE TABLE t ({columns}) WITH ('connector' = 'datagen'{options})")
    assert isinstance(table_source, DatagenTableSource)
    return table_source


def rows(columns: str, options: str = "", count: int = 50) -> list[Any]:
    """Some rows, made at once."""
    new_source = source(columns, f", 'rows-per-second' = '1000000000'{options}").with_limit(count)
    engine_source = new_source.create_source()
    enumerator, reader = engine_source.create_enumerator(1), engine_source.create_reader()
    results: list[Any] = []
    while not enumerator.is_finished:
        for split in enumerator.poll(1000):
            for batch in reader.read_columns(split):
                results += [tuple(row.values()) for row in batch.data.to_pylist()]
    return results


def test_every_type_has_values() -> None:
    import re

    kinds = re.split(r", (?![^<(]*[>)])", TYPES)
    columns = ", ".join(f"c{index} {kind}" for index, kind in enumerate(kinds))
    table = source(columns, ", 'number-of-rows' = '20'")
    reader = table.create_source().create_reader()
    (split,) = table.create_source().create_enumerator(1).poll(1)
    (batch,) = reader.read_columns(split)
    expected: list[DataType] = [each.type for each in table.columns]
    assert batch.data.schema.types == [to_column_type(each) for each in expected]
    batch.data.validate(full=True)
    (row,) = batch.data.to_pylist()
    assert all(value is not None for value in row.values())
    assert [len(row[f"c{index}"]) for index in (8, 9, 10, 11, 12, 13, 21)] == [3, 5, 100, 3, 4, 100, 3]
    (values, _) = next(reader.read(split))
    assert len(values) == 1


def test_bounds_lengths_and_nulls() -> None:
    options = (
        ", 'fields.i.min' = '5', 'fields.i.max' = '7', 'fields.d.min' = '-1', 'fields.d.max' = '1'"
        ", 'fields.s.length' = '8', 'fields.s.var-len' = 'true', 'fields.n.null-rate' = '1'"
        ", 'fields.a.length' = '2', 'fields.a.element.min' = '1', 'fields.a.element.max' = '1'"
        ", 'fields.m.length' = '1', 'fields.m.key.length' = '2', 'fields.m.value.max' = '-9'"
        ", 'fields.r.x.min' = '3', 'fields.r.x.max' = '3', 'fields.e.min' = '1', 'fields.e.max' = '2'"
    )
    columns = "i INT, d DOUBLE, s STRING, n BIGINT, a ARRAY<INT>, m MAP<STRING, INT>, r ROW<x INT>, e DECIMAL(5, 2)"
    result_rows = rows(columns, options)
    assert len(result_rows) == 50
    assert {row[0] for row in result_rows} == {5, 6, 7}
    assert all(-1 <= row[1] <= 1 for row in result_rows)
    assert len({len(row[2]) for row in result_rows}) > 1
    assert all(1 <= len(row[2]) <= 8 and set(row[2]) <= set("0123456789abcdef") for row in result_rows)
    assert {row[3] for row in result_rows} == {None}
    assert all(row[4] == [1, 1] for row in result_rows)
    assert all(len(row[5]) == 1 and len(row[5][0][0]) == 2 and row[5][0][1] <= -9 for row in result_rows)
    assert all(row[6] == {"x": 3} for row in result_rows)
    assert all(1 <= row[7] <= 2 for row in result_rows)


def test_a_sequence_counts_and_ends_the_table() -> None:
    options = "".join(
        f", 'fields.{name}.kind' = 'sequence', 'fields.{name}.start' = '{start}', 'fields.{name}.end' = '{end}'"
        for name, start, end in (("i", 1, 3), ("s", 5, 9), ("e", -1, 5))
    )
    table = source("i INT, s STRING, e DECIMAL(5, 2), b BOOLEAN", options)
    assert table.is_bounded
    assert table.rows == 3
    result_rows = rows("i INT, s STRING, e DECIMAL(5, 2), b BOOLEAN", options)
    assert [(row[0], row[1], float(row[2])) for row in result_rows] == [(1, "5", -1.0), (2, "6", 0.0), (3, "7", 1.0)]


def test_timestamps_lie_in_the_past() -> None:
    before = datetime.datetime.now(datetime.UTC)
    result_rows = rows("t TIMESTAMP_LTZ(3)", ", 'fields.t.max-past' = '1 h'")
    after = datetime.datetime.now(datetime.UTC)
    hour = datetime.timedelta(hours=1, milliseconds=1)
    assert all(before - hour <= row[0] <= after for row in result_rows)
    assert len(set(result_rows)) > 1


def test_columns_that_nobody_wants_are_not_made() -> None:
    table = source("a INT, b STRING, c BIGINT").with_columns([2, 0])
    assert [each.name for each in table.columns] == ["c", "a"]
    assert not table.is_bounded


def test_a_rate_and_a_parallelism() -> None:
    table = source("a INT", ", 'rows-per-second' = '5', 'scan.parallelism' = '3'")
    assert table.rows_per_second == 5
    assert table.create_source().fixed_parallelism == 3


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("x INT", ", 'fields.x.kind' = 'foo'", "Unsupported generator kind: foo"),
        ("x INT", ", 'fields.x.kind' = 'sequence'",
         "Could not find required property 'fields.x.start' for sequence generator."),
        ("x INT", ", 'fields.y.kind' = 'random'",
         "Unsupported options found for 'datagen'.\n\nUnsupported options:\n\nfields.y.kind\n\nSupported options:\n\n"
         "connector\nfields.x.kind\nfields.x.max\nfields.x.min\nfields.x.null-rate\nnumber-of-rows\nrows-per-second\n"
         "scan.parallelism"),
        ("x INT", ", 'number-of-rows' = 'abc'", "Could not parse value 'abc' for key 'number-of-rows'"),
        ("x BOOLEAN", ", 'fields.x.kind' = 'sequence', 'fields.x.start' = '1', 'fields.x.end' = '2'",
         "Unsupported type: BOOLEAN"),
        ("x CHAR(3)", ", 'fields.x.length' = '2'",
         "Custom length for fixed-length type (CHAR/BINARY) field 'x' is not supported."),
        ("x VARCHAR(3)", ", 'fields.x.length' = '4'",
         "Custom length '4' for variable-length type (VARCHAR/STRING/VARBINARY/BYTES) field 'x' should be"),
        ("x INT", ", 'fields.x.var-len' = 'true'", "Only supports specifying 'fields.#.var-len' option"),
        ("x DATE", ", 'fields.x.max-past' = '1 min'", "Unsupported options found for 'datagen'."),
        ("x INT", ", 'fields.x.start' = '1'", "Unsupported options found for 'datagen'."),
    ],
)  # fmt: skip
def test_what_is_rejected(columns: str, options: str, message: str) -> None:
    with pytest.raises(ValidationException) as rejected:
        source(columns, options)
    assert message in str(rejected.value)

"""Tables that no connector reads: the Table API shows their columns, and rejects them when a job is planned."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from funke.datastream import StreamExecutionEnvironment
from funke.engine.flink_exceptions import ValidationException
from funke.table import (
    DataTypes,
    EnvironmentSettings,
    Schema,
    StreamTableEnvironment,
    Table,
    TableDescriptor,
    TableEnvironment,
)
from funke.table.expressions import col

SCHEMA = (
    Schema.new_builder()
    .column("a", DataTypes.STRING())
    .column_by_metadata("m", DataTypes.INT(), "offset")
    .column_by_expression("b", "UPPER(a)")
    .build()
)
REJECTION = "Unable to create a source for reading table"


@pytest.fixture(params=[True, False])
def t_env(request: pytest.FixtureRequest) -> TableEnvironment:
    mode = EnvironmentSettings.in_streaming_mode if request.param else EnvironmentSettings.in_batch_mode
    return TableEnvironment.create(mode())


def unknown(t_env: TableEnvironment) -> Table:
    return t_env.from_descriptor(TableDescriptor.for_connector("fake").schema(SCHEMA).build())


def sink_only(t_env: TableEnvironment) -> Table:
    t_env.create_temporary_table("snk", TableDescriptor.for_connector("blackhole").schema(SCHEMA).build())
    return t_env.from_path("snk")


@pytest.mark.parametrize("make", [unknown, sink_only])
def test_columns_are_shown_and_jobs_rejected(
    t_env: TableEnvironment, make: Callable[[TableEnvironment], Table], capsys: pytest.CaptureFixture[str]
) -> None:
    table = make(t_env)
    table.print_schema()
    chosen = table.select(col("b"), col("m") + 1)

    assert capsys.readouterr().out.splitlines()[1:3] == ["  `a` STRING,", "  `m` INT METADATA FROM 'offset',"]
    assert chosen.get_schema().get_field_names() == ["b", "_c1"]
    printed = TableDescriptor.for_connector("print").build()
    for attempt in (chosen.explain, chosen.execute, chosen.to_pandas, lambda: chosen.execute_insert(printed)):
        with pytest.raises(ValidationException, match=REJECTION):
            attempt()


def test_a_query_in_sql_is_rejected_at_once(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'fake')")

    with pytest.raises(ValidationException, match=REJECTION):
        t_env.sql_query("SELECT a FROM t")


def test_a_stream_is_rejected() -> None:
    t_env = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())

    with pytest.raises(ValidationException, match=REJECTION):
        t_env.to_data_stream(unknown(t_env))

"""How the schemas of tables are shown; recorded with PyFlink 2.3."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from funke.engine.errors import FunkeError
from funke.table import DataTypes, EnvironmentSettings, Schema, Table, TableDescriptor, TableEnvironment
from funke.table.expressions import col

RECORDED = json.loads((Path(__file__).parent / "reference" / "schemas.json").read_text())
_COLUMNS = "s STRING, i INT, b BIGINT, d DOUBLE, t TIMESTAMP(3), r ROW<a INT>"


@pytest.fixture
def t_env() -> TableEnvironment:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set_local_timezone("UTC")
    return environment


def rows(t_env: TableEnvironment, statement: str) -> list[list[Any]]:
    with t_env.execute_sql(statement).collect() as result:
        return [list(each) for each in result]


def schemas(table: Table) -> list[str]:
    return [str(table.get_resolved_schema()), str(table.get_schema())]


@pytest.mark.parametrize("case", RECORDED["expressions"], ids=lambda case: case["expression"])
def test_computed_columns(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    statement = f"CREATE TABLE t ({_COLUMNS}, c AS {case['expression']}) WITH ('connector' = 'datagen')"
    if "described" not in case:
        with pytest.raises(FunkeError):
            t_env.execute_sql(statement)
        return
    t_env.execute_sql(statement)
    assert rows(t_env, "DESCRIBE t")[-1] == case["described"]
    (text,) = rows(t_env, "SHOW CREATE TABLE t")[0]
    assert case["created"] in text
    # What is shown makes the same table.
    t_env.execute_sql("DROP TABLE t")
    t_env.execute_sql(text)
    assert rows(t_env, "SHOW CREATE TABLE t") == [[text]]


@pytest.mark.parametrize("case", RECORDED["tables"], ids=lambda case: " ".join(case["statement"].split())[:60])
def test_tables(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    if "schemas" not in case:
        with pytest.raises(FunkeError):
            t_env.execute_sql(case["statement"])
        return
    t_env.execute_sql(case["statement"])
    assert schemas(t_env.from_path("t")) == case["schemas"]
    assert rows(t_env, "DESCRIBE t") == case["described"]
    assert rows(t_env, "SHOW CREATE TABLE t") == case["created"]


@pytest.mark.parametrize("case", RECORDED["queries"], ids=lambda case: " ".join(case["query"].split())[:60])
def test_queries(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    t_env.execute_sql(RECORDED["tables"][0]["statement"])
    assert schemas(t_env.sql_query(case["query"])) == case["schemas"]


def test_rows_are_chosen_and_sorted_under_the_same_schema(
    t_env: TableEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    t_env.execute_sql(RECORDED["tables"][0]["statement"])
    table, expected = t_env.from_path("t"), RECORDED["tables"][0]["schemas"]
    for each in (table.where(col("id") > 1), table.order_by(col("ts")), table.limit(3), table.distinct()):
        assert schemas(each) == expected
    table.print_schema()
    assert capsys.readouterr().out == expected[0] + "\n"


def test_expressions_of_programs_are_shown_as_they_were_given(t_env: TableEnvironment) -> None:
    schema = (
        Schema.new_builder()
        .column("f0", DataTypes.STRING())
        .column("ts", "TIMESTAMP(3)")
        .column_by_expression("e", col("f0").upper_case)
        .watermark("ts", "ts - INTERVAL '1' SECOND")
        .build()
    )
    t_env.create_temporary_table("t", TableDescriptor.for_connector("datagen").schema(schema).build())
    assert str(t_env.from_path("t").get_resolved_schema()).splitlines()[3:5] == [
        "  `e` STRING AS upper(f0),",
        "  WATERMARK FOR `ts`: TIMESTAMP(3) AS ts - INTERVAL '1' SECOND",
    ]
    assert [each[4:6] for each in rows(t_env, "DESCRIBE t")] == [
        [None, None],
        [None, "ts - INTERVAL '1' SECOND"],
        ["AS upper(f0)", None],
    ]
    (text,) = rows(t_env, "SHOW CREATE TABLE t")[0]
    assert "`e` AS upper(f0),\n  WATERMARK FOR `ts` AS `ts` - INTERVAL '1' SECOND\n" in text

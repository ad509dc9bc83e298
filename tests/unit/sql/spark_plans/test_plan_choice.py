"""Who computes a query in batch mode: one place decides, and EXPLAIN tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from funke.engine.errors import ConfigurationError
from funke.engine.sql.binding.relations import Calculation
from funke.engine.sql.plan.spark_rows import SparkRows
from funke.engine.sql.spark_plans import plan_choice
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
from funke.table.udf import udf


@pytest.fixture
def t_env(tmp_path: Path) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.execute_sql(f"""
        CREATE TABLE files (id INT, name STRING, x DOUBLE, many ARRAY<INT>)
        WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{tmp_path}')
    """)
    t_env.execute_sql("""
        CREATE TABLE lake (id INT, name STRING) WITH ('connector' = 'spark', 'format' = 'orc', 'path' = '/lake')
    """)
    t_env.execute_sql("CREATE TABLE made (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '5')")
    return t_env


def batch_section(t_env: TableEnvironment, query: str) -> list[str]:
    return t_env.explain_sql(query).partition("== Batch Execution ==\n")[2].splitlines()


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "SELECT id + 1 FROM (SELECT name, MAX(id) AS id FROM files GROUP BY name)",
            "Spark: GroupAggregate(groupBy=[name], select=[name, MAX(id) AS EXPR$0])",
        ),
        ("SELECT id FROM files ORDER BY id", "Spark: Sort(orderBy=[id ASC])"),
        ("SELECT id + 1 FROM files WHERE id > 1", "slots: no rows have to meet"),
        ("SELECT n FROM made ORDER BY n", "slots: Sort(orderBy=[n ASC]), because 'datagen' is read by slots"),
        (
            "SELECT COUNT(*) FROM files GROUP BY x",
            "slots: GroupAggregate(groupBy=[x], select=[x, COUNT(*) AS EXPR$0]), because Spark does not tell values of "
            "x$0 (DOUBLE) apart as tables do",
        ),
        (
            "SELECT COUNT(*) FROM files GROUP BY many",
            "slots: GroupAggregate(groupBy=[many], select=[many, COUNT(*) AS EXPR$0]), because Spark does not tell "
            "values of many$0 (ARRAY<INT>) apart as tables do",
        ),
        (
            "SELECT a.id FROM files a FULL JOIN files b ON a.name = b.name",
            "slots: Join(joinType=[FullOuterJoin], where=[(name = name0)], select=[id, name, name0]), because "
            "slots join few rows sooner",
        ),
        (
            "SELECT a.id FROM files a JOIN lake b ON a.name = b.name",
            "Spark: Join(joinType=[InnerJoin], where=[(name = name0)], select=[id, name, name0])",
        ),
        (
            "SELECT COUNT(*) FROM files a JOIN lake b ON a.name = b.name",
            "Spark: GroupAggregate(select=[COUNT(*) AS EXPR$0])",
        ),
        (
            "SELECT a.id FROM files a JOIN files b ON a.x = b.x",
            "slots: Join(joinType=[InnerJoin], where=[(x = x0)], select=[id, x, x0]), because "
            "Spark does not tell values of x (DOUBLE) apart as tables do",
        ),
    ],
)
def test_explain_shows_who_computes_and_why(t_env: TableEnvironment, query: str, message: str) -> None:
    assert batch_section(t_env, query) == [message]


def test_spark_computes_up_to_the_last_exchange(t_env: TableEnvironment) -> None:
    table = t_env.sql_query("SELECT id + 1 FROM (SELECT id FROM files ORDER BY id) WHERE id > 3")
    planned = planned_rows(t_env._session, table._relation)
    assert isinstance(planned, Calculation) and isinstance(planned.input, SparkRows)
    assert planned.input.is_ordered


def test_one_part_may_be_sparks_and_another_that_of_slots(t_env: TableEnvironment) -> None:
    union = "SELECT COUNT(*) FROM files UNION ALL SELECT COUNT(*) FROM made"
    assert batch_section(t_env, union) == [
        "Spark: GroupAggregate(select=[COUNT(*) AS EXPR$0])",
        "slots: GroupAggregate(select=[COUNT(*) AS EXPR$0]), because 'datagen' is read by slots",
    ]


def test_the_setting_forces_either(t_env: TableEnvironment) -> None:
    config = t_env.get_config()
    config.set("funke.table.batch-plan", "spark")
    assert batch_section(t_env, "SELECT id FROM files") == ["Spark: Calc(select=[id])"]
    with pytest.raises(ConfigurationError, match=r"funke.table.batch-plan is 'spark', but 'datagen' is read by slots"):
        t_env.explain_sql("SELECT n FROM made")
    config.set("funke.table.batch-plan", "slots")
    assert batch_section(t_env, "SELECT id FROM files ORDER BY id") == [
        "slots: Sort(orderBy=[id ASC]), because funke.table.batch-plan is 'slots'"
    ]
    config.set("funke.table.batch-plan", "both")
    with pytest.raises(ConfigurationError, match="is 'auto', 'spark' or 'slots', not 'both'"):
        t_env.explain_sql("SELECT id FROM files")


def test_spark_chooses_among_rows_that_it_reads(t_env: TableEnvironment) -> None:
    assert batch_section(t_env, "SELECT id + 1 FROM lake WHERE id > 3") == [
        "Spark: Calc(select=[(id + 1) AS EXPR$0], where=[(id > 3)])"
    ]
    assert batch_section(t_env, "SELECT id + 1 FROM lake") == ["slots: no rows have to meet"]


def test_what_spark_computes_spark_writes(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TABLE `out` (id INT) WITH ('connector' = 'spark', 'format' = 'orc', 'path' = '/lake')")
    sink = "Spark: Sink(table=[default_catalog.default_database.out], fields=[id])"
    assert batch_section(t_env, "INSERT INTO `out` SELECT id + 1 FROM files") == [sink]
    assert batch_section(t_env, "INSERT INTO `out` SELECT n FROM made") == ["slots: no rows have to meet"]
    t_env.get_config().set("funke.table.batch-plan", "slots")
    assert batch_section(t_env, "INSERT INTO `out` SELECT id + 1 FROM files") == ["slots: no rows have to meet"]


def test_functions_with_files_of_their_own_run_on_slots(t_env: TableEnvironment) -> None:
    t_env.create_temporary_function("known", udf(lambda number: number, result_type=DataTypes.INT()))
    query = "SELECT id FROM files WHERE known(id) > 1 ORDER BY id"
    assert batch_section(t_env, query)[0].startswith("Spark")
    t_env.get_config().set("python.files", "/tmp/mine.py")
    assert batch_section(t_env, query)[0].endswith("because its functions need files that only slots are given")


def test_streams_have_no_such_section() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    assert "Batch Execution" not in t_env.explain_sql("SELECT 1")


def test_spark_joins_what_is_much(t_env: TableEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rows.json").write_text('{"id": 1}')
    monkeypatch.setattr(plan_choice, "_MOST_BYTES_IN_SLOTS", 17)
    (line,) = batch_section(t_env, "SELECT a.id FROM files a JOIN files b ON a.name = b.name")
    assert line.startswith("Spark: Join(")
    monkeypatch.setattr(plan_choice, "_MOST_BYTES_IN_SLOTS", 18)
    (line,) = batch_section(t_env, "SELECT a.id FROM files a JOIN files b ON a.name = b.name")
    assert line.endswith("because slots join few rows sooner")

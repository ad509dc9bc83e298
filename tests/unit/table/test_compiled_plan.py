"""Plans are stored as statements with the tables and views that they name, and run wherever these are there or not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from funke.engine.errors import FunkeError, UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException
from funke.table import (
    DataTypes,
    EnvironmentSettings,
    PlanReference,
    Schema,
    Table,
    TableDescriptor,
    TableEnvironment,
)
from funke.table.expressions import col, lit
from funke.table.udf import udf

INSERT = "INSERT INTO results SELECT k, c FROM counts WHERE k <> ''"
EXPLAINED = """== Optimized Execution Plan ==
Sink(table=[default_catalog.shop.results], fields=[k, c])
+- Calc("""


def environment() -> TableEnvironment:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.execute_sql("CREATE DATABASE shop")
    return tables


@pytest.fixture
def t_env() -> TableEnvironment:
    tables = environment()
    tables.execute_sql("USE shop")
    tables.execute_sql("CREATE TABLE sales (k STRING, v INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')")
    tables.execute_sql("CREATE TABLE results (k STRING, c BIGINT) WITH ('connector' = 'print')")
    tables.execute_sql("CREATE VIEW counts AS SELECT k, COUNT(*) AS c FROM sales GROUP BY k")
    return tables


def test_a_plan_brings_what_it_names(t_env: TableEnvironment, tmp_path: Path) -> None:
    plan = t_env.compile_plan_sql(INSERT)
    plan.write_to_file(tmp_path / "plans" / "counts.json")
    other = environment()
    loaded = other.load_plan(PlanReference.from_file(str(tmp_path / "plans" / "counts.json")))
    assert loaded.explain().startswith(EXPLAINED) and "GroupAggregate(groupBy=[k]" in loaded.explain()
    assert str(loaded) == loaded.explain() and loaded.get_flink_version() == "2.3"
    assert other.list_tables() == [] and other.get_current_database() == "default_database"
    assert list(json.loads(plan.as_json_string())["objects"]) == [
        "`default_catalog`.`shop`.`results`",
        "`default_catalog`.`shop`.`sales`",
        "`default_catalog`.`shop`.`counts`",
    ]


def test_a_plan_brings_a_table_without_a_name(t_env: TableEnvironment) -> None:
    schema = Schema.new_builder().column("k", DataTypes.STRING()).column("c", DataTypes.BIGINT()).build()
    described = TableDescriptor.for_connector("datagen").option("number-of-rows", "3").schema(schema).build()
    plan = t_env.from_descriptor(described).where(col("c") > 1).insert_into("results").compile_plan()
    assert t_env.list_temporary_tables() == []
    loaded = environment().load_plan(PlanReference.from_json_string(plan.as_json_string()))
    assert loaded.as_json_string() == plan.as_json_string()
    assert "*anonymous_datagen$1*" in loaded.explain()


def test_tables_of_the_session_come_first(t_env: TableEnvironment) -> None:
    text = t_env.compile_plan_sql(INSERT).as_json_string()
    t_env.execute_sql("DROP TABLE sales")
    t_env.execute_sql("CREATE TABLE sales (v INT, k STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '1')")
    explained = t_env.load_plan(PlanReference.from_json_string(text)).explain()
    assert "TableSourceScan(table=[[default_catalog, shop, sales]]" in explained


def test_secrets_and_temporary_tables_are_not_stored(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TEMPORARY TABLE mine (k STRING, c BIGINT) WITH ('connector' = 'blackhole')")
    t_env.execute_sql(
        "CREATE TABLE hidden (k STRING, c BIGINT) WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:/tmp/nowhere.db', "
        "'table-name' = 't', 'username' = 'me', 'password' = 'deep secret')"
    )
    plan = t_env.compile_plan_sql(
        "EXECUTE STATEMENT SET BEGIN INSERT INTO mine SELECT k, v FROM sales; "
        "INSERT INTO hidden SELECT k, v FROM sales; END"
    )
    content = json.loads(plan.as_json_string())
    assert len(content["statements"]) == 2 and "deep secret" not in plan.as_json_string()
    assert not [each for each in content["objects"] if "mine" in each or "hidden" in each]
    with pytest.raises(FunkeError, match="mine"):
        environment().load_plan(PlanReference.from_json_string(plan.as_json_string())).execute()


def test_statement_sets_are_compiled(t_env: TableEnvironment) -> None:
    statements = t_env.create_statement_set().add_insert_sql(INSERT).add_insert_sql(INSERT)
    assert json.loads(statements.compile_plan().as_json_string())["statements"] == [INSERT, INSERT]
    statements.add(t_env.from_path("counts").insert_into("results"))
    *_, last = json.loads(statements.compile_plan().as_json_string())["statements"]
    assert last == "INSERT INTO `default_catalog`.`shop`.`results` SELECT * FROM `default_catalog`.`shop`.`counts`"


def test_plans_by_statements(t_env: TableEnvironment, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    t_env.execute_sql(f"COMPILE PLAN '{file}' FOR {INSERT}")
    before = file.read_text()
    t_env.execute_sql(f"COMPILE PLAN '{file}' IF NOT EXISTS FOR STATEMENT SET BEGIN {INSERT}; {INSERT}; END")
    assert file.read_text() == before
    with pytest.raises(TableException, match="Cannot overwrite the plan file"):
        t_env.execute_sql(f"COMPILE PLAN '{file}' FOR {INSERT}")


SALES = "`default_catalog`.`shop`.`sales`"
# What pipelines of the Table API are stored as.
PIPELINES: dict[str, tuple[Callable[[Table], Table], str]] = {
    "columns": (
        lambda sales: sales.where(col("v") > 1).select(col("k").upper_case.alias("k"), lit(1)),
        f"SELECT UPPER(`k`) AS `k`, 1 AS `_c1` FROM (SELECT * FROM {SALES} WHERE `v` > 1)",
    ),
    "groups": (
        lambda sales: sales.group_by(col("k")).select(col("k"), col("v").count.alias("c")),
        f"SELECT `k`, COUNT(`v`) AS `c` FROM {SALES} GROUP BY `k`",
    ),
    "sets": (
        lambda sales: sales.union_all(sales.distinct()),
        f"(SELECT * FROM {SALES}) UNION ALL (SELECT * FROM (SELECT DISTINCT * FROM {SALES}))",
    ),
}


@pytest.mark.parametrize("kind", PIPELINES)
def test_pipelines_are_stored_as_statements(t_env: TableEnvironment, kind: str) -> None:
    step, text = PIPELINES[kind]
    pipeline = step(t_env.from_path("sales")).insert_into("results")
    assert str(pipeline) == "TablePipeline with sink table '`default_catalog`.`shop`.`results`'"
    plan = pipeline.compile_plan()
    assert json.loads(plan.as_json_string())["statements"] == [f"INSERT INTO `default_catalog`.`shop`.`results` {text}"]
    whole = pipeline.explain()
    assert (
        environment().load_plan(PlanReference.from_json_string(plan.as_json_string())).explain()
        == whole[whole.index("== Optimized Execution Plan ==") :]
    )


def test_pipelines_that_no_statement_says(t_env: TableEnvironment) -> None:
    unnamed = TableDescriptor.for_connector("print").build()
    double = udf(lambda value: value * 2, result_type="INT")
    sales = t_env.from_path("sales")
    for pipeline in (
        t_env.from_elements([("a", 1)], ["k", "c"]).insert_into("results"),
        sales.insert_into(unnamed),
        sales.select(col("k"), double(col("v"))).insert_into("results"),
        sales.order_by(col("k")).fetch(3).insert_into("results"),
    ):
        with pytest.raises(UnsupportedFeatureError, match="a stored plan of"):
            pipeline.compile_plan()


@pytest.mark.parametrize("text", ["SELECT 1", "USE shop"])
def test_only_inserts_are_compiled(t_env: TableEnvironment, text: str) -> None:
    with pytest.raises(TableException, match="only accepts a single SQL statement of type INSERT"):
        t_env.compile_plan_sql(text)


def test_what_is_no_plan(t_env: TableEnvironment, tmp_path: Path) -> None:
    with pytest.raises(TableException, match="The file does not exist"):
        t_env.load_plan(PlanReference.from_file(str(tmp_path / "nowhere.json")))
    for text in ("{}", "no JSON", "[]", '{"catalog": "a", "database": "b", "statements": 3, "objects": {}}'):
        with pytest.raises(TableException, match="Failed to deserialize CompiledPlan"):
            t_env.load_plan(PlanReference.from_json_string(text))
    with pytest.raises(UnsupportedFeatureError, match="a plan in Smile"):
        t_env.load_plan(PlanReference.from_smile_bytes(b":)"))

"""Plans are stored as statements with the tables and views that they name, and run wherever these are there or not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from funke.engine.errors import FunkeError, UnsupportedFeatureError
from funke.engine.flink_exceptions import TableException
from funke.table import EnvironmentSettings, PlanReference, TableEnvironment

INSERT = "INSERT INTO results SELECT k, c FROM counts WHERE k <> ''"
EXPLAINED = """== Optimized Execution Plan ==
Sink(table=[default_catalog.shop.results], fields=[k, c])
+- Calc("""


def environment() -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    made.execute_sql("CREATE DATABASE shop")
    return made


@pytest.fixture
def t_env() -> TableEnvironment:
    made = environment()
    made.execute_sql("USE shop")
    made.execute_sql("CREATE TABLE sales (k STRING, v INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')")
    made.execute_sql("CREATE TABLE results (k STRING, c BIGINT) WITH ('connector' = 'print')")
    made.execute_sql("CREATE VIEW counts AS SELECT k, COUNT(*) AS c FROM sales GROUP BY k")
    return made


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
    with pytest.raises(UnsupportedFeatureError, match="a plan of rows that no SQL statement gives"):
        t_env.from_path("counts").insert_into("results").compile_plan()


def test_plans_by_statements(t_env: TableEnvironment, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    t_env.execute_sql(f"COMPILE PLAN '{file}' FOR {INSERT}")
    before = file.read_text()
    t_env.execute_sql(f"COMPILE PLAN '{file}' IF NOT EXISTS FOR STATEMENT SET BEGIN {INSERT}; {INSERT}; END")
    assert file.read_text() == before
    with pytest.raises(TableException, match="Cannot overwrite the plan file"):
        t_env.execute_sql(f"COMPILE PLAN '{file}' FOR {INSERT}")


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

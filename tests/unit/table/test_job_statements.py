"""A job keeps what it was made from: its statements as they were written, without secrets, and their plans."""

from __future__ import annotations

from typing import Any

import pytest

from funke.datastream.job_submission import submitting_with
from funke.engine.jobs.views.job_view import StatementView
from funke.engine.jobs.views.view_making import planned_view
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.plan import to_plan
from funke.table import EnvironmentSettings, TableEnvironment
from tests.unit.datastream.fake_jobs import FakeEngine

TABLES = """
CREATE TABLE numbers (n INT, word STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '3');
CREATE TABLE counts (word STRING, total BIGINT) WITH ('connector' = 'blackhole');
CREATE TABLE copies (n INT, word STRING) WITH ('connector' = 'blackhole')
"""


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def t_env(engine: FakeEngine) -> Any:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for statement in TABLES.split(";"):
        environment.execute_sql(statement)
    with submitting_with(engine):  # type: ignore[arg-type]
        yield environment


def seen(engine: FakeEngine) -> tuple[StatementView, ...]:
    graph = engine.graphs[-1]
    job_graph = to_job_graph(graph)
    return planned_view("0" * 32, graph, job_graph, to_plan(job_graph), {}).statements


def test_an_insert_with_its_plan(t_env: Any, engine: FakeEngine) -> None:
    text = "INSERT INTO counts\n  SELECT word, COUNT(*) FROM numbers -- by word\n  GROUP BY word"
    t_env.execute_sql(f"  {text} ;\n")
    (result,) = seen(engine)
    assert result.sql == text
    lines = result.plan.splitlines()
    assert (
        lines[0] == "Sink(table=[default_catalog.default_database.counts], fields=[word, total], changelogMode=[NONE])"
    )
    assert any("GroupAggregate(groupBy=[word]" in line and "changelogMode=[I,UA]" in line for line in lines)
    assert any("Exchange(distribution=[hash[word" in line and "changelogMode=[I])" in line for line in lines)
    assert "TableSourceScan(table=[[default_catalog, default_database, numbers]]" in lines[-1]


def test_hidden_names_can_be_read(t_env: Any, engine: FakeEngine) -> None:
    window = "TUMBLE{}(PROCTIME(), INTERVAL '1' SECOND)"
    t_env.execute_sql(f"SELECT {window.format('_START')}, COUNT(*) FROM numbers GROUP BY {window.format('')}")
    (result,) = seen(engine)
    assert "w$start" in result.plan and "\x00" not in result.plan


def test_every_insert_of_a_set_and_the_table_api(t_env: Any, engine: FakeEngine) -> None:
    statements = t_env.create_statement_set()
    statements.add_insert_sql("INSERT INTO copies SELECT n, 'jdbc://me:abc@db/x' FROM numbers")
    statements.add(t_env.from_path("numbers").insert_into("copies"))
    statements.execute()
    first, second = seen(engine)
    assert first.sql == "INSERT INTO copies SELECT n, 'jdbc://me:******@db/x' FROM numbers"
    assert second.sql == "" and second.plan.startswith("Sink(table=[default_catalog.default_database.copies]")


def test_a_query_and_jobs_of_the_same_environment_do_not_mix(t_env: Any, engine: FakeEngine) -> None:
    t_env.execute_sql("EXECUTE STATEMENT SET BEGIN INSERT INTO copies SELECT * FROM numbers; END")
    assert [each.sql for each in seen(engine)] == ["INSERT INTO copies SELECT * FROM numbers"]
    t_env.execute_sql("SELECT n FROM numbers")
    assert [each.sql for each in seen(engine)] == ["SELECT n FROM numbers"]


def test_the_name_of_a_job_is_flinks_unless_one_is_set(t_env: Any, engine: FakeEngine) -> None:
    statements = ("INSERT INTO copies SELECT * FROM numbers", "SELECT * FROM numbers")
    for statement in statements:
        t_env.execute_sql(statement)
    t_env.get_config().set("pipeline.name", "mine")
    for statement in statements:
        t_env.execute_sql(statement)
    names = [graph.job_name for graph in engine.graphs]
    assert names == ["insert-into_default_catalog.default_database.copies", "collect", "mine", "mine"]

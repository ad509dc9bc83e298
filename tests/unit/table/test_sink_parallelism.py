"""As many subtasks write a table as make its rows, so that changes come in order; else those of a key stay together."""

from __future__ import annotations

from typing import Any

import pytest

from funke.datastream.job_submission import submitting_with
from funke.engine.flink_exceptions import TableException
from funke.engine.graph.column_key import ColumnKey
from funke.engine.graph.partitioners import Global, Hash
from funke.engine.graph.stream_graph import StreamNode
from funke.table import EnvironmentSettings, TableEnvironment
from tests.unit.datastream.fake_jobs import FakeEngine

ONE_ROW = "SELECT 1, COUNT(*) FROM numbers"
BY_KEY = "SELECT n, COUNT(*) FROM numbers GROUP BY n"
PLAIN = "SELECT n, CAST(n AS BIGINT) FROM numbers"


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def t_env(engine: FakeEngine) -> Any:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set("parallelism.default", "4")
    environment.execute_sql("CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')")
    for name, key, options in (
        ("plain", "", ""),
        ("three", "", ", 'sink.parallelism' = '3'"),
        ("keyed_three", ", PRIMARY KEY (n) NOT ENFORCED", ", 'sink.parallelism' = '3'"),
        ("keyed_four", ", PRIMARY KEY (n) NOT ENFORCED", ", 'sink.parallelism' = '4'"),
    ):
        environment.execute_sql(f"CREATE TABLE {name} (n INT, total BIGINT{key}) WITH ('connector' = 'print'{options})")
    with submitting_with(engine):  # type: ignore[arg-type]
        yield environment


def sink_of(engine: FakeEngine) -> StreamNode:
    nodes = engine.graphs[-1].nodes
    return nodes[max(nodes)]


@pytest.mark.parametrize(
    ("table", "query", "parallelism", "is_hashed"),
    [
        ("plain", ONE_ROW, 1, False),
        ("plain", BY_KEY, 4, False),
        ("plain", "VALUES (1, CAST(2 AS BIGINT))", 1, False),
        ("plain", f"{ONE_ROW} UNION ALL {BY_KEY}", 4, False),
        ("plain", f"{ONE_ROW} UNION ALL {ONE_ROW}", 1, False),
        ("three", PLAIN, 3, False),
        ("keyed_three", BY_KEY, 3, True),
        ("keyed_three", PLAIN, 3, True),
        ("keyed_four", BY_KEY, 4, False),
    ],
)
def test_as_many_as_make_the_rows(
    t_env: Any, engine: FakeEngine, table: str, query: str, parallelism: int, is_hashed: bool
) -> None:
    t_env.execute_sql(f"INSERT INTO {table} {query}")
    sink = sink_of(engine)
    assert (sink.parallelism or 4) == parallelism
    assert [isinstance(edge.partitioner, Hash) for edge in sink.inputs] == [is_hashed] * len(sink.inputs)


@pytest.mark.parametrize(
    ("table", "choice", "is_hashed"),
    [
        ("keyed_three", "NONE", False),
        ("keyed_four", "NONE", False),
        ("keyed_four", "force", True),
        ("plain", "FORCE", False),
    ],
)
def test_rows_of_a_key_are_brought_together_as_declared(
    t_env: Any, engine: FakeEngine, table: str, choice: str, is_hashed: bool
) -> None:
    t_env.get_config().set("table.exec.sink.keyed-shuffle", choice)
    t_env.execute_sql(f"INSERT INTO {table} {BY_KEY}")
    assert [isinstance(edge.partitioner, Hash) for edge in sink_of(engine).inputs] == [is_hashed]


@pytest.mark.parametrize(("table", "is_hashed"), [("keyed_three", True), ("keyed_four", False)])
def test_rows_are_kept_by_primary_key_in_one_subtask(
    t_env: Any, engine: FakeEngine, table: str, is_hashed: bool
) -> None:
    query = "SELECT CAST(c AS INT), CAST(n AS BIGINT) FROM (SELECT n, COUNT(*) AS c FROM numbers GROUP BY n)"
    t_env.get_config().set("table.exec.sink.keyed-shuffle", "NONE")
    t_env.execute_sql(f"INSERT INTO {table} {query} ON CONFLICT DO DEDUPLICATE")
    nodes = engine.graphs[-1].nodes
    (materializer,) = (each for each in nodes.values() if each.name == "SinkMaterializer")
    assert [edge.partitioner for edge in materializer.inputs] == [Hash(ColumnKey(("n",)))]
    assert [isinstance(edge.partitioner, Hash) for edge in sink_of(engine).inputs] == [is_hashed]


def test_changes_of_one_subtask_stay_in_order_among_those_of_several(t_env: Any, engine: FakeEngine) -> None:
    t_env.execute_sql(f"INSERT INTO plain {ONE_ROW} UNION ALL {BY_KEY}")
    nodes = engine.graphs[-1].nodes
    union = next(node for node in nodes.values() if len(node.inputs) == 2)
    results = [(nodes[edge.source].parallelism or 4, type(edge.partitioner)) for edge in union.inputs]
    assert results == [(1, Global), (4, type(None))]


def test_changes_without_a_key_are_not_spread(t_env: Any) -> None:
    with pytest.raises(TableException, match="configured parallelism of 3, while the input parallelism is 4"):
        t_env.execute_sql(f"INSERT INTO three {BY_KEY}")

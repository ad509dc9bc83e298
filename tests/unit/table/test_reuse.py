"""What several INSERTs have in common is computed once; the plans are those of Flink 2.3."""

from __future__ import annotations

import textwrap

import pytest

from funke.engine.errors import ConfigurationError
from funke.engine.graph.operations import ReadSource
from funke.table import EnvironmentSettings, TableEnvironment
from funke.table.statement_set import StatementSet

GREATER = ("INSERT INTO s1 SELECT a, b FROM src WHERE a > 1", "INSERT INTO s2 SELECT a, b FROM src WHERE a > 2")
COUNTS = (
    "INSERT INTO s3 SELECT b, n FROM (SELECT b, COUNT(*) AS n FROM src GROUP BY b) WHERE n > 1",
    "INSERT INTO s4 SELECT b, n FROM (SELECT b, COUNT(*) AS n FROM src GROUP BY b) WHERE n > 2",
)
RANDOM = ("INSERT INTO s3 SELECT b, RAND_INTEGER(5) FROM src", "INSERT INTO s4 SELECT b, RAND_INTEGER(5) FROM src")


def t_env_of(**settings: str) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, value in settings.items():
        t_env.get_config().set(f"table.optimizer.{name.replace('_', '-')}", value)
    t_env.execute_sql("""
        CREATE TABLE src (a INT, b STRING, c BIGINT)
        WITH ('connector' = 'datagen', 'rows-per-second' = '5')
    """)
    for name, columns in {"s1": "a INT, b STRING", "s2": "a INT, b STRING", "s3": "b STRING, n BIGINT"}.items():
        t_env.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'blackhole')")
    t_env.execute_sql("CREATE TABLE s4 LIKE s3")
    return t_env


def statements(t_env: TableEnvironment, *inserts: str) -> StatementSet:
    counts = t_env.create_statement_set()
    for each in inserts:
        counts.add_insert_sql(each)
    return counts


def execution_plan(t_env: TableEnvironment, *inserts: str) -> str:
    return statements(t_env, *inserts).explain().partition("== Optimized Execution Plan ==\n")[2]


def source_count(t_env: TableEnvironment, *inserts: str) -> int:
    env = t_env._env
    before = set(env._builder.graph.nodes)
    t_env._attach_inserts([t_env._insert_plan(each) for each in inserts])
    added = [env._builder.graph.nodes[number] for number in env._builder.graph.nodes if number not in before]
    return sum(isinstance(node.operation, ReadSource) for node in added)


def test_one_source_for_several_sinks() -> None:
    t_env = t_env_of()
    assert execution_plan(t_env, *GREATER) == textwrap.dedent("""\
        TableSourceScan(table=[[default_catalog, default_database, src]], fields=[a, b])(reuse_id=[1])

        Sink(table=[default_catalog.default_database.s1], fields=[a, b])
        +- Calc(select=[a, b], where=[(a > 1)])
           +- Reused(reference_id=[1])

        Sink(table=[default_catalog.default_database.s2], fields=[a, b])
        +- Calc(select=[a, b], where=[(a > 2)])
           +- Reused(reference_id=[1])
    """)
    assert source_count(t_env, *GREATER) == 1


def test_one_aggregation_for_several_sinks() -> None:
    t_env = t_env_of()
    assert execution_plan(t_env, *COUNTS) == textwrap.dedent("""\
        GroupAggregate(groupBy=[b], select=[b, COUNT(*) AS EXPR$0])(reuse_id=[1])
        +- Exchange(distribution=[hash[b$0]])
           +- Calc(select=[b AS b$0])
              +- TableSourceScan(table=[[default_catalog, default_database, src]], fields=[b])

        Sink(table=[default_catalog.default_database.s3], fields=[b, n])
        +- Calc(select=[b, EXPR$0 AS n], where=[(EXPR$0 > 1)])
           +- Reused(reference_id=[1])

        Sink(table=[default_catalog.default_database.s4], fields=[b, n])
        +- Calc(select=[b, EXPR$0 AS n], where=[(EXPR$0 > 2)])
           +- Reused(reference_id=[1])
    """)


def test_within_one_query() -> None:
    t_env = t_env_of()
    insert = "INSERT INTO s1 SELECT a, b FROM src WHERE a < 1 UNION ALL SELECT a, b FROM src WHERE a > 2"
    assert execution_plan(t_env, insert) == textwrap.dedent("""\
        Sink(table=[default_catalog.default_database.s1], fields=[a, b])
        +- Union(all=[true], union=[a, b])
           :- Calc(select=[a, b], where=[(a < 1)])
           :  +- TableSourceScan(table=[[default_catalog, default_database, src]], fields=[a, b])(reuse_id=[1])
           +- Calc(select=[a, b], where=[(a > 2)])
              +- Reused(reference_id=[1])
    """)
    assert source_count(t_env, insert) == 1


def test_random_rows_are_the_same_for_all() -> None:
    """As in Flink."""
    assert source_count(t_env_of(), *RANDOM) == 1
    assert "Calc(select=[b, " in execution_plan(t_env_of(), *RANDOM).partition("Sink")[0]


@pytest.mark.parametrize(
    ("setting", "inserts", "sources"),
    [
        ("reuse_source_enabled", GREATER, 2),
        # An equal part has its source with it.
        ("reuse_source_enabled", COUNTS, 1),
        ("reuse_sub_plan_enabled", GREATER, 2),
        ("reuse_sub_plan_enabled", COUNTS, 2),
    ],
)
def test_reuse_can_be_switched_off(setting: str, inserts: tuple[str, str], sources: int) -> None:
    t_env = t_env_of(**{setting: "false"})
    assert source_count(t_env, *inserts) == sources
    assert execution_plan(t_env, *inserts).count("TableSourceScan") == sources


def test_other_tables_are_read_by_themselves() -> None:
    t_env = t_env_of()
    t_env.execute_sql("CREATE TABLE other WITH ('rows-per-second' = '6') LIKE src (OVERWRITING OPTIONS)")
    assert source_count(t_env, GREATER[0], "INSERT INTO s2 SELECT a, b FROM other") == 2
    hinted = "INSERT INTO s2 SELECT a, b FROM src /*+ OPTIONS('rows-per-second' = '6') */ WHERE a > 2"
    assert source_count(t_env, GREATER[0], hinted) == 2


def test_a_second_reader_of_a_replication_slot_is_rejected() -> None:
    t_env = t_env_of()
    t_env.execute_sql("""
        CREATE TABLE changes (a INT, b STRING) WITH (
            'connector' = 'postgres-cdc', 'hostname' = 'db', 'username' = 'u', 'password' = 'secret',
            'database-name' = 'd', 'schema-name' = 's', 'table-name' = 't', 'slot.name' = 'one'
        )
    """)
    t_env.execute_sql("CREATE TABLE printed (a INT, b STRING) WITH ('connector' = 'print')")
    t_env.execute_sql("CREATE TABLE others WITH ('table-name' = 'u') LIKE changes (OVERWRITING OPTIONS)")
    inserts = [f"INSERT INTO printed SELECT a, b FROM changes WHERE a > {number}" for number in (1, 2)]
    assert source_count(t_env, *inserts) == 1
    for second in (
        "INSERT INTO printed SELECT a, b FROM others",
        "INSERT INTO printed SELECT a, b FROM changes /*+ OPTIONS('scan.startup.mode' = 'latest-offset') */",
    ):
        with pytest.raises(ConfigurationError, match="both read the replication slot 'one' of 'd' at db:5432, which"):
            statements(t_env, inserts[0], second).execute()
    t_env.get_config().set("table.optimizer.reuse-source-enabled", "false")
    with pytest.raises(ConfigurationError, match="reuse-source-enabled"):
        statements(t_env, *inserts).execute()

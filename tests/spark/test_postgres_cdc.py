"""A job from changes of PostgreSQL to a table of PostgreSQL, which goes on when the server ends its connections."""

from __future__ import annotations

from typing import Any

import pytest

from funke.table import EnvironmentSettings, TableEnvironment
from tests.harness.postgres_server import DATABASE, PASSWORD, USER, PostgresServer
from tests.spark.job_running import wait_until

pytestmark = pytest.mark.spark


def test_sums_of_a_table_that_changes(spark: Any, postgres: PostgresServer, tmp_path: Any) -> None:
    postgres.run(
        "create table if not exists accounts (id int primary key, owner text, money bigint)",
        "alter table accounts replica identity full",
        "create table if not exists sums (owner text primary key, money bigint, pieces bigint)",
        "insert into accounts select g, 'o' || g % 3, g from generate_series(1, 300) g",
    )
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {
        "parallelism.default": "2",
        "execution.checkpointing.interval": "200 ms",
        "execution.checkpointing.dir": f"file://{tmp_path}",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "20",
        "restart-strategy.fixed-delay.delay": "100 ms",
    }.items():
        t_env.get_config().set(key, value)
    password = PASSWORD.replace("'", "''")
    login = f"'username' = '{USER}', 'password' = '{password}'"
    t_env.execute_sql(f"""
        CREATE TABLE accounts (id INT, owner STRING, money BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH (
            'connector' = 'postgres-cdc', 'hostname' = '127.0.0.1', 'port' = '{postgres.port}', {login},
            'database-name' = '{DATABASE}', 'schema-name' = 'public', 'table-name' = 'accounts',
            'slot.name' = 'sums', 'debezium.publication.name' = 'sums', 'scan.incremental.snapshot.chunk.size' = '50'
        )
    """)
    t_env.execute_sql(f"""
        CREATE TABLE sums (owner STRING, money BIGINT, pieces BIGINT, PRIMARY KEY (owner) NOT ENFORCED) WITH (
            'connector' = 'jdbc', 'url' = '{postgres.jdbc_url}', 'table-name' = 'sums', {login},
            'sink.buffer-flush.interval' = '50 ms'
        )
    """)

    def is_right() -> bool:
        wanted = postgres.rows("select owner, sum(money), count(*) from accounts group by owner order by owner")
        return bool(postgres.rows("select * from sums order by owner") == [(o, int(m), n) for o, m, n in wanted])

    job = t_env.execute_sql("INSERT INTO sums SELECT owner, SUM(money), COUNT(*) FROM accounts GROUP BY owner")
    try:
        assert wait_until(is_right, 60)
        postgres.run(
            "update accounts set money = money + 1, owner = 'o0' where id <= 10", "delete from accounts where id = 20"
        )
        assert wait_until(is_right, 60)
        postgres.run("select pg_terminate_backend(active_pid) from pg_replication_slots where slot_name = 'sums'")
        postgres.run(
            "update accounts set id = id + 1000 where id > 290", "insert into accounts values (5000, 'new', 7)"
        )
        assert wait_until(is_right, 60)
    finally:
        job.get_job_client().cancel().result()
        free = "select not active from pg_replication_slots where slot_name = 'sums'"
        assert wait_until(lambda: postgres.rows(free) == [(True,)], 30)
        postgres.run("select pg_drop_replication_slot('sums')", "drop publication sums", "drop table accounts, sums")

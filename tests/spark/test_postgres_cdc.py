"""Jobs from changes of PostgreSQL to tables of PostgreSQL, which go on when the server ends their connections."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from funke.common import Configuration, Row, Types, WatermarkStrategy
from funke.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from funke.datastream.connectors.postgres_cdc import PostgresSource
from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
from tests.harness.postgres_server import DATABASE, PASSWORD, USER, PostgresServer
from tests.spark.job_running import new_environment, wait_until

pytestmark = pytest.mark.spark


def test_sums_of_a_table_that_changes(spark: Any, postgres: PostgresServer, tmp_path: Any) -> None:
    """Two statements over one table have one reader of its changes."""
    postgres.run(
        "create table if not exists accounts (id int primary key, owner text, money bigint)",
        "alter table accounts replica identity full",
        "create table if not exists sums (owner text primary key, money bigint, pieces bigint)",
        "create table if not exists richest (id int primary key, money bigint)",
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

    t_env.execute_sql(f"""
        CREATE TABLE richest (id INT, money BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH (
            'connector' = 'jdbc', 'url' = '{postgres.jdbc_url}', 'table-name' = 'richest', {login},
            'sink.buffer-flush.interval' = '50 ms'
        )
    """)

    def is_right() -> bool:
        expected = postgres.rows("select owner, sum(money), count(*) from accounts group by owner order by owner")
        is_summed = postgres.rows("select * from sums order by owner") == [(o, int(m), n) for o, m, n in expected]
        kept = postgres.rows("select id, money from accounts where money > 100 order by id")
        return is_summed and bool(postgres.rows("select * from richest order by id") == kept)

    statements = t_env.create_statement_set()
    statements.add_insert_sql("INSERT INTO sums SELECT owner, SUM(money), COUNT(*) FROM accounts GROUP BY owner")
    statements.add_insert_sql("INSERT INTO richest SELECT id, money FROM accounts WHERE money > 100")
    job = statements.execute()
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
        postgres.run("select pg_drop_replication_slot('sums')", "drop publication sums")
        postgres.run("drop table accounts, sums, richest")


def test_a_stream_of_rows_over_a_kill_and_a_savepoint(spark: Any, postgres: PostgresServer, tmp_path: Any) -> None:
    """What comes out is written down once for each row that comes: nothing is missing and nothing is there twice."""
    postgres.run(
        "create table pets (id int primary key, name text)",
        "create table seen (kind text, id int, name text)",
        "alter table pets replica identity full",
        "insert into pets select g, 'n' || g from generate_series(1, 40) g",
    )
    expected = Counter([("+I", number, f"n{number}") for number in range(1, 41)])

    def change(number: int) -> None:
        postgres.run(
            f"update pets set name = 'm' where id = {number}",
            f"delete from pets where id = {number + 1}",
            f"insert into pets values ({number + 1000}, null)",
        )
        expected.update([("-U", number, f"n{number}"), ("+U", number, "m"), ("-D", number + 1, f"n{number + 1}")])
        expected[("+I", number + 1000, None)] += 1

    def is_right() -> bool:
        return Counter(postgres.rows("select * from seen")) == expected

    client = started(postgres, tmp_path)
    try:
        assert wait_until(is_right, 60)
        change(1)
        assert wait_until(is_right, 60)
        reader = "select active_pid from pg_replication_slots where slot_name = 'pets'"
        ((killed,),) = postgres.rows(reader)
        postgres.run(f"select pg_terminate_backend({killed})")
        change(3)
        # The next attempt has connected, so that a savepoint does not fail with the last one.
        assert wait_until(lambda: postgres.rows(reader)[0][0] not in (killed, None) and is_right(), 60)
        savepoint = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
        change(5)
        client = started(postgres, tmp_path, savepoint)
        change(7)
        assert wait_until(is_right, 60), postgres.rows("select * from seen order by id")
    finally:
        client.cancel().result()
        free = "select not active from pg_replication_slots where slot_name = 'pets'"
        assert wait_until(lambda: postgres.rows(free) == [(True,)], 30)
        postgres.run("select pg_drop_replication_slot('pets')", "drop publication pets")
        postgres.run("drop table pets, seen, funke_commits")


def started(postgres: PostgresServer, folder: Any, savepoint: str | None = None) -> Any:
    fields = [DataTypes.FIELD("id", DataTypes.INT()), DataTypes.FIELD("name", DataTypes.STRING())]
    builder = PostgresSource.builder().hostname("127.0.0.1").port(postgres.port).database(DATABASE).username(USER)
    builder = builder.password(PASSWORD).table_list("pets").slot_name("pets").publication_name("pets").split_size(7)
    env = new_environment(2)
    configuration = Configuration().set_string("execution.checkpointing.dir", f"file://{folder}/checkpoints")
    configuration.set_string("restart-strategy.type", "fixed-delay").set_string(
        "restart-strategy.fixed-delay.attempts", "20"
    )
    configuration.set_string("restart-strategy.fixed-delay.delay", "100 ms")
    if savepoint is not None:
        configuration.set_string("execution.savepoint.path", savepoint)
    env.configure(configuration)
    env.enable_checkpointing(100)
    source = builder.row_type(DataTypes.ROW(fields)).build()
    kind = Types.ROW_NAMED(["kind", "id", "name"], [Types.STRING(), Types.INT(), Types.STRING()])
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "pets").uid("pets")
    options = JdbcConnectionOptions(postgres.jdbc_url, None, USER, PASSWORD)
    sink = JdbcSink.exactly_once_sink("insert into seen values (?, ?, ?)", kind, options)
    rows.map(lambda row: Row(str(row.get_row_kind()), row.id, row.name), kind).uid("told").add_sink(sink).uid("seen")
    return env.execute_async("pets")


def test_orders_meet_the_rates_of_their_time(spark: Any, postgres: PostgresServer) -> None:
    """The changes of a database are the right side of LATERAL SNAPSHOT; orders have no end."""
    postgres.run(
        "create table if not exists rates (currency int primary key, rate int, since timestamp)",
        "alter table rates replica identity full",
        "insert into rates select g, 100 + g, timestamp '2024-01-01 00:00:00' from generate_series(0, 1) g",
    )
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    password = PASSWORD.replace("'", "''")
    t_env.execute_sql(f"""
        CREATE TABLE rates (currency INT, rate INT, since TIMESTAMP(3), WATERMARK FOR since AS since,
                            PRIMARY KEY (currency) NOT ENFORCED) WITH (
            'connector' = 'postgres-cdc', 'hostname' = '127.0.0.1', 'port' = '{postgres.port}',
            'username' = '{USER}', 'password' = '{password}', 'database-name' = '{DATABASE}',
            'schema-name' = 'public', 'table-name' = 'rates',
            'slot.name' = 'rates', 'debezium.publication.name' = 'rates'
        )
    """)
    t_env.execute_sql("""
        CREATE TABLE orders (currency INT) WITH (
            'connector' = 'datagen', 'rows-per-second' = '200', 'fields.currency.min' = '0', 'fields.currency.max' = '1'
        )
    """)
    result = t_env.execute_sql("""
        SELECT o.currency, r.rate FROM orders AS o JOIN LATERAL SNAPSHOT(
            input => TABLE rates, on_time => DESCRIPTOR(since), load_completed_idle_timeout => INTERVAL '2' SECOND
        ) AS r ON o.currency = r.currency
    """)
    seen: list[tuple[Any, ...]] = []
    try:
        with result.collect() as rows:
            for row in rows:
                if not seen:
                    postgres.run("update rates set rate = 200, since = '2024-01-02 00:00:00' where currency = 1")
                seen.append(tuple(row))
                if row[1] == 200 or len(seen) > 50_000:
                    break
    finally:
        free = "select not active from pg_replication_slots where slot_name = 'rates'"
        assert wait_until(lambda: postgres.rows(free) == [(True,)], 30)
        postgres.run("select pg_drop_replication_slot('rates')", "drop publication rates", "drop table rates")
    # No order has met half of the update, or none of the rates that were there before.
    assert {*seen[:-1]} <= {(0, 100), (1, 101)} and seen[-1] == (1, 200)

"""Jobs from changes of MariaDB to tables of MariaDB, which go on when the server ends their connections."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from funke.common import Configuration, Row, Types, WatermarkStrategy
from funke.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from funke.datastream.connectors.mysql_cdc import MySqlSource
from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
from tests.harness.mariadb_server import DATABASE, PASSWORD, USER, MariaDbServer
from tests.spark.job_running import new_environment, wait_until

pytestmark = pytest.mark.spark

RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "20",
    "restart-strategy.fixed-delay.delay": "100 ms",
}


def end_streams(mariadb: MariaDbServer) -> None:
    """When they are gone, what comes next can only come to the next attempt."""
    find = "select id from information_schema.processlist where command = 'Binlog Dump'"
    ended = mariadb.rows(find)
    for (number,) in ended:
        mariadb.run(f"kill {number}")
    assert wait_until(lambda: not set(mariadb.rows(find)) & set(ended), 30)


def test_sums_of_a_table_that_changes(spark: Any, mariadb: MariaDbServer, tmp_path: Any) -> None:
    mariadb.run(
        "create table accounts (id int primary key, owner varchar(9), money bigint)",
        "create table sums (owner varchar(9) primary key, money bigint, pieces bigint)",
        "insert into accounts select seq, concat('o', seq % 3), seq from seq_1_to_300",
    )
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {
        "parallelism.default": "2",
        "execution.checkpointing.interval": "200 ms",
        "execution.checkpointing.dir": f"file://{tmp_path}",
        **RESTARTS,
    }.items():
        t_env.get_config().set(key, value)
    password = PASSWORD.replace("'", "''")
    login = f"'username' = '{USER}', 'password' = '{password}'"
    t_env.execute_sql(f"""
        CREATE TABLE accounts (id INT, owner STRING, money BIGINT, PRIMARY KEY (id) NOT ENFORCED) WITH (
            'connector' = 'mysql-cdc', 'hostname' = '127.0.0.1', 'port' = '{mariadb.port}', {login},
            'database-name' = '{DATABASE}', 'table-name' = 'accounts', 'scan.incremental.snapshot.chunk.size' = '50'
        )
    """)
    t_env.execute_sql(f"""
        CREATE TABLE sums (owner STRING, money BIGINT, pieces BIGINT, PRIMARY KEY (owner) NOT ENFORCED) WITH (
            'connector' = 'jdbc', 'url' = '{mariadb.jdbc_url}', 'table-name' = 'sums', {login},
            'sink.buffer-flush.interval' = '50 ms'
        )
    """)

    def is_right() -> bool:
        expected = mariadb.rows("select owner, sum(money), count(*) from accounts group by owner order by owner")
        return bool(mariadb.rows("select * from sums order by owner") == [(o, int(m), n) for o, m, n in expected])

    job = t_env.execute_sql("INSERT INTO sums SELECT owner, SUM(money), COUNT(*) FROM accounts GROUP BY owner")
    try:
        assert wait_until(is_right, 60)
        mariadb.run(
            "update accounts set money = money + 1, owner = 'o0' where id <= 10", "delete from accounts where id = 20"
        )
        assert wait_until(is_right, 60)
        end_streams(mariadb)
        mariadb.run("update accounts set id = id + 1000 where id > 290", "insert into accounts values (5000, 'new', 7)")
        assert wait_until(is_right, 60)
    finally:
        job.get_job_client().cancel().result()
        mariadb.run("drop table accounts, sums")


def test_a_stream_of_rows_over_a_kill_and_a_savepoint(spark: Any, mariadb: MariaDbServer, tmp_path: Any) -> None:
    """What comes out is written down once for each row that comes: nothing is missing and nothing is there twice."""
    mariadb.run(
        "create table pets (id int primary key, name varchar(9))",
        "create table seen (kind varchar(2), id int, name varchar(9))",
        "insert into pets select seq, concat('n', seq) from seq_1_to_40",
    )
    expected = Counter([("+I", number, f"n{number}") for number in range(1, 41)])

    def change(number: int) -> None:
        mariadb.run(
            f"update pets set name = 'm' where id = {number}",
            f"delete from pets where id = {number + 1}",
            f"insert into pets values ({number + 1000}, null)",
        )
        expected.update([("-U", number, f"n{number}"), ("+U", number, "m"), ("-D", number + 1, f"n{number + 1}")])
        expected[("+I", number + 1000, None)] += 1

    def is_right() -> bool:
        return Counter(mariadb.rows("select * from seen")) == expected

    client = started(mariadb, tmp_path)
    try:
        assert wait_until(is_right, 60)
        change(1)
        assert wait_until(is_right, 60)
        end_streams(mariadb)
        change(3)
        assert wait_until(is_right, 60)
        savepoint = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
        change(5)
        client = started(mariadb, tmp_path, savepoint)
        change(7)
        assert wait_until(is_right, 60), mariadb.rows("select * from seen order by id")
    finally:
        client.cancel().result()
        mariadb.run("drop table pets, seen, funke_commits")


def started(mariadb: MariaDbServer, folder: Any, savepoint: str | None = None) -> Any:
    fields = [DataTypes.FIELD("id", DataTypes.INT()), DataTypes.FIELD("name", DataTypes.STRING())]
    builder = MySqlSource.builder().hostname("127.0.0.1").port(mariadb.port).database_list(DATABASE).username(USER)
    builder = builder.password(PASSWORD).table_list("pets").split_size(7)
    env = new_environment(2)
    configuration = Configuration().set_string("execution.checkpointing.dir", f"file://{folder}/checkpoints")
    for key, value in RESTARTS.items():
        configuration.set_string(key, value)
    if savepoint is not None:
        configuration.set_string("execution.savepoint.path", savepoint)
    env.configure(configuration)
    env.enable_checkpointing(100)
    source = builder.row_type(DataTypes.ROW(fields)).build()
    kind = Types.ROW_NAMED(["kind", "id", "name"], [Types.STRING(), Types.INT(), Types.STRING()])
    rows = env.from_source(source, WatermarkStrategy.no_watermarks(), "pets").uid("pets")
    options = JdbcConnectionOptions(mariadb.jdbc_url, None, USER, PASSWORD)
    sink = JdbcSink.exactly_once_sink("insert into seen values (?, ?, ?)", kind, options)
    rows.map(lambda row: Row(str(row.get_row_kind()), row.id, row.name), kind).uid("told").add_sink(sink).uid("seen")
    return env.execute_async("pets")

"""Tables of the connector jdbc on a real MariaDB server, all in one test: two processes would start two servers."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from funke.common import Row, RowKind
from funke.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from funke.datastream.engine_values import to_engine_sink_function
from funke.engine.connectors.jdbc.jdbc_url import database_of
from funke.engine.errors import SinkError, SourceError, UnsupportedFeatureError
from funke.engine.sql.connectors.jdbc.jdbc_lookup import DatabaseRows
from tests.harness.mariadb_server import PASSWORD, USER
from tests.harness.sql_tables import source_of
from tests.unit.connectors.crash_harness import CrashingJob
from tests.unit.connectors.jdbc.test_jdbc_sink import INSERT, KIND
from tests.unit.sql.connectors.jdbc.test_jdbc_tables import KEYED, SOLD, changes, numbered, table, values, writer_of

UTC = datetime.UTC


class MariaDb:
    name = "mariadb"

    def __init__(self, server):
        self.server, self.run, self.rows = server, server.run, server.rows
        password = PASSWORD.replace("'", "''")
        self.options = (
            f"'connector' = 'jdbc', 'url' = '{server.jdbc_url}', 'username' = '{USER}', 'password' = '{password}'"
        )
        self.connection_options = JdbcConnectionOptions(server.jdbc_url, None, USER, PASSWORD)


def test_tables_of_mariadb(mariadb):
    database = MariaDb(mariadb)
    steps = (
        rows_of_many_types,
        parts_and_conditions,
        keys_are_looked_up,
        the_last_change_of_each_key,
        what_goes_wrong_is_reported,
        rows_are_written_once,
    )
    for step in steps:
        database.run("drop table if exists items, people, funke_commits")
        step(database)


def rows_of_many_types(database):
    database.run(
        "create table items (a tinyint, b bigint, c float, d double, e decimal(20, 5), f varchar(20), g varbinary(9), "
        "h date, i time(3), j datetime(6), k timestamp(6) null, l boolean, m bit(1), n json)",
    )
    with database.server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("set time_zone = '+02:00'")
        cursor.execute(
            "insert into items values (-1, 9007199254740993, 1.5, 0.1, 1.005, 'a \"b\" % ü', x'00ff', '1969-12-31', "
            "'01:02:03.456', '2020-01-02 03:04:05.678901', '2020-01-02 03:04:05.678901', true, b'0', '{\"k\": 1}')"
        )
        cursor.execute("insert into items () values ()")
        connection.commit()
    columns = (
        "a TINYINT, b BIGINT, c FLOAT, d DOUBLE, e DECIMAL(10, 2), f STRING, g BYTES, h DATE, i TIME(3), "
        "j TIMESTAMP(3), k TIMESTAMP_LTZ(6), l BOOLEAN, m BOOLEAN, n STRING"
    )
    first, second = values(source_of(table(database, columns)))
    assert first[:10] == (
        -1,
        9007199254740993,
        1.5,
        0.1,
        Decimal("1.01"),
        'a "b" % ü',
        b"\x00\xff",
        datetime.date(1969, 12, 31),
        datetime.time(1, 2, 3, 456000),
        SOLD.replace(microsecond=678000),
    )
    assert first[10] == datetime.datetime(2020, 1, 2, 1, 4, 5, 678901, UTC)
    assert first[11:] == (True, False, '{"k": 1}')
    assert set(second) == {None}


def parts_and_conditions(database):
    numbered(database, 20)
    bounds = (
        "'scan.partition.column' = 'id', 'scan.partition.num' = '3', 'scan.partition.lower-bound' = '1', "
        "'scan.partition.upper-bound' = '18'"
    )
    source = source_of(table(database, "name STRING, id BIGINT", bounds))
    assert sorted(row[1] for row in values(source)) == list(range(1, 19))
    assert len(values(source_of(table(database, "id BIGINT")).with_limit(3))) == 3


def keys_are_looked_up(database):
    database.run("create table items (id bigint, name varchar(9))", "insert into items values (1, 'a'), (2, 'B')")
    lookup = source_of(table(database, "id BIGINT, name STRING")).lookup_table()
    rows = DatabaseRows(lookup.database, lookup.read, ["id"], 0)
    keys = pa.record_batch([pa.array([1, 7])], ["id"])
    assert rows.fetch(keys).to_pylist() == [{"id": 1, "name": "a"}]
    # Others' rows are seen: no transaction stays open.
    database.run("insert into items values (7, 'c')")
    assert len(rows.fetch(keys)) == 2
    rows.close()


def the_last_change_of_each_key(database):
    database.run("create table items (id bigint primary key, name text, price decimal(8, 2), sold datetime(3))")
    text = table(database, KEYED, "'sink.buffer-flush.max-rows' = '0'")
    writer, context = writer_of(text)
    insert, after, delete = RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE
    writer.write_columns(changes(context, (insert, 1, "a % '", Decimal("1.50"), SOLD), (insert, 2, "b", None, None)))
    writer.prepare_commit()
    writer.write_columns(
        changes(
            context, (after, 1, "ü", Decimal("2.50"), SOLD), (delete, 2, "b", None, None), (insert, 3, "d", None, None)
        )
    )
    writer.flush(True)
    writer.close()
    assert sorted(values(source_of(text))) == [(1, "ü", Decimal("2.50"), SOLD), (3, "d", None, None)]


def what_goes_wrong_is_reported(database):
    with pytest.raises(SourceError, match=r"the table 'items' could not be read: ProgrammingError: .*doesn't exist"):
        values(source_of(table(database, "id INT")))
    database.run(
        "create table items (id bigint, name varchar(3) not null)", "insert into items values (3000000000, '')"
    )
    with pytest.raises(SourceError, match="does not fit the table's columns"):
        values(source_of(table(database, "id INT")))
    writer, context = writer_of(table(database, "id BIGINT, name STRING"))
    writer.write_columns(changes(context, (RowKind.INSERT, 1, None)))
    with pytest.raises(SinkError, match="rows could not be written: IntegrityError"):
        writer.prepare_commit()
    writer.close()
    arrays, context = writer_of(table(database, "id BIGINT, name ARRAY<STRING>"))
    with pytest.raises(UnsupportedFeatureError, match="an array in a table of MySQL or MariaDB"):
        arrays.write_columns(changes(context, (RowKind.INSERT, 1, ["a"])))
    arrays.close()
    wrong = database_of(database.server.jdbc_url, USER, "not it")
    with pytest.raises(wrong.error, match="Access denied") as rejected:
        wrong.connect()
    assert "not it" not in str(rejected.value) + repr(wrong)


def rows_are_written_once(database):
    """Whatever dies."""
    database.run("create table people (id bigint, name text)")
    sink = to_engine_sink_function(JdbcSink.exactly_once_sink(INSERT, KIND, database.connection_options))
    rows = [Row(number, "x") for number in range(6)]
    crashes = {1: "prepared", 2: "half committed", 3: "complete"}
    CrashingJob(sink, rows, crashes, lambda writer: None, KIND).run()
    assert [row[0] for row in database.rows("select id from people order by id")] == list(range(len(rows)))

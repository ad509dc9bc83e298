"""The JDBC sink on SQLite and on a real PostgreSQL server."""

from __future__ import annotations

import datetime
import pickle
import sqlite3
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.common import Instant, Row, RowKind, Types
from funke.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from funke.datastream.engine_values import to_engine_sink_function
from funke.engine.connectors.jdbc import sink as jdbc_sink
from funke.engine.connectors.jdbc.jdbc_url import database_of
from funke.engine.connectors.jdbc.sql_text import count_placeholders, to_format_style, upsert_statement
from funke.engine.errors import ConfigurationError, SinkError, UnsupportedFeatureError
from tests.harness.postgres_server import PASSWORD, USER
from tests.unit.connectors.crash_harness import CRASH_POINTS, CrashingJob
from tests.unit.connectors.sink_harness import SinkHarness

KIND = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
INSERT = "insert into people (id, name) values (?, ?)"


class Sqlite:
    """A file, with the few things that tests ask of a database."""

    def __init__(self, folder):
        self.path = folder / "people.db"
        self.options = JdbcConnectionOptions(f"jdbc:sqlite:{self.path}")

    def run(self, *statements):
        with sqlite3.connect(self.path) as connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()

    def rows(self, query):
        connection = sqlite3.connect(self.path)
        rows = connection.execute(query).fetchall()
        connection.close()
        return rows


class Postgres:
    def __init__(self, server):
        self.server = server
        self.run, self.rows = server.run, server.rows
        self.options = (
            JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
            .with_url(server.jdbc_url)
            .with_driver_name("org.postgresql.Driver")
            .with_user_name(USER)
            .with_password(PASSWORD)
            .build()
        )


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    result = Sqlite(tmp_path) if request.param == "sqlite" else Postgres(request.getfixturevalue("postgres"))
    result.run("drop table if exists people", "drop table if exists funke_commits")
    result.run("create table people (id bigint primary key, name text)")
    return result


def engine_sink(sink):
    return pickle.loads(pickle.dumps(to_engine_sink_function(sink)))


def batches(size=5000, interval_ms=0, retries=0):
    builder = JdbcExecutionOptions.builder().with_batch_size(size).with_batch_interval_ms(interval_ms)
    return builder.with_max_retries(retries).build()


def ids(database):
    return [row[0] for row in database.rows("select id from people order by id")]


def test_rows_are_written_when_there_are_enough_at_checkpoints_and_at_the_end(database):
    writer = engine_sink(JdbcSink.sink(INSERT, KIND, database.options, batches(2))).create_writer(
        SinkHarness().context()
    )
    writer.write([Row(1, "a")], None)
    writer.flush(False)
    assert ids(database) == []
    writer.write([Row(2, None), (3, "c")], None)
    assert ids(database) == [1, 2]
    assert writer.prepare_commit() == []
    assert ids(database) == [1, 2, 3]
    writer.write([Row(4, "d")], None)
    writer.flush(True)
    assert ids(database) == [1, 2, 3, 4]
    writer.close()
    assert database.rows("select name from people where id = 2") == [(None,)]


def test_rows_are_written_when_they_have_waited_long_enough(database):
    harness = SinkHarness(now_ms=1000)
    sink = engine_sink(JdbcSink.sink(INSERT, KIND, database.options, batches(interval_ms=50)))
    writer = sink.create_writer(harness.context())
    assert writer.next_wakeup_ms() is None
    writer.write([Row(1, "a")], None)
    assert writer.next_wakeup_ms() == 1050
    writer.on_processing_time(1049)
    assert ids(database) == []
    writer.on_processing_time(1050)
    assert (ids(database), writer.next_wakeup_ms()) == ([1], None)
    writer.close()


def test_a_batch_is_written_completely_or_not_at_all(database):
    writer = engine_sink(JdbcSink.sink(INSERT, KIND, database.options)).create_writer(SinkHarness().context())
    writer.write([Row(1, "a"), Row(2, "b"), Row(1, "again")], None)
    with pytest.raises(SinkError, match=r"rows could not be written: .*(UNIQUE|unique)"):
        writer.prepare_commit()
    assert ids(database) == []


def test_values_of_all_types(database):
    kinds = {
        "a_long": Types.LONG(),
        "a_decimal": Types.BIG_DEC(),
        "a_time": Types.SQL_TIMESTAMP(),
        "a_date": Types.SQL_DATE(),
        "bytes": Types.PRIMITIVE_ARRAY(Types.BYTE()),
        "an_instant": Types.INSTANT(),
        "a_flag": Types.BOOLEAN(),
    }
    database.run(
        "drop table if exists kinds",
        "create table kinds (a_long bigint, a_decimal numeric(20, 3), a_time timestamp, a_date date, "
        f"bytes {'blob' if isinstance(database, Sqlite) else 'bytea'}, an_instant timestamp with time zone, "
        "a_flag boolean)",
    )
    sink = JdbcSink.sink(
        "insert into kinds values (?, ?, ?, ?, ?, ?, ?)",
        Types.ROW_NAMED(list(kinds), list(kinds.values())),
        database.options,
    )
    writer = engine_sink(sink).create_writer(SinkHarness().context())
    timestamp = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)
    writer.write(
        [Row(2**60, Decimal("1.500"), timestamp, timestamp.date(), b"\x00\xff", Instant(1, 500_000_000), True)], None
    )
    writer.flush(True)
    writer.close()
    query = (
        "select a_long, cast(a_decimal as text), cast(a_time as text), cast(a_date as text), bytes, a_flag from kinds"
    )
    (row,) = database.rows(query)
    assert row[0] == 2**60 and Decimal(row[1]) == Decimal("1.5")
    assert row[2:4] == ("2024-05-06 07:08:09.123456", "2024-05-06")
    assert bytes(row[4]) == b"\x00\xff" and bool(row[5]) is True


def test_upserts_keep_the_last_row_of_a_key_and_delete(database):
    sink = engine_sink(JdbcSink.upsert_sink("people", ["id"], KIND, database.options))
    gone = Row(2, "b")
    gone.set_row_kind(RowKind.DELETE)
    work = [Row(1, "a"), Row(2, "b"), Row(1, "changed"), gone, Row(3, "c")]
    for _ in range(2):  # the second time as after a restart
        writer = sink.create_writer(SinkHarness().context())
        writer.write(work, None)
        writer.flush(True)
        writer.close()
        assert database.rows("select id, name from people order by id") == [(1, "changed"), (3, "c")]


def exactly_once(database, **settings):
    return to_engine_sink_function(JdbcSink.exactly_once_sink(INSERT, KIND, database.options, batches(3), **settings))


def test_exactly_once_rows_become_visible_with_the_commit(database):
    sink = exactly_once(database)
    writer = pickle.loads(pickle.dumps(sink)).create_writer(SinkHarness().context())
    writer.write([Row(number, str(number)) for number in range(10)], None)
    writer.flush(False)
    prepared = pickle.loads(pickle.dumps(writer.prepare_commit()))
    assert (len(prepared), ids(database), writer.prepare_commit()) == (1, [], [])
    for _ in range(3):
        sink.create_committer().commit_epoch(1, prepared)
        assert ids(database) == list(range(10))
    assert database.rows("select sink, writer, number from funke_commits") == [("job/sink", "0-0", 0)]


def test_the_table_of_the_notes_can_be_named(database):
    database.run("drop table if exists notes")
    options = JdbcExactlyOnceOptions.builder().with_commit_table("notes").build()
    sink = exactly_once(database, jdbc_exactly_once_options=options)
    writer = sink.create_writer(SinkHarness().context())
    writer.write([Row(1, "a")], None)
    sink.create_committer().commit(writer.prepare_commit())
    assert (ids(database), len(database.rows("select * from notes"))) == ([1], 1)


def test_a_commit_that_breaks_rules_changes_nothing(database):
    database.run("insert into people values (2, 'is there')")
    sink = exactly_once(database)
    writer = sink.create_writer(SinkHarness().context())
    writer.write([Row(1, "a"), Row(2, "b")], None)
    prepared = writer.prepare_commit()
    with pytest.raises(SinkError, match="could not be written"):
        sink.create_committer().commit(prepared)
    assert (ids(database), database.rows("select * from funke_commits")) == ([2], [])
    database.run("delete from people")
    sink.create_committer().commit(prepared)
    assert ids(database) == [1, 2]


@pytest.mark.parametrize("point", CRASH_POINTS)
def test_a_crash_at_each_step(database, point):
    rows = [Row(number, str(number)) for number in range(10)]
    # A primary key: a row that came twice would be an error, so the ids alone would not tell.
    database.run("drop table people", "create table people (id bigint, name text)")
    CrashingJob(exactly_once(database), rows, {2: point, 4: point}, lambda writer: None, KIND).run()
    assert ids(database) == list(range(10))


@settings(deadline=None, max_examples=20)
@given(
    crashes=st.dictionaries(st.integers(1, 5), st.sampled_from(CRASH_POINTS), max_size=5),
    aborted=st.frozensets(st.integers(1, 4)),
    parallelism=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    is_staged=st.booleans(),
)
def test_any_crashes_lose_and_repeat_nothing(tmp_path_factory, crashes, aborted, parallelism, is_staged):
    folder = tmp_path_factory.mktemp("sqlite")
    database = Sqlite(folder)
    database.run("create table people (id bigint, name text)")
    rows = [Row(number, str(number)) for number in range(10)]
    staging = str(folder / "staging") if is_staged else None
    job = CrashingJob(
        exactly_once(database), rows, crashes, lambda writer: None, KIND, tuple(parallelism), 2, aborted, staging
    )
    job.run()
    assert ids(database) == list(range(10))
    assert list(folder.rglob("*.staged")) == [], "what waits for a commit is deleted after it"


class Flaky:
    """A connection whose first transactions fail on their way to the database, or after they got there."""

    def __init__(self, database, failures, is_done):
        self.database, self.failures, self.is_done = database, failures, is_done

    def connect(self):
        connection = self.database.connect()
        outer = self

        class Proxy:
            def cursor(self):
                return connection.cursor()

            def commit(self):
                if outer.failures:
                    outer.failures -= 1
                    if outer.is_done:
                        connection.commit()
                    raise sqlite3.OperationalError("the connection is lost")
                connection.commit()

            def close(self):
                connection.close()

        return Proxy()

    def __getattr__(self, name):
        return getattr(self.database, name)


@pytest.mark.parametrize(("failures", "is_done"), [(2, False), (2, True)])
def test_exactly_once_survives_lost_connections(tmp_path, failures, is_done):
    """Also when the database has committed and the answer got lost: the next try finds the note."""
    database = Sqlite(tmp_path)
    database.run("create table people (id bigint, name text)")
    sink = exactly_once(database)
    writer = sink.create_writer(SinkHarness().context())
    writer.write([Row(number, "x") for number in range(5)], None)
    prepared = writer.prepare_commit()
    connection = jdbc_sink.Connection(Flaky(sink.database, failures, is_done), 3, pause=lambda seconds: None)
    committer = sink.create_committer()
    connection.in_transaction(committer._create_table)
    connection.in_transaction(lambda cursor: committer._write(cursor, prepared[0]))
    assert ids(database) == list(range(5))


def test_a_batch_is_tried_again_as_often_as_is_set(tmp_path):
    database = Sqlite(tmp_path)
    database.run("create table people (id bigint, name text)")
    pauses = []
    for failures, retries in ((2, 2), (3, 2)):
        flaky = Flaky(database_of(database.options.get_db_url()), failures, False)
        connection = jdbc_sink.Connection(flaky, retries, pauses.append)

        def insert(cursor):
            cursor.execute("insert into people values (1, 'a')")

        if failures <= retries:
            connection.in_transaction(insert)
        else:
            with pytest.raises(SinkError, match="connection is lost"):
                connection.in_transaction(insert)
    assert (ids(database), pauses) == ([1], [0.0, 1.0, 0.0, 1.0])


def test_a_database_that_cannot_be_reached_is_reported_at_once(tmp_path, request):
    nowhere = JdbcConnectionOptions(f"jdbc:sqlite:{tmp_path}/no/such/folder.db")
    for sink in (JdbcSink.sink(INSERT, KIND, nowhere), JdbcSink.exactly_once_sink(INSERT, KIND, nowhere)):
        with pytest.raises(SinkError, match="cannot be reached"):
            engine_sink(sink).create_writer(SinkHarness().context())
    server = request.getfixturevalue("postgres")
    wrong = JdbcConnectionOptions(server.jdbc_url, None, USER, "wrong")
    with pytest.raises(SinkError, match="password authentication failed"):
        engine_sink(JdbcSink.sink(INSERT, KIND, wrong)).create_writer(SinkHarness().context())


@pytest.mark.parametrize(
    ("sql", "translated", "placeholders"),
    [
        ("insert into t values (?, ?)", "insert into t values (%s, %s)", 2),
        ("select '?', \"?\" -- ?\n, ? /* ? */", "select '?', \"?\" -- ?\n, %s /* ? */", 1),
        ("select 'it''s ?' where a ?? ?", "select 'it''s ?' where a ? %s", 1),
        ("select $x$ ? $$ ? $x$, ? % 5", "select $x$ ? $$ ? $x$, %s %% 5", 1),
        ("select '100%'", "select '100%%'", 0),
    ],
)
def test_placeholders_are_found_where_they_count(sql, translated, placeholders):
    assert to_format_style(sql) == translated
    assert count_placeholders(sql) == placeholders


def test_an_upsert_of_keys_alone_does_nothing_to_a_row_that_is_there():
    assert upsert_statement("s.t", ["a"], ["a"]) == 'INSERT INTO "s"."t" ("a") VALUES (?) ON CONFLICT ("a") DO NOTHING'


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jdbc:postgresql://db/shop", {"host": "db", "port": "5432", "dbname": "shop"}),
        ("jdbc:postgresql:shop", {"host": "localhost", "port": "5432", "dbname": "shop"}),
        ("jdbc:postgresql:///shop", {"host": "localhost", "port": "5432", "dbname": "shop"}),
        ("jdbc:postgresql://a:1,b/my%20shop", {"host": "a,b", "port": "1,5432", "dbname": "my shop"}),
        ("jdbc:postgresql://[::1]:77/d", {"host": "::1", "port": "77", "dbname": "d"}),
        (
            "jdbc:postgresql://h/d?user=u&password=p&ssl=true&currentSchema=s&reWriteBatchedInserts=true",
            {"host": "h", "port": "5432", "dbname": "d", "user": "u", "password": "p", "sslmode": "require",
             "options": "-csearch_path=s"},
        ),
    ],
)  # fmt: skip
def test_postgresql_urls(url, expected):
    assert database_of(url).settings == expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jdbc:mysql://db/shop", {"host": "db", "port": 3306, "database": "shop"}),
        ("jdbc:mariadb://[::1]:77/my%20shop", {"host": "::1", "port": 77, "database": "my shop"}),
        (
            "jdbc:mysql://h?user=u&password=p&useSSL=false&serverTimezone=UTC&connectTimeout=2500",
            {"host": "h", "port": 3306, "user": "u", "password": "p", "ssl": None, "connect_timeout": 2},
        ),
        (
            "jdbc:mariadb://h/d?sslMode=verify-full",
            {"host": "h", "port": 3306, "database": "d", "ssl": {"verify_mode": "required", "check_hostname": True}},
        ),
    ],
)
def test_mysql_urls(url, expected):
    assert database_of(url).settings == expected


def test_what_cannot_be_written_to_is_rejected_before_the_job_starts():
    options = JdbcConnectionOptions("jdbc:sqlite:x.db")
    with pytest.raises(ConfigurationError, match="2 placeholders and its rows have 1 fields"):
        JdbcSink.sink(INSERT, Types.ROW([Types.INT()]), options)
    with pytest.raises(ConfigurationError, match="has no type in a database"):
        JdbcSink.sink("insert into t values (?)", Types.ROW([Types.MAP(Types.INT(), Types.INT())]), options)
    with pytest.raises(ConfigurationError, match=r"Types\.ROW"):
        JdbcSink.sink("insert into t values (?)", Types.INT(), options)
    with pytest.raises(ConfigurationError, match="must be some of the fields"):
        JdbcSink.upsert_sink("t", ["key"], KIND, options)
    with pytest.raises(ConfigurationError, match="not be negative"):
        JdbcSink.sink(INSERT, KIND, options, batches(-1))
    with pytest.raises(ConfigurationError, match="is not a JDBC URL"):
        JdbcSink.sink(INSERT, KIND, JdbcConnectionOptions("postgresql://x"))
    with pytest.raises(ConfigurationError, match="memory"):
        JdbcSink.sink(INSERT, KIND, JdbcConnectionOptions("jdbc:sqlite::memory:"))
    with pytest.raises(ConfigurationError, match="'fetchsize'"):
        JdbcSink.sink(INSERT, KIND, JdbcConnectionOptions("jdbc:postgresql://x/y?fetchsize=1"))
    with pytest.raises(ConfigurationError, match="'fetchsize' of a MySQL URL is unknown"):
        JdbcSink.sink(INSERT, KIND, JdbcConnectionOptions("jdbc:mysql://x/y?fetchsize=1"))
    with pytest.raises(ConfigurationError, match="with one host"):
        JdbcSink.sink(INSERT, KIND, JdbcConnectionOptions("jdbc:mysql://x,z/y"))
    with pytest.raises(UnsupportedFeatureError, match="JDBC for oracle"):
        JdbcSink.sink(INSERT, KIND, JdbcConnectionOptions("jdbc:oracle://x/y"))


def test_a_password_is_not_shown():
    options = JdbcConnectionOptions("jdbc:postgresql://h/d", None, "me", "hidden")
    sinks = [JdbcSink.sink(INSERT, KIND, options), JdbcSink.exactly_once_sink(INSERT, KIND, options)]
    assert all("hidden" not in repr(to_engine_sink_function(sink)) for sink in sinks)

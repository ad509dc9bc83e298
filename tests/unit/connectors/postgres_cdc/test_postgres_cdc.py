"""Changes of a real PostgreSQL server: rows, then the log, nothing lost and nothing twice, whatever is killed."""

from __future__ import annotations

import contextlib
import datetime
import random
import threading
import uuid
from decimal import Decimal

import psycopg
import pytest

from funke.engine.connectors.jdbc.jdbc_url import database_of
from funke.engine.connectors.postgres_cdc.settings import PostgresCdcSettings
from funke.engine.connectors.postgres_cdc.source import PostgresCdcSource
from funke.engine.errors import SourceError
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.logical.row_type import RowField
from tests.harness.postgres_server import PASSWORD, USER
from tests.unit.connectors.change_capture.cdc_run import CdcRun
from tests.unit.connectors.change_capture.random_writer import RandomWriter, while_a_writer_works

FIELDS = (RowField("id", DataTypes.BIGINT()), RowField("name", DataTypes.STRING()))


class Database:
    """A schema, a publication and a slot of a test's own."""

    def __init__(self, server, name):
        self.server, self.name = server, name
        self.runs = []
        server.run(f"create schema {name}", f"create table {name}.items (id bigint primary key, name text)")

    def source(self, fields=FIELDS, **changes):
        database = database_of(self.server.jdbc_url, USER, PASSWORD)
        created = {"table_pattern": "items", "slot": self.name, "publication": self.name, "chunk_rows": 7, **changes}
        return PostgresCdcSource(PostgresCdcSettings(database, self.name, fields=fields, **created))

    def start(self, fields=FIELDS, parallelism=2, seed=0, **changes):
        self.runs.append(CdcRun(self.source(fields, **changes), parallelism, seed))
        return self.runs[-1]

    def run(self, *statements):
        """One transaction."""
        with self.server.connect() as connection:
            connection.execute(f"set search_path = {self.name}")
            for statement in statements:
                connection.execute(statement)

    @contextlib.contextmanager
    def connect(self):
        with self.server.connect() as connection:
            connection.execute(f"set search_path = {self.name}")
            connection.commit()
            yield connection

    def rows(self, table="items"):
        rows = self.server.rows(f"select * from {self.name}.{table}")
        return sorted((tuple(map(_as_read, row)) for row in rows), key=repr)

    def close(self):
        for each in self.runs:
            each.close()
        with self.server.connect() as connection:
            connection.autocommit = True
            active = "select pg_terminate_backend(active_pid) from pg_replication_slots where slot_name = %s and active"
            connection.execute(active, (self.name,))
            for _ in range(100):
                try:
                    drop = "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = %s"
                    connection.execute(drop, (self.name,))
                    break
                except psycopg.errors.ObjectInUse:
                    threading.Event().wait(0.05)
            connection.execute(f"drop publication if exists {self.name}")
            connection.execute(f"drop schema {self.name} cascade")


def _as_read(value):
    """A value as the source tells it."""
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC)
    return str(value) if isinstance(value, uuid.UUID) else value


_numbers = iter(range(1000))


@pytest.fixture
def shop(postgres):
    created = Database(postgres, f"shop{next(_numbers)}")
    yield created
    created.close()


@pytest.fixture
def full(shop):
    shop.run("alter table items replica identity full")
    return shop


def settle(run, shop):
    run.run_until(lambda: run.table() == shop.rows())


def test_rows_and_then_changes(full):
    full.run("insert into items select g, 'n' || g from generate_series(1, 20) g")
    run = full.start()
    settle(run, full)
    assert {sign for sign, _ in run.changes} == {"+I"}
    full.run("update items set name = 'x' where id = 3", "delete from items where id = 4")
    full.run("update items set id = 99 where id = 5", "insert into items values (50, null)")
    before = len(run.changes)
    settle(run, full)
    assert run.changes[before:] == [
        ("-U", (3, "n3")),
        ("+U", (3, "x")),
        ("-D", (4, "n4")),
        ("-U", (5, "n5")),
        ("+U", (99, "n5")),
        ("+I", (50, None)),
    ]


def test_a_table_is_read_in_parts_by_its_key(full):
    full.run("insert into items select g * 1000003, 'n' from generate_series(1, 50) g")
    run = full.start()
    assert len(run.enumerator._waiting) >= 7
    settle(run, full)
    full.server.run(f"analyze {full.name}.items")
    even = full.source().create_enumerator(1)
    assert 7 <= len(even._waiting) <= 9
    even.close()


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("text", "chr(97 + n % 26) || chr(65 + n % 7) || n"),
        ("uuid", "md5(n::text)::uuid"),
        ("timestamptz", "timestamptz '2020-01-01 00:00:00.25+01' + n * interval '1 day'"),
    ],
)
def test_parts_by_keys_of_other_types(full, kind, value):
    """Also when the rest is read by another snapshot, so that changes are told apart by their keys."""
    collation = 'collate "POSIX"' if kind == "text" else ""
    full.run(
        "drop table items",
        f"create table items (id {kind} {collation}, n int, name text, primary key (id, n))",
        "alter table items replica identity full",
        f"create function key(n int) returns {kind} language sql as $$ select {value} $$",
        "insert into items select key(n), n, 'x' from generate_series(1, 60) n",
        # More rows of one key than a part should have.
        "insert into items select key(70), n, 'x' from generate_series(1, 20) n",
    )
    text = DataTypes.TIMESTAMP_LTZ(6) if kind == "timestamptz" else DataTypes.STRING()
    fields = (RowField("id", text), RowField("n", DataTypes.INT()), RowField("name", DataTypes.STRING()))
    run = full.start(fields, is_parallel=True, parallelism=1)
    assert 5 <= len(run.enumerator._waiting) <= 12
    run.run_until(lambda: len(run.enumerator._finished) == 2)
    run.checkpoint()
    full.run("update items set name = 'y' where n % 3 = 0", "delete from items where n % 5 = 0")
    full.run("update items set id = key(n + 7) where n % 4 = 1 and id <> key(70)")
    run.kill()

    run.run_until(lambda: run.checkpoint() or run.table() == full.rows())


def test_transactions_that_are_open_at_the_seam(full):
    full.run("insert into items values (1, 'a'), (2, 'b')")
    run = full.start()
    with full.server.connect() as open_one:
        open_one.execute(f"update {full.name}.items set name = 'open' where id = 1")
        open_one.execute(f"insert into {full.name}.items values (3, 'open')")
        full.run("update items set name = 'seen or not' where id = 2")
        run.run_until(lambda: len(run.changes) >= 2)
    settle(run, full)


def test_what_was_rolled_back_does_not_come(full):
    run = full.start()
    with pytest.raises(psycopg.Error):
        full.run("insert into items values (1, 'a')", "insert into items values (1, 'a')")
    full.run("insert into items values (2, 'b')")
    settle(run, full)
    assert run.changes == [("+I", (2, "b"))]


def test_a_big_transaction_is_cut_into_records(full):
    run = full.start()
    run.run_until(lambda: run.enumerator._reads_log)
    full.run("insert into items select g, 'n' from generate_series(1, 2500) g", "update items set name = 'm'")
    run.run_until(lambda: len(run.changes) == 7500)
    assert run.table() == full.rows()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("is_upsert", [False, True], ids=["all", "upsert"])
def test_nothing_is_lost_or_seen_twice_while_a_writer_works_and_the_job_is_killed(shop, seed, is_upsert):
    if not is_upsert:
        shop.run("alter table items replica identity full")
    shop.run("insert into items select g, 'n' || g from generate_series(1, 40) g")
    insert = "insert into items values (%s, %s) on conflict (id) do nothing"
    move = "update items set id = %s where id = %s and not exists (select from items where id = %s)"
    writer = RandomWriter(shop.connect, insert, move, 250, seed)

    def start():
        # As a job with checkpoints: changes wait for one behind the tables.
        return shop.start(parallelism=3, seed=seed, is_upsert=is_upsert, is_parallel=True)

    while_a_writer_works(writer, start, shop.rows, is_upsert)


def test_the_server_learns_what_checkpoints_hold(full):
    def confirmed():
        query = f"select confirmed_flush_lsn from pg_replication_slots where slot_name = '{full.name}'"
        return full.server.rows(query)[0][0]

    run = full.start()
    full.run("insert into items values (1, 'a')")
    settle(run, full)
    before = confirmed()
    # Other tables fill the log, too: the slot must not hold them for ever.
    full.run("create table other (x int)", "insert into other select generate_series(1, 1000)")
    for _ in range(50):
        run.step()
    assert confirmed() == before
    run.checkpoint()
    run.run_until(lambda: confirmed() != before)
    run.close()
    late = full.start(confirm_delay=1, start_mode="committed-offset")
    full.run("insert into items values (2, 'b')")
    late.run_until(lambda: len(late.changes) == 1)
    before = confirmed()
    late.checkpoint()
    for _ in range(50):
        late.step()
    assert confirmed() == before
    late.checkpoint()
    late.run_until(lambda: confirmed() != before)


def test_long_values_that_did_not_change(shop):
    long = "'" + "".join(random.Random(1).choices("abcdefghij", k=20_000)) + "'"
    shop.run("alter table items add column more int", "alter table items alter column name set storage external")
    shop.run(f"insert into items values (1, {long}, 0)")
    fields = (*FIELDS, RowField("more", DataTypes.INT()))
    run = shop.start(fields, is_upsert=True)
    run.run_until(lambda: run.upserted() == shop.rows())
    shop.run("update items set more = 1")
    run.run_until(lambda: run.upserted() == shop.rows())
    shop.run("alter table items replica identity full")
    shop.run("update items set more = 2")
    run.run_until(lambda: run.upserted() == shop.rows())


def test_keys_that_change_without_whole_rows(shop):
    shop.run("insert into items values (1, 'a'), (2, 'b')")
    run = shop.start(is_upsert=True)
    run.run_until(lambda: run.upserted() == shop.rows())
    before = len(run.changes)
    shop.run("update items set id = 3 where id = 1", "delete from items where id = 2")
    run.run_until(lambda: run.upserted() == shop.rows())
    assert run.changes[before:] == [("-D", (1, None)), ("+U", (3, "a")), ("-D", (2, None))]


def test_values_of_many_types(full):
    full.run(
        "create table kinds (a int primary key, b numeric(20, 5), c bytea, d timestamptz, e timestamp, f date, g time, "
        "h boolean, i double precision, j text[], k int[], l uuid, m jsonb, n real)",
        "alter table kinds replica identity full",
    )
    kinds = DataTypes
    fields = [
        ("a", kinds.INT()), ("b", kinds.DECIMAL(10, 2)), ("c", kinds.BYTES()), ("d", kinds.TIMESTAMP_LTZ(3)),
        ("e", kinds.TIMESTAMP(6)), ("f", kinds.DATE()), ("g", kinds.TIME(3)), ("h", kinds.BOOLEAN()),
        ("i", kinds.DOUBLE()), ("j", kinds.ARRAY(kinds.STRING())), ("k", kinds.ARRAY(kinds.INT())),
        ("l", kinds.STRING()), ("m", kinds.STRING()), ("n", kinds.FLOAT()),
    ]  # fmt: skip
    insert = (
        r"insert into kinds values ({}, 1.005, '\x00ff', '2020-01-01 00:00:00.123456+02', '2020-01-01 01:02:03.4', "
        "'1969-12-31', '01:02:03.456', true, 'Infinity', '{{a,null,\"b \\\"c\\\", d\"}}', '{{1,null}}', "
        "'00000000-0000-0000-0000-000000000001', '{{\"k\": [1]}}', 1.5)"
    )
    full.run(insert.format(1), "insert into kinds (a) values (2)")
    run = full.start(tuple(RowField(*each) for each in fields), table_pattern="kinds")
    run.run_until(lambda: len(run.changes) == 2)
    full.run(insert.format(3), "insert into kinds (a) values (4)")
    run.run_until(lambda: len(run.changes) == 4)
    rows = {row[0]: row[1:] for _, row in run.changes}
    assert rows[1] == (
        Decimal("1.01"),
        b"\x00\xff",
        datetime.datetime(2019, 12, 31, 22, 0, 0, 123000, datetime.UTC),
        datetime.datetime(2020, 1, 1, 1, 2, 3, 400000),
        datetime.date(1969, 12, 31),
        datetime.time(1, 2, 3, 456000),
        True,
        float("inf"),
        ["a", None, 'b "c", d'],
        [1, None],
        "00000000-0000-0000-0000-000000000001",
        '{"k": [1]}',
        1.5,
    )
    assert rows[3] == rows[1]
    assert set(rows[2]) == set(rows[4]) == {None}


def test_a_database_with_another_encoding(postgres):
    """The server writes texts as Arrow has them, whatever it stores."""
    with postgres.connect() as connection:
        connection.autocommit = True
        connection.execute("create database latin template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'")
        url = postgres.jdbc_url.replace("/postgres", "/latin")
        database = database_of(url, USER, PASSWORD)
        with database.connect() as other:
            other.execute("create table items (id bigint primary key, name text)")
            other.execute("insert into items values (1, 'ä')")
        settings = PostgresCdcSettings(database, "public", "items", FIELDS, "latin", is_upsert=True)
        run = CdcRun(PostgresCdcSource(settings))
        run.run_until(lambda: len(run.changes) == 1)
        with database.connect() as other:
            other.execute("insert into items values (2, 'ö')")
        run.run_until(lambda: len(run.changes) == 2)
        run.close()
        assert [row for _, row in run.changes] == [(1, "ä"), (2, "ö")]
        wait = "select count(*) from pg_stat_activity where datname = 'latin'"
        while connection.execute(wait).fetchone()[0]:
            threading.Event().wait(0.02)
        with database.connect() as other:
            other.execute("select pg_drop_replication_slot('latin')")
        connection.execute("drop database latin with (force)")


def test_several_tables_with_their_comments(full):
    full.run(
        "create table items2 (name text, id bigint primary key)",
        "alter table items2 replica identity full",
        "create table other (id int)",
        "insert into items values (1, 'a')",
        "insert into items2 values ('b', 1)",
    )
    metadata = (("table_name", "t"), ("op_ts", "at"), ("database_name", "d"), ("schema_name", "s"), ("row_kind", "k"))
    run = full.start(table_pattern="items.*", metadata=metadata)
    run.run_until(lambda: len(run.changes) == 2)
    began = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    assert sorted(run.changes) == [
        ("+I", (1, "a", "items", began, "postgres", full.name, "+I")),
        ("+I", (1, "b", "items2", began, "postgres", full.name, "+I")),
    ]
    full.run("update items2 set name = 'c'", "insert into other values (1)")
    run.run_until(lambda: len(run.changes) == 4)
    (_, (*row, at, _, _, kind)) = run.changes[-1]
    assert (row, kind) == ([1, "c", "items2"], "+U")
    assert abs(at - datetime.datetime.now(datetime.UTC)) < datetime.timedelta(hours=1)


def test_a_truncated_table_is_an_error_unless_it_may_be_ignored(full):
    full.run("insert into items values (1, 'a')")
    run, other = full.start(), None
    settle(run, full)
    full.run("truncate items")
    with pytest.raises(SourceError, match="was truncated, and the log does not say which rows it had"):
        run.run_until(lambda: False)
    run.close()
    other = full.start(ignores_truncate=True, start_mode="committed-offset")
    full.run("insert into items values (2, 'b')")
    other.run_until(lambda: ("+I", (2, "b")) in other.changes)


@pytest.mark.parametrize(("mode", "actual"), [("latest-offset", [3]), ("committed-offset", [2, 3])])
def test_where_to_start(full, mode, actual):
    first = full.start(start_mode="latest-offset")
    first.close()
    full.run("insert into items values (2, 'b')")
    run = full.start(start_mode=mode)
    full.run("insert into items values (3, 'c')")
    run.run_until(lambda: len(run.changes) == len(actual))
    assert [row[0] for _, row in run.changes] == actual


def test_tables_alone(full):
    full.run("insert into items select g, 'n' from generate_series(1, 30) g")
    full.run("alter table items replica identity default")  # which only the log needs
    run = full.start(start_mode="snapshot")
    run.run_until(lambda: run.enumerator.is_finished)
    assert run.table() == full.rows()
    assert full.server.rows(f"select 1 from pg_replication_slots where slot_name = '{full.name}'") == []


def test_a_lost_slot_is_reported(full):
    run = full.start()
    full.run("insert into items values (1, 'a')")
    settle(run, full)
    run.checkpoint()
    run.close()
    full.server.run(f"select pg_drop_replication_slot('{full.name}')")
    with pytest.raises(SourceError, match=r"slot '.*' is gone. Changes since .*, where the job stands, are lost"):
        run._start()


def test_a_slot_that_somebody_moved_is_reported(full):
    run = full.start()
    full.run("insert into items values (1, 'a')")
    settle(run, full)
    run.checkpoint()
    run.close()
    full.run("insert into items values (2, 'a')")
    full.server.run(f"select pg_replication_slot_advance('{full.name}', pg_current_wal_lsn())")
    with pytest.raises(SourceError, match="has moved on to"):
        run._start()


def test_what_cannot_work_is_rejected(shop):
    with pytest.raises(SourceError, match="REPLICA IDENTITY to FULL level"):
        shop.source().create_enumerator(1)
    with pytest.raises(SourceError, match="no table of the database matches"):
        shop.source(table_pattern="none").create_enumerator(1)
    with pytest.raises(SourceError, match=r"has no column price; it has id, name"):
        shop.source((RowField("price", DataTypes.INT()),), is_upsert=True).create_enumerator(1)
    shop.run("create table bare (id bigint, name text)", f"create publication {shop.name} for table bare")
    with pytest.raises(SourceError, match=r"does not hold .*items: ALTER PUBLICATION"):
        shop.source(is_upsert=True).create_enumerator(1)
    with pytest.raises(SourceError, match="has no key that identifies its rows"):
        shop.source(table_pattern="bare", is_upsert=True).create_enumerator(1)


def test_what_the_user_may_not_do_is_reported(shop):
    def rejected(message, **changes):
        database = database_of(shop.server.jdbc_url, shop.name, "weak")
        settings = PostgresCdcSettings(
            database, shop.name, "items", FIELDS, shop.name, shop.name, is_upsert=True, **changes
        )
        with pytest.raises(SourceError, match=message):
            PostgresCdcSource(settings).create_enumerator(1)

    shop.run(f"create role {shop.name} login password 'weak'")
    try:
        rejected(r"may not make a publication; have the tables' owner CREATE PUBLICATION .*items")
        shop.run(f"create publication {shop.name} for table items")
        rejected("may not replicate: ALTER ROLE … REPLICATION")
        shop.run(f"alter role {shop.name} replication")
        rejected("the database cannot be read: InsufficientPrivilege: permission denied for schema")
    finally:
        shop.run(f"drop role {shop.name}")


def test_a_wrong_password_is_reported_without_it(shop):
    database = database_of(shop.server.jdbc_url, USER, "not it")
    settings = PostgresCdcSettings(database, "public", "items", FIELDS, "s")
    with pytest.raises(
        SourceError, match=r"the database cannot be reached: .*password authentication failed"
    ) as rejected:
        PostgresCdcSource(settings).create_enumerator(1)
    assert "not it" not in str(rejected.value) + repr(settings)

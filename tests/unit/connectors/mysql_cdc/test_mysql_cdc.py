"""Changes of a real MariaDB server: rows, then the log, nothing lost and nothing twice, whatever is killed."""

from __future__ import annotations

import contextlib
import datetime
import time
from decimal import Decimal

import pytest

from funke.engine.connectors.jdbc.mysql_database import MySqlDatabase
from funke.engine.connectors.mysql_cdc import consistent_read
from funke.engine.connectors.mysql_cdc.change_rows import ChangeRows
from funke.engine.connectors.mysql_cdc.gtids import GtidSet
from funke.engine.connectors.mysql_cdc.log_position import LogPosition
from funke.engine.connectors.mysql_cdc.settings import MySqlCdcSettings
from funke.engine.connectors.mysql_cdc.source import MySqlCdcSource
from funke.engine.errors import SourceError, UnsupportedFeatureError
from funke.engine.types.logical.data_types import DataTypes
from funke.engine.types.logical.row_type import RowField
from tests.harness.mariadb_server import PASSWORD, USER
from tests.unit.connectors.change_capture.cdc_run import CdcRun
from tests.unit.connectors.change_capture.random_writer import RandomWriter, while_a_writer_works

FIELDS = (RowField("id", DataTypes.BIGINT()), RowField("name", DataTypes.STRING()))


class Shop:
    """A database of a test's own."""

    def __init__(self, server, name):
        self.server, self.name = server, name
        self.runs = []
        items = "create table items (id bigint primary key, name varchar(100)) character set utf8mb4"
        server.run(f"create database {name}", f"use {name}", items)

    def settings(self, fields=FIELDS, user=USER, password=PASSWORD, **changes):
        where = {"host": "127.0.0.1", "port": self.server.port, "ssl_disabled": True}
        database = MySqlDatabase({**where, "user": user, "password": password})
        created = {"table_pattern": "items", "server_id": next(_numbers) + 9000, "chunk_rows": 7, **changes}
        return MySqlCdcSettings(database, self.name, fields=fields, **created)

    def start(self, fields=FIELDS, parallelism=2, seed=0, **changes):
        source = MySqlCdcSource(self.settings(fields, **changes))
        self.runs.append(CdcRun(source, parallelism, seed))
        return self.runs[-1]

    def run(self, *statements):
        """One transaction, unless a statement ends it."""
        self.server.run(f"use {self.name}", "set time_zone = '+00:00'", *statements)

    def rows(self, table="items"):
        return sorted(self.server.rows(f"select * from {self.name}.{table}"), key=repr)

    @contextlib.contextmanager
    def connect(self):
        with contextlib.closing(self.server.connect()) as connection:
            connection.select_db(self.name)
            yield Session(connection)

    def log_end(self):
        return LogPosition.of(*self.server.rows("show master status")[0][:2])

    def end_streams(self):
        find = "select id from information_schema.processlist where command = 'Binlog Dump'"
        for (number,) in self.server.rows(find):
            self.server.run(f"kill {number}")
        while self.server.rows(find):
            time.sleep(0.02)

    def close(self):
        for each in self.runs:
            each.close()
        self.server.run(f"drop database {self.name}")


class Session:
    def __init__(self, connection):
        self._cursor = connection.cursor()
        self.commit, self.rollback = connection.commit, connection.rollback

    def execute(self, statement, values=()):
        self._cursor.execute(statement, values[: statement.count("%s")])


_numbers = iter(range(1000))


@pytest.fixture
def shop(mariadb):
    created = Shop(mariadb, f"shop{next(_numbers)}")
    yield created
    created.close()


def settle(run, shop):
    run.run_until(lambda: run.table() == shop.rows())


def following(shop, **changes):
    """A run that has read the tables: what comes next comes by the log."""
    run = shop.start(**changes)
    run.run_until(lambda: run.enumerator._reads_log)
    return run


def test_rows_and_then_changes(shop):
    shop.run("insert into items select seq, concat('n', seq) from seq_1_to_20")
    run = shop.start()
    settle(run, shop)
    assert {sign for sign, _ in run.changes} == {"+I"}
    shop.run("update items set name = 'x' where id = 3", "delete from items where id = 4")
    shop.run("update items set id = 99 where id = 5", "insert into items values (50, null)")
    before = len(run.changes)
    settle(run, shop)
    assert run.changes[before:] == [
        ("-U", (3, "n3")),
        ("+U", (3, "x")),
        ("-D", (4, "n4")),
        ("-U", (5, "n5")),
        ("+U", (99, "n5")),
        ("+I", (50, None)),
    ]


@pytest.mark.parametrize(("is_locked", "seed"), [(False, 0), (False, 1), (True, 2)], ids=["position", "other", "lock"])
def test_nothing_is_lost_or_seen_twice_while_a_writer_works_and_the_job_is_killed(shop, monkeypatch, seed, is_locked):
    if is_locked:
        # As with servers that do not know the position of a snapshot.
        monkeypatch.setattr(consistent_read, "_POSITION", "SHOW STATUS LIKE 'no such thing'")
    shop.run("insert into items select seq, concat('n', seq) from seq_1_to_40")
    insert, move = "insert ignore into items values (%s, %s)", "update ignore items set id = %s where id = %s"
    writer = RandomWriter(shop.connect, insert, move, 250, seed)
    while_a_writer_works(writer, lambda: shop.start(parallelism=3, seed=seed, is_parallel=True), shop.rows)


KINDS = {
    "tiny": ("tinyint", "-5", DataTypes.TINYINT(), -5),
    "utiny": ("tinyint unsigned", "250", DataTypes.SMALLINT(), 250),
    "small": ("smallint unsigned", "65000", DataTypes.INT(), 65000),
    "medium": ("mediumint", "-8000000", DataTypes.INT(), -8000000),
    "umedium": ("mediumint unsigned", "16000000", DataTypes.INT(), 16000000),
    "whole": ("int unsigned", "4000000000", DataTypes.BIGINT(), 4000000000),
    "big": ("bigint", "-9000000000", DataTypes.BIGINT(), -9000000000),
    "ubig": ("bigint unsigned", "18000000000000000000", DataTypes.DECIMAL(20, 0), Decimal("18000000000000000000")),
    "flag": ("tinyint(1)", "1", DataTypes.BOOLEAN(), True),
    "price": ("decimal(10,2)", "-12345678.05", DataTypes.DECIMAL(10, 2), Decimal("-12345678.05")),
    "much": (
        "decimal(30,10)",
        "-12345678901234567890.0123456789",
        DataTypes.DECIMAL(30, 10),
        Decimal("-12345678901234567890.0123456789"),
    ),
    "huge": ("decimal(50,2)", "1" + "0" * 40 + ".25", DataTypes.STRING(), "1" + "0" * 40 + ".25"),
    "rounded": ("decimal(10,3)", "1.005", DataTypes.DECIMAL(10, 2), Decimal("1.01")),
    "single": ("float", "1.1234567", DataTypes.FLOAT(), 1.1234567165374756),
    "twice": ("double", "-1.5e300", DataTypes.DOUBLE(), -1.5e300),
    "text4": ("varchar(20) character set utf8mb4", "'ä😀'", DataTypes.STRING(), "ä😀"),
    "latin": ("varchar(300) character set latin1", "'ä€'", DataTypes.STRING(), "ä€"),
    "wide": ("char(10) character set utf16", "'ж'", DataTypes.STRING(), "ж"),
    "fixed": ("char(200) character set utf8mb4", "'a b  '", DataTypes.STRING(), "a b"),
    "long": ("longtext character set utf8mb4", "repeat('ü', 70000)", DataTypes.STRING(), "ü" * 70000),
    "bytes6": ("binary(6)", "x'00ff2000'", DataTypes.BYTES(), b"\x00\xff \x00\x00\x00"),
    "bytes": ("varbinary(600)", "x'00ff'", DataTypes.BYTES(), b"\x00\xff"),
    "blob": ("blob", "x'8000'", DataTypes.BYTES(), b"\x80\x00"),
    "day": ("date", "'2020-02-29'", DataTypes.DATE(), datetime.date(2020, 2, 29)),
    "old_day": ("date", "'1000-01-01'", DataTypes.DATE(), datetime.date(1000, 1, 1)),
    "no_day": ("date", "'0000-00-00'", DataTypes.DATE(), None),
    "no_month": ("date", "'2020-00-10'", DataTypes.DATE(), None),
    "at": (
        "datetime(6)",
        "'2020-01-02 03:04:05.123456'",
        DataTypes.TIMESTAMP(6),
        datetime.datetime(2020, 1, 2, 3, 4, 5, 123456),
    ),
    "at1": ("datetime(1)", "'1969-01-02 03:04:05.1'", DataTypes.STRING(), "1969-01-02 03:04:05.1"),
    "at3": (
        "datetime(3)",
        "'1969-01-02 03:04:05.678'",
        DataTypes.TIMESTAMP(3),
        datetime.datetime(1969, 1, 2, 3, 4, 5, 678000),
    ),
    "no_time": ("datetime", "'0000-00-00 00:00:00'", DataTypes.TIMESTAMP(0), None),
    "there": (
        "datetime",
        "'2020-07-02 03:04:05'",
        DataTypes.TIMESTAMP_LTZ(3),
        datetime.datetime(2020, 7, 2, 1, 4, 5, tzinfo=datetime.UTC),
    ),
    "stamp": (
        "timestamp(6) null",
        "'2020-01-02 03:04:05.123456'",
        DataTypes.TIMESTAMP_LTZ(6),
        datetime.datetime(2020, 1, 2, 3, 4, 5, 123456, datetime.UTC),
    ),
    "local": (
        "timestamp null",
        "'2020-07-02 03:04:05'",
        DataTypes.TIMESTAMP(0),
        datetime.datetime(2020, 7, 2, 5, 4, 5),
    ),
    "no_stamp": ("timestamp null", "'0000-00-00 00:00:00'", DataTypes.TIMESTAMP_LTZ(3), None),
    "clock": ("time(3)", "'12:34:56.789'", DataTypes.TIME(3), datetime.time(12, 34, 56, 789000)),
    "back": ("time(6)", "'-12:34:56.123456'", DataTypes.STRING(), "-12:34:56.123456"),
    "back2": ("time(2)", "'-00:00:01.50'", DataTypes.STRING(), "-00:00:01.50"),
    "far": ("time", "'-838:59:59'", DataTypes.STRING(), "-838:59:59"),
    "year1": ("year", "2024", DataTypes.INT(), 2024),
    "year0": ("year", "0", DataTypes.INT(), 0),
    "bits": ("bit(10)", "b'1000000011'", DataTypes.BIGINT(), 515),
    "bits2": ("bit(10)", "b'1000000011'", DataTypes.BYTES(), b"\x03\x02"),
    "bit1": ("bit(1)", "b'1'", DataTypes.BOOLEAN(), True),
    "choice": ("enum('a','b''c') character set latin1", "'b''c'", DataTypes.STRING(), "b'c"),
    "choices": ("set('x','y','z')", "'x,z'", DataTypes.STRING(), "x,z"),
    "none": ("set('x','y','z')", "''", DataTypes.STRING(), ""),
    "json": ("json", "'{\"a\": [1, 2.5]}'", DataTypes.STRING(), '{"a": [1, 2.5]}'),
}


def make_kinds(shop):
    columns = ", ".join(f"`{name}` {kind}" for name, (kind, *_) in KINDS.items())
    shop.run(f"create table kinds (id int primary key, {columns})")
    fields = [("id", DataTypes.INT()), *((name, expected) for name, (_, _, expected, _) in KINDS.items())]
    return tuple(RowField(*each) for each in fields)


@pytest.mark.parametrize("metadata", ["NO_LOG", "FULL"])
def test_values_of_many_types(shop, metadata):
    shop.server.run(f"set global binlog_row_metadata = {metadata}")
    fields = make_kinds(shop)
    values = ", ".join(text for _, text, *_ in KINDS.values())
    shop.run("set sql_mode = ''", f"insert into kinds values (1, {values})", "insert into kinds (id) values (2)")
    run = shop.start(fields, table_pattern="kinds", zone="Europe/Berlin")
    run.run_until(lambda: len(run.changes) == 2)
    shop.run("set sql_mode = ''", f"insert into kinds values (3, {values})", "insert into kinds (id) values (4)")
    run.run_until(lambda: len(run.changes) == 4)
    shop.server.run("set global binlog_row_metadata = NO_LOG")
    rows = {row[0]: dict(zip(KINDS, row[1:])) for _, row in run.changes}
    expected = {name: value for name, (*_, value) in KINDS.items()}
    assert rows[1] == expected
    assert rows[3] == expected
    assert set(rows[2].values()) == set(rows[4].values()) == {None}


def test_values_that_fit_no_declared_type_are_reported(shop):
    shop.run("create table times (id int primary key, t time)")
    fields = (RowField("id", DataTypes.INT()), RowField("t", DataTypes.TIME()))
    run = following(shop, fields=fields, table_pattern="times")
    shop.run("insert into times values (1, '-01:00:00')")
    with pytest.raises(SourceError, match=r"column 't' does not fit TIME.*declare it as STRING"):
        run.run_until(lambda: False)
    shop.run("create table shapes (id int primary key, p point, c varchar(9) compressed)")
    for name, kind in (("p", "POINT"), ("c", "COMPRESSED VARCHAR")):
        shapes = (RowField("id", DataTypes.INT()), RowField(name, DataTypes.STRING()))
        with pytest.raises(UnsupportedFeatureError, match=f"'{name}' of type {kind}.* as STRING"):
            shop.start(shapes, table_pattern="shapes")


def test_tables_of_all_sorts(shop):
    """With columns that are computed, many columns, no key, parts of their own, names that need quotes."""
    many = ", ".join(f"c{number} int" for number in range(80))
    shop.run(
        "create table t1 (id int primary key, name varchar(9), twice int as (id * 2) virtual, b text compressed)",
        f"create table t2 ({many}, id int unsigned, name varchar(9))",
        "create table t3 (id int primary key, name varchar(9)) partition by hash (id) partitions 3",
        'create table `t``4"` (name varchar(9), id int primary key)',
    )
    names = ["t1", "t2", "t3", '`t``4"`']
    for name in names:
        shop.run(f"insert into {name} (id, name) values (1, 'a')")
    run = following(shop, table_pattern="t.*")
    for name in names:
        shop.run(f"insert into {name} (id, name) values (2, 'b')", f"update {name} set name = 'c' where id = 1")
    run.run_until(lambda: len(run.changes) == 16)
    expected = [("+I", (2, "b")), ("-U", (1, "a")), ("+U", (1, "c"))]
    assert run.changes == [("+I", (1, "a"))] * 4 + expected * 4


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("varchar(20) collate utf8mb4_general_ci", "concat(char(97 + seq % 26), char(65 + seq % 7), seq)"),
        ("varbinary(16)", "unhex(md5(seq))"),
        ("datetime(3)", "timestamp'2020-01-01 00:00:00.25' + interval seq day"),
        ("decimal(20,3)", "seq * 1.001 - 20"),
    ],
)
def test_parts_by_keys_of_other_types(shop, kind, value):
    """Also when parts were read at several positions, so that changes are told apart by their keys."""
    shop.run(
        "drop table items",
        f"create table items (id {kind}, n int, name varchar(9), primary key (id, n)) character set utf8mb4",
        f"insert into items select {value}, seq, 'x' from seq_1_to_60",
    )
    kinds = {
        "varchar": DataTypes.STRING(),
        "varbina": DataTypes.BYTES(),
        "datetim": DataTypes.TIMESTAMP(3),
        "decimal": DataTypes.DECIMAL(20, 3),
    }
    fields = (
        RowField("id", kinds[kind[:7]]),
        RowField("n", DataTypes.INT()),
        RowField("name", DataTypes.STRING()),
    )
    run = shop.start(fields, is_parallel=True, parallelism=1)
    assert 5 <= len(run.enumerator._waiting) <= 12
    run.run_until(lambda: len(run.enumerator._finished) == 2)
    run.checkpoint()
    shop.run("update items set name = 'y' where n % 3 = 0", "delete from items where n % 5 = 0")
    shop.run("update items set n = n + 1000 where n % 4 = 1")
    run.kill()
    run.run_until(lambda: run.checkpoint() or run.table() == shop.rows())


def test_transactions_that_are_open_at_the_seam(shop):
    shop.run("insert into items values (1, 'a'), (2, 'b')")
    run = shop.start()
    with shop.connect() as open_one:
        open_one.execute("update items set name = 'open' where id = 1")
        open_one.execute("insert into items values (3, 'open')")
        shop.run("update items set name = 'seen or not' where id = 2")
        run.run_until(lambda: len(run.changes) >= 2)
        open_one.commit()
    settle(run, shop)


def test_what_was_rolled_back_does_not_come(shop):
    run = following(shop)
    with shop.connect() as session:
        session.execute("insert into items values (1, 'a')")
        session.execute("savepoint s")
        session.execute("insert into items values (3, 'c')")
        session.execute("rollback to s")
        session.execute("delete from items where id = 1")
        session.execute("insert into items values (2, 'b')")
        session.commit()
        session.execute("insert into items values (4, 'd')")
        session.rollback()
    settle(run, shop)
    assert ("+I", (2, "b")) in run.changes and all(row[0] not in (3, 4) for _, row in run.changes)


def test_a_big_transaction_is_cut_into_records_and_goes_on_in_the_middle(shop, monkeypatch):
    monkeypatch.setattr(ChangeRows, "max_bytes", 4_000)
    run = following(shop, parallelism=1)
    shop.run("insert into items select seq, 'n' from seq_1_to_2500", "update items set name = 'm'")
    while not run.changes:
        run.step()
    assert len(run.changes) < 7500
    run.checkpoint()
    run.kill()
    run.run_until(lambda: len(run.changes) == 7500)
    assert run.table() == shop.rows()


def test_files_of_the_log_end_and_statements_come_between(shop):
    run = following(shop)
    shop.run("insert into items values (1, 'a')")
    settle(run, shop)
    shop.run("flush binary logs", "insert into items values (2, 'b')", "flush binary logs")
    shop.run("create table other (id int)", "insert into other values (1)", "create index i on items (name)")
    shop.run("alter table items comment 'ours'", "insert into items values (3, 'c')")
    settle(run, shop)
    run.checkpoint()
    run.kill()
    shop.run("delete from items where id = 1")
    settle(run, shop)


def test_compressed_events(shop):
    shop.server.run("set global log_bin_compress = ON, global log_bin_compress_min_len = 10")
    try:
        run = following(shop)
        shop.run(f"insert into items values (1, '{'a' * 90}'), (2, '{'b' * 90}')", "update items set id = id + 5")
        settle(run, shop)
    finally:
        shop.server.run("set global log_bin_compress = OFF")


def test_columns_that_come_behind_the_others(shop):
    run = following(shop)
    shop.run("insert into items values (1, 'a')", "alter table items add column more int")
    shop.run("insert into items values (2, 'b', 5)")
    run.run_until(lambda: ("+I", (2, "b")) in run.changes)
    run.checkpoint()
    run.kill()
    shop.run("insert into items values (3, 'c', 6)")
    run.run_until(lambda: ("+I", (3, "c")) in run.changes)


def test_columns_that_nobody_can_tell_apart_are_an_error_unless_the_log_names_them(shop):
    run = following(shop)
    shop.run("insert into items values (1, 'a')", "alter table items add column first varchar(100) first")
    shop.run("insert into items (id, name) values (2, 'b')")
    with pytest.raises(SourceError, match=r"columns of the table .*items were changed.*binlog_row_metadata = FULL"):
        run.run_until(lambda: False)
    run.close()
    shop.run("alter table items drop column first")
    shop.server.run("set global binlog_row_metadata = FULL")
    try:
        named = following(shop)
        named.run_until(lambda: len(named.changes) == 2)
        shop.run("alter table items add column first varchar(100) first", "insert into items values ('x', 3, 'c')")
        named.run_until(lambda: ("+I", (3, "c")) in named.changes)
        shop.run("alter table items drop column name", "insert into items values ('x', 4)")
        with pytest.raises(SourceError, match="has lost its column name"):
            named.run_until(lambda: False)
    finally:
        shop.server.run("set global binlog_row_metadata = NO_LOG")


def test_several_tables_with_their_comments(shop):
    shop.run(
        "create table items2 (name varchar(9), id int unsigned primary key)",
        "create table other (id int)",
        "insert into items values (1, 'a')",
        "insert into items2 values ('b', 1)",
    )
    metadata = (("table_name", "t"), ("op_ts", "at"), ("database_name", "d"), ("row_kind", "k"))
    run = shop.start(table_pattern="items.*", metadata=metadata)
    run.run_until(lambda: len(run.changes) == 2)
    began = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    assert sorted(run.changes) == [
        ("+I", (1, "a", "items", began, shop.name, "+I")),
        ("+I", (1, "b", "items2", began, shop.name, "+I")),
    ]
    shop.run("begin", "update items2 set name = 'c'", "insert into other values (1)", "delete from items")
    shop.run("update items2 set name = 'd'")
    run.run_until(lambda: len(run.changes) == 7)
    assert [(row[0], row[1], row[2], row[5]) for _, row in run.changes[2:]] == [
        (1, "b", "items2", "-U"),
        (1, "c", "items2", "+U"),
        (1, "a", "items", "-D"),
        (1, "c", "items2", "-U"),
        (1, "d", "items2", "+U"),
    ]
    at = run.changes[-1][1][3]
    assert abs(at - datetime.datetime.now(datetime.UTC)) < datetime.timedelta(hours=1)


def test_a_truncated_table_is_an_error_unless_it_may_be_ignored(shop):
    shop.run("insert into items values (1, 'a')")
    begin = shop.log_end()
    run = shop.start()
    settle(run, shop)
    shop.run("truncate items", "insert into items values (2, 'b')")
    with pytest.raises(SourceError, match="was truncated, and the log does not say which rows it had"):
        run.run_until(lambda: False)
    other = shop.start(ignores_truncate=True, start_mode="specific-offset", start_position=begin)
    other.run_until(lambda: other.changes == [("+I", (2, "b"))])
    shop.run("create table items2 (id int)", "truncate items2")
    shop.run("drop table items")
    with pytest.raises(SourceError, match="was dropped"):
        other.run_until(lambda: False)


def test_a_database_that_is_dropped_is_reported(shop):
    run = following(shop)
    shop.run("insert into items values (1, 'a')")
    settle(run, shop)
    shop.server.run(f"drop database {shop.name}", f"create database {shop.name}")
    with pytest.raises(SourceError, match="was dropped"):
        run.run_until(lambda: False)


def test_a_table_that_was_truncated_before_it_was_read(shop):
    shop.run(
        "insert into items values (1, 'a')", "create table items2 like items", "insert into items2 select * from items"
    )
    run = shop.start(table_pattern="items.*", is_parallel=True, parallelism=1)
    while not run.enumerator._finished:
        run.step()
    run.checkpoint()
    other = "items2" if run.enumerator._finished[0].chunk.table.name == "items" else "items"
    run.kill()
    shop.run(f"truncate {other}", f"insert into {other} values (7, 'b')")
    run.run_until(lambda: run.checkpoint() or {row[0] for _, row in run.changes} == {1, 7})
    shop.run(f"insert into {other} values (8, 'b')")
    run.run_until(lambda: run.checkpoint() or len(run.changes) == 3)


def test_where_to_start(shop):
    shop.run("insert into items values (1, 'a')")
    begin = shop.log_end()
    shop.run("flush binary logs", "insert into items values (2, 'b')")
    before_ms = int(time.time() * 1000)
    latest = shop.start(start_mode="latest-offset")
    threshold = shop.server.rows("select unix_timestamp() + 1")[0][0]
    while shop.server.rows("select unix_timestamp()")[0][0] < threshold:
        time.sleep(0.05)
    shop.run("insert into items values (3, 'c')")
    runs = {
        "latest": (latest, [3]),
        "specific": (shop.start(start_mode="specific-offset", start_position=begin), [2, 3]),
        "earliest": (shop.start(start_mode="earliest-offset"), [1, 2, 3]),
        "timestamp": (shop.start(start_mode="timestamp", start_time_ms=int(threshold) * 1000), [3]),
        "earlier": (shop.start(start_mode="timestamp", start_time_ms=before_ms - 2000), None),
    }
    for run, each in runs.values():
        run.run_until(lambda run=run: (3, "c") in [row for _, row in run.changes])
        assert each is None or [row[0] for _, row in run.changes] == each
    with pytest.raises(SourceError, match=r"does not reach back to 'scan.startup.timestamp-millis' = '5'"):
        shop.start(start_mode="timestamp", start_time_ms=5)


def test_a_start_behind_transactions_that_were_seen(shop):
    """By their numbers, in whichever order they stand in the log; what was read of them says how far they were."""

    def numbers():
        return dict(each.split("-", 1) for each in shop.server.rows("select @@gtid_binlog_pos")[0][0].split(","))

    shop.run("insert into items values (1, 'a')", "truncate items")
    seen = numbers()
    shop.run("flush binary logs", "insert into items values (2, 'b')")
    shop.run("set gtid_domain_id = 7", "insert into items values (3, 'c')")
    seen["7"] = numbers()["7"]
    shop.run("flush binary logs", "insert into items values (4, 'd')")
    text = ",".join(f"{domain}-{rest}" for domain, rest in seen.items())
    run = shop.start(start_mode="specific-offset", start_gtids=GtidSet.from_text(text))
    run.run_until(lambda: (4, "d") in [row for _, row in run.changes])
    run.checkpoint()
    run.kill()
    shop.run("insert into items values (5, 'e')")
    run.run_until(lambda: (5, "e") in [row for _, row in run.changes])
    assert [row[0] for _, row in run.changes] == [2, 4, 5]
    with pytest.raises(SourceError, match="the set is that of another server"):
        shop.start(start_mode="specific-offset", start_gtids=GtidSet.from_text("0-1-99999999"))


def test_tables_alone(shop):
    shop.run("insert into items select seq, 'n' from seq_1_to_30")
    run = shop.start(start_mode="snapshot")
    run.run_until(lambda: run.enumerator.is_finished)
    assert run.table() == shop.rows()


def test_a_connection_that_the_server_ends_is_reported_and_the_job_goes_on_from_its_checkpoint(shop):
    run = following(shop, heartbeat_ms=1000)
    shop.run("insert into items values (1, 'a')")
    settle(run, shop)
    run.checkpoint()
    shop.end_streams()
    shop.run("insert into items values (2, 'b')")
    with pytest.raises(SourceError, match=r"connection|ended the stream|cannot be read"):
        run.run_until(lambda: False)
    run.kill()
    settle(run, shop)


def test_a_log_that_was_thrown_away_is_reported(shop):
    run = following(shop)
    shop.run("insert into items values (1, 'a')")
    settle(run, shop)
    run.checkpoint()
    run.close()
    # The server keeps what it is sending.
    shop.end_streams()
    shop.run("flush binary logs")
    # It waits until the engine has written down what stands in the file.
    while len(shop.server.rows("show binary logs")) > 1:
        shop.server.run(f"purge binary logs to '{shop.log_end().file}'")
        time.sleep(0.05)
    with pytest.raises(SourceError, match=r"does not hold .* any more, where the job stands .* start the job anew"):
        run._start()
    with pytest.raises(SourceError, match=r"does not reach back to 'scan.startup.specific-offset.gtid-set'"):
        shop.start(start_mode="specific-offset", start_gtids=GtidSet())
    state = run._saved[0]
    with pytest.raises(SourceError, match="another server"):
        run.source.create_enumerator(1, type(state)(**{**vars(state), "server": "77"}))


def test_a_log_that_was_begun_anew_is_reported(shop):
    """Also if it has grown beyond the position in the meantime."""
    run = following(shop)
    shop.run("insert into items values (1, 'a')")
    settle(run, shop)
    run.checkpoint()
    run.close()
    shop.end_streams()
    # Its files are named by the second.
    began = shop.server.rows("select unix_timestamp()")
    while shop.server.rows("select unix_timestamp()") == began:
        time.sleep(0.05)
    shop.server.run("reset master")
    position = run._saved[0].position
    while shop.log_end().file < position.file:
        shop.run("flush binary logs")
    while shop.log_end() < position:
        shop.run("insert into items select max(id) + 1, 'x' from items")
    with pytest.raises(SourceError, match=r"was begun anew \(RESET MASTER\)"):
        run._start()


def test_readers_with_the_same_number_are_reported(shop):
    run = following(shop, server_id=4711)
    shop.run("insert into items values (1, 'a')")
    settle(run, shop)
    other = following(shop, server_id=4711)
    shop.run("insert into items values (2, 'b')")
    settle(other, shop)
    with pytest.raises(SourceError, match="give each job a 'server-id' of its own"):
        run.run_until(lambda: False)


def test_what_cannot_work_is_rejected(shop):
    def rejected(message, **changes):
        with pytest.raises(SourceError, match=message):
            MySqlCdcSource(shop.settings(**changes)).create_enumerator(1)

    rejected("no table of the server matches", table_pattern="none")
    rejected("has no column price; it has id, name", fields=(RowField("price", DataTypes.INT()),))
    rejected("chunk key column 'name' must be one of the primary key's: id", chunk_column="name")
    shop.run("create table bare (id bigint, name text) engine = MyISAM")
    rejected("because its engine is MyISAM", table_pattern="bare")
    for name, value in (("binlog_format", "MIXED"), ("binlog_row_image", "MINIMAL")):
        before = shop.server.rows(f"select @@global.{name}")[0][0]
        shop.server.run(f"set global {name} = {value}")
        try:
            rejected(f"needs {name} = {before}; the server has {name} = {value}")
        finally:
            shop.server.run(f"set global {name} = {before}")
    rejected("the database cannot be reached: .*Access denied", password="not it")
    shop.server.run("create user poor identified by 'p'", f"grant select on {shop.name}.* to poor")
    try:
        rejected("GRANT REPLICATION CLIENT", user="poor", password="p")
        shop.server.run("grant replication client on *.* to poor")
        run = following(shop, user="poor", password="p")
        shop.run("insert into items values (1, 'a')")
        with pytest.raises(SourceError, match="GRANT REPLICATION SLAVE"):
            run.run_until(lambda: False)
    finally:
        shop.server.run("drop user poor")


def test_rows_that_lack_columns_and_statements_instead_of_rows_are_reported(shop):
    run = following(shop)
    shop.run("insert into items values (1, 'a')", "set binlog_row_image = MINIMAL", "update items set name = 'b'")
    with pytest.raises(SourceError, match=r"has incomplete rows at .*: set binlog_row_image = FULL"):
        run.run_until(lambda: False)
    other = following(shop)
    shop.run("set binlog_format = STATEMENT", "insert into items values (2, 'b')")
    with pytest.raises(SourceError, match=r"a statement that changes .*items instead of its rows"):
        other.run_until(lambda: False)
    prepared = following(shop)
    shop.run("xa start 'x'", "insert into items values (3, 'c')", "xa end 'x'", "xa prepare 'x'", "xa commit 'x'")
    with pytest.raises(SourceError, match="unsupported XA transaction"):
        prepared.run_until(lambda: False)

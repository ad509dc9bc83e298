"""Tables of the connector jdbc on SQLite and on a real PostgreSQL server: read, narrowed, written."""

from __future__ import annotations

import datetime
import sqlite3
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from funke.engine.connectors.jdbc.scan import PartitionBounds
from funke.engine.errors import SinkError, SourceError, UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.connectors.jdbc.jdbc_source import JdbcTableSource
from funke.engine.sql.connectors.push_down import push_down
from funke.engine.sql.connectors.table_source import INSERTS
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.parsing import parse
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.row import RowKind
from tests.harness.postgres_server import PASSWORD, USER
from tests.harness.sql_tables import created, relation_of, sink_of, source_of
from tests.unit.connectors.sink_harness import SinkHarness
from tests.unit.connectors.source_draining import drain

UTC = datetime.UTC


class Sqlite:
    name = "sqlite"

    def __init__(self, folder):
        self.path = folder / "shop.db"
        self.options = f"'connector' = 'jdbc', 'url' = 'jdbc:sqlite:{self.path}'"

    def run(self, *statements):
        connection = sqlite3.connect(self.path)
        with connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()

    def rows(self, query):
        connection = sqlite3.connect(self.path)
        rows = connection.execute(query).fetchall()
        connection.close()
        return rows


class Postgres:
    name = "postgresql"

    def __init__(self, server):
        self.run, self.rows = server.run, server.rows
        password = PASSWORD.replace("'", "''")
        self.options = (
            f"'connector' = 'jdbc', 'url' = '{server.jdbc_url}', 'username' = '{USER}', 'password' = '{password}'"
        )


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    source = Sqlite(tmp_path) if request.param == "sqlite" else Postgres(request.getfixturevalue("postgres"))
    source.run("drop table if exists items")
    return source


@pytest.fixture
def postgresql(postgres):
    source = Postgres(postgres)
    source.run("drop table if exists items")
    return source


def table(database, columns, options="", name="items"):
    more = f", {options}" if options else ""
    return f"CREATE TABLE t ({columns}) WITH ({database.options}, 'table-name' = '{name}'{more})"


def values(source):
    return [tuple(row) for row in drain(source.create_source())]


def numbered(database, count):
    database.run("create table items (id bigint primary key, name text)")
    database.run(*(f"insert into items values ({each}, 'n{each}')" for each in range(count)))


def test_rows_are_read(database):
    database.run(
        "create table items (id bigint, name varchar(20), price decimal(10, 3), sold timestamp, day date, ok boolean)",
        "insert into items values (1, 'a \"b\", c\nd', 2.125, '2020-01-02 03:04:05.678901', '2020-01-02', true)",
        "insert into items values (2, '', -0.005, '2020-01-02 03:04:05', '1969-12-31', false)",
        "insert into items values (null, null, null, null, null, null)",
    )
    columns = "id BIGINT, name STRING, price DECIMAL(8, 2), sold TIMESTAMP(3), `day` DATE, ok BOOLEAN"
    assert values(source_of(table(database, columns))) == [
        (
            1,
            'a "b", c\nd',
            Decimal("2.13"),
            datetime.datetime(2020, 1, 2, 3, 4, 5, 678000),
            datetime.date(2020, 1, 2),
            True,
        ),
        (2, "", Decimal("-0.01"), datetime.datetime(2020, 1, 2, 3, 4, 5), datetime.date(1969, 12, 31), False),
        (None,) * 6,
    ]


def test_types_of_postgresql(postgresql):
    postgresql.run(
        "create table items (a smallint, b real, c double precision, d bytea, e time, f timestamptz, g int[], "
        "h text[], i uuid, j jsonb, k numeric(38, 18), l char(3))",
        r"insert into items values (1, 1.5, 'NaN', '\x00ff', '01:02:03.456', '2020-01-01 00:00:00.123456+02', "
        "'{1,null,3}', '{x,\"y,z\"}', '00000000-0000-0000-0000-000000000001', '{\"k\": 1}', 1.5, 'ab')",
        "insert into items (c) values ('-Infinity')",
    )
    columns = (
        "a SMALLINT, b FLOAT, c DOUBLE, d BYTES, e TIME(3), f TIMESTAMP_LTZ(6), g ARRAY<INT>, h ARRAY<STRING>, "
        "i STRING, j STRING, k DECIMAL(38, 18), l CHAR(3)"
    )
    source = source_of(table(postgresql, columns)).create_source()
    (split,) = source.create_enumerator(1).poll(10)
    (batch,) = source.create_reader().read_columns(split)
    first, second = batch.data.to_pylist()
    assert np.isnan(first.pop("c"))
    assert first == {
        "a": 1,
        "b": 1.5,
        "d": b"\x00\xff",
        "e": datetime.time(1, 2, 3, 456000),
        "f": datetime.datetime(2019, 12, 31, 22, 0, 0, 123456, UTC),
        "g": [1, None, 3],
        "h": ["x", "y,z"],
        "i": "00000000-0000-0000-0000-000000000001",
        "j": '{"k": 1}',
        "k": Decimal("1.500000000000000000"),
        "l": "ab",
    }
    assert second.pop("c") == float("-inf") and set(second.values()) == {None}


def test_columns_of_nested_types_are_rejected(postgresql):
    with pytest.raises(UnsupportedFeatureError, match="MAP<STRING, INT> in a table of PostgreSQL"):
        values(source_of(table(postgresql, "a MAP<STRING, INT>")))


def test_a_value_that_does_not_fit_is_reported(database):
    database.run("create table items (id bigint)", "insert into items values (3000000000)")
    with pytest.raises(SourceError, match="does not fit the table's columns"):
        values(source_of(table(database, "id INT")))


def test_a_table_that_is_not_there_is_reported(database):
    with pytest.raises(SourceError, match="the table 'items' could not be read"):
        values(source_of(table(database, "id INT")))


def test_parts_are_read_side_by_side(database):
    numbered(database, 20)
    bounds = (
        "'scan.partition.column' = 'id', 'scan.partition.num' = '3', 'scan.partition.lower-bound' = '1', "
        "'scan.partition.upper-bound' = '18'"
    )
    source = source_of(table(database, "name STRING, id BIGINT", bounds))
    assert len(source.create_source().create_enumerator(2).poll(1000)) == 3
    assert sorted(row[1] for row in values(source)) == list(range(1, 19))
    narrow = source.with_columns([0])
    assert sorted(row[0] for row in values(narrow)) == sorted(f"n{each}" for each in range(1, 19))


@pytest.mark.parametrize(
    ("bounds", "ranges"),
    [((2, 0, 9), [(0, 4), (5, 9)]), ((4, 1, 2), [(1, 1), (2, 2)]), ((3, -5, 5), [(-5, -2), (-1, 2), (3, 5)])],
)
def test_parts_have_nearly_the_same_length(bounds, ranges):
    assert PartitionBounds("id", *bounds).ranges() == ranges


def scanned(database, query, columns="id BIGINT, name STRING, price DECIMAL(8, 2)", options=""):
    (statement,) = parse(query)
    relation = push_down(
        QueryBinder({("t",): relation_of(table(database, columns, options))}.get).bind(statement.query)
    )
    while not hasattr(relation, "table"):
        relation = relation.input
    assert isinstance(relation.table, JdbcTableSource)
    return relation.table


def test_the_database_leaves_out_rows_and_columns(postgresql):
    postgresql.run("create table items (id bigint, name text, price numeric)")
    postgresql.run(*(f"insert into items values ({each}, 'n{each % 3}', {each}.004)" for each in range(10)))
    source = scanned(postgresql, "SELECT id FROM t WHERE name = 'n1' AND id > 2 AND price <> 7.00 AND id + 1 > 0")
    assert [each.name for each in source.columns] == ["id", "name", "price"]
    assert [row[0] for row in values(source)] == [4]
    assert len(source.read.conditions) == 3
    source = scanned(postgresql, "SELECT id FROM t WHERE id IN (1, 5) OR (id BETWEEN 7 AND 8 AND name IS NOT NULL)")
    assert [row[0] for row in values(source)] == [1, 5, 7, 8]
    assert len(values(scanned(postgresql, "SELECT id FROM t LIMIT 3"))) == 3


def test_conditions_that_databases_see_differently_stay_here(database):
    for condition in ("name > 'a'", "name <> 'a'", "name LIKE 'a%'", "id = price / 2", "name = 'a' OR name > 'b'"):
        assert scanned(database, f"SELECT id FROM t WHERE {condition}").read.conditions == (), condition
    never = scanned(database, "SELECT id FROM t WHERE id = 1", options="'filter.handling.policy' = 'never'")
    assert never.read.conditions == ()


def changes(context, *rows):
    """Columns of rows that begin with their kinds."""
    schema = schema_of(context.columns)
    arrays = [pa.array([row[index + 1] for row in rows], kind) for index, kind in enumerate(schema.types)]
    kinds = np.array([row[0].value for row in rows], np.int8)
    return ColumnBatch(pa.RecordBatch.from_arrays(arrays, schema=schema), None, kinds)


def writer_of(text, harness=None):
    context, _ = created(text)
    return sink_of(text).create_sink(context.columns).create_writer((harness or SinkHarness()).context()), context


KEYED = "id BIGINT, name STRING, price DECIMAL(8, 2), sold TIMESTAMP(3), PRIMARY KEY (id) NOT ENFORCED"
SOLD = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)


def test_the_last_change_of_each_key_is_written(database):
    database.run("create table items (id bigint primary key, name text, price decimal(8, 2), sold timestamp)")
    text = table(database, KEYED, "'sink.buffer-flush.max-rows' = '0'")
    writer, context = writer_of(text)
    insert, after, delete = RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE
    one = changes(context, (insert, 1, "a", Decimal("1.50"), SOLD), (insert, 2, "b", None, None))
    two = changes(
        context, (after, 1, "c", Decimal("2.50"), SOLD), (delete, 2, "b", None, None), (insert, 3, "d", None, None)
    )
    writer.write_columns(one)
    writer.write_columns(two)
    assert database.rows("select * from items") == []
    writer.prepare_commit()
    assert database.rows("select id, name from items order by id") == [(1, "c"), (3, "d")]
    assert values(source_of(text))[0] == (1, "c", Decimal("2.50"), SOLD)
    writer.write_columns(changes(context, (delete, 1, None, None, None), (insert, 3, "e", None, None)))
    writer.flush(True)
    writer.close()
    assert database.rows("select id, name from items") == [(3, "e")]


def test_a_table_without_a_key_takes_rows_only(database):
    database.run("create table items (id bigint, name text)")
    text = table(database, "id BIGINT, name STRING", "'sink.buffer-flush.max-rows' = '2'")
    sink = sink_of(text)
    assert sink.accepted_kinds(INSERTS) == INSERTS
    with pytest.raises(ValidationException, match="please declare primary key for sink table"):
        sink.accepted_kinds(frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER}))
    harness = SinkHarness(now_ms=0)
    writer, context = writer_of(text, harness)
    writer.write_columns(changes(context, *((RowKind.INSERT, 1, "a"),) * 3))
    assert database.rows("select * from items") == [(1, "a")] * 2
    assert writer.next_wakeup_ms() == 1000
    writer.on_processing_time(1000)
    assert len(database.rows("select * from items")) == 3
    writer.close()


def test_rows_that_break_a_rule_are_reported(database):
    database.run("create table items (id bigint, name text not null)")
    writer, context = writer_of(table(database, "id BIGINT, name STRING"))
    writer.write_columns(changes(context, (RowKind.INSERT, 1, None)))
    with pytest.raises(SinkError, match="rows could not be written"):
        writer.prepare_commit()
    writer.close()


def test_arrays_are_written(postgresql):
    postgresql.run("create table items (id bigint, tags text[])")
    text = table(postgresql, "id BIGINT, tags ARRAY<STRING>")
    writer, context = writer_of(text)
    writer.write_columns(changes(context, (RowKind.INSERT, 1, ["a", None])))
    writer.flush(True)
    writer.close()
    assert postgresql.rows("select * from items") == [(1, ["a", None])]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("'username' = 'me'", "Either all or none of the following options should be provided:\nusername\npassword"),
        ("'scan.partition.num' = '2'", "Either all or none of the following options should be provided:\nscan.part"),
        ("'connection.max-retry-timeout' = '500 ms'", "must be in second granularity"),
        ("'lookup.max-retries' = '-1'", "The value of 'lookup.max-retries' option shouldn't be negative, but is -1"),
        ("'lookup.cache' = 'FULL'", "Missing 'lookup.full-cache.periodic-reload.interval'"),
        ("'sink.max-retry' = '1'", "Unsupported options found for 'jdbc'"),
        (
            "'scan.partition.column' = 'x', 'scan.partition.num' = '2', 'scan.partition.lower-bound' = '1', "
            "'scan.partition.upper-bound' = '2'",
            "is not a column of the table: id",
        ),
    ],
)
def test_options_that_make_no_sense_are_rejected(options, message):
    text = (
        f"CREATE TABLE t (id INT) WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:/x', 'table-name' = 'i', {options})"
    )
    with pytest.raises(ValidationException) as rejected:
        source_of(text)
    assert message in str(rejected.value)


def test_other_databases_are_rejected_and_passwords_not_shown():
    options = (
        "'url' = 'jdbc:oracle://me:hush@h/db?password=hush', 'table-name' = 'i', 'username' = 'me', 'password' = 'hush'"
    )
    with pytest.raises(
        ValidationException, match="there are drivers for postgresql, mysql, mariadb and sqlite here"
    ) as rejected:
        source_of(f"CREATE TABLE t (id INT) WITH ('connector' = 'jdbc', {options})")
    assert "hush" not in str(rejected.value)


def test_names_mean_what_postgresql_takes_them_for_without_quotes(postgresql):
    postgresql.run("drop table if exists Trips", "create table Trips (VendorID int primary key, PULocationID int)")
    text = table(postgresql, "VendorID INT PRIMARY KEY NOT ENFORCED, PULocationID INT", name="Trips")
    writer, context = writer_of(text)

    for change in ((RowKind.INSERT, 1, 132), (RowKind.INSERT, 2, 7), (RowKind.UPDATE_AFTER, 1, 133)):
        writer.write_columns(changes(context, change))
        writer.flush(False)
    writer.write_columns(changes(context, (RowKind.DELETE, 2, 7)))
    writer.flush(True)
    writer.close()
    parts = "'scan.partition.column' = 'VendorID', 'scan.partition.num' = '2', "
    parts += "'scan.partition.lower-bound' = '1', 'scan.partition.upper-bound' = '9'"

    assert postgresql.rows("select vendorid, pulocationid from trips") == [(1, 133)]
    assert values(source_of(text.replace("'Trips'", f"'Trips', {parts}"))) == [(1, 133)]


def test_names_that_were_created_in_quotes_are_found(postgresql):
    postgresql.run('drop table if exists "Rides"', 'create table "Rides" ("VendorID" int, "order" int, Fare int)')
    postgresql.run('insert into "Rides" values (1, 2, 3)')

    columns = "VendorID INT, `order` INT, Fare INT"
    for name in ("Rides", 'public."Rides"', "public.Rides"):
        assert values(source_of(table(postgresql, columns, name=name))) == [(1, 2, 3)]


def test_small_letters_come_before_the_spelling(postgresql):
    postgresql.run("drop table if exists twice", 'create table twice (id int, "ID" int)')
    postgresql.run("insert into twice values (1, 2)")

    assert values(source_of(table(postgresql, "ID INT", name="twice"))) == [(1,)]
    assert values(source_of(table(postgresql, '`"ID"` INT', name="twice"))) == [(2,)]


def test_a_query_may_stand_for_a_table(postgresql):
    source = source_of(table(postgresql, "n INT", name="(select 7 as N) as q"))

    assert values(source) == [(7,)]

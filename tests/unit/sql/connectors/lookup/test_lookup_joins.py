"""JOIN … FOR SYSTEM_TIME AS OF a processing time: what it means, and what it gives for batches of rows."""

from __future__ import annotations

import sqlite3

import pytest

from funke.engine.errors import SourceError
from funke.engine.flink_exceptions import TableException, ValidationException
from funke.engine.sql.plan.lower import lower
from funke.engine.sql.rules.temporal_joins import check_versions
from tests.harness.lookup_queries import LookupQuery, bound
from tests.harness.postgres_server import PASSWORD, USER
from tests.harness.sql_tables import relation_of


@pytest.fixture
def shop(tmp_path):
    connection = sqlite3.connect(tmp_path / "shop.db", isolation_level=None)
    connection.execute("create table items (item bigint, kind text, price bigint)")
    rows = [(1, "a", 10), (1, "b", 20), (2, "a", 30), (4, None, 40)]
    connection.executemany("insert into items values (?, ?, ?)", rows)
    yield connection
    connection.close()


@pytest.fixture
def items(shop, tmp_path):
    return lambda options="": relation_of(
        "CREATE TABLE items (item BIGINT, kind STRING, price BIGINT, twice AS price * 2) WITH ('connector' = 'jdbc', "
        f"'url' = 'jdbc:sqlite:{tmp_path}/shop.db', 'table-name' = 'items'{options})"
    )


@pytest.fixture
def run(items):
    running = []

    def make(text, options=""):
        running.append(LookupQuery(text, items(options)))
        return running[-1]

    yield make
    for each in running:
        each.close()


JOIN = "FROM o {kind} JOIN items FOR SYSTEM_TIME AS OF o.p AS i ON o.item = i.item {more}"


def query(select, kind="", more=""):
    return f"SELECT {select} {JOIN.format(kind=kind, more=more)}"


def test_rows_with_all_that_is_found_for_them(run):
    changes = run(query("o.id, i.kind, i.twice")).feed((7, 1, 0), (8, 3, 0), (9, None, 0), (10, 2, 0))
    assert changes == [("+I", (7, "a", 20)), ("+I", (7, "b", 40)), ("+I", (10, "a", 60))]


def test_a_left_join_keeps_all_rows_in_order(run):
    changes = run(query("o.id, i.price", "LEFT")).feed((7, 3, 0), (8, 1, 0), (9, None, 0))
    assert changes == [("+I", (7, None)), ("+I", (8, 10)), ("+I", (8, 20)), ("+I", (9, None))]


def test_nothing_is_found_for_rows_without_keys(run):
    assert run(query("o.id, i.price", "LEFT")).feed((7, None, 0)) == [("+I", (7, None))]
    assert run(query("o.id, i.price")).feed((7, None, 0)) == []


def test_conditions_beside_the_key(run):
    conditions = "AND i.kind = 'a' AND i.price > o.least"
    assert run(query("o.id, i.price", more=conditions)).feed((7, 1, 5), (8, 1, 15), (9, 2, 5)) == [
        ("+I", (7, 10)),
        ("+I", (9, 30)),
    ]
    left = run(query("o.id, i.price", "LEFT", conditions)).feed((7, 1, 5), (8, 1, 15))
    assert left == [("+I", (7, 10)), ("+I", (8, None))]


def test_a_constant_narrows_the_query_for_the_table(items):
    node = lower(bound(query("o.id, i.price", more="AND i.kind = 'a'"), items()))
    # The key is cast to the type of the table's column, which a calculation behind the join leaves out again.
    join = node.input.input
    assert len(join.table.read.conditions) == 1


def test_keys_of_several_columns(items, run):
    text = (
        "SELECT o.id, i.kind FROM o JOIN items FOR SYSTEM_TIME AS OF o.p AS i "
        "ON i.price = o.least AND o.item + 0 = i.item"
    )
    assert run(text).feed((7, 1, 20), (8, 1, 30), (9, 2, 30)) == [("+I", (7, "b")), ("+I", (9, "a"))]


def test_kinds_stay_with_their_rows(run):
    assert run(query("o.id, i.price")).feed((7, 2, 0), sign="-D") == [("-D", (7, 30))]


def test_the_table_is_seen_as_it_is_when_a_batch_comes(run, shop):
    running = run(query("o.id, i.price"))
    cached = run(query("o.id, i.price"), ", 'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '100'")
    assert running.feed((7, 2, 0)) == cached.feed((7, 2, 0)) == [("+I", (7, 30))]
    shop.execute("update items set price = 31 where item = 2")
    assert running.feed((7, 2, 0)) == [("+I", (7, 31))]
    assert cached.feed((7, 2, 0)) == [("+I", (7, 30))]


def test_more_keys_than_one_query_takes(run, shop):
    # One transaction: each would be written to the disk.
    shop.execute("begin")
    shop.executemany("insert into items values (?, 'x', ?)", [(key, key) for key in range(100, 1400)])
    shop.execute("commit")
    changes = run(query("o.id, i.price")).feed(*((key, key, 0) for key in range(100, 1400)))
    assert changes == [("+I", (key, key)) for key in range(100, 1400)]


def test_a_table_that_went_is_reported(run, shop):
    running = run(query("o.id, i.price"), ", 'lookup.max-retries' = '0'")
    shop.execute("drop table items")
    with pytest.raises(SourceError, match="rows of 'items' could not be looked up"):
        running.feed((7, 2, 0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (query("o.id", "RIGHT"), "only support INNER JOIN and LEFT JOIN, but was RIGHT JOIN"),
        (
            "SELECT o.id FROM o JOIN items FOR SYSTEM_TIME AS OF o.p AS i ON o.item > i.item",
            "Temporal table join requires an equality condition on fields of table",
        ),
    ],
)
def test_joins_that_cannot_be_looked_up_are_rejected(items, text, message):
    with pytest.raises(TableException, match=message):
        lower(bound(text, items()))


def test_other_times_are_rejected(items):
    text = "SELECT o.id FROM o JOIN items FOR SYSTEM_TIME AS OF {} AS i ON o.item = i.item"
    with pytest.raises(TableException, match="only supports 'FOR SYSTEM_TIME AS OF' left table's time attribute field"):
        bound(text.format("CURRENT_TIMESTAMP"), items())
    with pytest.raises(ValidationException, match="in versioned table, but no primary key can be found"):
        check_versions(lower(bound(text.format("o.r"), items())))


OPTIONS = (
    "",
    ", 'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '30'",
    ", 'lookup.cache' = 'FULL', 'lookup.full-cache.periodic-reload.interval' = '1 h'",
)


@pytest.mark.parametrize("options", OPTIONS)
def test_threads_ask_postgresql_each_by_itself(postgres, options):
    postgres.run("drop table if exists items", "create table items (item bigint primary key, kind text, price bigint)")
    postgres.run("insert into items select n, 'k' || n, n * 10 from generate_series(0, 99) as n")
    password = PASSWORD.replace("'", "''")
    table = relation_of(
        "CREATE TABLE items (item BIGINT, kind STRING, price BIGINT) WITH ("
        f"'connector' = 'jdbc', 'url' = '{postgres.jdbc_url}', 'username' = '{USER}', 'password' = '{password}', "
        f"'table-name' = 'items', 'lookup.async' = 'true'{options})"
    )
    running = LookupQuery(query("o.id, i.kind, i.price", "LEFT", "AND i.price < 900"), table)
    # Several requests: the rows of one are bounded.
    rows = [(number, number % 120, 0) for number in range(5_000)]
    changes = running.feed(*rows)
    running.close()
    postgres.run("drop table items")
    assert changes == [
        ("+I", (number, f"k{item}", item * 10) if item < 90 else (number, None, None)) for number, item, _ in rows
    ]

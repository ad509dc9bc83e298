"""Files that are looked up: read when a subtask opens, held by key, read again when they are old."""

from __future__ import annotations

import pytest

from funke.engine.flink_exceptions import TableException
from funke.engine.operators.time.clock import ManualClock
from funke.engine.sql.plan.lower import lower
from tests.harness.lookup_queries import LookupQuery, bound
from tests.harness.sql_tables import relation_of

QUERY = "SELECT o.id, i.name FROM o {} JOIN items FOR SYSTEM_TIME AS OF o.p AS i ON MOD(o.item, 10) = i.item {}"


def items(folder, options="", columns="item BIGINT, name STRING", more=""):
    return relation_of(
        f"CREATE TABLE items ({columns}) {more} WITH ('connector' = 'filesystem', 'path' = '{folder}', "
        f"'format' = 'csv', 'csv.null-literal' = 'NULL'{options})"
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.csv").write_text("1,one\n2,two\n")
    (tmp_path / "b.csv").write_text("2,zwei\nNULL,nothing\n")
    return tmp_path


def test_each_bid_with_its_side_input(folder):
    # The thirteenth query of Nexmark: the remainder of a number is looked up in files.
    query = LookupQuery(QUERY.format("", ""), items(folder))
    assert query.feed((7, 11, 0), (8, 2, 0), (9, 5, 0), (10, None, 0)) == [
        ("+I", (7, "one")),
        ("+I", (8, "two")),
        ("+I", (8, "zwei")),
    ]
    query.close()


def test_rows_without_a_match_are_kept(folder):
    query = LookupQuery(QUERY.format("LEFT", "AND i.name LIKE 't%'"), items(folder))
    assert query.feed((7, 1, 0), (8, 2, 0)) == [("+I", (7, None)), ("+I", (8, "two"))]
    query.close()


def test_files_are_read_again_when_they_are_old(folder):
    clock = ManualClock(0)
    query = LookupQuery(QUERY.format("", ""), items(folder, ", 'lookup.join.cache.ttl' = '10 s'"), clock)
    (folder / "c.csv").write_text("3,three\n")
    assert query.feed((7, 3, 0)) == []
    clock.set(9_999)
    assert query.feed((7, 3, 0)) == []
    clock.set(10_000)
    assert query.feed((7, 3, 0)) == [("+I", (7, "three"))]
    query.close()


def test_no_file_is_no_row(tmp_path):
    query = LookupQuery(QUERY.format("LEFT", ""), items(tmp_path))
    assert query.feed((7, 3, 0)) == [("+I", (7, None))]
    query.close()


def test_files_that_are_watched_are_read_as_they_are(folder):
    query = LookupQuery(QUERY.format("", ""), items(folder, ", 'source.monitor-interval' = '1 s'"))
    assert query.feed((7, 1, 0)) == [("+I", (7, "one"))]
    query.close()


def test_a_condition_on_a_partition_leaves_out_files(tmp_path):
    for day in ("mon", "tue"):
        (tmp_path / f"day={day}").mkdir()
        (tmp_path / f"day={day}" / "a.csv").write_text(f"1,{day}\n")
    table = items(tmp_path, columns="item BIGINT, name STRING, `day` STRING", more="PARTITIONED BY (`day`)")
    text = QUERY.format("", "AND i.`day` = 'tue'")
    query = LookupQuery(text, table)
    assert query.feed((7, 1, 0)) == [("+I", (7, "tue"))]
    query.close()
    (tmp_path / "day=mon" / "a.csv").write_text("not,a,number\n")
    query = LookupQuery(text, table)
    assert query.feed((7, 1, 0)) == [("+I", (7, "tue"))]
    query.close()


def test_changes_in_files_are_no_rows(tmp_path):
    table = relation_of(
        f"CREATE TABLE items (item BIGINT, name STRING) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', "
        "'format' = 'debezium-json')"
    )
    with pytest.raises(TableException, match="Processing-time temporal join is not supported yet"):
        lower(bound(QUERY.format("", ""), table))

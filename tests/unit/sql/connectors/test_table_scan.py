"""What a table means in a query: columns in their order, metadata cast, computed columns, event time; read narrowly."""

from __future__ import annotations

from pathlib import Path

import pytest

from funke.engine.errors import UnsupportedFeatureError
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Calculation, Relation, Scan
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.connectors.filesystem.filesystem_source import FileTableSource
from funke.engine.sql.connectors.push_down import push_down
from funke.engine.sql.parsing import parse
from funke.engine.sql.syntax.statements import QueryStatement
from funke.engine.types.logical.sql_text import to_sql_text
from tests.harness.sql_tables import relation_of
from tests.unit.connectors.source_draining import drain

BIDS = """
    CREATE TABLE bids (
        auction BIGINT, price BIGINT, channel STRING, ts TIMESTAMP(3), extra STRING,
        name STRING METADATA FROM 'file.name' VIRTUAL, size INT METADATA FROM 'file.size',
        cents AS price * 100, again AS ts, WATERMARK FOR ts AS ts - INTERVAL '4' SECOND{more}
    ) WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '{path}'{options})
"""


def bids(path: str = "/nowhere", more: str = "", options: str = "") -> Relation:
    return relation_of(BIDS.format(path=path, more=more, options=options))


def types_of(relation: Relation) -> dict[str, str]:
    return {each.name: to_sql_text(each.type) for each in relation.columns}


def bound(text: str, table: Relation) -> Relation:
    (statement,) = parse(text)
    assert isinstance(statement, QueryStatement)
    return QueryBinder({("bids",): table}.get).bind(statement.query)


def scan_of(relation: Relation) -> Scan:
    while not isinstance(relation, Scan):
        relation = relation.input  # type: ignore[attr-defined]
    return relation


def test_columns_stand_in_their_declared_order_with_their_types() -> None:
    relation = bids()
    assert isinstance(relation, WatermarkAssigner)
    assert types_of(relation) == {
        "auction": "BIGINT",
        "price": "BIGINT",
        "channel": "STRING",
        "ts": "TIMESTAMP(3)",
        "extra": "STRING",
        "name": "STRING",
        "size": "INT",
        "cents": "BIGINT",
        "again": "TIMESTAMP(3)",
    }
    assert [each.name for each in relation.columns if each.time is TimeAttribute.ROWTIME] == ["ts"]
    assert to_sql_text(scan_of(relation).columns[6].type) == "BIGINT NOT NULL"


def test_a_source_reads_the_columns_that_a_query_looks_at() -> None:
    query = push_down(bound("SELECT channel FROM (SELECT * FROM bids) WHERE cents > 5", bids()))
    scan = scan_of(query)
    assert [each.name for each in scan.columns] == ["price", "channel", "ts"]
    assert isinstance(scan.table, FileTableSource)
    assert [each.name for each in scan.table.columns] == ["price", "channel", "ts"]
    assert types_of(query) == {"channel": "STRING"}


def test_a_query_for_no_column_reads_one() -> None:
    table = relation_of("CREATE TABLE t (a INT, b INT) WITH ('connector'='filesystem','format'='csv','path'='/x')")
    scan = scan_of(push_down(bound("SELECT 1 FROM bids", table)))
    assert [each.name for each in scan.columns] == ["a"]


def test_a_source_reads_no_more_rows_than_a_limit() -> None:
    def limit_of(text: str) -> int | None:
        table = scan_of(push_down(bound(text, bids()))).table
        assert isinstance(table, FileTableSource)
        return table.files.limit

    assert limit_of("SELECT channel FROM bids LIMIT 3 OFFSET 2") == 5
    assert limit_of("SELECT channel FROM bids LIMIT 3") == 3
    assert limit_of("SELECT channel FROM bids WHERE price > 3 LIMIT 3") is None
    assert limit_of("SELECT channel FROM bids") is None


def test_partitions_and_metadata_stand_in_the_path(tmp_path: Path) -> None:
    folder = tmp_path / "day=2020-12-31" / "shop=a%20b"
    folder.mkdir(parents=True)
    (folder / "orders.csv").write_text("1,x\n2,y\n")
    other = tmp_path / "day=2021-01-01" / "shop=__DEFAULT_PARTITION__"
    other.mkdir(parents=True)
    (other / "orders.csv").write_text("3,z\n")
    relation = relation_of(
        "CREATE TABLE t (id INT, shop STRING, item STRING, `day` DATE, f STRING METADATA FROM 'file.name') "
        "PARTITIONED BY (`day`, shop) "
        f"WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '{tmp_path}')"
    )
    source = scan_of(relation).table
    assert isinstance(source, FileTableSource)
    assert [repr(row) for row in drain(source.create_source())] == [
        "Row(id=1, shop='a b', item='x', day=datetime.date(2020, 12, 31), f='orders.csv')",
        "Row(id=2, shop='a b', item='y', day=datetime.date(2020, 12, 31), f='orders.csv')",
        "Row(id=3, shop=None, item='z', day=datetime.date(2021, 1, 1), f='orders.csv')",
    ]
    narrow = source.with_columns([3]).create_source()
    assert [repr(row) for row in drain(narrow)][-1] == "Row(day=datetime.date(2021, 1, 1))"


def test_files_of_partitions_that_a_condition_rules_out_are_not_read(tmp_path: Path) -> None:
    for day in ("2020-12-31", "2021-01-01"):
        (tmp_path / f"day={day}").mkdir()
    (tmp_path / "day=2020-12-31" / "x.csv").write_text("no number\n")
    (tmp_path / "day=2021-01-01" / "x.csv").write_text("1\n2\n")
    table = relation_of(
        "CREATE TABLE t (id INT, `day` DATE, f STRING METADATA FROM 'file.name') PARTITIONED BY (`day`) "
        f"WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '{tmp_path}')"
    )
    text = "SELECT id FROM (SELECT id, `day` AS d, f FROM bids) WHERE d > DATE '2020-12-31' AND id > 1"
    source = scan_of(push_down(bound(text, table))).table
    assert isinstance(source, FileTableSource)
    assert len(source.files.conditions) == 1
    assert [row.id for row in drain(source.create_source())] == [1, 2]


def test_only_paths_that_match_are_read(tmp_path: Path) -> None:
    for name in ("a1.csv", "b1.csv", "a2.csv"):
        (tmp_path / name).write_text(f"{name}\n")
    relation = relation_of(
        "CREATE TABLE t (name STRING) WITH ('connector' = 'filesystem', 'format' = 'csv', "
        f"'path' = '{tmp_path}', 'source.path.regex-pattern' = '.*/a[0-9].csv')"
    )
    assert [row.name for row in drain(scan_of(relation).table.create_source())] == ["a1.csv", "a2.csv"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            "a INT, k INT METADATA",
            "Invalid metadata key 'k' in column 'k' of table 'default_catalog.default_database.t'",
        ),
        ("a INT, WATERMARK FOR b AS b", "Invalid column name 'b' for rowtime attribute in watermark declaration."),
        ("a INT, WATERMARK FOR a AS a", "Invalid data type of time field for watermark definition."),
        ("a TIMESTAMP(6), WATERMARK FOR a AS a", "the supported precision 'p' is from 0 to 3"),
        ("a TIMESTAMP(3), WATERMARK FOR a AS 1", "Invalid data type of expression for watermark definition."),
    ],
)
def test_what_cannot_be_is_rejected(columns: str, message: str) -> None:
    with pytest.raises(ValidationException) as rejected:
        relation_of(f"CREATE TABLE t ({columns}) WITH ('connector'='filesystem','format'='csv','path'='/x')")
    assert message in str(rejected.value)


def test_options_of_watermarks() -> None:
    options = ", 'scan.watermark.idle-timeout' = '1 min', 'scan.watermark.emit.strategy' = 'on-event'"
    relation = bids(options=options)
    assert isinstance(relation, WatermarkAssigner)
    assert (relation.idle_timeout_ms, relation.rows_per_watermark) == (60_000, 1)
    with pytest.raises(UnsupportedFeatureError, match=r"scan\.watermark\.alignment\.group"):
        bids(options=", 'scan.watermark.alignment.group' = 'g'")


def test_a_table_without_more_is_its_scan() -> None:
    relation = relation_of("CREATE TABLE t (a INT) WITH ('connector'='filesystem','format'='csv','path'='/x')")
    assert isinstance(relation, Scan)
    computed = relation_of(
        "CREATE TABLE t (a INT, b AS a + 1) WITH ('connector'='filesystem','format'='csv','path'='/x')"
    )
    assert isinstance(computed, Calculation)

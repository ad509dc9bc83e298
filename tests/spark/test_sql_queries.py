"""Tables and SQL as jobs: parsed, bound, and computed on columns by slots."""

from __future__ import annotations

import datetime
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from funke.common import Row, RowKind, Types, WatermarkStrategy
from funke.common.watermark_strategy import TimestampAssigner
from funke.datastream import StreamExecutionEnvironment
from funke.engine.flink_exceptions import TableException
from funke.table import (
    AggregateFunction,
    ChangelogMode,
    DataTypes,
    EnvironmentSettings,
    FunctionContext,
    PlanReference,
    ScalarFunction,
    Schema,
    StreamTableEnvironment,
)
from funke.table.expressions import call, col
from funke.table.udf import udf

pytestmark = pytest.mark.spark


@pytest.fixture
def t_env(env: StreamExecutionEnvironment) -> StreamTableEnvironment:
    return StreamTableEnvironment.create(env)


def test_a_query_runs_on_slots(env: StreamExecutionEnvironment, t_env: StreamTableEnvironment) -> None:
    row_type = Types.ROW_NAMED(["id", "item"], [Types.INT(), Types.STRING()])
    orders = env.from_collection([(number, f"item {number % 3}") for number in range(1000)], row_type).rebalance()
    t_env.create_temporary_view("orders", orders)
    result = t_env.execute_sql("""
        SELECT id * 2 AS twice, CASE item WHEN 'item 0' THEN 'none' ELSE item END AS item
        FROM orders WHERE id >= 10 AND MOD(id, 2) = 1 OR id = 4
        UNION ALL VALUES (-1, 'last')
    """)
    with result.collect() as rows:
        results = sorted((row[0], row[1]) for row in rows)
    kept = [number for number in range(1000) if (number >= 10 and number % 2 == 1) or number == 4]
    expected = [(number * 2, "none" if number % 3 == 0 else f"item {number % 3}") for number in kept]
    assert results == sorted([*expected, (-1, "last")])


def test_groups_are_counted_on_slots(t_env: StreamTableEnvironment) -> None:
    t_env.create_temporary_view(
        "orders", t_env.from_elements([(number, f"item {number % 3}") for number in range(10)], ["id", "item"])
    )
    result = t_env.execute_sql("SELECT item, COUNT(*) AS number, SUM(id) AS total FROM orders GROUP BY item")
    with result.collect() as rows:
        results = [(str(row.get_row_kind()), *row) for row in rows]
    # As in Flink: in the order of the rows for each key, whatever the other keys do.
    assert [change for change in results if change[1] == "item 1"] == [
        ("+I", "item 1", 1, 1),
        ("-U", "item 1", 1, 1),
        ("+U", "item 1", 2, 5),
        ("-U", "item 1", 2, 5),
        ("+U", "item 1", 3, 12),
    ]
    assert len(results) == 3 + 2 * 7


def test_files_get_the_first_rows_of_windows(t_env: StreamTableEnvironment, tmp_path: Path) -> None:
    lines = (f"{second % 3},{second},2024-01-01 00:00:{second:02}" for second in range(40))
    (tmp_path / "bids.csv").write_text("\n".join(lines))
    files = "'connector' = 'filesystem', 'format' = 'csv', 'path' = '{}'"
    t_env.execute_sql(f"""
        CREATE TABLE bids (k INT, price INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
        WITH ({files.format(tmp_path / "bids.csv")})
    """)
    t_env.execute_sql(
        f"CREATE TABLE best (e TIMESTAMP(3), k INT, price INT, n BIGINT) WITH ({files.format(tmp_path / 'best')})"
    )
    t_env.execute_sql("""
        INSERT INTO best SELECT window_end, k, price, n FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, k ORDER BY price DESC) AS n
            FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '20' SECOND))
        ) WHERE n <= 2
    """).wait()
    written = [line for file in (tmp_path / "best").glob("[!._]*") for line in file.read_text().splitlines()]
    ends = {20: range(20), 40: range(20, 40)}
    assert sorted(written) == sorted(
        f'"2024-01-01 00:00:{end}",{k},{price},{index + 1}'
        for end, prices in ends.items()
        for k in range(3)
        for index, price in enumerate([each for each in reversed(prices) if each % 3 == k][:2])
    )


class Counted(ScalarFunction):
    """Says what `open` has told it."""

    def open(self, function_context: FunctionContext) -> None:
        self._prefix = function_context.get_job_parameter("prefix", "none")

    def eval(self, text: str) -> str:
        return f"{self._prefix}:{text}"


def test_values_of_all_types_pass_functions_of_users_and_come_back(
    t_env: StreamTableEnvironment, capsys: pytest.CaptureFixture[str]
) -> None:
    t_env.get_config().set("pipeline.global-job-parameters", "prefix:seen")
    timestamp = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)
    row_type = DataTypes.ROW(
        [
            DataTypes.FIELD("id", DataTypes.INT()),
            DataTypes.FIELD("price", DataTypes.DECIMAL(10, 2)),
            DataTypes.FIELD("at", DataTypes.TIMESTAMP(3)),
            DataTypes.FIELD("place", DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT())])),
            DataTypes.FIELD("names", DataTypes.ARRAY(DataTypes.STRING())),
        ]
    )
    table = t_env.from_elements(
        [(1, Decimal("1.50"), timestamp, (7,), ["a", None]), (2, None, None, None, None)], row_type
    )

    @udf(result_type="ROW<x INT, kind STRING>")
    def moved(row: Row | None) -> Row | None:
        return None if row is None else Row(row.x + 1, type(row).__name__)

    @udf(result_type=DataTypes.BIGINT(), func_type="pandas")
    def doubled(ids: Any) -> Any:
        assert isinstance(ids, pd.Series)
        return ids * 2

    @udf(result_type=DataTypes.STRING(), input_types=[DataTypes.BIGINT()])
    async def text_of(number: int) -> str:
        return f"no. {number}"

    t_env.create_temporary_function("counted", udf(Counted(), result_type=DataTypes.STRING()))
    computed = table.select(
        col("id"),
        moved(col("place")).alias("moved"),
        doubled(col("id")).alias("twice"),
        text_of(col("id")),
        call("counted", col("names").at(1)).alias("counted"),
        col("price"),
        col("at"),
        col("names"),
    )
    with computed.execute().collect() as rows:
        assert list(rows) == [
            Row(1, Row(8, "Row"), 2, "no. 1", "seen:a", Decimal("1.50"), timestamp, ["a", None]),
            Row(2, None, 4, "no. 2", "seen:None", None, None, None),
        ]
    table.select(col("id"), col("price")).execute().print()
    assert capsys.readouterr().out.splitlines() == [
        "+----+-------------+--------------+",
        "| op |          id |        price |",
        "+----+-------------+--------------+",
        "| +I |           1 |         1.50 |",
        "| +I |           2 |       <NULL> |",
        "+----+-------------+--------------+",
        "2 rows in set",
    ]


class Longest(AggregateFunction):
    """The longest text of a group."""

    def create_accumulator(self) -> list[str]:
        return [""]

    def accumulate(self, accumulator: list[str], *args: Any) -> None:
        accumulator[0] = max(accumulator[0], args[0], key=len)

    def get_value(self, accumulator: list[str]) -> str:
        return accumulator[0]

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.STRING())

    def get_result_type(self) -> Any:
        return DataTypes.STRING()


def test_batches_give_their_results_once_and_in_order(spark: Any, tmp_path: Path) -> None:
    t_env = StreamTableEnvironment.create(environment_settings=EnvironmentSettings.in_batch_mode())
    frame = pd.DataFrame({"id": [3, 1, 2, 5, 4], "name": ["c", None, "bb", "c", "aaa"]})
    t_env.create_temporary_view("frame", t_env.from_pandas(frame))
    t_env.execute_sql(f"""
        CREATE TABLE files (id INT NOT NULL, name STRING, extra DOUBLE)
        WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{tmp_path}')
    """)
    inserted = t_env.execute_sql("INSERT INTO files (name, id) SELECT name, CAST(id AS INT) FROM frame")
    assert [tuple(row) for row in inserted.collect()] == [(-1,)]
    result = t_env.sql_query("SELECT name, id * 2 FROM files ORDER BY id DESC LIMIT 2").to_pandas()
    assert result.values.tolist() == [["c", 10], ["aaa", 8]]
    t_env.create_temporary_system_function("longest", Longest())
    groups = t_env.sql_query("""
        SELECT MOD(id, 2) AS kind, COUNT(*) AS number, longest(COALESCE(name, '')) AS most
        FROM files GROUP BY MOD(id, 2) ORDER BY number
    """)
    with groups.execute().collect() as rows:
        assert list(rows) == [Row(0, 2, "aaa"), Row(1, 3, "c")]
    nothing = t_env.sql_query("SELECT COUNT(*), SUM(id) FROM files WHERE id > 100")
    with nothing.execute().collect() as rows:
        assert list(rows) == [Row(0, None)]


def test_a_table_has_the_rows_of_its_primary_key(
    env: StreamExecutionEnvironment, t_env: StreamTableEnvironment, tmp_path: Path
) -> None:
    """All counts but the last ones are of several items on the way there, which are counted in different places."""
    row_type = Types.ROW_NAMED(["item"], [Types.STRING()])
    items = [(f"item {number}",) for count in range(8) for number in range(count, 8)]
    t_env.create_temporary_view("orders", env.from_collection(items, row_type).rebalance())
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("CREATE TABLE items (number BIGINT PRIMARY KEY, item TEXT)")
    t_env.execute_sql(f"""
        CREATE TABLE items (number BIGINT, item STRING, PRIMARY KEY (number) NOT ENFORCED)
        WITH (
            'connector' = 'jdbc', 'url' = 'jdbc:sqlite:{tmp_path}/shop.db', 'table-name' = 'items',
            'sink.parallelism' = '1'
        )
    """)
    t_env.execute_sql(
        "INSERT INTO items SELECT COUNT(*), item FROM orders GROUP BY item ON CONFLICT DO DEDUPLICATE"
    ).wait()
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        rows = connection.execute("SELECT * FROM items ORDER BY number").fetchall()
    assert rows == [(number + 1, f"item {number}") for number in range(8)]


def test_inserts_of_one_job(t_env: StreamTableEnvironment, capfd: pytest.CaptureFixture[str]) -> None:
    t_env.execute_sql(
        "CREATE TABLE numbers (n BIGINT, w AS n + 1) WITH ('connector' = 'datagen', "
        "'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '4')"
    )
    t_env.execute_sql("CREATE TABLE shown (n BIGINT, w STRING) WITH ('connector' = 'print', 'print-identifier' = 'x')")
    t_env.execute_sql("CREATE TABLE gone (n BIGINT) WITH ('connector' = 'blackhole')")
    statements = t_env.create_statement_set()
    statements.add_insert_sql("INSERT INTO shown SELECT n, CAST(w AS STRING) FROM numbers WHERE n > 2")
    statements.add_insert("gone", t_env.from_path("numbers").select(col("n")))
    result = statements.execute()
    assert [each.get_name() for each in result.get_resolved_schema().get_columns()] == [
        "default_catalog.default_database.shown",
        "default_catalog.default_database.gone",
    ]
    result.wait()
    lines = {line.split("> ")[-1] for line in capfd.readouterr().out.splitlines() if line.startswith("x")}
    assert lines == {"+I[3, 4]", "+I[4, 5]"}


def test_tables_become_streams_and_streams_tables(
    env: StreamExecutionEnvironment, t_env: StreamTableEnvironment
) -> None:
    row_type = Types.ROW_NAMED(["id", "item"], [Types.INT(), Types.STRING()])
    stamped = env.from_collection([(1, "a"), (2, "b"), (3, "a")], row_type).assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamps())
    )
    schema = (
        Schema.new_builder()
        .column_by_metadata("rt", DataTypes.TIMESTAMP_LTZ(3), "rowtime")
        .column_by_expression("twice", "id * 2")
        .watermark("rt", "SOURCE_WATERMARK()")
        .build()
    )
    table = t_env.from_data_stream(stamped, schema)
    assert str(table.get_resolved_schema()).splitlines()[3:5] == [
        "  `rt` TIMESTAMP_LTZ(3) *ROWTIME*,",
        "  `twice` INT",
    ]
    # What is computed may be of fields that are not named.
    schema = Schema.new_builder().column_by_expression("twice", "id * 2").column("item", DataTypes.STRING()).build()
    with t_env.from_data_stream(stamped, schema).execute().collect() as rows:
        assert sorted(map(tuple, rows)) == [(2, "a"), (4, "b"), (6, "a")]
    plain = t_env.to_data_stream(table.select(col("item"), col("twice"), col("rt")))
    timestamp = datetime.datetime(1970, 1, 1, 0, 0, 3, tzinfo=datetime.UTC)
    assert sorted(map(tuple, plain.execute_and_collect()))[1] == ("a", 6, timestamp)
    counted = table.group_by(col("item")).select(col("item"), col("id").count.alias("n"))
    pairs = t_env.to_retract_stream(counted, Types.ROW([Types.STRING(), Types.LONG()]))
    changes = [(is_added, tuple(row)) for is_added, row in pairs.execute_and_collect() if row[0] == "a"]
    assert changes == [(True, ("a", 1)), (False, ("a", 1)), (True, ("a", 2))]
    with pytest.raises(TableException, match="doesn't support consuming update changes which is produced by node"):
        t_env.to_data_stream(counted)
    back = t_env.from_changelog_stream(t_env.to_changelog_stream(counted))
    with back.where(col("item") == "b").execute().collect() as rows:
        assert [(str(row.get_row_kind()), *row) for row in rows] == [("+I", "b", 1)]


def test_a_stream_of_updates_by_key_is_a_table(
    env: StreamExecutionEnvironment, t_env: StreamTableEnvironment, tmp_path: Path
) -> None:
    """Rows before updates are remembered; then its first row by an order, and a plan that is stored and run."""
    changes = [("+I", "a", 1), ("+U", "a", 2), ("+U", "b", 5), ("+U", "a", 2), ("-D", "c", None), ("-D", "a", None)]
    kinds = {str(kind): kind for kind in RowKind}
    rows = [Row.of_kind(kinds[sign], *values) for sign, *values in changes]
    stream = env.from_collection(rows, Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()]))
    schema = Schema.new_builder().primary_key("k").build()
    table = t_env.from_changelog_stream(stream, schema, ChangelogMode.upsert())
    with table.execute().collect() as result:
        # Changes of two keys come in any order.
        assert sorted([(str(row.get_row_kind()), *row) for row in result], key=lambda change: change[1]) == [
            ("+I", "a", 1), ("-U", "a", 1), ("+U", "a", 2), ("-D", "a", 2), ("+I", "b", 5)
        ]  # fmt: skip
    t_env.create_temporary_view("upserts", table)
    with t_env.sql_query("SELECT k, v FROM upserts ORDER BY v LIMIT 1").execute().collect() as result:
        assert [(str(row.get_row_kind()), *row) for row in result][-1] == ("+I", "b", 5)
    t_env.execute_sql(f"""
        CREATE TABLE planned (k STRING, n BIGINT)
        WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '{tmp_path / "planned"}')
    """)
    text = "INSERT INTO planned SELECT * FROM (VALUES ('x', CAST(1 AS BIGINT))) AS t (k, n)"
    plan = t_env.compile_plan_sql(text).as_json_string()
    t_env.load_plan(PlanReference.from_json_string(plan)).execute().wait()
    assert [path.read_text() for path in (tmp_path / "planned").glob("part-*")] == ["x,1\n"]
    with pytest.raises(TableException, match="This requires defining a primary key constraint"):
        t_env.from_changelog_stream(stream, Schema.new_builder().build(), ChangelogMode.upsert())


class Stamps(TimestampAssigner):
    """The number of an element as its second."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[0]) * 1000

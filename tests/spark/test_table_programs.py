"""Programs of the Table API with the results of PyFlink 2.3, whose values were recorded there."""

from __future__ import annotations

import array
import datetime
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from funke.common import Configuration, Row, Types
from funke.datastream import ProcessFunction, RuntimeExecutionMode, StreamExecutionEnvironment
from funke.engine.errors import ConfigurationError
from funke.engine.flink_exceptions import TableException, ValidationException
from funke.table import DataTypes, EnvironmentSettings, Schema, StreamTableEnvironment, Table, TableEnvironment
from funke.table.expressions import col, lit
from funke.table.udf import udaf, udf, udtf
from funke.table.window import Session, Slide, Tumble
from tests.spark.job_running import collect, new_environment

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

SUMS = "SELECT k, SUM(v) FROM (VALUES ('a', 1), ('a', 2)) AS t(k, v) GROUP BY k"
NESTED = DataTypes.ROW(
    [
        DataTypes.FIELD("a", DataTypes.SMALLINT()),
        DataTypes.FIELD(
            "b", DataTypes.ROW([DataTypes.FIELD("c", DataTypes.INT()), DataTypes.FIELD("d", DataTypes.STRING())])
        ),
    ]
)


def rows_of(table: Table) -> list[Any]:
    with table.execute().collect() as rows:
        return [(str(row.get_row_kind()), *row) for row in rows]


@pytest.fixture
def batch() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_batch_mode())


def environments() -> dict[str, StreamTableEnvironment]:
    """Environments that are in batch mode because of their streams'."""
    by_method = new_environment(1).set_runtime_mode(RuntimeExecutionMode.BATCH)
    configured = Configuration().set_string("execution.runtime-mode", "batch")
    by_option = StreamExecutionEnvironment.get_execution_environment(configured).set_parallelism(1)
    return {"method": StreamTableEnvironment.create(by_method), "option": StreamTableEnvironment.create(by_option)}


@pytest.mark.parametrize("way", ["method", "option"])
def test_tables_have_the_mode_of_their_streams(way: str) -> None:
    t_env = environments()[way]
    assert rows_of(t_env.sql_query(SUMS)) == [("+I", "a", 3)]
    ordered = t_env.from_elements([(2,), (1,)], ["n"]).order_by(col("n"))
    assert rows_of(ordered) == [("+I", 1), ("+I", 2)]


def test_a_mode_that_was_declared_goes_before() -> None:
    env = new_environment(1).set_runtime_mode(RuntimeExecutionMode.BATCH)
    t_env = StreamTableEnvironment.create(env, EnvironmentSettings.in_streaming_mode())
    assert rows_of(t_env.sql_query(SUMS)) == [("+I", "a", 1), ("-U", "a", 1), ("+U", "a", 3)]
    t_env.get_config().set("execution.runtime-mode", "BATCH")
    with pytest.raises(ConfigurationError, match="Mismatch between configured runtime mode and actual runtime mode"):
        t_env.execute_sql(SUMS)
    env.set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    with pytest.raises(TableException, match="Unsupported mode 'AUTOMATIC'"):
        StreamTableEnvironment.create(env)


def test_collected_floats_have_their_shortest_digits(batch: TableEnvironment) -> None:
    seen = udf(repr, result_type=DataTypes.STRING())
    same = udf(lambda x: x, result_type=DataTypes.FLOAT())
    query = batch.sql_query(
        "SELECT f, f + 1 AS g, ARRAY[f] AS h, MAP['k', f] AS m, ROW(f) AS r FROM (VALUES (CAST(0.1 AS FLOAT))) AS t(f)"
    )
    table = query.select(col("*"), seen(col("f")).alias("s"), same(col("f")).alias("x"))
    assert rows_of(table) == [("+I", 0.1, 1.1, [0.1], {"k": 0.1}, Row(0.1), "0.10000000149011612", 0.1)]
    aggregated = batch.sql_query(
        "SELECT STDDEV_POP(f), AVG(f), SUM(f) FROM (VALUES (CAST(1.1 AS FLOAT)), (CAST(2.3 AS FLOAT))) AS t(f)"
    )
    assert rows_of(aggregated) == [("+I", 0.59999996, 1.7, 3.4)]


def test_decimals_are_rounded(batch: TableEnvironment) -> None:
    two_digits = DataTypes.DECIMAL(5, 2)
    row_type = DataTypes.ROW([DataTypes.FIELD("a", two_digits), DataTypes.FIELD("b", DataTypes.ARRAY(two_digits))])
    elements = [
        (Decimal("1.005"), [Decimal("2.675")]),
        (Decimal("1.004"), [Decimal("-2.675")]),
        (Decimal("12345.678"), [Decimal("2.665")]),
    ]
    assert rows_of(batch.from_elements(elements, row_type)) == [
        ("+I", Decimal("1.01"), [Decimal("2.68")]),
        ("+I", Decimal("1.00"), [Decimal("-2.68")]),
        ("+I", None, [Decimal("2.67")]),
    ]
    # Results of functions are rounded by Python: half to even.
    rounded = udf(lambda x: Decimal("2.665") if x else Decimal("2.675"), result_type=two_digits)
    flags = batch.from_elements([(True,), (False,)], ["x"])
    assert rows_of(flags.select(rounded(col("x")))) == [("+I", Decimal("2.66")), ("+I", Decimal("2.68"))]


def test_decimals_of_a_stream_are_rounded() -> None:
    env = new_environment(1)
    stream = env.from_collection([(Decimal("1.0000000000000000005"),)], Types.TUPLE([Types.BIG_DEC()]))
    rows = rows_of(StreamTableEnvironment.create(env).from_data_stream(stream))
    assert rows == [("+I", Decimal("1.000000000000000001"))]


def test_strings_are_joined_by_plus(batch: TableEnvironment) -> None:
    table = batch.from_elements([(1, "x"), (2, None)], ["a", "b"])
    joined = table.select(col("b") + "flink", lit("a") + col("b"), col("b") + col("a"), "p" + col("b"))
    assert rows_of(joined) == [("+I", "xflink", "ax", "x1", "px"), ("+I", None, None, None, None)]
    assert rows_of(table.filter(col("b") + "y" == "xy").select(col("a") + 1)) == [("+I", 2)]
    with pytest.raises(Exception, match=r"Cannot apply '\+'"):
        table.select(col("a") + col("b"))


class _WithTimestamp(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[str]:
        yield f"{value} {ctx.timestamp()}"


@pytest.mark.parametrize("key", [None, "rowtime"])
def test_the_rowtime_of_a_changelog_stream_is_its_timestamp(key: str | None) -> None:
    t_env = StreamTableEnvironment.create(new_environment(1))
    table = t_env.sql_query("SELECT 1 AS a, TO_TIMESTAMP_LTZ(1500, 3) AS ts")
    builder = Schema.new_builder().column("a", DataTypes.INT())
    schema = builder.column_by_metadata("ts" if key else "rowtime", DataTypes.TIMESTAMP_LTZ(3), key).build()
    stream = t_env.to_changelog_stream(table, schema)
    assert collect(stream.process(_WithTimestamp(), Types.STRING())) == ["Row(a=1) 1500"]


def test_a_changelog_stream_has_no_other_metadata() -> None:
    t_env = StreamTableEnvironment.create(new_environment(1))
    table = t_env.sql_query("SELECT 1 AS a, TO_TIMESTAMP_LTZ(1500, 3) AS ts")
    schema = Schema.new_builder().column("a", DataTypes.INT()).column_by_metadata("ts", DataTypes.TIMESTAMP_LTZ(3))
    with pytest.raises(ValidationException, match="Invalid metadata key 'ts' in column 'ts'"):
        t_env.to_changelog_stream(table, schema.build())


def test_a_table_function_may_take_the_whole_row(batch: TableEnvironment) -> None:
    describe = udtf(
        lambda row: [(str(row), row[0])] if row[0] == 1 else [], result_types=[DataTypes.STRING(), DataTypes.INT()]
    )
    row_type = DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT()), DataTypes.FIELD("s", DataTypes.STRING())])
    table = batch.from_elements([(1, "a"), (2, "b")], row_type)
    with pytest.raises(AttributeError, match="must be followed by a alias"):
        table.join_lateral(describe)
    named = describe.alias("c", "d")
    assert rows_of(table.join_lateral(named)) == [("+I", 1, "a", "Row(x=1, s='a')", 1)]
    assert rows_of(table.left_outer_join_lateral(named).select(col("x"), col("d"))) == [("+I", 1, 1), ("+I", 2, None)]


def test_pandas_functions_of_whole_rows(batch: TableEnvironment) -> None:
    table = batch.from_elements([(1, (2, "hi")), (3, (4, "ho")), (1, (5, "x"))], NESTED)
    flat = DataTypes.ROW(
        [
            DataTypes.FIELD("a", DataTypes.SMALLINT()),
            DataTypes.FIELD("c", DataTypes.INT()),
            DataTypes.FIELD("d", DataTypes.STRING()),
        ]
    )

    def same(frame: pd.DataFrame) -> pd.DataFrame:
        assert list(frame.columns) == ["a", "c", "d"]
        return frame

    mapped = table.map(udf(same, result_type=flat, func_type="pandas"))
    assert mapped.get_schema().get_field_names() == ["a", "c", "d"]
    assert rows_of(mapped) == [("+I", 1, 2, "hi"), ("+I", 3, 4, "ho"), ("+I", 1, 5, "x")]
    pair = DataTypes.ROW([DataTypes.FIELD("mean", DataTypes.FLOAT()), DataTypes.FIELD("most", DataTypes.INT())])
    summary = udaf(lambda frame: (frame.a.mean(), frame.c.max()), result_type=pair, func_type="pandas")
    by_key = table.group_by(col("a")).aggregate(summary).select(col("*"))
    assert by_key.get_schema().get_field_names() == ["a", "TMP_0$mean", "TMP_0$most"]
    assert sorted(rows_of(by_key)) == [("+I", 1, 1.0, 5), ("+I", 3, 3.0, 4)]
    assert rows_of(table.aggregate(summary.alias("u", "v")).select(col("v"), col("u"))) == [("+I", 5, 1.6666666)]


def test_what_a_pandas_function_must_give(batch: TableEnvironment) -> None:
    wrong = udf(lambda series: [*series], result_type=DataTypes.INT(), func_type="pandas")
    table = batch.from_elements([(1,), (2,)], ["x"])
    with pytest.raises(Exception, match=r"must be pandas.Series or pandas.DataFrame, got <class 'list'>"):
        rows_of(table.select(wrong(col("x"))))


def test_a_system_function_goes_before_an_operator(batch: TableEnvironment) -> None:
    own = udf(lambda a, b: a * 100 + b, result_type=DataTypes.BIGINT())
    table = batch.from_elements([(1, 2)], ["a", "b"])
    batch.create_temporary_function("plus", own)
    assert rows_of(table.select(col("a") + col("b"))) == [("+I", 3)]
    batch.create_temporary_system_function("plus", own)
    assert rows_of(table.select(col("a") + col("b"))) == [("+I", 102)]
    assert rows_of(batch.sql_query("SELECT 1 + 2, plus(1, 2)")) == [("+I", 3, 102)]


@pytest.mark.parametrize("key", ["python.fn-execution.bundle.size", "python.fn-execution.arrow.batch.size"])
def test_settings_bound_what_a_pandas_function_gets(batch: TableEnvironment, key: str) -> None:
    batch.get_config().set(key, "2")
    count = udf(lambda series: pd.Series([len(series)] * len(series)), result_type=DataTypes.INT(), func_type="pandas")
    table = batch.from_elements([(number,) for number in range(5)], ["n"])
    assert [row[1] for row in rows_of(table.select(count(col("n"))))] == [2, 2, 2, 2, 1]


def test_characters_of_an_array(batch: TableEnvironment) -> None:
    table = batch.from_elements([(array.array("u", "abc"),)], ["a"])
    assert str(table.get_schema()) == "root\n |-- a: ARRAY<CHAR(4) NOT NULL>\n"
    assert rows_of(table) == [("+I", ["a", "b", "c"])]


def test_inserts_of_tables_wait_for_execute(tmp_path: Path) -> None:
    t_env = StreamTableEnvironment.create(new_environment(1))
    for name in ("first", "second_one", "third"):
        t_env.execute_sql(
            f"CREATE TABLE {name} (n BIGINT) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/{name}', "
            "'format' = 'csv')"
        )
    table = t_env.from_elements([(1,), (2,)], ["n"])
    table.insert_into("first")
    t_env.insert_into("second_one", table)
    table.execute_insert("third").wait()
    t_env.execute("a job of Flink 1.x")
    for name in ("first", "second_one", "third"):
        lines = [line for file in (tmp_path / name).iterdir() for line in file.read_text().split()]
        assert sorted(lines) == ["1", "2"]


def test_times_keep_their_milliseconds(batch: TableEnvironment) -> None:
    time = datetime.time(1, 2, 3, 456789)
    fields = [DataTypes.FIELD("a", DataTypes.TIME()), DataTypes.FIELD("b", DataTypes.ARRAY(DataTypes.TIME()))]
    table = batch.from_elements([(time, [time])], DataTypes.ROW(fields))
    kept = time.replace(microsecond=456000)
    seen = udf(repr, result_type=DataTypes.STRING())
    text = col("a").cast(DataTypes.STRING())
    finer = col("a").cast(DataTypes.TIME(3)).cast(DataTypes.STRING())
    assert rows_of(table.select(col("a"), col("b"), seen(col("a")), text, finer)) == [
        ("+I", kept, [kept], repr(kept), "01:02:03", "01:02:03.456")
    ]
    query = (
        "SELECT CAST(x AS TIME(0)), CAST(x AS TIME(3)) = CAST(x AS TIME(0)) FROM (VALUES (TIME '01:02:03.456')) t(x)"
    )
    assert rows_of(batch.sql_query(query)) == [("+I", datetime.time(1, 2, 3), False)]


HOUR = lit(1).hour
WINDOWS_OF_BATCHES: dict[str, tuple[Any, list[tuple[int, int]]]] = {
    "tumble": (Tumble.over(HOUR).on(col("ts")).alias("w"), [(11, 3), (8, 4)]),
    "slide": (Slide.over(HOUR).every(HOUR).on(col("ts")).alias("w"), [(11, 3), (8, 4)]),
    # Flink has no sessions in batch mode.
    "session": (Session.with_gap(lit(35).minutes).on(col("ts")).alias("w"), [(11, 3), (8, 4)]),
}


@pytest.fixture
def rows_with_times(batch: TableEnvironment) -> Table:
    at = datetime.datetime(2018, 3, 11, 3, 10)
    rows = [(2, at), (2, at), (1, at), (3, at.replace(minute=40)), (8, at.replace(hour=4, minute=20)), (3, at)]
    return batch.from_elements(
        rows, DataTypes.ROW([DataTypes.FIELD("b", DataTypes.INT()), DataTypes.FIELD("ts", DataTypes.TIMESTAMP(3))])
    )


MILLISECONDS = (10, 11, 12, 13, 14, 27)
WINDOWS_OF_NUMBERS: dict[str, tuple[Any, list[tuple[int, int, int]]]] = {
    "tumble": (Tumble.over(lit(2).milli), [(10, 12, 4), (12, 14, 4), (14, 16, 8), (26, 28, 3)]),
    "slide": (
        Slide.over(lit(4).milli).every(lit(2).milli),
        [(8, 12, 4), (10, 14, 8), (12, 16, 12), (14, 18, 8), (24, 28, 3), (26, 30, 3)],
    ),
    # Flink has no sessions in batch mode.
    "session": (Session.with_gap(lit(2).milli), [(10, 16, 16), (27, 29, 3)]),
}


@pytest.mark.parametrize("kind", WINDOWS_OF_NUMBERS)
def test_windows_of_batches_go_by_milliseconds(batch: TableEnvironment, kind: str) -> None:
    fields = [DataTypes.FIELD("n", DataTypes.BIGINT()), DataTypes.FIELD("v", DataTypes.INT())]
    rows = [*zip(MILLISECONDS, (1, 3, 2, 2, 8, 3)), (None, 7)]
    window, expected = WINDOWS_OF_NUMBERS[kind]
    bounds = (col("w").start.alias("first"), col("w").end.alias("last"))
    table = batch.from_elements(rows, DataTypes.ROW(fields))
    sums = table.window(window.on(col("n")).alias("w")).group_by(col("w")).select(*bounds, col("v").sum.alias("total"))
    assert sums.get_schema().get_field_data_types()[:2] == [DataTypes.TIMESTAMP(3)] * 2
    epoch = datetime.datetime(1970, 1, 1)
    ends = [
        (*((bound - epoch) // datetime.timedelta(milliseconds=1) for bound in row[1:3]), row[3])
        for row in rows_of(sums)
    ]
    assert sorted(ends) == expected


INTERVAL_CASTS = [
    # A constant counts whole units, what is computed milliseconds or months.
    (lit(90).minutes, DataTypes.BIGINT(), 5400),
    (lit(1999).milli, DataTypes.INT(), 2),
    (lit(1).year, DataTypes.INT(), 12),
    (lit(2).hours, DataTypes.DECIMAL(10, 2), Decimal("7200.00")),
    (lit(90).minutes * 2, DataTypes.BIGINT(), 10_800_000),
    (col("d"), DataTypes.BIGINT(), 3_456_000_000),
    # As Java narrows a long.
    (col("d"), DataTypes.INT(), -838_967_296),
    (col("n").cast(DataTypes.INTERVAL(DataTypes.SECOND(3))), DataTypes.STRING(), "+0 00:00:00.005"),
    (col("n").cast(DataTypes.INTERVAL(DataTypes.MONTH())), DataTypes.STRING(), "+0-05"),
]


def test_intervals_are_cast_to_numbers(batch: TableEnvironment) -> None:
    interval = DataTypes.INTERVAL(DataTypes.SECOND(3))
    fields = [DataTypes.FIELD("d", interval), DataTypes.FIELD("n", DataTypes.INT())]
    table = batch.from_elements([(datetime.timedelta(days=40), 5)], DataTypes.ROW(fields))
    casts = [value.cast(data_type) for value, data_type, _ in INTERVAL_CASTS]
    assert rows_of(table.select(*casts, lit(2).hours.try_cast(DataTypes.INT()))) == [
        ("+I", *(expected for *_, expected in INTERVAL_CASTS), 7_200_000)
    ]
    days = "SELECT CAST(CAST(5 AS INTERVAL DAY) AS STRING), CAST(CAST(n AS INTERVAL DAY) AS STRING) FROM t"
    batch.create_temporary_view("t", table)
    assert rows_of(batch.sql_query(days)) == [("+I", "+5 00:00:00.000", "+0 00:00:00.005")]


INTERVAL_INSERTS = {
    "INTERVAL '1' DAY": 1,
    "INTERVAL '3' WEEK": 21,
    "INTERVAL '1-3' YEAR TO MONTH": 15,
    "INTERVAL '7' YEAR * 3": 21,
    "INTERVAL '1 2:03' DAY TO MINUTE": 1563,
    "INTERVAL '90' MINUTE * 3": 270,
    # Rounded, because it is a constant; others are cut.
    "INTERVAL '-1 2:03:04.567' DAY TO SECOND(3)": -93785,
    "d": -7,
    "(b - a) DAY": 2,
    "(b - a) HOUR": 49,
    "CAST(NULL AS INTERVAL DAY)": None,
}


def test_intervals_are_inserted_as_whole_units(batch: TableEnvironment, tmp_path: Path) -> None:
    start, end = datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 3, 1, 2, 3)
    times = [DataTypes.FIELD(name, DataTypes.TIMESTAMP(3)) for name in "ab"]
    interval = DataTypes.FIELD("d", DataTypes.INTERVAL(DataTypes.SECOND(3)))
    back = datetime.timedelta(seconds=-7, milliseconds=-999)
    batch.create_temporary_view("t", batch.from_elements([(back, start, end)], DataTypes.ROW([interval, *times])))
    columns = ", ".join(f"c{index} {('BIGINT', 'INT')[index % 2]}" for index in range(len(INTERVAL_INSERTS)))
    batch.execute_sql(
        f"CREATE TABLE s ({columns}) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'json')"
    )
    batch.execute_sql(f"INSERT INTO s SELECT {', '.join(INTERVAL_INSERTS)} FROM t").wait()
    assert rows_of(batch.from_path("s")) == [("+I", *INTERVAL_INSERTS.values())]


def test_collected_bytes_are_bytearrays(batch: TableEnvironment) -> None:
    seen = udf(lambda value: type(value).__name__, result_type=DataTypes.STRING())
    table = batch.from_elements(
        [(bytearray(b"abc"),)], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.BYTES())])
    ).select(col("a"), seen(col("a")))
    assert rows_of(table) == [("+I", bytearray(b"abc"), "bytes")]
    assert [type(value) for value in table.to_pandas()["a"]] == [bytes]
    ((_, *values),) = rows_of(batch.sql_query("SELECT x'01', ARRAY[x'02'], ROW(x'03', 1), MAP['a', x'04']"))
    assert values == [bytearray(b"\x01"), [bytearray(b"\x02")], Row(bytearray(b"\x03"), 1), {"a": bytearray(b"\x04")}]
    assert [type(each) for each in (values[0], values[1][0], values[2][0], values[3]["a"])] == [bytearray] * 4


@pytest.mark.parametrize("kind", WINDOWS_OF_BATCHES)
def test_windows_of_batches_go_by_any_timestamp(rows_with_times: Table, kind: str) -> None:
    """There are no watermarks that could find rows late."""
    window, expected = WINDOWS_OF_BATCHES[kind]
    sums = rows_with_times.window(window).group_by(col("w")).select(col("b").sum, col("w").start)
    assert sorted((start.hour, total) for _, total, start in rows_of(sums)) == sorted((at, n) for n, at in expected)


def test_window_functions_of_batches_go_by_any_timestamp(batch: TableEnvironment, rows_with_times: Table) -> None:
    batch.create_temporary_view("v", rows_with_times)
    windows = "TUMBLE(TABLE v, DESCRIPTOR(ts), INTERVAL '1' HOUR)"
    sums = batch.sql_query(f"SELECT HOUR(window_start), SUM(b) FROM TABLE({windows}) GROUP BY window_start, window_end")
    assert sorted(rows_of(sums)) == [("+I", 3, 11), ("+I", 4, 8)]

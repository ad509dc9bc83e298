"""Texts in the place of expressions, as programs of Flink 1.x write them: what they mean, and what is rejected."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

from funke.common import Row, Types
from funke.datastream import StreamExecutionEnvironment
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.syntax.text_form import summary
from funke.table import DataTypes, EnvironmentSettings, StreamTableEnvironment, Table, TableEnvironment
from funke.table.expression import Expression, TimeIntervalUnit, TimePointUnit
from funke.table.expressions import (
    CURRENT_ROW,
    UNBOUNDED_RANGE,
    array,
    call,
    col,
    concat,
    current_date,
    if_then_else,
    lit,
    map_,
    null_of,
    range_,
    row,
    row_interval,
    temporal_overlaps,
    timestamp_diff,
    with_columns,
    without_columns,
)
from funke.table.flink_1.string_expressions import expression_of, expressions_of
from funke.table.types import DataType
from funke.table.udf import TableAggregateFunction, udaf, udf, udtaf, udtf
from funke.table.window import Over, Session, Slide, Tumble

a, b, c = col("a"), col("b"), col("c")

MEANINGS: list[tuple[str, Expression[Any]]] = [
    ("a", a),
    ("*", col("*")),
    ("a as x", a.alias("x")),
    ("a AS x", a.alias("x")),
    ("a.as(x)", a.alias("x")),
    ("as(a, x)", a.alias("x")),
    ("f(a) as (x, y)", call("f", a).alias("x", "y")),
    # constants
    ("1", lit(1)),
    ("-1", lit(-1)),
    ("5l", lit(5, DataTypes.BIGINT().not_null())),
    ("5000000000L", lit(5_000_000_000)),
    ("1.5", lit(1.5)),
    ("1.5d", lit(1.5)),
    (".5", lit(0.5)),
    ("1e3", lit(1000.0)),
    ("1.5f", lit(1.5, DataTypes.FLOAT().not_null())),
    ("1.25p", lit(Decimal("1.25"))),
    ("'It''s me.'", lit("It's me.")),
    ('"I ""like"" dogs."', lit('I "like" dogs.')),
    ("true", lit(True)),
    ("FALSE", lit(False)),
    ("nullOf(INT)", null_of(DataTypes.INT())),
    ("Null(STRING)", null_of(DataTypes.STRING())),
    # arithmetic and precedence
    ("a + b * 2 - 1", a + b * 2 - 1),
    ("(a + b) % 2", (a + b) % 2),
    ("a -1", a - 1),
    ("a-b/c", a - b / c),
    ("-a", -a),
    ("+a", a),
    ("-a.abs", -(a.abs)),
    # conditions
    ("a > 1 && b === 'x'", (a > 1) & (b == "x")),
    ("a = 1", a == 1),
    ("a == 1", a == 1),
    ("a != 1", a != 1),
    ("a !== 1", a != 1),
    ("a <> 1", a != 1),
    ("a>=1 || a<=0", (a >= 1) | (a <= 0)),
    ("a || b && c", (a | b) & c),
    ("a.isNull", a.is_null),
    ("a.isNotNull()", a.is_not_null),
    ("a.between(1, 2)", a.between(1, 2)),
    ("a.notBetween(1, 2)", a.not_between(1, 2)),
    ("a.in(1, 2)", a.in_(1, 2)),
    ("a.like('%x')", a.like("%x")),
    ("a.similar('x')", a.similar("x")),
    ("a.?(b, c)", if_then_else(a, b, c)),
    ("?(a, b, c)", if_then_else(a, b, c)),
    ("a > 1 ? b : c", if_then_else(a > 1, b, c)),
    ("ifThenElse(a, b, c)", if_then_else(a, b, c)),
    # casts
    ("a.cast(INT)", a.cast(DataTypes.INT())),
    ("cast(a, LONG)", a.cast(DataTypes.BIGINT())),
    ("a.cast(DECIMAL)", a.cast(DataTypes.DECIMAL(38, 18))),
    ("a.cast(SQL_TIMESTAMP)", a.cast(DataTypes.TIMESTAMP(3))),
    ("a.cast(OBJECT_ARRAY(STRING))", a.cast(DataTypes.ARRAY(DataTypes.STRING()))),
    ("a.cast(MAP(INT, DOUBLE))", a.cast(DataTypes.MAP(DataTypes.INT(), DataTypes.DOUBLE()))),
    ("'2000-01-01'.toDate", lit("2000-01-01").to_date),
    ("'12:00:00'.toTime()", lit("12:00:00").to_time),
    ("toTimestamp('2000-01-01 12:00:00')", lit("2000-01-01 12:00:00").to_timestamp),
    # functions, before and behind their operand
    ("a.upperCase()", a.upper_case),
    ("upper(a)", a.upper_case),
    ("a.charLength", a.char_length),
    ("concat(c, 'sunny')", concat(c, "sunny")),
    ("concat(a, b, c)", concat(a, b, c)),
    ("a.substring(1, 2)", a.substring(1, 2)),
    ("a.trim()", call("trim", a)),
    ("a.trim(LEADING, 'x')", a.trim_leading("x")),
    ("trim(BOTH, 'x', a)", a.trim("x")),
    ("a.regexpExtract('x', 1)", a.regexp_extract("x", 1)),
    ("a.log(2)", a.log(2)),
    ("log(2, a)", a.log(2)),
    ("a.power(2)", a**2),
    ("a.mod(2)", a % 2),
    ("plus(a, b)", a + b),
    ("a.ifNull(0)", a.if_null(0)),
    ("a.floor", a.floor()),
    ("a.floor(HOUR)", a.floor(TimeIntervalUnit.HOUR)),
    ("ceil(a, DAY)", a.ceil(TimeIntervalUnit.DAY)),
    ("a.extract(YEAR)", a.extract(TimeIntervalUnit.YEAR)),
    ("extract(a, MONTH)", a.extract(TimeIntervalUnit.MONTH)),
    ("timestampDiff(DAY, a, b)", timestamp_diff(TimePointUnit.DAY, a, b)),
    ("temporalOverlaps(a, 1.hour, b, 2.hours)", temporal_overlaps(a, lit(1).hour, b, lit(2).hours)),
    ("currentDate()", current_date()),
    ("row(a, 1)", row(a, 1)),
    ("array(1, 2).at(1)", array(1, 2).at(1)),
    ("map('k', a)", map_("k", a)),
    ("a.get('x')", a.get("x")),
    ("a.get(0)", a.get(0)),
    ("a.flatten()", a.flatten),
    ("mine(a, b)", call("mine", a, b)),
    ("a.mine(b)", call("mine", a, b)),
    # aggregates and windows
    ("a.sum", a.sum),
    ("a.sum0", a.sum0),
    ("sum(a)", a.sum),
    ("a.stddevPop()", a.stddev_pop),
    ("a.count.distinct", a.count.distinct),
    ("count.distinct(a)", a.count.distinct),
    ("a.sum over w", a.sum.over(col("w"))),
    ("a.sum.over(w)", a.sum.over(col("w"))),
    ("w.start", col("w").start),
    ("w.rowtime", col("w").rowtime),
    ("unbounded_range", UNBOUNDED_RANGE),
    ("CURRENT_ROW", CURRENT_ROW),
    ("10.minutes", lit(10).minutes),
    ("1.year", lit(1).year),
    ("2.rows", row_interval(2)),
    ("a.desc", a.desc),
    ("a.asc()", a.asc),
    # sets of columns
    ("withColumns(a to c)", with_columns(range_("a", "c"))),
    ("withColumns(1 to 2, c)", with_columns(range_(1, 2), "c")),
    ("withoutColumns(a, b)", without_columns("a", "b")),
]


@pytest.mark.parametrize(("text", "expression"), MEANINGS, ids=[text for text, _ in MEANINGS])
def test_what_a_text_means(text: str, expression: Expression[Any]) -> None:
    parsed = expression_of(text)
    assert parsed == expression._syntax, f"{summary(parsed)} is not {expression}"


def test_a_text_may_hold_several_expressions() -> None:
    assert expressions_of([" a , b.sum as total", c]) == (a._syntax, b.sum.alias("total")._syntax, c._syntax)


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("a +", 4, "expected an expression, found the end"),
        ("a b", 3, "expected an operator or the end of the expression, found 'b'"),
        ("(a", 3, "expected ')', found the end"),
        ("a.cast(WRONG)", 8, "expected a type: BYTE, SHORT, INT"),
        ("a.extract(WRONG)", 11, "expected a unit of time: YEAR"),
        ("a == 'x", 6, "expected a name, a constant or an operator, found ''x'"),
        ("a; b", 2, "expected a name, a constant or an operator, found '; b'"),
        ("3000000000", 1, "expected an INT, or a LONG with the suffix L"),
        ("a.sum as 1", 10, "expected a name, found '1'"),
        ("a.?(b)", 4, "expected 2 arguments"),
        ("a.rows", 3, "expected a number before it"),
        ("", 1, "expected an expression, found the end"),
    ],
)
def test_what_cannot_be_parsed(text: str, column: int, expected: str) -> None:
    with pytest.raises(ValidationException) as caught:
        expressions_of([text])
    assert f"Could not parse expression at column {column}: {expected}" in str(caught.value)
    assert f"\n{text}\n{' ' * (column - 1)}^" in str(caught.value)


def test_one_expression_where_one_is_wanted() -> None:
    with pytest.raises(ValidationException, match="at column 2: expected an operator or the end of the expression"):
        expression_of("a, b")


@pytest.fixture
def t_env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


@pytest.fixture
def table(t_env: TableEnvironment) -> Table:
    t_env.execute_sql(
        "CREATE TABLE t (a BIGINT, b STRING, c STRING, rowtime TIMESTAMP(3), WATERMARK FOR rowtime AS rowtime) "
        "WITH ('connector' = 'datagen')"
    )
    return t_env.from_path("t")


@pytest.mark.parametrize(
    ("by_text", "by_objects"),
    [
        (lambda t: t.select("a, b as x"), lambda t: t.select(a, b.alias("x"))),
        (lambda t: t.select("a", "b"), lambda t: t.select(a, b)),
        (lambda t: t.filter("a > 1 && b === 'x'"), lambda t: t.filter((a > 1) & (b == "x"))),
        (lambda t: t.where("a = 1"), lambda t: t.where(a == 1)),
        (lambda t: t.add_columns("concat(c, 'sunny') as d"), lambda t: t.add_columns(concat(c, "sunny").alias("d"))),
        (lambda t: t.add_or_replace_columns("a + 1 as a"), lambda t: t.add_or_replace_columns((a + 1).alias("a"))),
        (lambda t: t.rename_columns("a as x, b as y"), lambda t: t.rename_columns(a.alias("x"), b.alias("y"))),
        (lambda t: t.drop_columns("a, b"), lambda t: t.drop_columns(a, b)),
        (lambda t: t.order_by("rowtime.asc"), lambda t: t.order_by(col("rowtime").asc)),
        (lambda t: t.group_by("a").select("a, b.count as n"), lambda t: t.group_by(a).select(a, b.count.alias("n"))),
        (
            lambda t: (
                t.window(Tumble.over("10.minutes").on("rowtime").alias("w")).group_by("w, a").select("a, w.start")
            ),
            lambda t: (
                t.window(Tumble.over(lit(10).minutes).on(col("rowtime")).alias("w"))
                .group_by(col("w"), a)
                .select(a, col("w").start)
            ),
        ),
        (
            lambda t: (
                t.window(Slide.over("10.minutes").every("5.minutes").on("rowtime").alias("w"))
                .group_by("w")
                .select("w.end")
            ),
            lambda t: (
                t.window(Slide.over(lit(10).minutes).every(lit(5).minutes).on(col("rowtime")).alias("w"))
                .group_by(col("w"))
                .select(col("w").end)
            ),
        ),
        (
            lambda t: t.window(Session.with_gap("10.minutes").on("rowtime").alias("w")).group_by("w").select("a.sum"),
            lambda t: (
                t.window(Session.with_gap(lit(10).minutes).on(col("rowtime")).alias("w"))
                .group_by(col("w"))
                .select(a.sum)
            ),
        ),
        (
            lambda t: t.over_window(
                Over.partition_by("b, c").order_by("rowtime").preceding("2.rows").following("current_row").alias("w")
            ).select("a.sum over w as s"),
            lambda t: t.over_window(
                Over.partition_by(b, c)
                .order_by(col("rowtime"))
                .preceding(row_interval(2))
                .following(CURRENT_ROW)
                .alias("w")
            ).select(a.sum.over(col("w")).alias("s")),
        ),
        (
            lambda t: t.over_window(Over.order_by("rowtime").preceding("unbounded_range").alias("w")).select(
                "a.max.over(w)"
            ),
            lambda t: t.over_window(Over.order_by(col("rowtime")).preceding(UNBOUNDED_RANGE).alias("w")).select(
                a.max.over(col("w"))
            ),
        ),
    ],
)
def test_steps_with_strings(
    table: Table, by_text: Callable[[Table], Table], by_objects: Callable[[Table], Table]
) -> None:
    assert str(by_text(table).get_resolved_schema()) == str(by_objects(table).get_resolved_schema())
    assert by_text(table).explain() == by_objects(table).explain()


def test_joins_with_strings(t_env: TableEnvironment, table: Table) -> None:
    right = t_env.from_elements([(1, "x")], ["d", "e"])
    left = table.select("a, b")
    for join in (left.join, left.left_outer_join, left.right_outer_join, left.full_outer_join):
        by_objects = join(right, (col("a") == col("d")) & (col("b") == col("e")))
        assert join(right, "a = d && b = e").explain() == by_objects.explain()
        with pytest.raises(ValidationException, match="Could not parse expression at column 4"):
            join(right, "a =")
        with pytest.raises(ValidationException, match=r"Cannot resolve field \[x\]"):
            join(right, "a = x")


def test_functions_of_users_by_name(t_env: TableEnvironment, table: Table) -> None:
    t_env.create_temporary_function("twice", udf(lambda x: 2 * x, result_type=DataTypes.BIGINT()))
    t_env.create_temporary_function("split", udtf(lambda x: x.split(), result_types=[DataTypes.STRING()]))
    t_env.create_temporary_system_function("concat", udf(lambda x, y: 1, result_type=DataTypes.BIGINT()))
    t_env.create_temporary_function("pair", udf(lambda x: (x, x), result_type="ROW<x BIGINT, y BIGINT>"))
    assert table.select("twice(a) as x, a.twice() as y").get_schema().get_field_names() == ["x", "y"]
    # A temporary system function goes before the built-in one of its name.
    assert table.select("concat(b, c) as x").get_schema().get_field_data_types() == [DataTypes.BIGINT()]
    assert table.join_lateral("split(b) as word").get_schema().get_field_names()[-1] == "word"
    assert table.left_outer_join_lateral("split(b) as (word)").get_schema().get_field_names()[-1] == "word"
    assert table.flat_map("split(b)").get_schema().get_field_names() == ["f0"]
    assert table.map("pair(a)").alias("p, q").get_schema().get_field_names() == ["p", "q"]


class Top(TableAggregateFunction[Any, Any]):
    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], value: int) -> None:
        accumulator.append(value)

    def emit_value(self, accumulator: list[int]) -> Iterator[Row]:
        yield Row(max(accumulator), 0)

    def get_accumulator_type(self) -> DataType:
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self) -> DataType:
        return DataTypes.ROW([DataTypes.FIELD("v", DataTypes.BIGINT()), DataTypes.FIELD("r", DataTypes.BIGINT())])


def test_aggregates_of_users_by_name(t_env: TableEnvironment, table: Table) -> None:
    mean = udaf(lambda v: v.mean(), result_type=DataTypes.DOUBLE(), func_type="pandas")
    t_env.create_temporary_function("mean", mean)
    t_env.create_temporary_function("top", Top())
    grouped = table.group_by("b")
    assert grouped.select("b, mean(a)").get_schema().get_field_names() == ["b", "EXPR$0"]
    assert grouped.select(b, call("mean", a)).get_schema().get_field_names() == ["b", "EXPR$0"]
    assert grouped.aggregate("mean(a) as m").select("b, m").get_schema().get_field_names() == ["b", "m"]
    assert grouped.flat_aggregate("top(a)").select("*").get_schema().get_field_names() == ["b", "v", "r"]
    single = udtaf(Top(), result_type=DataTypes.ROW([DataTypes.FIELD("v", DataTypes.BIGINT())]))
    assert grouped.flat_aggregate(single(a)).select(col("v")).get_schema().get_field_names() == ["v"]
    assert table.flat_aggregate("top(a) as (x, y)").select("y, x").get_schema().get_field_names() == ["y", "x"]


def test_fields_of_a_stream_as_a_text() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    stream = env.from_collection([(1, "x")], Types.TUPLE([Types.INT(), Types.STRING()]))
    assert t_env.from_data_stream(stream, "x, y").get_schema().get_field_names() == ["x", "y"]
    assert t_env.from_data_stream(stream, "n as f0, p.proctime").get_schema().get_field_names() == ["f0", "p"]

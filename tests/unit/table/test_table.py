"""Tables before they run: the columns that each step gives, and what is rejected with Flink's words."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from funke.common import Row, Types
from funke.datastream import StreamExecutionEnvironment
from funke.engine.flink_exceptions import TableException, ValidationException
from funke.table import DataTypes, EnvironmentSettings, StreamTableEnvironment, Table, TableEnvironment
from funke.table.expressions import call_sql, col, lit, range_, row, with_columns, without_columns
from funke.table.udf import udtf


@pytest.fixture
def t_env() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


@pytest.fixture
def table(t_env: TableEnvironment) -> Table:
    index = DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT()), DataTypes.FIELD("y", DataTypes.STRING())])
    fields = {"a": DataTypes.BIGINT(), "b": DataTypes.STRING(), "k": index}
    row_type = DataTypes.ROW([DataTypes.FIELD(*each) for each in fields.items()])
    return t_env.from_elements([(1, "Hi", (1, "x"))], row_type)


def names(table: Table) -> list[str]:
    return table.get_schema().get_field_names()


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (lambda t: t.select(col("a") + 1, col("b").upper_case, lit(5), t.b), ["_c0", "_c1", "_c2", "b"]),
        (lambda t: t.select(col("k").get("x"), col("k").get(1)), ["k$x", "k$_1"]),
        (lambda t: t.select(col("k").flatten), ["k$x", "k$y"]),
        (lambda t: t.select(col("a").cast(DataTypes.INT()), col("a").is_null), ["a-INT", "_c1"]),
        (lambda t: t.select(call_sql("a + 1"), call_sql("b")), ["_c0", "_c1"]),
        (lambda t: t.select(with_columns(range_("a", "b")), without_columns(1, range_(2, 2))), ["a", "b", "k"]),
        (lambda t: t.select(col("*")), ["a", "b", "k"]),
        (lambda t: t.alias("x"), ["x", "b", "k"]),
        (lambda t: t.add_columns(col("a") + 1), ["a", "b", "k", "_c3"]),
        (lambda t: t.add_or_replace_columns((col("a") + 1).alias("b"), lit(1).alias("n")), ["a", "b", "k", "n"]),
        (lambda t: t.rename_columns(col("a").alias("z")), ["z", "b", "k"]),
        (lambda t: t.drop_columns(col("a"), with_columns(3)), ["b"]),
        (lambda t: t.group_by(col("b")).select(col("b"), col("a").sum, col("a").max), ["b", "EXPR$0", "EXPR$1"]),
        (lambda t: t.select(col("a").count.alias("n")), ["n"]),
        (lambda t: t.map(col("a") + 1), ["f0"]),
        (lambda t: t.select(col("a").sum.alias("total"), col("a").avg), ["total", "EXPR$1"]),
        (lambda t: t.select(col("a")).union_all(t.select(col("a").cast(DataTypes.INT()))), ["a"]),
    ],
)
def test_steps_give_columns(table: Table, step: Callable[[Table], Table], expected: list[str]) -> None:
    assert names(step(table)) == expected


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda t: t.select(col("zz")), "Cannot resolve field [zz], input field list:[a, b, k]."),
        (lambda t: t.select(col("a"), col("a")), "Ambiguous column name: a"),
        (
            lambda t: t.where(col("a")),
            "Filter operator requires a boolean expression as input, but $condition is of type BIGINT",
        ),
        (lambda t: t.drop_columns(col("zz")), "Field zz does not exist in source table"),
        (
            lambda t: t.select(col("a")).union_all(t.select(col("b"))),
            "Incompatible types for union operation. Could not find a common type at position 0 for 'BIGINT' and "
            "'STRING'.",
        ),
        (lambda t: t.select(col("a")).union_all(t), "two tables of different column sizes: 1 and 3 is not supported"),
        (lambda t: t.join(t), "join relations with ambiguous names: [a, b, k]"),
        (lambda t: t.rename_columns(col("a") + 1), "Renaming must add an alias to an existing field."),
        (lambda t: t.fetch(-1), "FETCH count must be equal or larger than 0."),
        (lambda t: t.limit(1, -1), "Offset should be greater or equal 0"),
        (lambda t: t.map(col("a")), "Only a scalar function can be used in the map operator."),
        (lambda t: t.map(col("a").sum), "Only a scalar function can be used in the map operator."),
        (lambda t: t.flat_map(col("a")), "Only a table function can be used in the flatMap operator."),
        (lambda t: t.flat_map(col("a") + 1), "Only a table function can be used in the flatMap operator."),
    ],
)
def test_steps_that_are_rejected(table: Table, step: Callable[[Table], Any], message: str) -> None:
    with pytest.raises(ValidationException) as caught:
        step(table)
    assert message in str(caught.value)


def test_rows_of_functions(t_env: TableEnvironment, table: Table) -> None:
    split = udtf(lambda text: text.split(), result_types=[DataTypes.STRING()])
    pairs = udtf(lambda text: [(text, 1)], result_types="ROW<word STRING, n INT>")
    assert names(table.flat_map(split)) == ["f0"]
    assert names(table.flat_map(pairs(col("b"))).alias("x", "y")) == ["x", "y"]
    assert names(table.join_lateral(split(col("b")).alias("word"))) == ["a", "b", "k", "word"]
    t_env.create_temporary_function("pairs", pairs)
    t_env.create_temporary_view("t", table)
    joined = t_env.sql_query("SELECT a, word, n FROM t LEFT JOIN LATERAL TABLE(pairs(b)) AS p(word, n) ON TRUE")
    assert joined.get_schema().get_field_data_types()[1:] == [DataTypes.STRING(), DataTypes.INT()]
    assert names(t_env.sql_query("SELECT a, x, o FROM t, UNNEST(ARRAY[1, 2]) WITH ORDINALITY AS u(x, o)")) == [
        "a",
        "x",
        "o",
    ]


def test_a_stream_is_not_sorted(table: Table) -> None:
    with pytest.raises(TableException, match="Sort on a non-time-attribute field is not supported"):
        table.order_by(col("a")).execute()


@pytest.mark.parametrize(
    ("step", "rank"),
    [
        (lambda t: t.order_by(col("a").desc).fetch(2), "SortLimit(orderBy=[a DESC], offset=[0], fetch=[2]"),
        (lambda t: t.order_by(col("a")).offset(3).fetch(2), "SortLimit(orderBy=[a ASC], offset=[3], fetch=[2]"),
        (lambda t: t.order_by(col("a") % 7).limit(2, 1), "SortLimit(orderBy=[sort0 ASC], offset=[1], fetch=[2]"),
        (lambda t: t.fetch(5).order_by(col("a")).fetch(2), "SortLimit(orderBy=[a ASC], offset=[0], fetch=[2]"),
    ],
)
def test_the_first_rows_of_a_stream_by_an_order(table: Table, step: Callable[[Table], Table], rank: str) -> None:
    assert rank in step(table).explain()


def test_the_first_rows_of_the_first_rows(table: Table) -> None:
    plan = table.fetch(5).fetch(2).explain()
    assert "fetch=[5]" in plan and "fetch=[2]" in plan


def test_a_column_of_a_table_that_it_does_not_have(table: Table) -> None:
    with pytest.raises(AttributeError, match=r"no column named 'zz', available columns: \[a, b, k\]"):
        table.zz  # noqa: B018


def test_a_table_has_a_name_for_sql(t_env: TableEnvironment, table: Table) -> None:
    assert names(t_env.sql_query(f"SELECT b AS c FROM {table}")) == ["c"]
    assert t_env.list_views() == [str(table)] == ["UnnamedTable$0"]


def test_types_of_elements_are_found(t_env: TableEnvironment) -> None:
    element = (1, "a", 2.5, True, Decimal("1.5"), datetime.date(2020, 1, 1), bytearray(b"ab"), [1], {"a": 1}, Row(x=1))
    schema = t_env.from_elements([element], ["a", "b", "c", "d", "e"]).get_schema()
    assert str(schema).splitlines() == [
        "root",
        " |-- a: BIGINT",
        " |-- b: STRING",
        " |-- c: DOUBLE",
        " |-- d: BOOLEAN",
        " |-- e: DECIMAL(38, 18)",
        " |-- _6: DATE",
        " |-- _7: BYTES",
        " |-- _8: ARRAY<BIGINT>",
        " |-- _9: MAP<STRING NOT NULL, BIGINT>",
        " |-- _10: ROW<`x` BIGINT>",
    ]
    assert names(t_env.from_elements([{"b": 1, "a": "x"}, {"c": 2.5}])) == ["a", "b", "c"]
    assert names(t_env.from_elements([row(1, "abc"), row(2, "def")])) == ["f0", "f1"]


@pytest.mark.parametrize(
    ("elements", "schema", "error", "message"),
    [
        ([], None, ValueError, "can not infer schema from empty data set"),
        ([1], None, TypeError, "Can not infer schema for type: <class 'int'>"),
        ([(None,)], None, ValueError, "Some column types cannot be determined after inferring"),
        ([(1,), ("a",)], None, TypeError, "field _1: Can not merge type"),
        (
            [(1,)],
            DataTypes.ROW([DataTypes.FIELD("a", DataTypes.STRING())]),
            TypeError,
            "field a: VARCHAR can not accept",
        ),
        ([(200,)], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.TINYINT())]), ValueError, "out of range, got: 200"),
        (
            [(None,)],
            DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT(False))]),
            ValueError,
            "This field is not nullable",
        ),
        ([(1, 2)], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]), ValueError, "Length of object (2) does not"),
    ],
)
def test_elements_that_are_rejected(
    t_env: TableEnvironment, elements: list[Any], schema: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        t_env.from_elements(elements, schema)
    assert message in str(caught.value)


def test_named_fields_of_a_stream_may_be_null() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    pairs = env.from_collection([("a", 1)], type_info=Types.TUPLE([Types.STRING(), Types.INT()]))
    result = StreamTableEnvironment.create(env).from_data_stream(pairs, col("name"), col("n"))
    assert result.get_schema().get_field_data_types() == [DataTypes.STRING(), DataTypes.INT()]


def test_a_table_that_cannot_be_read_has_columns(t_env: TableEnvironment, capsys: pytest.CaptureFixture[str]) -> None:
    t_env.execute_sql("CREATE TABLE sink (a INT, b STRING) WITH ('connector' = 'print')")
    t_env.execute_sql(
        "CREATE TABLE other (a INT, m TIMESTAMP(3) METADATA FROM 'timestamp', v INT METADATA VIRTUAL, p AS PROCTIME(), "
        "WATERMARK FOR m AS m - INTERVAL '5' SECOND) WITH ('connector' = 'unknown')"
    )
    sink = t_env.from_path("sink")
    assert names(sink) == ["a", "b"]
    t_env.from_path("other").print_schema()
    assert capsys.readouterr().out == (
        "(\n  `a` INT,\n  `m` TIMESTAMP(3) *ROWTIME* METADATA FROM 'timestamp',\n  `v` INT METADATA VIRTUAL,\n"
        "  `p` TIMESTAMP_LTZ(3) NOT NULL *PROCTIME* AS PROCTIME(),\n"
        "  WATERMARK FOR `m`: TIMESTAMP(3) AS `m` - INTERVAL '5' SECOND\n)\n"
    )
    with pytest.raises(ValidationException, match="Connector 'print' can only be used as a sink"):
        sink.select(col("a")).execute()

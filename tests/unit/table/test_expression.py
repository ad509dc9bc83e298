"""Expressions are the syntax that a SQL text of the same meaning gives."""

from __future__ import annotations

from copy import deepcopy
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from funke.engine.errors import GraphError, TypeMismatchError
from funke.engine.sql.syntax.expressions import (
    Alias,
    Call,
    Case,
    Cast,
    Expression,
    InQuery,
    Literal,
    Name,
    OrderItem,
    Star,
    Symbol,
    TypeArgument,
)
from funke.engine.sql.syntax.queries import Query, Values
from funke.table import DataTypes, Row
from funke.table.expression import Expression as TableExpression
from funke.table.expression import JsonOnNull, JsonQueryOnEmptyOrError, JsonQueryWrapper, JsonType, TimeIntervalUnit
from funke.table.expression_members.operators import QuerySource
from funke.table.expressions import (
    call,
    call_sql,
    col,
    if_then_else,
    json_array,
    lit,
    range_,
    row_interval,
    with_columns,
)
from funke.table.types import DataType

A, B = Name(("a",)), Name(("b",))
a, b = col("a"), col("b")
ONE = Literal(1, DataTypes.INT(False))


@pytest.mark.parametrize(
    ("expression", "syntax"),
    [
        (a + 1, Call("+", (A, ONE))),
        (1 - a, Call("-", (ONE, A))),
        (-a, Call("-", (A,))),
        (a % b, Call("%", (A, B))),
        (a != b, Call("<>", (A, B))),
        (~a, Call("is not true", (A,))),
        (a & b, Call("and", (A, B))),
        (a.is_null, Call("is null", (A,))),
        (a.between(1, b), Call("between", (A, ONE, B))),
        (a.in_(1, b), Call("in", (A, ONE, B))),
        (a.upper_case, Call("upper", (A,))),
        (a.similar("x"), Call("similar to", (A, Literal("x", DataTypes.CHAR(1, False))))),
        (a[1], Call("at", (A, ONE))),
        (a.price, Call("get", (A, Literal("price", DataTypes.CHAR(5, False))))),
        (a.count.distinct, Call("count", (A,), is_distinct=True)),
        (a.sum.over(col("w")), Call("sum", (A,), over="w")),
        (a.alias("x", "y"), Alias(A, ("x", "y"))),
        (a.cast(DataTypes.INT()), Cast(A, DataTypes.INT())),
        (a.try_cast(DataTypes.INT()), Cast(A, DataTypes.INT(), is_safe=True)),
        (a.desc, OrderItem(A, is_ascending=False)),
        (a.then(1, b), Case(None, ((A, ONE),), B)),
        (if_then_else(a, 1, b), Case(None, ((A, ONE),), B)),
        (col("*"), Star()),
        (a.floor(TimeIntervalUnit.HOUR), Call("floor", (A, Symbol("HOUR")))),
        (a.extract(TimeIntervalUnit.YEAR), Call("extract", (Symbol("YEAR"), A))),
        (a.trim_leading("x"), Call("trim", (Symbol("LEADING"), Literal("x", DataTypes.CHAR(1, False)), A))),
        (a.is_json(), Call("is json value", (A,))),
        (a.is_json(JsonType.ARRAY), Call("is json array", (A,))),
        (json_array(JsonOnNull.NULL, a), Call("json_array", (Symbol("NULL"), A))),
        (
            a.json_query("$", JsonQueryWrapper.CONDITIONAL_ARRAY, JsonQueryOnEmptyOrError.EMPTY_OBJECT),
            Call(
                "json_query",
                (
                    A,
                    Literal("$", DataTypes.CHAR(1, False)),
                    TypeArgument(DataTypes.STRING()),
                    Symbol("CONDITIONAL ARRAY"),
                    Symbol("EMPTY OBJECT"),
                    Symbol("NULL"),
                ),
            ),
        ),
        (with_columns(range_("a", "b")), Call("with_columns", (Call("range", (A, B)),))),
        (call("upper", a), Call("upper", (A,))),
        (call("cat.db.MyF", a), Call("myf", (A,), path=("cat", "db", "MyF"))),
        (call("f", a, b.as_argument("x")), Call("f", (A, B), argument_names=("x",))),
        (call_sql("a + 1"), Call("call_sql", (Literal("a + 1", DataTypes.CHAR(5, False)),))),
    ],
)
def test_syntax(expression: TableExpression[Any], syntax: Expression) -> None:
    assert expression._syntax == syntax


@pytest.mark.parametrize(
    ("value", "data_type"),
    [
        (True, DataTypes.BOOLEAN(False)),
        (2**31 - 1, DataTypes.INT(False)),
        (2**31, DataTypes.BIGINT(False)),
        (1.5, DataTypes.DOUBLE(False)),
        ("abc", DataTypes.CHAR(3, False)),
        (b"ab", DataTypes.BINARY(2, False)),
        (Decimal("12.50"), DataTypes.DECIMAL(4, 2, False)),
        (Decimal("0.001"), DataTypes.DECIMAL(3, 3, False)),
        (Decimal("1E+3"), DataTypes.DECIMAL(4, 0, False)),
        (datetime(2020, 1, 1), DataTypes.TIMESTAMP(0, False)),
        (datetime(2020, 1, 1, microsecond=120_000), DataTypes.TIMESTAMP(2, False)),
        (datetime(2020, 1, 1, tzinfo=UTC), DataTypes.TIMESTAMP_LTZ(0, False)),
    ],
)
def test_a_constant_has_the_type_of_its_class(value: Any, data_type: DataType) -> None:
    assert lit(value)._syntax == Literal(value, data_type)


def test_collections_of_constants() -> None:
    assert lit([1, a])._syntax == Call("array", (ONE, A))
    assert lit({"k": a})._syntax == Call("map", (Literal("k", DataTypes.CHAR(1, False)), A))
    assert lit(Row(1, a))._syntax == Call("row", (ONE, A))


@pytest.mark.parametrize("value", [object(), 2**63, Decimal("NaN")])
def test_what_is_no_constant(value: Any) -> None:
    with pytest.raises(TypeMismatchError):
        lit(value)


def test_intervals_are_months_or_milliseconds() -> None:
    months, millis = (
        DataTypes.INTERVAL(DataTypes.MONTH()).not_null(),
        DataTypes.INTERVAL(DataTypes.SECOND(3)).not_null(),
    )

    assert lit(2).years._syntax == Literal(24, months)
    assert lit(5).minutes._syntax == Literal(300_000, millis)
    assert lit(1.5).seconds._syntax == Literal(1500, millis)
    assert lit(timedelta(days=1))._syntax == Literal(86_400_000, millis)
    assert row_interval(5)._syntax == Literal(5, DataTypes.BIGINT(False))


def test_a_table_in_an_expression() -> None:
    class OneRow(QuerySource):
        def _to_query(self) -> Query:
            return Values(((ONE,),))

    assert a.in_(OneRow())._syntax == InQuery(A, Values(((ONE,),)))
    with pytest.raises(AssertionError):
        a.in_(OneRow(), 1)


def test_names_after_a_named_argument() -> None:
    with pytest.raises(GraphError, match="after the named argument 'x' needs a name"):
        call("f", a.as_argument("x"), b)


def test_python_handles_expressions_as_values() -> None:
    assert deepcopy(a)._syntax == A
    with pytest.raises(TypeError):
        hash(a)
    with pytest.raises(TypeError):
        iter(a)

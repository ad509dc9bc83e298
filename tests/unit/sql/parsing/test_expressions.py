"""Operators, names and calls become the same objects as in the Table API."""

from __future__ import annotations

import pytest

from funke.engine.sql.parsing import parse_expression
from funke.engine.sql.parsing.literals import number_literal, string_literal, word_literal
from funke.engine.sql.syntax.expressions import (
    Call,
    Case,
    Cast,
    Exists,
    InQuery,
    Name,
    OrderItem,
    OverWindow,
    ScalarQuery,
    Star,
    Symbol,
    TypeArgument,
    WindowBound,
)
from funke.engine.sql.syntax.queries import Select, TableRef
from funke.table.types import DataTypes

A, B, C, D = (Name((name,)) for name in "abcd")
ONE, TWO, THREE, ZERO = (number_literal(text) for text in "1230")
NULL = word_literal("NULL")
QUERY = Select((B,), TableRef(("u",)))
STRING_ARGUMENT = TypeArgument(DataTypes.STRING())


def text(value):
    return string_literal(value)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a + b * c", Call("+", (A, Call("*", (B, C))))),
        ("a - b - c", Call("-", (Call("-", (A, B)), C))),
        ("(a + b) * c", Call("*", (Call("+", (A, B)), C))),
        ("-a * b", Call("*", (Call("-", (A,)), B))),
        ("a || b % c", Call("%", (Call("||", (A, B)), C))),
        ("a = b or c and not d", Call("or", (Call("=", (A, B)), Call("and", (C, Call("not", (D,))))))),
        ("NOT a IS NULL", Call("not", (Call("is null", (A,)),))),
        ("a = b IS NOT TRUE", Call("is not true", (Call("=", (A, B)),))),
        ("a < b + c", Call("<", (A, Call("+", (B, C))))),
        ("a <> b", Call("<>", (A, B))),
        ("a IS DISTINCT FROM b", Call("is distinct from", (A, B))),
        ("a IS NOT DISTINCT FROM b", Call("is not distinct from", (A, B))),
        ("a IS JSON", Call("is json value", (A,))),
        ("a IS NOT JSON ARRAY", Call("is not json array", (A,))),
        ("a BETWEEN b AND c AND d", Call("and", (Call("between", (A, B, C)), D))),
        ("a NOT BETWEEN SYMMETRIC b AND c", Call("not between symmetric", (A, B, C))),
        ("a LIKE b", Call("like", (A, B))),
        ("a NOT LIKE b ESCAPE c", Call("not like", (A, B, C))),
        ("a NOT ILIKE b", Call("not ilike", (A, B))),
        ("INTERVAL a HOUR", Call("*", (A, parse_expression("INTERVAL '1' HOUR")))),
        ("ARRAY(SELECT b FROM u)", Call("array query", (ScalarQuery(QUERY),))),
        ("a SIMILAR TO b", Call("similar to", (A, B))),
        ("a IN (1, 2)", Call("in", (A, ONE, TWO))),
        ("a NOT IN (1)", Call("not in", (A, ONE))),
        ("(a, b) IN ((1, 2))", Call("in", (Call("row", (A, B)), Call("row", (ONE, TWO))))),
        ("a IN (SELECT b FROM u)", InQuery(A, QUERY)),
        ("a NOT IN (SELECT b FROM u)", InQuery(A, QUERY, is_negated=True)),
        ("a > ALL (SELECT b FROM u)", Call("> all", (A, ScalarQuery(QUERY)))),
        ("a = ANY (SELECT b FROM u)", Call("= some", (A, ScalarQuery(QUERY)))),
        ("EXISTS (SELECT b FROM u)", Exists(QUERY)),
        ("(SELECT b FROM u) + 1", Call("+", (ScalarQuery(QUERY), ONE))),
        ("((SELECT b FROM u) + 1)", Call("+", (ScalarQuery(QUERY), ONE))),
        ("((SELECT b FROM u))", ScalarQuery(QUERY)),
        ("t.a.b", Name(("t", "a", "b"))),
        ("`a b`.`c``d`", Name(("a b", "c`d"))),
        ("a[1]", Call("at", (A, ONE))),
        ("a[1].b", Call("get", (Call("at", (A, ONE)), text("b")))),
        ("(a).b", Call("get", (A, text("b")))),
        ("ARRAY[1, 2]", Call("array", (ONE, TWO))),
        ("MAP['a', 1]", Call("map", (text("a"), ONE))),
        ("ROW(1, 2)", Call("row", (ONE, TWO))),
        ("(a, b) OVERLAPS (c, d)", Call("overlaps", (A, B, C, D))),
    ],
)
def test_operators(sql, expected):
    assert parse_expression(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("upper(a)", Call("upper", (A,))),
        ("UPPER(a)", Call("upper", (A,), path=("UPPER",))),
        ("c.d.MyF()", Call("myf", path=("c", "d", "MyF"))),
        ("`my f`(a)", Call("my f", (A,))),
        ("f(1, x => a)", Call("f", (ONE, A), argument_names=("x",))),
        ("current_date", Call("current_date")),
        ("count(*)", Call("count", (Star(),))),
        ("count(DISTINCT a)", Call("count", (A,), is_distinct=True)),
        ("count(ALL a)", Call("count", (A,))),
        ("sum(a) FILTER (WHERE b)", Call("sum", (A,), condition=B)),
        ("sum(a) OVER w", Call("sum", (A,), over="w")),
        ("listagg(a) WITHIN GROUP (ORDER BY b)", Call("listagg", (A,), within_group=(OrderItem(B),))),
        ("tumble(a, b)", Call("tumble", (A, B))),
        ("split(a, b)", Call("split", (A, B))),
        ("CAST(a AS INT)", Cast(A, DataTypes.INT())),
        ("TRY_CAST(a AS DATE)", Cast(A, DataTypes.DATE(), is_safe=True)),
        ("CASE WHEN a THEN b END", Case(None, ((A, B),))),
        ("CASE a WHEN 1, 2 THEN b ELSE c END", Case(A, ((ONE, B), (TWO, B)), C)),
    ],
)
def test_calls(sql, expected):
    assert parse_expression(sql) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("TRIM(a)", Call("trim", (A,))),
        ("TRIM(a FROM b)", Call("trim", (Symbol("BOTH"), A, B))),
        ("TRIM(LEADING FROM a)", Call("trim", (Symbol("LEADING"), text(" "), A))),
        ("TRIM(TRAILING 'x' FROM a)", Call("trim", (Symbol("TRAILING"), text("x"), A))),
        ("TRIM(BOTH a)", Call("trim", (Symbol("BOTH"), text(" "), A))),
        ("EXTRACT(YEAR FROM a)", Call("extract", (Symbol("YEAR"), A))),
        ("FLOOR(a)", Call("floor", (A,))),
        ("CEILING(a TO HOUR)", Call("ceil", (A, Symbol("HOUR")))),
        ("TIMESTAMPDIFF(DAY, a, b)", Call("timestampdiff", (Symbol("DAY"), A, B))),
        ("TIMESTAMPADD(SQL_TSI_HOUR, a, b)", Call("timestampadd", (Symbol("HOUR"), A, B))),
        ("POSITION(a IN b)", Call("position", (A, B))),
        ("SUBSTRING(a FROM 1 FOR 2)", Call("substring", (A, ONE, TWO))),
        ("SUBSTRING(a, 1)", Call("substring", (A, ONE))),
        ("OVERLAY(a PLACING b FROM 1 FOR 2)", Call("overlay", (A, B, ONE, TWO))),
        ("JSON_VALUE(a, '$')", Call("json_value", (A, text("$")))),
        (
            "JSON_VALUE(a, '$' RETURNING INT DEFAULT 1 ON EMPTY ERROR ON ERROR)",
            Call(
                "json_value",
                (A, text("$"), TypeArgument(DataTypes.INT()), Symbol("DEFAULT"), ONE, Symbol("ERROR"), NULL),
            ),
        ),
        ("JSON_QUERY(a, '$')", Call("json_query", (A, text("$")))),
        (
            "JSON_QUERY(a, '$' WITH CONDITIONAL ARRAY WRAPPER EMPTY ARRAY ON ERROR)",
            Call(
                "json_query",
                (
                    A,
                    text("$"),
                    STRING_ARGUMENT,
                    Symbol("CONDITIONAL ARRAY"),
                    Symbol("NULL"),
                    Symbol("EMPTY ARRAY"),
                ),
            ),
        ),
        ("JSON_EXISTS(a, '$' TRUE ON ERROR)", Call("json_exists", (A, text("$"), Symbol("TRUE")))),
        ("JSON_OBJECT('x' VALUE a)", Call("json_object", (Symbol("NULL"), text("x"), A))),
        ("JSON_OBJECT(KEY 'x' VALUE a ABSENT ON NULL)", Call("json_object", (Symbol("ABSENT"), text("x"), A))),
        ("JSON_ARRAY(a, b)", Call("json_array", (Symbol("ABSENT"), A, B))),
        ("JSON_ARRAY(NULL ON NULL)", Call("json_array", (Symbol("NULL"),))),
        ("JSON_OBJECTAGG(KEY a VALUE b)", Call("json_objectagg", (Symbol("NULL"), A, B))),
        ("JSON_ARRAYAGG(a ORDER BY b)", Call("json_arrayagg", (Symbol("ABSENT"), A), within_group=(OrderItem(B),))),
    ],
)
def test_calls_with_a_syntax_of_their_own(sql, expected):
    assert parse_expression(sql) == expected


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("()", OverWindow()),
        (
            "(PARTITION BY a, b ORDER BY c DESC NULLS LAST)",
            OverWindow((A, B), (OrderItem(C, is_ascending=False, nulls_first=False),)),
        ),
        (
            "(ORDER BY c ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
            OverWindow((), (OrderItem(C),), True, WindowBound(True, TWO), WindowBound(True, ZERO)),
        ),
        (
            "(ORDER BY c RANGE UNBOUNDED PRECEDING)",
            OverWindow((), (OrderItem(C),), False, WindowBound(True, None), WindowBound(True, ZERO)),
        ),
        (
            "(w ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
            OverWindow((), (), True, WindowBound(True, ZERO), WindowBound(False, None), "w"),
        ),
    ],
)
def test_windows_of_aggregates(window, expected):
    assert parse_expression(f"sum(a) OVER {window}") == Call("sum", (A,), over=expected)

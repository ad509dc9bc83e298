"""Queries, part by part."""

from __future__ import annotations

import pytest

from funke.engine.errors import SqlParserError
from funke.engine.sql.parsing import parse, parse_expression
from funke.engine.sql.parsing.literals import number_literal, string_literal
from funke.engine.sql.syntax.expressions import Alias, Call, Name, OrderItem, OverWindow, Star, TableArgument
from funke.engine.sql.syntax.queries import (
    GroupBy,
    Join,
    Lateral,
    Pattern,
    Select,
    SetOperation,
    SubQuery,
    TableFunction,
    TableRef,
    Unnest,
    Values,
    WindowFunction,
    With,
)
from funke.engine.sql.syntax.statements import QueryStatement
from funke.engine.sql.window_kinds import CumulativeWindows, HoppingWindows, SessionWindows, TumblingWindows

A, B, C = (Name((name,)) for name in "abc")
ONE, TWO = number_literal("1"), number_literal("2")
STAR = Star()
T, U, V = TableRef(("t",)), TableRef(("u",)), TableRef(("v",))
SELECT_T, SELECT_U = Select((STAR,), T), Select((STAR,), U)


def query(text):
    (statement,) = parse(text)
    assert isinstance(statement, QueryStatement)
    return statement.query


def source(text):
    parsed = query(f"SELECT * FROM {text}")
    assert isinstance(parsed, Select)
    assert parsed == Select((STAR,), parsed.source)
    return parsed.source


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1", Select((ONE,))),
        ("SELECT a AS x, b y, t.*, *", Select((Alias(A, ("x",)), Alias(B, ("y",)), Star(("t",)), STAR))),
        ("SELECT DISTINCT a FROM t", Select((A,), T, is_distinct=True)),
        ("SELECT * FROM t WHERE a GROUP BY b HAVING c", Select((STAR,), T, A, GroupBy(((B,),)), C)),
        ("SELECT * FROM t QUALIFY a", Select((STAR,), T, qualify=A)),
        (
            "SELECT * FROM t ORDER BY a DESC, b LIMIT 3 OFFSET 2",
            Select((STAR,), T, order_by=(OrderItem(A, is_ascending=False), OrderItem(B)), limit=3, offset=2),
        ),
        ("SELECT * FROM t OFFSET 2 ROWS FETCH NEXT 3 ROWS ONLY", Select((STAR,), T, limit=3, offset=2)),
        ("SELECT * FROM t LIMIT ALL", SELECT_T),
        (
            "SELECT * FROM t WINDOW w AS (PARTITION BY a), v AS (w)",
            Select((STAR,), T, windows=(("w", OverWindow((A,))), ("v", OverWindow(base="w")))),
        ),
        ("VALUES (1, a), ROW(2, b), 1", Values(((ONE, A), (TWO, B), (ONE,)))),
        ("TABLE t", SELECT_T),
        ("SELECT * FROM t UNION SELECT * FROM u", SetOperation("union", SELECT_T, SELECT_U)),
        (
            "TABLE t UNION ALL TABLE u INTERSECT TABLE t EXCEPT TABLE u",
            SetOperation(
                "except",
                SetOperation("union", SELECT_T, SetOperation("intersect", SELECT_U, SELECT_T), is_all=True),
                SELECT_U,
            ),
        ),
        ("TABLE t UNION TABLE u LIMIT 1", SetOperation("union", SELECT_T, SELECT_U, limit=1)),
        ("(TABLE t LIMIT 1) LIMIT 2", Select((STAR,), SubQuery(Select((STAR,), T, limit=1)), limit=2)),
        ("VALUES 1 LIMIT 2", Select((STAR,), SubQuery(Values(((ONE,),))), limit=2)),
        (
            "WITH x AS (TABLE t), y (a, b) AS (TABLE x) TABLE y",
            With(
                (("x", (), SELECT_T), ("y", ("a", "b"), Select((STAR,), TableRef(("x",))))),
                Select((STAR,), TableRef(("y",))),
            ),
        ),
    ],
)
def test_queries(text, expected):
    assert query(text) == expected


@pytest.mark.parametrize(
    ("keys", "sets"),
    [
        ("a, b", [(A, B)]),
        ("()", [()]),
        ("(a, b)", [(A, B)]),
        ("GROUPING SETS ((a, b), a, ())", [(A, B), (A,), ()]),
        ("ROLLUP (a, b)", [(A, B), (A,), ()]),
        ("ROLLUP ((a, b), c)", [(A, B, C), (A, B), ()]),
        ("CUBE (a, b)", [(A, B), (A,), (B,), ()]),
        ("a, ROLLUP (b)", [(A, B), (A,)]),
        ("GROUPING SETS (ROLLUP (a), b)", [(A,), (), (B,)]),
        ("GROUPING SETS (a, a)", [(A,), (A,)]),
        ("DISTINCT GROUPING SETS (a, a)", [(A,)]),
    ],
)
def test_sets_of_keys_are_spelled_out(keys, sets):
    assert query(f"SELECT 1 FROM t GROUP BY {keys}").group_by == GroupBy(tuple(sets))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("c.d.t AS x (a, b)", TableRef(("c", "d", "t"), alias="x", column_aliases=("a", "b"))),
        ("t x", TableRef(("t",), alias="x")),
        ("t /*+ OPTIONS('k' = 'v', 'l' = 'w') */ x", TableRef(("t",), (("k", "v"), ("l", "w")), alias="x")),
        ("t FOR SYSTEM_TIME AS OF u.p AS x", TableRef(("t",), as_of=Name(("u", "p")), alias="x")),
        ("(TABLE t) x", SubQuery(SELECT_T, alias="x")),
        ("((TABLE t) UNION (TABLE u)) x", SubQuery(SetOperation("union", SELECT_T, SELECT_U), alias="x")),
        ("t, u", Join("cross", T, U)),
        ("t CROSS JOIN u", Join("cross", T, U)),
        ("t JOIN u ON a = b", Join("inner", T, U, Call("=", (A, B)))),
        ("t LEFT OUTER JOIN u USING (a, b)", Join("left", T, U, using=("a", "b"))),
        ("t NATURAL FULL JOIN u", Join("full", T, U, is_natural=True)),
        ("t JOIN u ON a RIGHT JOIN v ON b", Join("right", Join("inner", T, U, A), V, B)),
        ("t, u JOIN v ON a", Join("cross", T, Join("inner", U, V, A))),
        ("(t JOIN u ON a)", Join("inner", T, U, A)),
        ("((TABLE t) x JOIN u ON a)", Join("inner", SubQuery(SELECT_T, alias="x"), U, A)),
        ("LATERAL (TABLE t) x", Lateral(SELECT_T, alias="x")),
        (
            "t, LATERAL TABLE(f(a)) AS x (b, c)",
            Join("cross", T, TableFunction(Call("f", (A,)), alias="x", column_aliases=("b", "c"))),
        ),
        ("TABLE(f(1))", TableFunction(Call("f", (ONE,)), is_lateral=False)),
        (
            "f(TABLE t PARTITION BY a ORDER BY b, x => 1)",
            TableFunction(
                Call("f", (TableArgument(T, (A,), (OrderItem(B),)), ONE), argument_names=("x",)), is_lateral=False
            ),
        ),
        ("UNNEST(a) AS x (b)", Unnest(A, alias="x", column_aliases=("b",))),
        ("UNNEST(a) WITH ORDINALITY", Unnest(A, with_ordinality=True)),
    ],
)
def test_what_stands_behind_from(text, expected):
    assert source(text) == expected


HOUR, MINUTE = parse_expression("INTERVAL '1' HOUR"), parse_expression("INTERVAL '1' MINUTE")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR))",
            WindowFunction(TumblingWindows, T, "ts", (HOUR,)),
        ),
        (
            "TUMBLE((TABLE t), DESCRIPTOR(ts), INTERVAL '1' HOUR)",
            WindowFunction(TumblingWindows, SubQuery(SELECT_T), "ts", (HOUR,)),
        ),
        (
            "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '1' MINUTE))",
            WindowFunction(TumblingWindows, T, "ts", (HOUR,), MINUTE),
        ),
        (
            "TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '1' HOUR)) AS w",
            WindowFunction(HoppingWindows, T, "ts", (MINUTE, HOUR), alias="w"),
        ),
        (
            "TABLE(HOP(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' HOUR, "
            "SLIDE => INTERVAL '1' MINUTE))",
            WindowFunction(HoppingWindows, T, "ts", (MINUTE, HOUR)),
        ),
        (
            "TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '1' HOUR))",
            WindowFunction(CumulativeWindows, T, "ts", (MINUTE, HOUR)),
        ),
        (
            "TABLE(SESSION(TABLE t PARTITION BY (a, b), DESCRIPTOR(ts), INTERVAL '1' HOUR))",
            WindowFunction(SessionWindows, T, "ts", (HOUR,), partition_by=(A, B)),
        ),
        (
            "TABLE(SESSION(TABLE t PARTITION BY a, DESCRIPTOR(ts), INTERVAL '1' HOUR))",
            WindowFunction(SessionWindows, T, "ts", (HOUR,), partition_by=(A,)),
        ),
    ],
)
def test_windows(text, expected):
    assert source(text) == expected


@pytest.mark.parametrize(
    "arguments", ["TABLE t", "TABLE t, DESCRIPTOR(ts)", "TABLE t, ts, INTERVAL '1' HOUR", "SIZE => 1"]
)
def test_a_window_needs_its_arguments(arguments):
    with pytest.raises(SqlParserError, match=r"TUMBLE at line 1, column 21 needs \(DATA, TIMECOL, SIZE, OFFSET\)"):
        parse(f"SELECT * FROM TABLE(TUMBLE({arguments}))")


def test_windows_of_old_are_plain_calls():
    (key,) = query("SELECT 1 FROM t GROUP BY tumble(a, INTERVAL '1' HOUR)").group_by.sets
    assert key == (Call("tumble", (A, HOUR)),)


def test_hints_of_a_query():
    hints = query("SELECT /*+ STATE_TTL('t' = '1d', u = '2h'), BROADCAST(v, w) */ * FROM t").hints
    assert hints == (("STATE_TTL", (("t", "1d"), ("u", "2h"))), ("BROADCAST", (("v", ""), ("w", ""))))


def test_match_recognize():
    parsed = source(
        """t MATCH_RECOGNIZE (
          PARTITION BY a ORDER BY b
          MEASURES FINAL last(X.a) AS m, Y.b AS n
          ONE ROW PER MATCH AFTER MATCH SKIP TO LAST Y
          PATTERN ( X  Y+? ( Z|X ){2,3} {- W -} Z{4} ) WITHIN INTERVAL '1' HOUR
          SUBSET S = (X, Y)
          DEFINE X AS a, Y AS Y.b > 1
        ) AS r"""
    )
    last = Call("final", (Call("last", (Name(("X", "a")),)),))
    assert parsed == Pattern(
        input=T,
        partition_by=(A,),
        order_by=(OrderItem(B),),
        measures=(Alias(last, ("m",)), Alias(Name(("Y", "b")), ("n",))),
        rows_per_match="one row",
        after_match="skip to last Y",
        pattern="X Y+? (Z | X){2,3} {- W -} Z{4}",
        definitions=(("X", A), ("Y", Call(">", (Name(("Y", "b")), ONE)))),
        subsets=(("S", ("X", "Y")),),
        within=HOUR,
        alias="r",
    )


@pytest.mark.parametrize(
    ("text", "skip"),
    [
        ("", ""),
        ("AFTER MATCH SKIP PAST LAST ROW", "skip past last row"),
        ("AFTER MATCH SKIP TO NEXT ROW", "skip to next row"),
        ("AFTER MATCH SKIP TO FIRST A", "skip to first A"),
    ],
)
def test_where_a_match_goes_on(text, skip):
    assert source(f"t MATCH_RECOGNIZE (ORDER BY a {text} PATTERN (A) DEFINE A AS b)").after_match == skip


def test_a_pattern_over_a_table_with_an_alias():
    parsed = source("t AS x MATCH_RECOGNIZE (ORDER BY a PATTERN (PERMUTE(A, B)) DEFINE A AS b) AS y")
    assert (parsed.input, parsed.alias, parsed.pattern) == (TableRef(("t",), alias="x"), "y", "PERMUTE(A, B)")


def test_a_hint_elsewhere_is_a_comment():
    assert query("SELECT a, /*+ nothing */ b FROM t") == Select((A, B), T)
    assert string_literal("/*+ x */") == parse_expression("'/*+ x */'")

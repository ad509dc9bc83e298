"""Statements other than queries, part by part."""

from __future__ import annotations

import pytest

from funke.engine.errors import SqlParserError, UnsupportedFeatureError
from funke.engine.sql.parsing import parse, parse_expression
from funke.engine.sql.parsing.literals import number_literal, string_literal
from funke.engine.sql.syntax.expressions import Call, Name, Star
from funke.engine.sql.syntax.queries import Select, TableRef
from funke.engine.sql.syntax.statements import (
    AlterCatalog,
    AlterDatabase,
    AlterFunction,
    AlterTable,
    AlterView,
    ColumnDefinition,
    CreateCatalog,
    CreateDatabase,
    CreateFunction,
    CreateTable,
    CreateView,
    Describe,
    Distribution,
    DropObject,
    Explain,
    Insert,
    LikeClause,
    LoadModule,
    QueryStatement,
    Reset,
    Set,
    Show,
    StatementSet,
    UnloadModule,
    Use,
    UseModules,
    WatermarkDefinition,
)
from funke.table.types import DataTypes

QUERY = Select((Star(),), TableRef(("u",)))
INT, STRING = DataTypes.INT(), DataTypes.STRING()
LATER = WatermarkDefinition(("ts",), parse_expression("ts - INTERVAL '5' SECOND"))
KV = (("k", "v"),)


def one(text):
    (statement,) = parse(text)
    return statement


def test_a_table_with_everything():
    parsed = one(
        """CREATE TEMPORARY TABLE IF NOT EXISTS c.d.t (
          a INT NOT NULL COMMENT 'key',
          b AS a + 1 COMMENT 'next',
          m STRING METADATA,
          n BIGINT METADATA FROM 'x.y' VIRTUAL COMMENT 'place',
          ts TIMESTAMP(3),
          WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
          CONSTRAINT pk PRIMARY KEY (a, ts) NOT ENFORCED
        ) COMMENT 'all'
        DISTRIBUTED BY HASH (a) INTO 4 BUCKETS
        PARTITIONED BY (m, n)
        WITH ('k' = 'v', 'it''s' = '')"""
    )
    assert parsed == CreateTable(
        ("c", "d", "t"),
        columns=(
            ColumnDefinition("a", INT.not_null(), comment="key"),
            ColumnDefinition("b", expression=Call("+", (Name(("a",)), number_literal("1"))), comment="next"),
            ColumnDefinition("m", STRING, is_metadata=True),
            ColumnDefinition(
                "n", DataTypes.BIGINT(), is_metadata=True, metadata_key="x.y", is_virtual=True, comment="place"
            ),
            ColumnDefinition("ts", DataTypes.TIMESTAMP(3)),
        ),
        watermark=LATER,
        primary_key=("a", "ts"),
        primary_key_name="pk",
        distribution=Distribution("hash", ("a",), 4),
        partitioned_by=("m", "n"),
        options=(("k", "v"), ("it's", "")),
        comment="all",
        is_temporary=True,
        if_not_exists=True,
    )


A_COLUMN = ColumnDefinition("a", INT)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED)",
            CreateTable(("t",), (ColumnDefinition("a", INT),), primary_key=("a",)),
        ),
        ("CREATE TABLE t LIKE u", CreateTable(("t",), like=LikeClause(("u",)))),
        (
            "CREATE TABLE t (a INT) LIKE c.d.u (INCLUDING ALL OVERWRITING OPTIONS EXCLUDING CONSTRAINTS)",
            CreateTable(
                ("t",),
                (A_COLUMN,),
                like=LikeClause(
                    ("c", "d", "u"), (("including", "all"), ("overwriting", "options"), ("excluding", "constraints"))
                ),
            ),
        ),
        ("CREATE TABLE t WITH ('k' = 'v') AS TABLE u", CreateTable(("t",), options=KV, query=QUERY)),
        (
            "CREATE TABLE t (b, a) AS TABLE u",
            CreateTable(("t",), (ColumnDefinition("b"), ColumnDefinition("a")), query=QUERY),
        ),
        ("CREATE OR REPLACE TABLE t AS TABLE u", CreateTable(("t",), query=QUERY, mode="create or replace")),
        ("REPLACE TABLE t AS TABLE u", CreateTable(("t",), query=QUERY, mode="replace")),
        (
            "CREATE TEMPORARY VIEW IF NOT EXISTS v (a, b) COMMENT 'x' AS  SELECT * FROM u ;",
            CreateView(("v",), QUERY, "SELECT * FROM u", ("a", "b"), "x", True, True),
        ),
        (
            "CREATE DATABASE IF NOT EXISTS c.d COMMENT 'x' WITH ('k' = 'v')",
            CreateDatabase(("c", "d"), KV, "x", if_not_exists=True),
        ),
        ("CREATE CATALOG c WITH ('k' = 'v')", CreateCatalog("c", KV)),
        ("CREATE FUNCTION c.d.f AS 'm.f' LANGUAGE PYTHON", CreateFunction(("c", "d", "f"), "m.f", "PYTHON")),
        (
            "CREATE TEMPORARY SYSTEM FUNCTION IF NOT EXISTS f AS 'm.f' LANGUAGE PYTHON",
            CreateFunction(("f",), "m.f", "PYTHON", is_temporary=True, is_system=True, if_not_exists=True),
        ),
        (
            "CREATE TEMPORARY FUNCTION f AS 'F' USING JAR '/a.jar', JAR '/b.jar'",
            CreateFunction(("f",), "F", resources=("/a.jar", "/b.jar"), is_temporary=True),
        ),
    ],
)
def test_create(text, expected):
    assert one(text) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("RENAME TO d.u", AlterTable(("t",), "rename", new_path=("d", "u"))),
        ("RENAME a TO b", AlterTable(("t",), "rename column", column="a", new_column="b")),
        ("SET ('k' = 'v')", AlterTable(("t",), "set", options=KV)),
        ("RESET ('k', 'l')", AlterTable(("t",), "reset", keys=("k", "l"))),
        ("ADD a INT", AlterTable(("t",), "add", columns=(A_COLUMN,), what="schema")),
        (
            "ADD (a INT FIRST, b STRING AFTER a)",
            AlterTable(
                ("t",),
                "add",
                columns=(ColumnDefinition("a", INT, is_first=True), ColumnDefinition("b", STRING, after="a")),
                what="schema",
            ),
        ),
        (
            "ADD WATERMARK FOR ts AS ts - INTERVAL '5' SECOND",
            AlterTable(("t",), "add", watermark=LATER, what="schema"),
        ),
        ("ADD PRIMARY KEY (a) NOT ENFORCED", AlterTable(("t",), "add", primary_key=("a",), what="schema")),
        ("MODIFY a INT", AlterTable(("t",), "modify", columns=(A_COLUMN,), what="schema")),
        ("DROP a", AlterTable(("t",), "drop", keys=("a",), what="columns")),
        ("DROP (a, b)", AlterTable(("t",), "drop", keys=("a", "b"), what="columns")),
        ("DROP PRIMARY KEY", AlterTable(("t",), "drop", what="primary key")),
        ("DROP CONSTRAINT pk", AlterTable(("t",), "drop", keys=("pk",), what="constraint")),
        ("DROP WATERMARK", AlterTable(("t",), "drop", what="watermark")),
        (
            "ADD IF NOT EXISTS PARTITION (a = 1) PARTITION (a = 2)",
            AlterTable(
                ("t",),
                "add",
                partitions=((("a", number_literal("1")),), (("a", number_literal("2")),)),
                what="partitions",
                ignores_partitions=True,
            ),
        ),
        (
            "DROP PARTITION (a = 'x')",
            AlterTable(("t",), "drop", partitions=((("a", string_literal("x")),),), what="partitions"),
        ),
    ],
)
def test_alter_table(change, expected):
    assert one(f"ALTER TABLE t {change}") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ALTER TABLE IF EXISTS t RENAME TO u", AlterTable(("t",), "rename", new_path=("u",), if_exists=True)),
        ("ALTER VIEW v RENAME TO w", AlterView(("v",), ("w",))),
        ("ALTER VIEW v AS SELECT * FROM u", AlterView(("v",), query=QUERY, text="SELECT * FROM u")),
        ("ALTER DATABASE c.d SET ('k' = 'v')", AlterDatabase(("c", "d"), KV)),
        ("ALTER CATALOG c SET ('k' = 'v')", AlterCatalog("c", KV)),
        ("ALTER CATALOG c RESET ('k')", AlterCatalog("c", keys=("k",))),
        ("ALTER CATALOG c COMMENT 'x'", AlterCatalog("c", comment="x")),
        (
            "ALTER TEMPORARY FUNCTION IF EXISTS f AS 'g' LANGUAGE PYTHON",
            AlterFunction(("f",), "g", "PYTHON", is_temporary=True, if_exists=True),
        ),
        ("DROP TABLE IF EXISTS c.d.t", DropObject("table", ("c", "d", "t"), if_exists=True)),
        ("DROP TEMPORARY VIEW v", DropObject("view", ("v",), is_temporary=True)),
        ("DROP DATABASE d CASCADE", DropObject("database", ("d",), is_cascade=True)),
        ("DROP DATABASE d RESTRICT", DropObject("database", ("d",))),
        ("DROP CATALOG c", DropObject("catalog", ("c",))),
        ("DROP TEMPORARY SYSTEM FUNCTION f", DropObject("function", ("f",), is_temporary=True, is_system=True)),
        ("INSERT INTO d.t SELECT * FROM u", Insert(("d", "t"), QUERY)),
        ("INSERT INTO t (SELECT * FROM u)", Insert(("t",), QUERY)),
        (
            "INSERT OVERWRITE t /*+ OPTIONS('k' = 'v') */ PARTITION (a = 1) (c, d) SELECT * FROM u",
            Insert(("t",), QUERY, ("c", "d"), (("a", number_literal("1")),), True, KV),
        ),
        ("INSERT INTO t TABLE u ON CONFLICT DO NOTHING", Insert(("t",), QUERY, on_conflict="nothing")),
        (
            "EXECUTE STATEMENT SET BEGIN INSERT INTO a TABLE u; INSERT INTO b TABLE u; END",
            StatementSet((Insert(("a",), QUERY), Insert(("b",), QUERY))),
        ),
        ("BEGIN STATEMENT SET; INSERT INTO a TABLE u; END;", StatementSet((Insert(("a",), QUERY),))),
        ("EXECUTE INSERT INTO a TABLE u", Insert(("a",), QUERY)),
        ("EXPLAIN PLAN FOR TABLE u", Explain(QueryStatement(QUERY))),
        (
            "EXPLAIN ESTIMATED_COST, CHANGELOG_MODE INSERT INTO a TABLE u",
            Explain(Insert(("a",), QUERY), ("ESTIMATED_COST", "CHANGELOG_MODE")),
        ),
        (
            "EXPLAIN STATEMENT SET BEGIN INSERT INTO a TABLE u; END",
            Explain(StatementSet((Insert(("a",), QUERY),))),
        ),
        ("DESC c.d.t", Describe(("c", "d", "t"))),
        ("DESCRIBE EXTENDED t", Describe(("t",), is_extended=True)),
        ("DESCRIBE CATALOG EXTENDED c", Describe(("c",), "catalog", is_extended=True)),
        ("USE c.d", Use(("c", "d"))),
        ("USE CATALOG c", Use(("c",), is_catalog=True)),
        ("USE MODULES a, b", UseModules(("a", "b"))),
        ("LOAD MODULE m WITH ('k' = 'v')", LoadModule("m", KV)),
        ("UNLOAD MODULE m", UnloadModule("m")),
        ("SET", Set()),
        ("SET 'a.b' = 'c d'", Set("a.b", "c d")),
        ("RESET", Reset()),
        ("RESET 'a.b'", Reset("a.b")),
    ],
)
def test_other_statements(text, expected):
    assert one(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CATALOGS", Show("catalogs")),
        ("CURRENT DATABASE", Show("current database")),
        ("DATABASES IN c NOT LIKE 'd%'", Show("databases", ("c",), "d%", is_negated=True)),
        ("TABLES FROM c.d ILIKE 'T%'", Show("tables", ("c", "d"), "T%", ignores_case=True)),
        ("USER FUNCTIONS", Show("user functions")),
        ("FULL MODULES", Show("full modules")),
        ("COLUMNS FROM t LIKE 'a%'", Show("columns", ("t",), "a%")),
        ("CREATE TABLE d.t", Show("create table", ("d", "t"))),
        ("PARTITIONS t PARTITION (a = 1)", Show("partitions", ("t",), partition=(("a", number_literal("1")),))),
    ],
)
def test_show(text, expected):
    assert one(f"SHOW {text}") == expected


def test_several_statements_in_a_text():
    assert parse(";; USE a; \n USE b ;;") == [Use(("a",)), Use(("b",))]
    assert parse("  -- nothing\n") == []


@pytest.mark.parametrize(
    ("text", "feature"),
    [
        ("DELETE FROM t", "DELETE in SQL"),
        ("CREATE MODEL m", "CREATE MODEL"),
        ("CREATE MATERIALIZED TABLE t AS SELECT 1", "CREATE MATERIALIZED"),
        ("WITH RECURSIVE a AS (SELECT 1) SELECT * FROM a", "WITH RECURSIVE"),
        ("SELECT last_value(a) IGNORE NULLS FROM t", "IGNORE NULLS"),
        ("SELECT * FROM t TABLESAMPLE SYSTEM(1)", "TABLESAMPLE in SQL"),
        ("SHOW MODELS", "SHOW MODELS in SQL"),
    ],
)
def test_what_is_understood_and_not_carried_out_says_so(text, feature):
    with pytest.raises(UnsupportedFeatureError, match=feature):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TABLE t (a INT, PRIMARY KEY (a))", "Flink doesn't support ENFORCED mode for PRIMARY KEY constraint"),
        ("CREATE TABLE t (a INT, UNIQUE (a) NOT ENFORCED)", "UNIQUE constraint is not supported yet"),
        ("CREATE TABLE t (a INT PRIMARY KEY NOT ENFORCED, PRIMARY KEY (a) NOT ENFORCED)", "Duplicate primary key"),
        ("CREATE TABLE t (WATERMARK FOR a AS a, WATERMARK FOR b AS b)", "Multiple WATERMARK"),
    ],
)
def test_keys_and_watermarks_have_rules(text, message):
    with pytest.raises(SqlParserError, match=message):
        parse(text)

"""Statements on catalogs, through the environment: what they do, and what they answer."""

from __future__ import annotations

import json

import pytest

from funke.engine.errors import ConfigurationError, FunkeError, SqlValidationError, UnsupportedFeatureError
from funke.engine.flink_exceptions import CatalogException, TableException, ValidationException
from funke.table import (
    DataTypes,
    EnvironmentSettings,
    ExplainDetail,
    Module,
    ResultKind,
    Schema,
    TableDescriptor,
    TableEnvironment,
)
from funke.table.catalog import Catalog, InMemoryCatalog
from funke.table.expressions import call, col
from funke.table.udf import udf

SOURCE = """
    CREATE TABLE src (
        a INT, b STRING NOT NULL, c AS a + 1, ts TIMESTAMP(3),
        WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (b) NOT ENFORCED
    ) COMMENT 'hello' WITH ('connector' = 'datagen', 'number-of-rows' = '3')
"""
SINK = "CREATE TABLE snk (a BIGINT, b STRING) WITH ('connector' = 'blackhole')"


@pytest.fixture
def t_env() -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(SOURCE)
    t_env.execute_sql(SINK)
    return t_env


def answer(t_env: TableEnvironment, statement: str) -> list[tuple[object, ...]]:
    with t_env.execute_sql(statement).collect() as rows:
        return [tuple(row) for row in rows]


def printed(t_env: TableEnvironment, statement: str, capsys: pytest.CaptureFixture[str]) -> str:
    t_env.execute_sql(statement).print()
    return capsys.readouterr().out


def test_what_is_made_is_listed(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TEMPORARY VIEW tv (x, y) AS SELECT a, b FROM src WHERE a > 1")
    assert answer(t_env, "SHOW TABLES") == [("snk",), ("src",), ("tv",)]
    assert answer(t_env, "SHOW TABLES LIKE 's%c'") == [("src",)]
    assert answer(t_env, "SHOW TABLES NOT LIKE 's%'") == [("tv",)]
    assert answer(t_env, "SHOW VIEWS") == [("tv",)]
    assert (t_env.list_views(), t_env.list_temporary_tables()) == (["tv"], ["tv"])
    assert answer(t_env, "SHOW FULL MODULES") == [("core", True)]
    result = t_env.execute_sql("DROP TEMPORARY VIEW tv")
    assert result.get_result_kind() == ResultKind.SUCCESS
    assert result.get_job_client() is None
    assert str(result.get_resolved_schema()) == "(\n  `result` STRING\n)"


def test_tables_are_described(t_env: TableEnvironment, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(t_env, "DESCRIBE src", capsys).splitlines() == [
        "+------+------------------------+-------+--------+------------+----------------------------+",
        "| name |                   type |  null |    key |     extras |                  watermark |",
        "+------+------------------------+-------+--------+------------+----------------------------+",
        "|    a |                    INT |  TRUE |        |            |                            |",
        "|    b |                 STRING | FALSE | PRI(b) |            |                            |",
        "|    c |                    INT |  TRUE |        | AS `a` + 1 |                            |",
        "|   ts | TIMESTAMP(3) *ROWTIME* |  TRUE |        |            | `ts` - INTERVAL '5' SECOND |",
        "+------+------------------------+-------+--------+------------+----------------------------+",
        "4 rows in set",
    ]
    assert answer(t_env, "SHOW COLUMNS FROM src LIKE 't%'") == [
        ("ts", "TIMESTAMP(3) *ROWTIME*", True, None, None, "`ts` - INTERVAL '5' SECOND")
    ]
    assert answer(t_env, "SHOW CREATE TABLE src") == [
        (
            "CREATE TABLE `default_catalog`.`default_database`.`src` (\n  `a` INT,\n"
            "  `b` VARCHAR(2147483647) NOT NULL,\n  `c` AS `a` + 1,\n  `ts` TIMESTAMP(3),\n"
            "  WATERMARK FOR `ts` AS `ts` - INTERVAL '5' SECOND,\n"
            "  CONSTRAINT `PK_b` PRIMARY KEY (`b`) NOT ENFORCED\n)\nCOMMENT 'hello'\n"
            "WITH (\n  'connector' = 'datagen',\n  'number-of-rows' = '3'\n)\n",
        )
    ]


def test_a_table_is_altered(t_env: TableEnvironment) -> None:
    for change in (
        "RENAME TO src2",
        "SET ('number-of-rows' = '5')",
        "RESET ('number-of-rows')",
        "ADD (z INT, y STRING FIRST, w DOUBLE AFTER a)",
        "MODIFY z BIGINT",
        "DROP z",
        "RENAME y TO yy",
        "DROP WATERMARK",
        "DROP PRIMARY KEY",
    ):
        t_env.execute_sql(f"ALTER TABLE {'src' if change.startswith('RENAME TO') else 'src2'} {change}")
    assert [row[:2] for row in answer(t_env, "DESCRIBE src2")] == [
        ("yy", "STRING"),
        ("a", "INT"),
        ("w", "DOUBLE"),
        ("b", "STRING"),
        ("c", "INT"),
        ("ts", "TIMESTAMP(3)"),
    ]


@pytest.mark.parametrize(
    ("change", "rejected"),
    [
        ("DROP nosuch", "The column `nosuch` does not exist in the base table."),
        ("ADD a INT", "Column `a` already exists in the table."),
        ("DROP a", "The column `a` is referenced by computed column `c`."),
        ("DROP ts", "The column `ts` is referenced by watermark expression."),
        ("DROP b", "The column `b` is used as the primary key."),
        ("ADD WATERMARK FOR ts AS ts", "The base table has already defined the watermark strategy."),
    ],
)
def test_what_cannot_be_altered(t_env: TableEnvironment, change: str, rejected: str) -> None:
    with pytest.raises(ValidationException) as caught:
        t_env.execute_sql(f"ALTER TABLE src {change}")
    assert f"Failed to execute ALTER TABLE statement.\n{rejected}" in str(caught.value)


def test_a_table_like_another(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TABLE lk (q INT) WITH ('rows-per-second' = '1') LIKE src")
    assert [row[0] for row in answer(t_env, "DESCRIBE lk")] == ["a", "b", "c", "ts", "q"]
    t_env.execute_sql("CREATE TABLE lk2 WITH ('connector' = 'print') LIKE src (EXCLUDING ALL)")
    assert [row[0] for row in answer(t_env, "DESCRIBE lk2")] == ["a", "b", "ts"]
    with pytest.raises(ValidationException, match="A column named 'a' already exists in the base table"):
        t_env.execute_sql("CREATE TABLE lk3 (a INT) LIKE src")
    with pytest.raises(ValidationException, match="You might want to specify EXCLUDING OPTIONS or OVERWRITING OPTIONS"):
        t_env.execute_sql("CREATE TABLE lk3 WITH ('connector' = 'print') LIKE src (INCLUDING ALL)")


def test_catalogs_and_databases(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE DATABASE db1 COMMENT 'x' WITH ('k' = 'v')")
    t_env.execute_sql("USE db1")
    assert answer(t_env, "SHOW CURRENT DATABASE") == [("db1",)]
    # A view means the tables of the time at which it was made.
    t_env.execute_sql("CREATE VIEW v AS SELECT a FROM default_database.src")
    t_env.execute_sql("USE default_database")
    t_env.execute_sql("CREATE VIEW db1.w AS SELECT * FROM src")
    t_env.execute_sql("USE db1")
    assert t_env.from_path("w").get_schema().get_field_names() == ["a", "b", "c", "ts"]
    with pytest.raises(TableException, match="Cannot drop a database which is currently in use"):
        t_env.execute_sql("DROP DATABASE db1")
    t_env.use_database("default_database")
    with pytest.raises(ValidationException, match="Database db1 in catalog default_catalog is not empty"):
        t_env.execute_sql("DROP DATABASE db1")
    t_env.execute_sql("DROP DATABASE db1 CASCADE")
    t_env.execute_sql("CREATE CATALOG c1 WITH ('type' = 'generic_in_memory')")
    t_env.execute_sql("USE CATALOG c1")
    assert (t_env.get_current_catalog(), t_env.get_current_database()) == ("c1", "default")
    assert answer(t_env, "SHOW CREATE CATALOG c1") == [
        ("CREATE CATALOG `c1`\nWITH (\n  'type' = 'generic_in_memory'\n)\n",)
    ]
    t_env.register_catalog("mine", Catalog(InMemoryCatalog("mine", "own")))
    t_env.use_catalog("mine")
    t_env.execute_sql("DROP CATALOG c1")
    assert t_env.list_catalogs() == ["default_catalog", "mine"]
    assert t_env.list_databases() == ["own"]


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        (SINK, ValidationException, "Could not execute CreateTable in path `default_catalog`.`default_database`.`snk`"),
        ("DROP TABLE nosuch", ValidationException, "Table with identifier 'default_catalog.default_database.nosuch'"),
        ("DESCRIBE nosuch", ValidationException, "'default_catalog.default_database.nosuch' doesn't exist."),
        ("USE nosuch", CatalogException, "A database with name [nosuch] does not exist in the catalog"),
        ("INSERT INTO nosuch SELECT 1", ValidationException, "Cannot find table"),
        ("SELECT * FROM nosuch", SqlValidationError, "Object 'nosuch' not found"),
        ("CREATE CATALOG c2 WITH ('type' = 'x')", ValidationException, "Could not find any factory for identifier 'x'"),
        ("CREATE TABLE x (a INT, a INT)", ValidationException, "Schema must not contain duplicate column names."),
        ("CREATE TABLE x (a INT, PRIMARY KEY (b) NOT ENFORCED)", ValidationException, "Column 'b' does not exist."),
        ("SELECT 1; SELECT 2", ConfigurationError, "only single statement supported"),
        ("CREATE FUNCTION f AS 'a.B'", UnsupportedFeatureError, "LANGUAGE JAVA"),
        (
            "INSERT INTO snk SELECT b, b FROM src",
            ValidationException,
            "Column types of query result and sink for 'default_catalog.default_database.snk' do not match.\n"
            "Cause: Incompatible types for sink column 'a' at position 1.\n\n"
            "Query schema: [b: STRING NOT NULL, b0: STRING NOT NULL]\nSink schema:  [a: BIGINT, b: STRING]",
        ),
        ("INSERT INTO snk SELECT b FROM src", ValidationException, "Cause: Different number of columns."),
        ("INSERT INTO snk (zz) SELECT 1", SqlValidationError, "Unknown target column 'zz'"),
    ],
)
def test_what_is_rejected(t_env: TableEnvironment, statement: str, error: type[FunkeError], message: str) -> None:
    with pytest.raises(error) as caught:
        t_env.execute_sql(statement)
    assert message in str(caught.value)


def test_settings(t_env: TableEnvironment) -> None:
    t_env.execute_sql("SET 'table.exec.mini-batch.enabled' = 'true'")
    assert t_env.get_config().get("table.exec.mini-batch.enabled", "") == "true"
    assert ("table.exec.mini-batch.enabled", "true") in answer(t_env, "SET")
    t_env.execute_sql("RESET 'table.exec.mini-batch.enabled'")
    assert t_env.get_config().get("table.exec.mini-batch.enabled", "unset") == "unset"


def test_a_plan_has_flinks_nodes(t_env: TableEnvironment) -> None:
    assert t_env.explain_sql(
        "INSERT INTO snk SELECT a, UPPER(b) FROM src WHERE a > 1", ExplainDetail.CHANGELOG_MODE
    ) == (
        "== Abstract Syntax Tree ==\n"
        "LogicalSink(table=[default_catalog.default_database.snk], fields=[a, b])\n"
        "+- LogicalProject(a=[CAST($0):BIGINT], b=[$1])\n"
        "   +- LogicalProject(a=[$0], EXPR$1=[UPPER($1)])\n"
        "      +- LogicalFilter(condition=[>($0, 1)])\n"
        "         +- LogicalWatermarkAssigner(rowtime=[ts], watermark=[-($3, 5000:INTERVAL SECOND)])\n"
        "            +- LogicalProject(a=[$0], b=[$1], c=[+($0, 1)], ts=[$2])\n"
        "               +- LogicalTableScan(table=[[default_catalog, default_database, src]])\n"
        "\n"
        "== Optimized Physical Plan ==\n"
        "Sink(table=[default_catalog.default_database.snk], fields=[a, b], changelogMode=[NONE])\n"
        "+- Calc(select=[CAST(a AS BIGINT) AS a, UPPER(b) AS b], where=[>(a, 1)], changelogMode=[I])\n"
        "   +- WatermarkAssigner(rowtime=[ts], watermark=[-(ts, 5000:INTERVAL SECOND)], changelogMode=[I])\n"
        "      +- Calc(select=[a, b, ts], changelogMode=[I])\n"
        "         +- TableSourceScan(table=[[default_catalog, default_database, src]], fields=[a, b, ts], "
        "changelogMode=[I])\n"
        "\n"
        "== Optimized Execution Plan ==\n"
        "Sink(table=[default_catalog.default_database.snk], fields=[a, b])\n"
        "+- Calc(select=[CAST(a AS BIGINT) AS a, UPPER(b) AS b], where=[(a > 1)])\n"
        "   +- WatermarkAssigner(rowtime=[ts], watermark=[(ts - 5000:INTERVAL SECOND)])\n"
        "      +- Calc(select=[a, b, ts])\n"
        "         +- TableSourceScan(table=[[default_catalog, default_database, src]], fields=[a, b, ts])\n"
    )


def test_functions_by_name(t_env: TableEnvironment) -> None:
    t_env.create_temporary_function("twice", udf(lambda x: 2 * x, result_type=DataTypes.BIGINT()))
    t_env.load_module("more", Module({"Triple": udf(lambda x: 3 * x, result_type=DataTypes.INT())}))
    t_env.register_function("same", udf(lambda x: x, result_type="STRING"))
    schema = t_env.sql_query("SELECT twice(a), TRIPLE(a), same(b) FROM src").get_schema()
    assert schema.get_field_data_types() == [DataTypes.BIGINT(), DataTypes.INT(), DataTypes.STRING()]
    assert t_env.from_path("src").select(call("twice", col("a"))).get_schema().get_field_names() == ["_c0"]
    assert answer(t_env, "SHOW USER FUNCTIONS") == [("same",), ("twice",)]
    assert (t_env.drop_temporary_function("twice"), t_env.drop_temporary_function("twice")) == (True, False)
    with pytest.raises(SqlValidationError, match="No match found for function signature"):
        t_env.sql_query("SELECT twice(a) FROM src")
    with pytest.raises(UnsupportedFeatureError, match="create_java_function is not supported"):
        t_env.create_java_function("f", "a.B")


def test_tables_by_descriptors(t_env: TableEnvironment) -> None:
    schema = Schema.new_builder().column("a", "INT").column_by_expression("b", "a + 1").build()
    descriptor = TableDescriptor.for_connector("datagen").schema(schema).option("number-of-rows", "1").build()
    t_env.create_temporary_table("given", descriptor)
    assert str(t_env.from_path("given").get_resolved_schema()) == "(\n  `a` INT,\n  `b` INT AS a + 1\n)"
    assert t_env.from_descriptor(descriptor).get_schema().get_field_names() == ["a", "b"]
    with pytest.raises(ValidationException, match="Table `nosuch` was not found"):
        t_env.from_path("nosuch")
    pipeline = t_env.from_path("given").insert_into(TableDescriptor.for_connector("blackhole").build())
    assert pipeline.get_sink_identifier() is None
    named = t_env.from_path("given").select(col("a"), col("b").cast(DataTypes.STRING())).insert_into("snk")
    assert str(named.get_sink_identifier()) == "`default_catalog`.`default_database`.`snk`"
    with pytest.raises(TableException, match="No operators defined in streaming topology"):
        t_env.create_statement_set().execute()


plus_one = udf(lambda x: x + 1, result_type=DataTypes.BIGINT())


def test_functions_by_their_python_path(t_env: TableEnvironment) -> None:
    t_env.execute_sql(f"CREATE FUNCTION plus_one AS '{__name__}.plus_one' LANGUAGE PYTHON")
    t_env.execute_sql("CREATE TEMPORARY SYSTEM FUNCTION lost AS 'no_module.of_this_name' LANGUAGE PYTHON")
    query = "SELECT default_database.plus_one(a), plus_one(1) FROM src"
    assert t_env.sql_query(query).get_schema().get_field_data_types() == [DataTypes.BIGINT()] * 2
    with pytest.raises(ValidationException, match="cannot be loaded: No module named"):
        t_env.sql_query("SELECT lost(1)")
    t_env.execute_sql("DROP FUNCTION plus_one")
    with pytest.raises(ValidationException, match=r"Function default_database\.plus_one does not exist"):
        t_env.execute_sql("DROP FUNCTION plus_one")
    assert {"upper", "sum", "lost"} < set(t_env.list_functions())


JOB = "\n== Physical Execution Plan ==\n"


def node_types(explained: str) -> list[str]:
    return [each["type"] for each in json.loads(explained.split(JOB)[1])["nodes"]]


def test_the_job_of_a_plan_is_shown(t_env: TableEnvironment) -> None:
    insert, query = "INSERT INTO snk SELECT a, b FROM src", "SELECT b FROM src"
    in_set = t_env.create_statement_set().add_insert_sql(insert)
    of_inserts = [
        t_env.explain_sql(insert, ExplainDetail.JSON_EXECUTION_PLAN),
        in_set.explain(ExplainDetail.JSON_EXECUTION_PLAN),
        str(answer(t_env, f"EXPLAIN JSON_EXECUTION_PLAN {insert}")[0][0]),
    ]
    of_rows = [
        t_env.explain_sql(query, ExplainDetail.JSON_EXECUTION_PLAN),
        t_env.sql_query(query).explain(ExplainDetail.JSON_EXECUTION_PLAN),
    ]

    for text in of_inserts:
        types = node_types(text)
        assert (types[0], types[-1]) == ("Source: datagen Source", "Sink: blackhole Sink")
    for text in of_rows:
        assert node_types(text)[-1] == "Sink: Collect table sink"
    assert JOB not in t_env.explain_sql(insert)
    # Nothing of what was shown is part of the next job.
    assert not t_env._env._builder.pending


def test_advice_is_given_where_an_option_helps(t_env: TableEnvironment) -> None:
    counted = "SELECT b, COUNT(*) FROM src GROUP BY b"

    assert "advice[1]: " in t_env.explain_sql(counted, ExplainDetail.PLAN_ADVICE)
    assert "== Optimized Physical Plan With Advice ==" in t_env.explain_sql(counted, ExplainDetail.PLAN_ADVICE)
    assert "No advice" in t_env.explain_sql("SELECT b FROM src", ExplainDetail.PLAN_ADVICE)
    t_env.get_config().set("table.exec.mini-batch.enabled", "true")
    t_env.get_config().set("table.exec.mini-batch.allow-latency", "1 s")
    t_env.get_config().set("table.exec.mini-batch.size", "10")
    assert "No advice" in t_env.explain_sql(counted, ExplainDetail.PLAN_ADVICE)

"""Spark's session catalog as a catalog: what is asked of Spark, and what becomes of its answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import Row, types

from funke.engine.flink_exceptions import (
    CatalogException,
    DatabaseNotExistException,
    TableNotExistException,
    ValidationException,
)
from funke.engine.sql.catalog import spark_catalog
from funke.engine.sql.catalog.objects import CatalogTable
from funke.table import EnvironmentSettings, TableEnvironment


class Session:
    """A session with one table; remembers what changes something."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.catalog = self

    def sql(self, statement: str) -> Session:
        answers = {
            "SHOW NAMESPACES IN `spark_catalog`": [Row(namespace="default"), Row(namespace="shop")],
            "SHOW TABLES IN `spark_catalog`.`shop`": [
                Row(namespace="shop", tableName="orders", isTemporary=False),
                Row(namespace="", tableName="of_the_session", isTemporary=True),
            ],
            "SHOW VIEWS IN `spark_catalog`.`shop`": [],
            "DESCRIBE NAMESPACE EXTENDED `spark_catalog`.`shop`": [Row("Comment", "sold"), Row("Location", "/shop")],
        }
        if not statement.startswith(("SHOW", "DESCRIBE")):
            self.statements.append(statement)
        self._rows: list[Any] = answers.get(statement, [])
        return self

    def collect(self) -> list[Any]:
        return self._rows

    def table(self, path: str) -> Any:
        schema = types.StructType()
        schema.add("id", types.LongType()).add("price", types.DecimalType(10, 2)).add("at", types.TimestampNTZType())
        schema.add("seen", types.TimestampType()).add("many", types.ArrayType(types.StringType()))
        return SimpleNamespace(schema=schema.add("weekday", types.StringType()))

    def tableExists(self, path: str) -> bool:
        return path == "`spark_catalog`.`shop`.`orders`"

    def listColumns(self, path: str) -> list[Any]:
        return [SimpleNamespace(name="id", isPartition=False), SimpleNamespace(name="weekday", isPartition=True)]

    def getTable(self, path: str) -> Any:
        return SimpleNamespace(description="all of them")


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    fake_session = Session()
    monkeypatch.setattr(spark_catalog, "spark_session", lambda settings: fake_session)
    return fake_session


@pytest.fixture
def t_env(session: Session) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.execute_sql("CREATE CATALOG lake WITH ('type' = 'spark', 'default-database' = 'shop')")
    t_env.use_catalog("lake")
    return t_env


def test_what_spark_knows_is_listed_and_described(t_env: TableEnvironment) -> None:
    assert t_env.list_databases() == ["default", "shop"]
    assert t_env.list_tables() == ["orders"]
    described = [tuple(row)[:2] for row in t_env.execute_sql("DESCRIBE orders").collect()]
    assert described == [
        ("id", "BIGINT"),
        ("price", "DECIMAL(10, 2)"),
        ("at", "TIMESTAMP(6)"),
        ("seen", "TIMESTAMP_LTZ(6)"),
        ("many", "ARRAY<STRING>"),
        ("weekday", "STRING"),
    ]
    table = t_env._session.catalogs.catalog("lake").get_table("shop", "orders")
    assert isinstance(table, CatalogTable)
    assert table.options == {"connector": "spark", "table": "`spark_catalog`.`shop`.`orders`"}
    assert (table.partition_keys, table.comment) == (("weekday",), "all of them")
    assert t_env._session.catalogs.catalog("lake").get_database("shop").comment == "sold"


def test_queries_read_by_the_connector(t_env: TableEnvironment) -> None:
    explained = t_env.explain_sql("SELECT weekday, SUM(id) FROM orders GROUP BY weekday")
    assert explained.splitlines()[-1].startswith("Spark: GroupAggregate(groupBy=[weekday]")
    assert "Sink(table=[lake.shop.orders]" in t_env.explain_sql(
        "INSERT INTO orders SELECT 1, 1.5, LOCALTIMESTAMP, CURRENT_TIMESTAMP, ARRAY['a'], 'mon'"
    )


def test_statements_that_change_something(t_env: TableEnvironment, session: Session) -> None:
    t_env.execute_sql("CREATE TABLE made (a INT NOT NULL, t TIMESTAMP(3)) COMMENT 'it''s' WITH ('format' = 'orc')")
    t_env.execute_sql("CREATE TABLE apart (a STRING, `the day` DATE) PARTITIONED BY (`the day`)")
    t_env.execute_sql("ALTER TABLE orders RENAME TO renamed")
    t_env.execute_sql("DROP TABLE orders")
    t_env.execute_sql("CREATE DATABASE more COMMENT 'new' WITH ('a' = 'b')")
    t_env.execute_sql("DROP DATABASE `default`")
    assert session.statements == [
        "CREATE TABLE `spark_catalog`.`shop`.`made` (`a` int NOT NULL, `t` timestamp_ntz) USING orc COMMENT 'it\\'s'",
        "CREATE TABLE `spark_catalog`.`shop`.`apart` (`a` string, `the day` date) USING parquet "
        "PARTITIONED BY (`the day`)",
        "ALTER TABLE `spark_catalog`.`shop`.`orders` RENAME TO `shop`.`renamed`",
        "DROP TABLE `spark_catalog`.`shop`.`orders`",
        "CREATE NAMESPACE `spark_catalog`.`more` COMMENT 'new' WITH PROPERTIES ('a' = 'b')",
        "DROP NAMESPACE `spark_catalog`.`default` CASCADE",
    ]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE TABLE orders (a INT)", "already exists"),
        ("CREATE TABLE k (a INT, PRIMARY KEY (a) NOT ENFORCED)", "Spark has columns only"),
        ("CREATE TABLE k (a INT, b AS a + 1)", "columns that are computed"),
        ("CREATE TABLE k (a INT) WITH ('connector' = 'print')", "tables of other connectors"),
        ("DROP TABLE nowhere", "nowhere"),
        (
            "CREATE CATALOG c WITH ('type' = 'spark', 'warehouse' = 'x')",
            "Supported options:\n\ncatalog\ndefault-database",
        ),
    ],
)
def test_what_is_rejected(t_env: TableEnvironment, statement: str, message: str) -> None:
    with pytest.raises((ValidationException, CatalogException), match=message):
        t_env.execute_sql(statement)


def test_what_is_not_there(t_env: TableEnvironment) -> None:
    catalog = t_env._session.catalogs.catalog("lake")
    with pytest.raises(DatabaseNotExistException):
        catalog.list_tables("nowhere")
    with pytest.raises(TableNotExistException):
        catalog.get_table("shop", "nowhere")

"""Spark's session catalog as a catalog: what Spark knows is listed, described, read and written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from funke.engine.flink_exceptions import CatalogException, ValidationException
from funke.table import EnvironmentSettings, TableEnvironment

pytestmark = pytest.mark.spark


@pytest.fixture
def t_env(spark: Any, tmp_path: Path) -> Iterator[TableEnvironment]:
    spark.sql(f"CREATE DATABASE shop COMMENT 'what is sold' LOCATION '{tmp_path}'")
    spark.sql("CREATE TABLE shop.orders (id BIGINT NOT NULL, price DECIMAL(10, 2), at TIMESTAMP_NTZ, weekday STRING) "
              "USING parquet PARTITIONED BY (weekday)")  # fmt: skip
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.execute_sql("CREATE CATALOG lake WITH ('type' = 'spark', 'default-database' = 'shop')")
    t_env.use_catalog("lake")
    yield t_env
    spark.sql("DROP DATABASE shop CASCADE")


def rows_of(t_env: TableEnvironment, statement: str) -> list[tuple[Any, ...]]:
    with t_env.execute_sql(statement).collect() as rows:
        return [tuple(row) for row in rows]


def test_tables_that_spark_knows(spark: Any, t_env: TableEnvironment) -> None:
    assert ("shop",) in rows_of(t_env, "SHOW DATABASES")
    assert t_env.list_tables() == ["orders"]
    # Spark reads files as if any column could be NULL, whatever was declared.
    assert [row[:2] for row in rows_of(t_env, "DESCRIBE orders")] == [
        ("id", "BIGINT"),
        ("price", "DECIMAL(10, 2)"),
        ("at", "TIMESTAMP(6)"),
        ("weekday", "STRING"),
    ]
    rows_of(
        t_env,
        "INSERT INTO orders VALUES (1, 1.5, TIMESTAMP '2024-05-01 10:00:00.5', 'mon'), (2, 2.25, CAST(NULL AS "
        "TIMESTAMP(6)), 'tue')",
    )
    assert spark.sql(
        "SELECT id, CAST(price AS STRING), CAST(at AS STRING), weekday FROM shop.orders ORDER BY id"
    ).collect() == [
        (1, "1.50", "2024-05-01 10:00:00.5", "mon"),
        (2, "2.25", None, "tue"),
    ]
    query = "SELECT weekday, SUM(price) FROM lake.shop.orders GROUP BY weekday ORDER BY weekday"
    assert [(weekday, str(total)) for weekday, total in rows_of(t_env, query)] == [("mon", "1.50"), ("tue", "2.25")]


def test_tables_are_made_and_dropped(spark: Any, t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TABLE made (a INT NOT NULL, t TIMESTAMP(3)) COMMENT 'mine' WITH ('format' = 'orc')")
    assert [(each.name, each.dataType.simpleString()) for each in spark.table("shop.made").schema] == [
        ("a", "int"),
        ("t", "timestamp_ntz"),
    ]
    with pytest.raises(ValidationException, match="already exists"):
        t_env.execute_sql("CREATE TABLE made (a INT)")
    with pytest.raises((ValidationException, CatalogException), match="Spark has columns only"):
        t_env.execute_sql("CREATE TABLE keyed (a INT, PRIMARY KEY (a) NOT ENFORCED)")
    t_env.execute_sql("ALTER TABLE made RENAME TO renamed")
    assert sorted(t_env.list_tables()) == ["orders", "renamed"]
    assert t_env.drop_table("renamed")
    t_env.execute_sql("CREATE DATABASE IF NOT EXISTS shop")
    with pytest.raises(ValidationException, match="is not empty"):
        t_env.use_catalog("default_catalog")
        t_env.execute_sql("DROP DATABASE lake.shop")
    assert t_env.get_catalog("lake").get_database("shop").get_comment() == "what is sold"  # type: ignore[union-attr]

"""A join with the versions of a table, on Spark."""

from __future__ import annotations

from typing import Any

import pytest

from funke.table import EnvironmentSettings, TableEnvironment

pytestmark = pytest.mark.spark


def test_orders_with_the_rates_of_their_times(spark: Any, tmp_path: Any) -> None:
    (tmp_path / "orders").mkdir()
    (tmp_path / "rates").mkdir()
    lines = [f"{second},{'EUR' if second % 2 else 'USD'},2020-01-01 00:00:{second:02}" for second in range(60)]
    (tmp_path / "orders" / "one").write_text("\n".join(lines))
    rates = [f"EUR,{second},2020-01-01 00:00:{second:02}" for second in range(10, 60, 10)]
    (tmp_path / "rates" / "one").write_text("\n".join(rates))
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.execute_sql(f"""
        CREATE TABLE orders (id INT, currency STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
        WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/orders', 'format' = 'csv')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE rates (
            currency STRING, rate INT, since TIMESTAMP(3), WATERMARK FOR since AS since,
            PRIMARY KEY (currency) NOT ENFORCED
        ) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/rates', 'format' = 'csv')
    """)
    result = t_env.execute_sql("""
        SELECT id, rate FROM orders LEFT JOIN rates FOR SYSTEM_TIME AS OF orders.ts
        ON orders.currency = rates.currency
    """)
    with result.collect() as rows:
        by_key = dict(tuple(row) for row in rows)
    assert by_key == {second: second // 10 * 10 if second % 2 and second >= 10 else None for second in range(60)}

"""Groups that have one row each are left out."""

from __future__ import annotations

import pytest

from funke.table import EnvironmentSettings, TableEnvironment

BY_KEY = "(SELECT k, MAX(v) AS m FROM t GROUP BY k)"


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.execute_sql(
        "CREATE TABLE t (id INT, k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (id) NOT ENFORCED) "
        "WITH ('connector' = 'datagen')"
    )
    return environment


@pytest.mark.parametrize(
    ("query", "groups"),
    [
        ("SELECT id, MAX(v), SUM(v) FROM t GROUP BY id", 0),
        ("SELECT DISTINCT id, v FROM t WHERE v > 1", 0),
        ("SELECT v, id FROM t GROUP BY id, v", 0),
        (f"SELECT DISTINCT m, k FROM {BY_KEY}", 1),
        (f"SELECT k, MIN(m) FROM {BY_KEY} GROUP BY k", 1),
        # Not those by other columns, nor what is more than the value of one row.
        ("SELECT v, MAX(id) FROM t GROUP BY v", 1),
        ("SELECT id, COUNT(*) FROM t GROUP BY id", 1),
        ("SELECT id, MAX(v) FILTER (WHERE v > 1) FROM t GROUP BY id", 1),
        ("SELECT MAX(v) FROM t", 1),
        (f"SELECT DISTINCT m FROM {BY_KEY}", 2),
        ("SELECT id FROM t UNION SELECT id FROM t", 1),
    ],
)
def test_groups_of_one_row(t_env: TableEnvironment, query: str, groups: int) -> None:
    plan = t_env.explain_sql(query).split("== Optimized Execution Plan ==")[1]
    assert plan.count("GroupAggregate(") == groups


def test_a_sum_keeps_its_type(t_env: TableEnvironment) -> None:
    plan = t_env.explain_sql("SELECT SUM(CAST(v AS DECIMAL(5, 1))) FROM t GROUP BY id").split("Execution Plan ==")[1]
    assert "CAST" in plan and "DECIMAL(38, 1)" in plan

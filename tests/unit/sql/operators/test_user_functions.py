"""Functions of users stand wherever an expression may, and are the same ones at every place of a query."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.table import EnvironmentSettings, FunctionContext, ScalarFunction, Table, TableEnvironment
from funke.table.expressions import col, lit
from funke.table.udf import udaf, udf
from funke.table.window import Tumble
from tests.harness.local_jobs import changes_in

ROWS = [(4, 10, "a"), (5, 20, "b"), (9, 30, None), (None, 40, "a"), (8, 50, "b"), (4, 60, "c")]


class Modulo(ScalarFunction):
    """Knows whether it was opened."""

    is_open = False

    def open(self, function_context: FunctionContext) -> None:
        self.is_open = True

    def eval(self, *args: Any) -> Any:
        assert self.is_open
        return None if args[0] is None else args[0] % args[1]


# They do what MOD and STARTSWITH do.
my_mod = udf(Modulo(), result_type="INT")
quick_mod = udf(lambda numbers, other: numbers % other, result_type="INT", func_type="pandas")
my_startswith = udf(lambda text, start: None if text is None else text.startswith(start), result_type="BOOLEAN")

QUERIES = [
    "SELECT my_mod(a, 3), COUNT(*) FROM t GROUP BY my_mod(a, 3)",
    "SELECT quick_mod(a, 3) + 1, COUNT(*) FROM t GROUP BY quick_mod(a, 3)",
    "SELECT my_mod(a, 3), SUM(b) FROM t GROUP BY my_mod(a, 3) HAVING my_mod(a, 3) > 0 AND my_startswith(MAX(s), 'a')",
    "SELECT my_mod(a, 3), my_startswith(s, 'a'), COUNT(*) FROM t GROUP BY ROLLUP (my_mod(a, 3), my_startswith(s, 'a'))",
    "SELECT COUNT(*) FROM t GROUP BY CASE WHEN my_startswith(s, 'a') THEN my_mod(a, 3) ELSE 7 END",
    "SELECT s, SUM(my_mod(b, 7)) FILTER (WHERE my_startswith(s, 'a')), COUNT(DISTINCT quick_mod(a, 3)) FROM t "
    "GROUP BY s",
    "SELECT my_mod(MAX(a), 3), my_mod(MAX(a), 3) + MIN(my_mod(a, 3)) FROM t GROUP BY s",
    "SELECT DISTINCT my_mod(a, 3) FROM t",
    "SELECT CASE WHEN my_startswith(s, 'a') THEN my_mod(b, 7) ELSE b END FROM t WHERE my_mod(my_mod(b, 7), 4) > 0",
    "SELECT my_mod(a, 3), TUMBLE_START(ts, INTERVAL '0.02' SECOND), COUNT(*) FROM t GROUP BY my_mod(a, 3), "
    "TUMBLE(ts, INTERVAL '0.02' SECOND) HAVING my_mod(a, 3) > 0",
    "SELECT my_mod(a, 3), SESSION_END(ts, INTERVAL '0.02' SECOND), COUNT(*) FROM t GROUP BY my_mod(a, 3), "
    "SESSION(ts, INTERVAL '0.02' SECOND)",
    "SELECT quick_mod(a, 3), window_end, SUM(my_mod(b, 7)) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), "
    "INTERVAL '0.02' SECOND)) GROUP BY quick_mod(a, 3), window_start, window_end",
    "SELECT k, window_end, COUNT(*) FROM TABLE(SESSION((SELECT my_mod(a, 3) AS k, ts FROM t) PARTITION BY k, "
    "DESCRIPTOR(ts), INTERVAL '0.02' SECOND)) GROUP BY k, window_start, window_end",
    "SELECT a, SUM(my_mod(b, 7)) OVER w, my_mod(MAX(b) OVER w, 7) FROM t WINDOW w AS (PARTITION BY my_mod(a, 3) "
    "ORDER BY ts)",
    "SELECT s, n FROM t CROSS JOIN UNNEST(ARRAY[my_mod(a, 3), my_mod(b, 7)]) AS u (n) WHERE my_mod(n, 2) = 0",
    "SELECT my_mod(b, 7) FROM t EXCEPT SELECT quick_mod(a, 3) FROM t",
    "SELECT x, y FROM (VALUES (my_mod(8, 3), 'a'), (my_mod(9, 5), 'bc')) AS v (x, y)",
]

# Flink takes pandas aggregates in tumbling and hopping group windows and in frames with a beginning only.
MORE_OF_PANDAS = [
    "SELECT s, my_mean(b) FROM t GROUP BY s, SESSION(ts, INTERVAL '0.02' SECOND)",
    "SELECT s, my_mean(a) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '0.04' SECOND)) "
    "GROUP BY s, window_start, window_end",
    "SELECT my_mean(b) FROM TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '0.01' SECOND, INTERVAL '0.03' SECOND)) "
    "GROUP BY window_start, window_end",
    "SELECT my_mean(b) FROM TABLE(SESSION(TABLE t PARTITION BY s, DESCRIPTOR(ts), INTERVAL '0.02' SECOND)) "
    "GROUP BY s, window_start, window_end",
    "SELECT b, my_mean(a) OVER (PARTITION BY s ORDER BY ts) FROM t",
    "SELECT b, my_mean(b) OVER (ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t",
]


@pytest.fixture
def t_env(tmp_path: Path) -> TableEnvironment:
    lines = ({"a": a, "b": b, "s": s, "ts": f"2024-01-01 00:00:00.{b:03}"} for a, b, s in ROWS)
    (tmp_path / "t.json").write_text("\n".join(map(json.dumps, lines)))
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.execute_sql(f"""
        CREATE TABLE t (a INT, b INT, s STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
        WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{tmp_path}')
    """)
    for name, function in {"my_mod": my_mod, "quick_mod": quick_mod, "my_startswith": my_startswith}.items():
        environment.create_temporary_system_function(name, function)
    mean = udaf(lambda values: values.mean(), result_type="DOUBLE", func_type="pandas")
    environment.create_temporary_system_function("my_mean", mean)
    return environment


def changes(table: Table) -> list[Any]:
    return changes_in(planned_rows(table._t_env._session, table._relation), is_batch=False)


@pytest.mark.parametrize("query", QUERIES)
def test_functions_stand_wherever_expressions_may(t_env: TableEnvironment, query: str) -> None:
    sent = changes(t_env.sql_query(query))
    assert sent
    assert sent == changes(t_env.sql_query(re.sub("my_|quick_", "", query)))


@pytest.mark.parametrize("query", MORE_OF_PANDAS)
def test_pandas_aggregates_see_all_rows_of_windows_and_frames(t_env: TableEnvironment, query: str) -> None:
    sent = changes(t_env.sql_query(query))
    assert sent
    assert sent == changes(t_env.sql_query(re.sub(r"my_mean\((\w)\)", r"AVG(CAST(\1 AS DOUBLE))", query)))


def test_tables_are_grouped_by_functions(t_env: TableEnvironment) -> None:
    t = t_env.from_path("t")
    key = my_mod(col("a"), 3)
    groups = t.group_by(key).select(my_mod(col("a"), 3), col("b").sum)
    assert changes(groups) == changes(t_env.sql_query("SELECT MOD(a, 3), SUM(b) FROM t GROUP BY MOD(a, 3)"))
    named = t.group_by(key.alias("rest")).select(col("rest"), col("rest") + 1, col("b").sum)
    by_name = "SELECT x, x + 1, SUM(b) FROM (SELECT MOD(a, 3) AS x, b FROM t) GROUP BY x"
    assert changes(named) == changes(t_env.sql_query(by_name))
    window = Tumble.over(lit(20).millis).on(col("ts")).alias("w")
    windows = t.window(window).group_by(col("w"), key).select(my_mod(col("a"), 3), col("w").start, lit(1).count)
    assert changes(windows) == changes(
        t_env.sql_query(
            "SELECT MOD(a, 3), TUMBLE_START(ts, INTERVAL '0.02' SECOND), COUNT(*) FROM t "
            "GROUP BY MOD(a, 3), TUMBLE(ts, INTERVAL '0.02' SECOND)"
        )
    )

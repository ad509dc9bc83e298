"""The columns by which rows of queries are told apart, as PyFlink 2.3 tells them; more where it gives up early."""

from __future__ import annotations

import pytest

from funke.engine.sql.plan.node import as_node
from funke.engine.sql.rules.execution_modes import in_execution_mode
from funke.table import EnvironmentSettings, TableEnvironment

COUNTS = "SELECT k, COUNT(*) AS c FROM t GROUP BY k"
PAIRS = "SELECT k, v, COUNT(*) AS c FROM t GROUP BY k, v"
LOOKUP = "FROM u JOIN d FOR SYSTEM_TIME AS OF u.pt"
VERSIONS = "FROM events AS e JOIN versions FOR SYSTEM_TIME AS OF e.ts AS v"
SECONDS = "ts, INTERVAL '1' SECOND"
WINDOWS = "TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '1' MINUTE))"
TUMBLED = (
    "(SELECT window_start, window_end, k, COUNT(*) AS v FROM "
    "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND)) GROUP BY window_start, window_end, k)"
)
BY_WINDOW = "PARTITION BY window_start, window_end ORDER BY k"
FIRST = "window_start AS s, window_end AS e, k"


def numbered(window: str, source: str = "t", columns: str = "*") -> str:
    return f"(SELECT {columns}, ROW_NUMBER() OVER ({window}) AS n FROM {source})"


@pytest.fixture(scope="module")
def t_env() -> TableEnvironment:
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.execute_sql("""
        CREATE TABLE t (
            k STRING, v INT, w BIGINT, ts TIMESTAMP(3), pt AS PROCTIME(), WATERMARK FOR ts AS ts
        ) WITH ('connector' = 'datagen')
    """)
    environment.execute_sql(
        "CREATE TABLE u (a INT, id INT, pt AS PROCTIME(), PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'datagen')"
    )
    jdbc = "'connector' = 'jdbc', 'url' = 'jdbc:sqlite:/tmp/none', 'table-name' = 'd'"
    environment.execute_sql(f"CREATE TABLE d (x INT, y INT, PRIMARY KEY (x) NOT ENFORCED) WITH ({jdbc})")
    kafka = "'connector' = 'upsert-kafka', 'topic' = 'x', 'properties.bootstrap.servers' = 'localhost:1'"
    formats = "'key.format' = 'json', 'value.format' = 'json'"
    for name, columns in (("events", "id INT, rid INT"), ("versions", "id INT, r INT")):
        environment.execute_sql(
            f"CREATE TABLE {name} ({columns}, ts TIMESTAMP(3), WATERMARK FOR ts AS ts, PRIMARY KEY (id) NOT ENFORCED) "
            f"WITH ({kafka}, {formats})"
        )
    return environment


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        (COUNTS, "k"),
        ("SELECT v, k, COUNT(*) AS c FROM t GROUP BY k, v", "k v"),
        ("SELECT k, k AS l, COUNT(*) AS c FROM t GROUP BY k", "k | l"),
        ("SELECT v, k, k AS l, v AS x, COUNT(*) AS c FROM t GROUP BY k, v", "k v | k x | l v | l x"),
        ("SELECT COUNT(*) AS c FROM t GROUP BY k", None),
        ("SELECT COUNT(*) AS c FROM t", ""),
        ("SELECT CAST(v AS BIGINT) AS b, COUNT(*) AS c FROM t GROUP BY v", "b"),
        ("SELECT CAST(v AS STRING) AS b, COUNT(*) AS c FROM t GROUP BY v", "b"),
        ("SELECT CAST(w AS INT) AS b, COUNT(*) AS c FROM t GROUP BY w", None),
        ("SELECT UPPER(k) AS b, COUNT(*) AS c FROM t GROUP BY k", None),
        (f"{COUNTS} HAVING COUNT(*) > 1", "k"),
        (f"SELECT c, COUNT(*) AS d FROM ({COUNTS}) GROUP BY c", "c"),
        ("SELECT DISTINCT k, v FROM t", "k v"),
        (f"{COUNTS} UNION ALL {COUNTS}", None),
        (f"{COUNTS} UNION {COUNTS}", "c k"),
        (f"SELECT k, v, n FROM {numbered('PARTITION BY k ORDER BY v')} WHERE n <= 2", "k n"),
        (f"SELECT k, v FROM {numbered('PARTITION BY k ORDER BY v')} WHERE n <= 2", None),
        (f"SELECT k, v FROM {numbered('PARTITION BY k ORDER BY v')} WHERE n = 1", "k"),
        (f"SELECT k, v FROM {numbered('PARTITION BY k ORDER BY pt DESC')} WHERE n = 1", "k"),
        (f"SELECT k, c FROM {numbered('ORDER BY c', f'({COUNTS})')} WHERE n <= 2", "k"),
        (f"SELECT k, c, n FROM {numbered('ORDER BY c', f'({COUNTS})')} WHERE n <= 2", "k | n"),
        (f"SELECT k, v, c, n FROM {numbered('PARTITION BY k ORDER BY c', f'({PAIRS})')} WHERE n <= 2", "k n | k v"),
        # What a row is numbered by changes, so that rows of one key may come from two places.
        (f"SELECT k, v, c FROM {numbered('PARTITION BY c ORDER BY v', f'({PAIRS})')} WHERE n <= 2", None),
        (f"SELECT k, c FROM ({COUNTS}) ORDER BY k LIMIT 3", "k"),
        (f"SELECT k, c FROM ({COUNTS}) LIMIT 3", "k"),
        ("SELECT k, v FROM t ORDER BY v LIMIT 3", None),
        ("SELECT k, v, COUNT(*) AS c FROM t GROUP BY ROLLUP (k, v)", None),
        (f"SELECT k, TUMBLE_START({SECONDS}) AS s FROM t GROUP BY k, TUMBLE({SECONDS})", "k s"),
        (f"SELECT k, TUMBLE_END({SECONDS}) AS e FROM t GROUP BY k, TUMBLE({SECONDS})", "e k"),
        (f"SELECT k, COUNT(*) AS c FROM t GROUP BY k, TUMBLE({SECONDS})", None),
        (f"SELECT k, window_start AS s, COUNT(*) AS c FROM {WINDOWS} GROUP BY window_start, window_end, k", None),
        (f"SELECT s, e, k, n FROM {numbered(BY_WINDOW, TUMBLED, FIRST)} WHERE n <= 2", "e k | e n s | k s"),
        (f"SELECT s, e, k FROM {numbered(BY_WINDOW, TUMBLED, FIRST)} WHERE n = 1", "e s"),
        (f"SELECT s, e, k, n FROM {numbered(f'{BY_WINDOW}, v', WINDOWS, FIRST)} WHERE n <= 2", "e n s"),
        ("SELECT a, id FROM u WHERE a > 1", "id"),
        ("SELECT a FROM u", None),
        ("SELECT id AS x, id AS y FROM u", "x | y"),
        ("VALUES (1, 2)", None),
        (f"SELECT u.id, d.y {LOOKUP} ON u.a = d.x", "id"),
        (f"SELECT u.id, d.y {LOOKUP} ON u.a = d.y", None),
        (f"SELECT e.id, v.r {VERSIONS} ON e.id = v.id", "id"),
        (f"SELECT v.id, v.r {VERSIONS} ON e.id = v.id", "id"),
        (f"SELECT v.id, v.r {VERSIONS.replace('JOIN', 'LEFT JOIN')} ON e.id = v.id", None),
        # Rows travel by another column than their key.
        (f"SELECT e.id, v.r {VERSIONS} ON e.rid = v.id", None),
        # Flink does not follow these, which are keys all the same.
        (f"SELECT k, c FROM ({COUNTS}) WHERE k = 'a'", "k"),
        (f"SELECT k, window_end AS e, COUNT(*) AS c FROM {WINDOWS} GROUP BY window_start, window_end, k", "e k"),
    ],
)
def test_keys(t_env: TableEnvironment, query: str, keys: str | None) -> None:
    session = t_env._session
    relation = in_execution_mode(t_env.sql_query(query)._relation, session.settings, session.is_streaming)
    results = sorted(
        " ".join(sorted(relation.columns[index].name for index in key)) for key in as_node(relation).upsert_keys()
    )
    assert results == ([] if keys is None else keys.split(" | "))

"""State of queries is found again by what keeps it, not by its place in the plan."""

from __future__ import annotations

from typing import Any

import pytest

from funke.table import EnvironmentSettings, TableEnvironment

COUNTS = "SELECT a, COUNT(*), SUM(b) FROM t GROUP BY a"
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 s",
    "table.exec.mini-batch.size": "10",
}


class _Submitted(Exception):
    def __init__(self, graph: Any) -> None:
        self.graph = graph


def ids_of(query: str, monkeypatch: pytest.MonkeyPatch, **settings: str) -> set[str]:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in settings.items():
        t_env.get_config().set(key, value)
    t_env.execute_sql("CREATE TABLE t (a INT, b BIGINT, p AS PROCTIME()) WITH ('connector' = 'datagen')")
    t_env.execute_sql("CREATE TABLE results (a INT, n BIGINT, s BIGINT) WITH ('connector' = 'blackhole')")

    def submit(graph: Any) -> Any:
        raise _Submitted(graph)

    monkeypatch.setattr(t_env._env, "_submit", submit)
    with pytest.raises(_Submitted) as caught:
        t_env.execute_sql(f"INSERT INTO results {query}")
    return {node.uid for node in caught.value.graph.nodes.values() if node.uid is not None}


@pytest.mark.parametrize(
    ("changed", "settings"),
    [
        ("SELECT a, COUNT(*), SUM(b) FROM t WHERE b > 5 GROUP BY a", {}),
        ("SELECT a, COUNT(*), SUM(b) FROM t GROUP BY a HAVING COUNT(*) > 1", {}),
        (COUNTS, MINI_BATCH),
        (COUNTS, {"parallelism.default": "3"}),
    ],
)
def test_a_compatible_change_keeps_all_ids(
    changed: str, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = ids_of(COUNTS, monkeypatch)
    assert "GroupAggregate 1" in ids and any(each.startswith("Scan ") for each in ids)
    assert ids_of(changed, monkeypatch, **settings) == ids


def test_operators_of_one_kind_are_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = ids_of(f"SELECT CAST(n AS INT), COUNT(*), MAX(s) FROM ({COUNTS}) AS c (a, n, s) GROUP BY n", monkeypatch)
    assert {"GroupAggregate 1", "GroupAggregate 2"} <= ids
    ids = ids_of(
        """
        SELECT a, COUNT(*), SUM(b) FROM t GROUP BY a, TUMBLE(p, INTERVAL '1' SECOND)
        UNION ALL SELECT a, b, SUM(b) OVER (PARTITION BY a ORDER BY p) FROM t
        UNION ALL SELECT a, b, SUM(b) OVER (PARTITION BY a ORDER BY b) FROM t
        """,
        monkeypatch,
    )
    assert {"WindowAggregate 1", "OverAggregate 1", "OverAggregate SortedAggregate 1"} <= ids


RANKED = "SELECT a, b, b FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY a ORDER BY {}) AS n FROM t) WHERE {}"


@pytest.mark.parametrize(
    ("query", "name"),
    [
        (RANKED.format("p DESC", "n = 1"), "Deduplicate KeepOneRow 1"),
        (RANKED.format("p DESC", "n = 1 AND b > 5"), "Deduplicate KeepOneRow 1"),
        (RANKED.format("b", "n = 1"), "Rank KeepOneRow 1"),
        (RANKED.format("b", "n <= 3"), "Rank RankRows 1"),
        ("SELECT a, b, b FROM t ORDER BY b LIMIT 3", "SortLimit KeepTopRows 1"),
        ("SELECT a, b, b FROM t WHERE a > 1 ORDER BY b LIMIT 3 OFFSET 1", "SortLimit RankRows 1"),
    ],
)
def test_first_rows_are_known_by_what_keeps_them(query: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another condition changes nothing; what keeps its state in another way has another id."""
    assert name in ids_of(query, monkeypatch)

"""The first rows by an order, and one row of each key; recorded with PyFlink 2.3 and parallelism 1."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.errors import FunkeError
from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.time.clock import ManualClock
from funke.engine.sql.binding.relations import Column, Relation, Scan, SortKey
from funke.engine.sql.plan.changelogs.changelog_normalize import ChangelogNormalize
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS
from funke.engine.sql.plan.ranks.deduplicate import Deduplicate
from funke.engine.sql.plan.ranks.rank import Rank
from funke.engine.sql.plan.ranks.rank_strategy import RankStrategy
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.table import DataTypes, EnvironmentSettings, TableEnvironment
from tests.harness.backends import choice_of
from tests.harness.local_jobs import changes_in
from tests.harness.operator_harness import OperatorHarness
from tests.harness.plan_nodes import factory_of, rows_of
from tests.harness.sql_changelogs import Change, batch_of, changes_of, folded

RECORDED = json.loads((Path(__file__).parent / "reference_ranks.json").read_text())
_NUMBERED = "FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {}) AS rn FROM t)"
_LEFT_BEHIND = "its changes leave more rows than LIMIT says"
# Queries that Flink answers otherwise, and why.
KNOWN = {
    "SELECT k, SUM(v) AS s FROM t GROUP BY k ORDER BY s DESC LIMIT 2 OFFSET 1": _LEFT_BEHIND,
    "SELECT k, COUNT(*) AS c FROM t GROUP BY k LIMIT 2 OFFSET 1": _LEFT_BEHIND,
    f"SELECT k, v {_NUMBERED.format('pt DESC')} WHERE rn = 1": "in memory it sends updates that change nothing",
    f"SELECT k, v, ts {_NUMBERED.format('ts DESC, v')} WHERE rn = 1": "its updates come without the rows before",
}
ANSWERED = [each for each in RECORDED["cases"] if "changes" in each and each["query"] not in KNOWN]
REJECTED = [each for each in RECORDED["cases"] if "refused" in each]


@pytest.fixture(scope="module")
def t_env(tmp_path_factory: pytest.TempPathFactory) -> TableEnvironment:
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "t.json").write_text("\n".join(map(json.dumps, RECORDED["rows"])))
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.execute_sql(f"""
        CREATE TABLE t (
            k STRING, ts TIMESTAMP(3), v INT, pt AS PROCTIME(), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
        ) WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{folder}')
    """)
    return environment


@pytest.mark.parametrize("case", ANSWERED, ids=lambda case: case["query"])
def test_changes_are_those_of_flink(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    relation = planned_rows(t_env._session, t_env.sql_query(case["query"])._relation)
    changes = [[sign, [str(each) for each in row]] for sign, row in changes_in(relation, is_batch=False)]
    assert changes == case["changes"]


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT k, v {_NUMBERED.format('{} DESC')} WHERE rn = 1",
        f"SELECT k, v {_NUMBERED.format('{}')} WHERE rn = 1",
        "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY {} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
    ],
)
def test_the_clock_itself_is_an_order_of_time(t_env: TableEnvironment, query: str) -> None:
    by_column, by_clock = (
        list(changes_in(planned_rows(t_env._session, t_env.sql_query(query.format(each))._relation), is_batch=False))
        for each in ("pt", "PROCTIME()")
    )
    assert by_clock == by_column != []


@pytest.mark.parametrize("query", [query for query, reason in KNOWN.items() if reason == _LEFT_BEHIND])
def test_an_offset_leaves_as_many_rows_as_the_limit(t_env: TableEnvironment, query: str) -> None:
    """Where Flink does not."""
    expected = next(each["changes"] for each in RECORDED["cases"] if each["query"] == query)
    assert sum(1 if sign[0] == "+" else -1 for sign, _ in expected) > 2
    assert len(folded(changes_in(planned_rows(t_env._session, t_env.sql_query(query)._relation), is_batch=False))) == 2


@pytest.mark.parametrize("case", REJECTED, ids=lambda case: case["query"])
def test_what_flink_rejects(t_env: TableEnvironment, case: dict[str, Any]) -> None:
    expected = case["refused"].split("Exception: ", 1)[1]
    with pytest.raises(FunkeError, match=re.escape(expected[:60])):
        t_env.explain_sql(case["query"])


COLUMNS = (
    Column("k", DataTypes.INT()),
    Column("name", DataTypes.STRING()),
    Column("d", DataTypes.DOUBLE()),
    Column("day", DataTypes.DATE()),
)
BY_NAME = (SortKey(1, False, False), SortKey(2))
INPUT, CHANGES = rows_of(COLUMNS), rows_of(COLUMNS, ALL_KINDS)
NODES = {
    "last": Deduplicate(COLUMNS, INPUT, (0,), 3, keeps_last=True),
    "best": Rank(COLUMNS, INPUT, (0,), BY_NAME, 1, 1, sends_before=False),
    "first": Deduplicate(COLUMNS, INPUT, (0,), None, keeps_last=False),
    "updates": ChangelogNormalize(COLUMNS, CHANGES, (0,)),
    "rows that stay": Rank(COLUMNS, INPUT, (0,), BY_NAME, 1, 2),
    "rows that go": Rank(COLUMNS, CHANGES, (), BY_NAME, 2, 3, strategy=RankStrategy.RETRACT),
}
TAKING_BACK = ("updates", "rows that go")
ROWS = st.tuples(
    st.integers(1, 3),
    st.sampled_from([None, "a", "ab", "b"]),
    st.sampled_from([None, 0.5, -1.0, float("nan")]),
    st.none() | st.dates(datetime.date(2024, 1, 1), datetime.date(2024, 1, 3)),
)


class Running:
    """One subtask, on a state backend, which may begin with the state of another."""

    def __init__(self, relation: Relation, backend: str, restored: list[bytes] | None = None, **more: Any) -> None:
        self._results = Scan(relation.columns, None)
        choice, create = choice_of(backend), factory_of(relation)
        self.harness = OperatorHarness(
            ColumnOperator(create), keeps_columns=True, backend=choice, restored=restored, **more
        )

    def feed(self, changes: Sequence[Change]) -> list[str]:
        if changes:
            self.harness.operator.process_columns(batch_of(changes, COLUMNS))
        batches = self.harness.elements()
        return [repr(each) for batch in batches for each in changes_of(batch, self._results)]

    def ended(self) -> list[bytes]:
        state = self.harness.snapshot()
        self.harness.close()
        return [state]


@pytest.mark.parametrize("name", NODES)
@settings(max_examples=10, deadline=None)
@given(rows=st.lists(ROWS, max_size=12), cut=st.integers(0, 12), signs=st.lists(st.booleans(), min_size=12))
def test_state_moves_between_backends(name: str, rows: list[Any], cut: int, signs: list[bool]) -> None:
    """A row at a time in one go gives what two batches give with a restart on the other backend between them."""
    changes: list[Change] = []
    for row, is_gone in zip(rows, signs):
        changes.append(("+I", row))
        if is_gone and name in TAKING_BACK:
            changes.append(("-D", changes[len(changes) // 2][1]))
    whole = Running(NODES[name], "hashmap")
    expected = [match for each in changes for match in whole.feed([each])]
    first, second = ("hashmap", "rocksdb") if cut % 2 else ("rocksdb", "hashmap")
    before = Running(NODES[name], first)
    match = before.feed(changes[:cut])
    behind = Running(NODES[name], second, before.ended())
    assert match + behind.feed(changes[cut:]) == expected
    whole.ended()
    behind.ended()


@pytest.mark.parametrize("name", ["updates", "rows that stay"])
def test_state_that_nobody_touches_is_forgotten(name: str) -> None:
    clock = ManualClock()
    running = Running(replace(NODES[name], ttl_ms=1000), "hashmap", clock=clock)
    row = (1, "a", 0.5, None)
    assert [each[2:4] for each in running.feed([("+I", row)])] == ["+I"]
    clock.set(1001)
    assert [each[2:4] for each in running.feed([("+I", row)])] == ["+I"]


def test_the_earliest_rows_come_with_the_watermark(tmp_path: Path) -> None:
    """A row is late if it is behind the watermark; of rows with one time the first counts. Recorded as above."""
    input_rows = [
        ("x", 40), ("z", 5), ("z2", 35), ("z3", 34), ("z4", 36), ("x", 50), ("z", 46), ("z4", 45), ("z5", 47),
        ("z5", 46), ("z6", 46), ("z7", 46), ("a", 46), ("z6", 46), ("x", 59), ("z5", 55),
    ]  # fmt: skip
    rows = [{"k": k, "ts": f"2024-01-01 00:00:{second:02}", "v": v} for v, (k, second) in enumerate(input_rows, 1)]
    (tmp_path / "r.json").write_text("\n".join(map(json.dumps, rows)))
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(f"""
        CREATE TABLE t (k STRING, ts TIMESTAMP(3), v INT, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
        WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{tmp_path}')
    """)
    query = f"SELECT k, v {_NUMBERED.format('ts')} WHERE rn = 1"
    relation = planned_rows(t_env._session, t_env.sql_query(query)._relation)
    changes = changes_in(relation, is_batch=False)
    assert {sign for sign, _ in changes} == {"+I"}
    values = [row for _, row in changes]
    assert values[:3] == [("z2", 3), ("z4", 5), ("x", 1)]
    # Rows of one time come in any order.
    assert sorted(values[3:]) == [("a", 13), ("z", 7), ("z5", 10), ("z6", 11), ("z7", 12)]

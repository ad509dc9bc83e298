"""A key that most rows have is named for operators on columns too."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from funke.engine.operators.keyed.key_watch import KeyWatch
from funke.engine.sql.binding.relations import SortKey
from funke.engine.sql.binding.windows.window_relations import WindowTime
from funke.engine.sql.plan.over.over_aggregate import OverAggregate
from funke.engine.sql.plan.over.sorted_over_aggregate import SortedOverAggregate
from funke.engine.sql.window_kinds import SessionWindows, TumblingWindows
from tests.harness.plan_nodes import rows_of
from tests.harness.sql_changelogs import RunningQuery, bound_query, inserts
from tests.unit.sql.operators.test_over_aggregate import RESULTS
from tests.unit.sql.operators.test_window_aggregate import INPUTS, aggregation, batch_of, harness_of, use

HOT = ["EU" if number % 10 < 6 else f"other {number}" for number in range(3_000)]


def test_only_some_rows_of_some_batches_are_seen() -> None:
    now = [0.0]
    watch = KeyWatch((1, 0), lambda: now[0])
    rows = pa.record_batch({"k": HOT, "n": [7] * len(HOT)})
    watch.look(rows)
    assert watch.hottest() == {"hottestKey": "(7, 'EU')", "hottestKeyShare": pytest.approx(0.6, abs=0.1)}
    watch.look(pa.record_batch({"k": ["US"] * 20_000, "n": [None] * 20_000}))
    assert watch.hottest()["hottestKey"] == "(7, 'EU')", "not so soon again"
    for _ in range(10):
        now[0] += 1
        watch.look(pa.record_batch({"k": ["US"] * 20_000, "n": [None] * 20_000}))
    assert watch.hottest()["hottestKey"] == "(None, 'US')"


def test_keys_without_columns_and_keys_that_are_nested() -> None:
    rows = pa.record_batch({"k": [[1, 2]] * 300})
    nothing, nested = KeyWatch(()), KeyWatch((0,))
    nothing.look(rows)
    assert nothing.hottest() == {}
    nested.look(rows.slice(0, 0))
    nested.look(rows)
    assert nested.hottest()["hottestKeyShare"] == 1.0 and "[1, 2]" in nested.hottest()["hottestKey"]


def test_group_aggregates() -> None:
    text = "SELECT k, SUM(v) FROM t GROUP BY k"
    query = RunningQuery(bound_query(text, k="STRING", v="BIGINT"))
    query.feed(inserts([(key, 1) for key in HOT]))
    result = query.stateful.operator.hottest_key()
    assert result["hottestKey"] == "'EU'" and 0.5 < result["hottestKeyShare"] < 0.7
    even = RunningQuery(bound_query(text, k="STRING", v="BIGINT"))
    even.feed(inserts([(str(number), 1) for number in range(3_000)]))
    assert even.stateful.operator.hottest_key() == {}


OVER = OverAggregate(
    RESULTS, rows_of(INPUTS), (0,), WindowTime(1, True), True, None, (use("count"), use("sum", 2), use("max", 2))
)
BY_VALUE = SortedOverAggregate(RESULTS[:4], rows_of(INPUTS), (0,), SortKey(2), True, (use("count"),))


@pytest.mark.parametrize("spec", [aggregation(TumblingWindows(10)), aggregation(SessionWindows(4)), OVER, BY_VALUE])
def test_windows_and_over(spec: Any) -> None:
    harness = harness_of(spec)
    harness.operator.process_columns(batch_of([(key, 5, 1) for key in HOT]))
    assert harness.operator.hottest_key()["hottestKey"] == "'EU'"
    harness.close()

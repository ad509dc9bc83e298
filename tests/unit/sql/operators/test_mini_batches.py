"""Mini-batches: rows are gathered, and aggregated where they are before they are sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.errors import ConfigurationError
from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.operator import MAX_WATERMARK
from funke.engine.sql.binding.relations import Aggregation, Calculation, Scan
from funke.engine.sql.plan.changelogs.changes import ChangeSettings, MiniBatch
from funke.engine.sql.plan.lower import lower
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.table import EnvironmentSettings, TableEnvironment
from tests.harness.operator_harness import OperatorHarness, Watermark
from tests.harness.plan_nodes import factories_of, factory_of
from tests.harness.sql_changelogs import batch_of, bound_query, changes_of, folded, inserts

COLUMNS = {"k": "INT", "v": "BIGINT"}
QUERY = "SELECT k, COUNT(*), SUM(v), MIN(v), AVG(v) FILTER (WHERE v > 0) FROM t GROUP BY k"
ROWS = [(1, 10), (2, 20), (1, 30), (1, 5), (2, 7), (1, 9), (1, 11), (2, 2), (1, 4)]


def aggregation_of(text: str = QUERY, size: int = 3) -> Aggregation:
    change = ChangeSettings(True, 0, MiniBatch(size, 2000), True)
    relation: Any = bound_query(text, settings=change, **COLUMNS)
    while isinstance(relation, Calculation):
        relation = relation.input
    assert isinstance(relation, Aggregation)
    return replace(relation, input=lower(Scan(relation.input.columns, None)))


class Running(OperatorHarness):
    """An aggregation whose input are the columns that it reads."""

    def __init__(self, aggregation: Aggregation, operation: Any = None) -> None:
        self.aggregation = aggregation
        super().__init__(ColumnOperator(operation or factory_of(aggregation)), keeps_columns=True)

    def feed(self, rows: list[Any]) -> list[Any]:
        self.operator.process_columns(self.batch(rows))
        return self.seen()

    def batch(self, rows: list[Any]) -> ColumnBatch:
        return batch_of(inserts([(*row, row[1] is not None and row[1] > 0) for row in rows]), self.columns)

    @property
    def columns(self) -> Any:
        return self.aggregation.input.columns

    def seen(self) -> list[Any]:
        results: list[Any] = []
        for each in self.elements():
            results += changes_of(each, self.aggregation) if isinstance(each, ColumnBatch) else [each]
        return results


def counts(changes: list[Any]) -> list[Any]:
    return [(sign, row[:3]) for sign, row in changes]


@pytest.mark.parametrize("cut", [1, 2, 5, 9])
def test_a_bundle_has_as_many_rows_as_was_asked_for(cut: int) -> None:
    """As the reference says for the same rows."""
    harness = Running(aggregation_of())
    changes = [change for start in range(0, 9, cut) for change in counts(harness.feed(ROWS[start : start + cut]))]
    assert sorted(changes, key=repr) == sorted(
        [
            ("+I", (2, 1, 20)),
            ("+I", (1, 2, 40)),
            ("-U", (2, 1, 20)),
            ("+U", (2, 2, 27)),
            ("-U", (1, 2, 40)),
            ("+U", (1, 4, 54)),
            ("-U", (2, 2, 27)),
            ("+U", (2, 3, 29)),
            ("-U", (1, 4, 54)),
            ("+U", (1, 6, 69)),
        ],
        key=repr,
    )


def test_rows_wait_no_longer_than_allowed() -> None:
    harness = Running(aggregation_of())
    assert harness.feed(ROWS[:2]) == []
    start = harness.clock.now_ms()
    assert harness.operator.next_wakeup_ms() == start + 2000
    harness.set_processing_time(start + 2000)
    assert len(harness.seen()) == 2
    assert harness.operator.next_wakeup_ms() is None


@pytest.mark.parametrize("how", ["checkpoint", "end", "probe"])
def test_nothing_waits_behind_a_barrier_or_the_end(how: str) -> None:
    harness = Running(aggregation_of())
    harness.feed(ROWS[:2])
    harness.watermark(5)
    assert harness.seen() == []
    # The end of the input does not wait for the latency.
    assert not harness.operator.has_unfinished
    if how == "end":
        harness.operator.end_input()
    elif how == "probe":
        harness.operator.release_waiting()
    else:
        harness.operator.prepare_snapshot(1)
    *rows, last = harness.seen()
    assert len(rows) == 2 and last == Watermark(5)
    harness.watermark(MAX_WATERMARK)
    assert harness.seen() == [Watermark(MAX_WATERMARK)]


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from([None, 1, 2]), st.none() | st.integers(-3, 3)), min_size=1, max_size=20),
    st.integers(1, 7),
    st.integers(1, 20),
    st.integers(1, 3),
)
def test_two_steps_give_what_one_gives(rows: list[Any], size: int, cut: int, parallelism: int) -> None:
    aggregation = aggregation_of(size=size)
    local, together_in = factories_of(aggregation)
    locals_ = [Running(aggregation, local) for _ in range(parallelism)]
    together = Running(aggregation, together_in)
    for number, start in enumerate(range(0, len(rows), cut)):
        first = locals_[number % parallelism]
        first.operator.process_columns(first.batch(rows[start : start + cut]))
    for each in locals_:
        each.operator.end_input()
        for batch in each.elements():
            together.operator.process_columns(batch)
    together.operator.end_input()
    one = Running(replace(aggregation, mini_batch=None, is_folded=False))
    assert folded(together.seen()) == folded(one.feed(rows))


def test_accumulators_that_are_no_numbers_stay_where_they_are() -> None:
    assert len(factories_of(aggregation_of("SELECT k, COUNT(DISTINCT v) FROM t GROUP BY k"))) == 1
    assert len(factories_of(aggregation_of("SELECT k, LISTAGG(CAST(v AS STRING)) FROM t GROUP BY k"))) == 1


@pytest.mark.parametrize(("strategy", "is_local"), [("AUTO", True), ("TWO_PHASE", True), ("ONE_PHASE", False)])
def test_the_plan_shows_both_steps(strategy: str, is_local: bool) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {"enabled": "true", "allow-latency": "1 s", "size": "10"}.items():
        t_env.get_config().set(f"table.exec.mini-batch.{key}", value)
    t_env.get_config().set("table.optimizer.agg-phase-strategy", strategy)
    plan = t_env.explain_sql("SELECT k, COUNT(*) FROM (VALUES (1)) AS t (k) GROUP BY k")
    steps = ["GlobalGroupAggregate(", "+- Exchange(", "+- LocalGroupAggregate("]
    assert [each in plan for each in steps] == [is_local, True, is_local]


@pytest.mark.parametrize(
    ("given_settings", "expected"),
    [
        ({}, "MiniBatch Latency must be greater than 0 ms."),
        (
            {"table.exec.mini-batch.allow-latency": "1 s"},
            "Key: 'table.exec.mini-batch.size' , default: -1 (fallback keys: []) must be > 0.",
        ),
        (
            {"table.optimizer.agg-phase-strategy": "THREE"},
            "Could not parse value 'THREE' for key 'table.optimizer.agg-phase-strategy'.",
        ),
    ],
)
def test_settings_that_make_no_sense(given_settings: dict[str, str], expected: str) -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in {"table.exec.mini-batch.enabled": "true", **given_settings}.items():
        t_env.get_config().set(key, value)
    with pytest.raises(ConfigurationError) as caught:
        t_env.explain_sql("SELECT k, COUNT(*) FROM (VALUES (1)) AS t (k) GROUP BY k")
    assert str(caught.value) == expected

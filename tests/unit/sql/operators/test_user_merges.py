"""When the `merge` of a user's aggregate function is called in windows: as in the reference, not for batches."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from funke.engine.graph.operations import ColumnOperator
from funke.engine.sql.binding.relations import Calculation
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.binding.windows.window_relations import WindowAggregation
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.table import AggregateFunction, DataTypes, EnvironmentSettings, TableEnvironment
from funke.table.udf import udaf
from tests.harness.backends import choice_of
from tests.harness.operator_harness import OperatorHarness
from tests.harness.plan_nodes import factory_of
from tests.harness.sql_changelogs import batch_of, changes_of, inserts

NOON = datetime.datetime(2024, 1, 1, 12)


class Summing(AggregateFunction[Any, Any]):
    def create_accumulator(self) -> Any:
        return [0]

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator[0] += args[0]

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[0]

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self) -> Any:
        return DataTypes.BIGINT()


class Telling(Summing):
    """Each merge can be seen in the result."""

    def merge(self, accumulator: Any, accumulators: Any) -> None:
        for each in accumulators:
            accumulator[0] += each[0] + 1000


class Merging(Summing):
    def merge(self, accumulator: Any, accumulators: Any) -> None:
        for each in accumulators:
            accumulator[0] += each[0]


class Refusing(Summing):
    def merge(self, accumulator: Any, accumulators: Any) -> None:
        raise RuntimeError("merge was called")


GROUPS = {
    "tumble": "k, TUMBLE(ts, INTERVAL '6' SECOND)",
    "session": "k, SESSION(ts, INTERVAL '6' SECOND)",
    "hop": "k, HOP(ts, INTERVAL '2' SECOND, INTERVAL '6' SECOND)",
}
TUMBLED, SESSION = [15, 51], [66]
# What the sums of twelve rows, one each second, are in windows of 6 seconds, every 2 seconds.
HOPPED = [1, 6, 15, 27, 39, 51, 38, 21]


def results(
    function: AggregateFunction[Any, Any],
    group_by: str,
    size: int,
    backend: str,
    seconds: tuple[int, ...] = tuple(range(12)),
) -> list[int]:
    """What windows give for a row in each second, if so many come at a time."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(
        """CREATE TABLE t (k STRING, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
        WITH ('connector' = 'datagen', 'number-of-rows' = '1')"""
    )
    t_env.create_temporary_function("f", udaf(function))
    query = t_env.sql_query(f"SELECT f(v) FROM t GROUP BY {group_by}")
    relation: Any = planned_rows(t_env._session, query._relation)
    while not isinstance(relation, WindowAggregation):
        relation = relation.input
    makes: list[Any] = [factory_of(relation)]
    inner = relation.input
    while isinstance(inner, Calculation):
        makes.insert(0, factory_of(inner))
        inner = inner.input
    assert isinstance(inner, WatermarkAssigner)
    harnesses = [
        OperatorHarness(ColumnOperator(each), keeps_columns=True, backend=choice_of(backend)) for each in makes
    ]
    rows = [("a", each, NOON + datetime.timedelta(seconds=each)) for each in seconds]
    elements: list[Any] = []
    for start in range(0, len(rows), size):
        batches = [batch_of(inserts(rows[start : start + size]), inner.columns)]
        for harness in harnesses:
            for each in batches:
                harness.operator.process_columns(each)
            batches = [each for each in harness.elements() if isinstance(each, ColumnBatch)]
        elements += batches
    harnesses[-1].end_input()
    elements += [each for each in harnesses[-1].elements() if isinstance(each, ColumnBatch)]
    return [row[len(relation.keys)] for each in elements for _, row in changes_of(each, relation)]


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("size", [1, 5, 12])
def test_rows_are_added_to_the_accumulator_of_their_pane(size: int, backend: str) -> None:
    for function in (Summing(), Telling(), Refusing()):
        assert results(function, GROUPS["tumble"], size, backend) == TUMBLED
        assert results(function, GROUPS["session"], size, backend) == SESSION


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("size", [1, 5, 12])
def test_panes_of_a_window_are_merged_once_each(size: int, backend: str) -> None:
    sums = results(Telling(), GROUPS["hop"], size, backend)
    # A window of a single pane is that pane.
    assert sums == [sum_ + 1000 * panes for sum_, panes in zip(HOPPED, (0, 2, 3, 3, 3, 3, 2, 0))]
    assert results(Summing(), GROUPS["hop"], size, backend) == HOPPED


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
def test_sessions_that_meet_are_merged(backend: str) -> None:
    # The last row lies between the sessions of the others.
    assert results(Merging(), GROUPS["session"], 1, backend, (0, 1, 10, 11, 6)) == [28]
    assert results(Telling(), GROUPS["session"], 1, backend, (0, 1, 10, 11, 20)) == [1, 21, 20]

"""What tasks of Spark's do with rows, without Spark; how rows are cut into batches changes nothing."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.engine.operators.functions.table_functions import DelegatingPandasAggregateFunction
from funke.engine.operators.operator import TaskInfo
from funke.engine.runtime.spark.task_failures import TaskFailure, failure_in
from funke.engine.sql.binding.relations import Aggregation, BoundAggregate, Calculation, Column
from funke.engine.sql.functions.aggregates.aggregate import bind_aggregate
from funke.engine.sql.functions.function import Argument
from funke.engine.sql.functions.users.user_aggregates import as_aggregate
from funke.engine.sql.spark_plans.carried_columns import carried_schema, from_carried, to_carried
from funke.engine.sql.spark_plans.sorted_groups import FoldGroups
from funke.engine.sql.spark_plans.task_code import PlanSettings, TaskCode
from funke.engine.sql.spark_plans.written_columns import written_schema
from funke.engine.sql.syntax.user_function import UserFunction
from funke.engine.sql.table_rows import to_batches
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.table import DataTypes
from tests.harness.local_jobs import rows_of
from tests.harness.sql_changelogs import RunningQuery, bound_query, folded, inserts

COLUMNS = {"k": "INT", "name": "STRING", "v": "BIGINT"}
ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 3)),
        st.sampled_from(["a", "b", None]),
        st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
    ),
    max_size=30,
)
QUERY = """
    SELECT k, name, COUNT(*), COUNT(DISTINCT v), SUM(v), MIN(name), COUNT(*) FILTER (WHERE v > 0) FROM t
    GROUP BY k, name
"""


def sort_key(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((each is not None, each) for each in row[:2])


@given(ROWS, st.lists(st.integers(1, 5), min_size=1))
def test_sorted_groups_are_those_of_a_stream(rows: list[Any], sizes: list[int]) -> None:
    relation = bound_query(QUERY, **COLUMNS)
    assert isinstance(relation, Calculation)
    aggregation = relation.input
    assert isinstance(aggregation, Aggregation)
    before = RunningQuery(aggregation.input).feed(inserts(rows)) if rows else []
    fold = FoldGroups(aggregation.input.columns, aggregation.columns, aggregation.keys, aggregation.aggregates)
    arranged = sorted((row for _, row in before), key=sort_key)
    result_rows = [
        row
        for batch in fold.run(cut(aggregation.input.columns, arranged, sizes), TaskInfo())
        for row in rows_of(batch.data, aggregation)
    ]
    streamed = RunningQuery(aggregation).feed(inserts(rows)) if rows else []
    assert sorted(result_rows, key=repr) == folded(streamed)


def cut(columns: tuple[Column, ...], rows: list[Any], sizes: list[int]) -> Iterator[ColumnBatch]:
    """Rows in batches of these sizes, over and over again."""
    index = 0
    for size in itertools.cycle(sizes):
        if index >= len(rows):
            return
        yield from to_batches(columns, rows[index : index + size])
        index += size


def test_pandas_sees_all_rows_of_a_group() -> None:
    columns = (Column("k", DataTypes.INT()), Column("v", DataTypes.BIGINT()))
    function = DelegatingPandasAggregateFunction(lambda values: values.max() - values.min())
    user = UserFunction("span", "aggregate", function, None, (DataTypes.BIGINT(),), is_pandas=True)
    call = bind_aggregate(as_aggregate(user), [Argument(DataTypes.BIGINT())])
    fold = FoldGroups(columns, columns, (0,), (BoundAggregate(call, (1,)),))
    rows = [(1, 5), (1, 9), (2, 7), (2, 1), (2, 3)]
    results = pa.Table.from_batches([each.data for each in fold.run(cut(columns, rows, [3]), TaskInfo())])
    assert results.to_pydict() == {"k": [1, 2], "v": [4, 6]}


def test_aggregates_of_no_rows() -> None:
    columns = (Column("n", DataTypes.BIGINT()),)
    fold = FoldGroups(columns, columns, (), (), otherwise=(0,))
    assert [batch.data.to_pydict() for batch in fold.run(iter(()), TaskInfo())] == [{"n": [0]}]


def test_a_task_fails_with_what_the_program_raised() -> None:
    columns = (Column("n", DataTypes.BIGINT()),)

    class Failing:
        def run(self, batches: Any, task: TaskInfo) -> Any:
            raise ValueError("no such thing as 7")
            yield

    code = TaskCode.of(columns, (Failing(),), columns, PlanSettings())
    with pytest.raises(TaskFailure) as raised:
        list(code(iter(())))
    failure = failure_in(RuntimeError(f"Job aborted: … {raised.value} … at org.apache.spark"))
    assert failure is not None
    assert (failure.error_type, failure.message) == ("ValueError", "no such thing as 7")
    assert "in run" in failure.traceback_text
    assert failure_in(RuntimeError("Job aborted")) is None


def test_a_task_gives_rows_as_spark_carries_or_writes_them() -> None:
    columns = (Column("time", DataTypes.TIME(3)), Column("moment", DataTypes.TIMESTAMP(3)))
    (batch,) = to_batches(columns, [(None, None), (datetime.time(1), datetime.datetime(2024, 2, 29))])
    carried = to_carried(batch.data, columns, carried_schema(columns))
    (created,) = TaskCode.of(columns, (), columns, PlanSettings())(iter([carried]))
    assert created.schema == carried_schema(columns)
    assert from_carried(created, columns).equals(batch.data)
    (written,) = TaskCode.of(columns, (), columns, PlanSettings(), is_written=True)(iter([carried]))
    assert written.schema == written_schema(columns)
    assert written.to_pylist() == batch.data.to_pylist()

"""Aggregate functions that users write."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from funke.engine.flink_exceptions import TableException
from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.functions.table_functions import DelegatingPandasAggregateFunction
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Aggregation, Calculation, Column, Scan, inputs_of
from funke.engine.sql.plan.changelogs.changes import ALL_KINDS
from funke.engine.sql.plan.changelogs.final_rows import FinalRows
from funke.engine.sql.plan.lower import lower
from funke.engine.sql.statements.plans.job_plans import planned_rows
from funke.engine.sql.syntax import expressions as syntax
from funke.engine.sql.syntax import queries
from funke.engine.sql.syntax.user_function import UserFunction
from funke.engine.types.logical.sql_text import from_sql_text
from funke.engine.types.row import Row
from funke.table import (
    AggregateFunction,
    DataTypes,
    EnvironmentSettings,
    FunctionContext,
    ListView,
    TableAggregateFunction,
    TableEnvironment,
)
from funke.table.udf import udaf
from tests.harness.backends import choice_of
from tests.harness.operator_harness import OperatorHarness
from tests.harness.plan_nodes import factory_of
from tests.harness.sql_changelogs import RunningQuery, batch_of, changes_of, inserts

TYPES = {"k": "STRING", "v": "BIGINT", "w": "BIGINT"}
COLUMNS = tuple(Column(name, from_sql_text(each)) for name, each in TYPES.items())


class WeightedAverage(AggregateFunction[Any, Any]):
    """Keeps what it has seen in a view, and knows whether it was opened."""

    is_open = False

    def open(self, function_context: FunctionContext) -> None:
        self.is_open = True

    def create_accumulator(self) -> Any:
        return [0, 0, ListView()]

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        assert self.is_open
        value, weight = args
        if value is not None:
            accumulator[0] += value * weight
            accumulator[1] += weight
            accumulator[2].add(value)

    def retract(self, accumulator: Any, *args: Any) -> None:
        value, weight = args
        if value is not None:
            accumulator[0] -= value * weight
            accumulator[1] -= weight

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[0] // accumulator[1] if accumulator[1] else None


def query(function: UserFunction) -> Calculation:
    call = syntax.Call("wavg", (syntax.Name(("v",)), syntax.Name(("w",))), function=function)
    select = queries.Select(
        (syntax.Name(("k",)), syntax.Alias(call, ("a",))),
        queries.TableRef(("t",)),
        group_by=queries.GroupBy(((syntax.Name(("k",)),),)),
    )
    relation = lower(QueryBinder({("t",): Scan(COLUMNS, None, ("t",), ALL_KINDS)}.get).bind(select))
    assert isinstance(relation, Calculation)
    return relation


def wavg() -> UserFunction:
    return UserFunction("wavg", "aggregate", WeightedAverage(), None, (DataTypes.BIGINT(),))


def pandas_environment(settings: EnvironmentSettings) -> TableEnvironment:
    t_env = TableEnvironment.create(settings)
    t_env.execute_sql("""
        CREATE TABLE t (k INT, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
        WITH ('connector' = 'datagen', 'number-of-rows' = '1')
    """)
    mean = udaf(lambda values: values.mean(), result_type=DataTypes.DOUBLE(), func_type="pandas")
    t_env.create_temporary_function("mean", mean)
    return t_env


def test_pandas_wants_all_rows_of_a_group() -> None:
    t_env = pandas_environment(EnvironmentSettings.in_streaming_mode())
    with pytest.raises(TableException, match="Pandas UDAFs are not supported in streaming mode"):
        t_env.explain_sql("SELECT k, mean(v) FROM t GROUP BY k")
    assert "Aggregate(" in t_env.explain_sql("SELECT k, mean(v) FROM t GROUP BY k, TUMBLE(ts, INTERVAL '1' SECOND)")
    t_env = pandas_environment(EnvironmentSettings.in_batch_mode())
    assert "Aggregate(" in t_env.explain_sql("SELECT k, mean(v) FROM t GROUP BY k")
    (planned,) = inputs_of(planned_rows(t_env._session, t_env.sql_query("SELECT mean(v), COUNT(*) FROM t")._relation))
    assert isinstance(planned, FinalRows) and planned.otherwise is None


def test_groups_of_a_batch_as_series() -> None:
    function = DelegatingPandasAggregateFunction(lambda values, weights: (values * weights).sum())
    user = UserFunction("wavg", "aggregate", function, None, (DataTypes.BIGINT(),), is_pandas=True)
    running = RunningQuery(replace(query(user), input=replace(query(user).input, is_folded=True)))
    running.feed(inserts([("x", 5, 1), ("y", 3, 2), ("x", 7, 2)]))
    assert running.feed(inserts([("x", 1, 1)])) == [("-U", ("x", 19)), ("+U", ("x", 20))]


def test_changes_as_in_pyflink() -> None:
    running = RunningQuery(query(wavg()))
    rows = [("x", 5, 1), ("y", 3, 2), ("x", 7, 1), ("x", 6, 3), ("y", None, 1), ("x", 1, 1)]
    assert running.feed(inserts(rows)) == [
        ("+I", ("x", 5)),
        ("+I", ("y", 3)),
        ("-U", ("x", 5)),
        ("+U", ("x", 6)),
        ("-U", ("x", 6)),
        ("+U", ("x", 5)),
    ]
    assert running.feed([("-D", ("x", 1, 1)), ("-D", ("y", 3, 2)), ("-D", ("y", None, 1))]) == [
        ("-U", ("x", 5)),
        ("+U", ("x", 6)),
        ("-U", ("y", 3)),
        ("+U", ("y", None)),
        ("-D", ("y", None)),
    ]
    running.close()


def test_accumulators_with_views_survive() -> None:
    aggregation = query(wavg()).input
    assert isinstance(aggregation, Aggregation)
    operation = ColumnOperator(factory_of(aggregation))
    rows = batch_of(inserts([("x", 5, 1), ("x", 7, 1)]), aggregation.input.columns)
    for before, after in (("hashmap", "rocksdb"), ("rocksdb", "hashmap")):
        first = OperatorHarness(operation, keeps_columns=True, backend=choice_of(before))
        first.operator.process_columns(rows)
        snapshot = first.snapshot()
        first.close()
        second = OperatorHarness(operation, keeps_columns=True, backend=choice_of(after), restored=[snapshot])
        second.operator.process_columns(rows.slice(0, 1))
        (batch,) = second.elements()
        assert changes_of(batch, aggregation) == [("-U", ("x", 6)), ("+U", ("x", 5))]
        second.close()


def test_arguments_are_cast_to_what_the_function_declares() -> None:
    function = UserFunction("wavg", "aggregate", WeightedAverage(), ("DOUBLE", "BIGINT"), (DataTypes.DOUBLE(),))
    assert RunningQuery(query(function)).feed(inserts([("x", 5, 2)])) == [("+I", ("x", 5.0))]


class TopTwo(TableAggregateFunction[Any, Any]):
    """The two greatest values with their ranks."""

    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        if args[0] is not None:
            accumulator.append(args[0])

    def retract(self, accumulator: Any, *args: Any) -> None:
        accumulator.remove(args[0])

    def emit_value(self, accumulator: Any) -> Any:
        for rank, value in enumerate(sorted(accumulator, reverse=True)[:2]):
            yield Row(value, rank)


def test_rows_of_a_group() -> None:
    result = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("r", DataTypes.INT())])
    top_two = UserFunction("top2", "table aggregate", TopTwo(), None, (result,))
    call = syntax.Call("top2", (syntax.Name(("v",)),), function=top_two)
    select = queries.Select(
        (syntax.Name(("k",)), syntax.Alias(call, ("value", "place"))),
        queries.TableRef(("t",)),
        group_by=queries.GroupBy(((syntax.Name(("k",)),),)),
    )
    relation = lower(QueryBinder({("t",): Scan(COLUMNS, None, ("t",), ALL_KINDS)}.get).bind(select))
    assert [column.name for column in relation.columns] == ["k", "value", "place"]
    running = RunningQuery(relation)
    # Recorded with PyFlink.
    assert running.feed(inserts([("x", 5, 1), ("y", 3, 2), ("x", 7, 1), ("y", None, 1)])) == [
        ("+I", ("x", 5, 0)),
        ("+I", ("y", 3, 0)),
        ("-D", ("x", 5, 0)),
        ("+I", ("x", 7, 0)),
        ("+I", ("x", 5, 1)),
        ("-D", ("y", 3, 0)),
        ("+I", ("y", 3, 0)),
    ]
    assert running.feed([("-D", ("x", 5, 1)), ("-D", ("x", 7, 1)), ("-D", ("x", 7, 1))]) == [
        ("-D", ("x", 7, 0)),
        ("-D", ("x", 5, 1)),
        ("+I", ("x", 7, 0)),
        ("-D", ("x", 7, 0)),
    ]

"""Queries of a program that are added, taken away or written in another order: each finds its own state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from funke.common import Row, Types
from funke.datastream import StreamExecutionEnvironment
from funke.engine.errors import StateError
from funke.engine.graph.job_graph import JobGraph
from funke.engine.graph.stream_graph import StreamGraph
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint, OperatorEntry
from funke.engine.jobs.checkpoints.start_point import matched_graph, operator_entries, state_moves, undescribed
from funke.engine.planner.chaining import operator_id_of_uid, to_job_graph
from funke.engine.runtime.snapshots.snapshot_files import SnapshotHandle
from funke.table import AggregateFunction, DataTypes, StreamTableEnvironment, TableAggregateFunction
from funke.table.expressions import col
from funke.table.types import DataType
from funke.table.udf import udaf, udtaf

TYPE = Types.ROW_NAMED(["k", "v", "i"], [Types.STRING(), Types.LONG(), Types.LONG()])
SUM, COUNT = "SELECT k, SUM(v) FROM {} GROUP BY k", "SELECT k, COUNT(*) FROM {} GROUP BY k"
EU, US, ASIA = (SUM.format(f"a WHERE i = {number}") for number in (1, 2, 3))


def program(*queries: str, names: tuple[str, str] = ("one", "other")) -> tuple[StreamGraph, JobGraph]:
    """A job of queries over the tables a and b, which have the same columns."""
    env = StreamExecutionEnvironment()
    t_env = StreamTableEnvironment.create(env)
    for table, name in zip("ab", names):
        t_env.create_temporary_view(table, env.from_collection([], TYPE).name(name))
    for query in queries:
        t_env.to_changelog_stream(t_env.sql_query(query)).print()
    graph = env._pending_graph(None)
    return graph, to_job_graph(graph)


def aggregations(graph: JobGraph) -> list[OperatorEntry]:
    """In the order of the queries."""
    return [each for each in operator_entries(graph).values() if each.meaning is not None]


def saved(graph: JobGraph) -> Checkpoint:
    """A checkpoint in which all aggregations have state."""
    handle = SnapshotHandle(tuple(each.operator_id for each in aggregations(graph)), 0, 1, "0", 0)
    return Checkpoint("old", 1, 1, snapshots=(handle,), operators=operator_entries(graph), path="/savepoint")


def uids(before: tuple[str, ...], after: tuple[str, ...], is_unclaimed_allowed: bool = False) -> list[str]:
    """Under which uid, that is of which query of before, each of the queries finds its state."""
    checkpoint = saved(program(*before)[1])
    matched = matched_graph(program(*after)[1], program(*after)[0], checkpoint, is_unclaimed_allowed)
    result = aggregations(matched)
    assert [each.operator_id for each in result] == [operator_id_of_uid(each.uid or "") for each in result]
    state_moves(checkpoint, operator_entries(matched))
    return [(each.uid or "").removeprefix("GroupAggregate ") for each in result]


def test_queries_in_another_order() -> None:
    count = COUNT.format("a")
    assert uids((EU, count), (count, EU)) == ["2", "1"]


def test_queries_that_differ_in_their_conditions_alone() -> None:
    """Their aggregates mean the same: only the rows tell them apart."""
    assert uids((EU, US), (US, EU)) == ["2", "1"]
    assert uids((EU, US, ASIA), (ASIA, EU, US)) == ["3", "1", "2"]


def test_queries_over_streams_that_differ_in_their_names_alone() -> None:
    one, other = SUM.format("a"), SUM.format("b")
    assert uids((one, other), (other, one)) == ["2", "1"]


def test_a_stream_that_is_called_otherwise() -> None:
    checkpoint = saved(program(EU, US)[1])
    graph, job_graph = program(US, EU, names=("new", "other"))
    assert [each.uid for each in aggregations(matched_graph(job_graph, graph, checkpoint, False))] == [
        "GroupAggregate 2",
        "GroupAggregate 1",
    ]


def test_a_query_more_has_a_uid_of_its_own() -> None:
    assert uids((EU,), (COUNT.format("a"), EU)) == ["3", "1"]
    assert uids((EU,), (US, EU)) == ["3", "1"]


def test_the_state_of_a_query_that_is_gone_must_be_left_out() -> None:
    with pytest.raises(StateError, match="no operator of this job claims: 'GroupAggregate'"):
        uids((EU, US), (US,))
    assert uids((EU, US), (US,), is_unclaimed_allowed=True) == ["2"]


def test_a_query_with_another_condition_goes_on() -> None:
    assert uids((EU,), (US,)) == ["1"]
    assert uids((EU, US), (EU, ASIA)) == ["1", "2"]


def test_state_that_could_be_that_of_several_queries_is_rejected() -> None:
    other = SUM.format("a WHERE i = 4")
    with pytest.raises(StateError, match="'GroupAggregate 1', 'GroupAggregate 2' in the savepoint could be that of"):
        uids((EU, US), (ASIA, other))


def test_queries_in_another_order_of_which_one_has_changed() -> None:
    both = "SELECT k, SUM(v), COUNT(*) FROM a WHERE i = 1 GROUP BY k"
    assert uids((both, US), (US, EU)) == ["2", "1"]
    with pytest.raises(StateError, match="claims"):
        uids((EU, US), (US, both))


def test_the_same_queries_stay_where_they_are() -> None:
    assert uids((EU, EU, US), (EU, EU, US)) == ["1", "2", "3"]


def test_a_description_of_a_later_version_is_rejected() -> None:
    graph, job_graph = program(EU)
    checkpoint = saved(job_graph)
    (entry,) = aggregations(job_graph)
    later = {**json.loads(entry.meaning or ""), "version": 2}
    checkpoint.operators[entry.operator_id] = OperatorEntry(**{**vars(entry), "meaning": json.dumps(later)})
    with pytest.raises(StateError, match="in version 2, and this version of Funke knows version 1"):
        matched_graph(job_graph, graph, checkpoint, False)


class Total(AggregateFunction):
    """An aggregate function of the program's."""

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], value: int) -> None:
        accumulator[0] += value

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]


class Product(Total):
    """Another one, with accumulators of the same kind."""


class Weighted(Total):
    """One that is made with a value."""

    def __init__(self, weight: int) -> None:
        self.weight = weight


class Both(TableAggregateFunction):
    """A table aggregate function of the program's."""

    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], value: int) -> None:
        accumulator.append(value)

    def emit_value(self, accumulator: list[int]) -> Iterator[Row]:
        yield from (Row(each) for each in accumulator)


class Either(Both):
    """Another one."""


def of_user(function: AggregateFunction, accumulator: DataType) -> JobGraph:
    env = StreamExecutionEnvironment()
    t_env = StreamTableEnvironment.create(env)
    t_env.create_temporary_view("a", env.from_collection([], TYPE))
    t_env.create_temporary_function("f", udaf(function, result_type=DataTypes.BIGINT(), accumulator_type=accumulator))
    t_env.to_changelog_stream(t_env.sql_query("SELECT k, f(v) FROM a GROUP BY k")).print()
    return to_job_graph(env._pending_graph(None))


def of_table_function(function: TableAggregateFunction, argument: str) -> JobGraph:
    env = StreamExecutionEnvironment()
    t_env = StreamTableEnvironment.create(env)
    table = t_env.from_data_stream(env.from_collection([], TYPE))
    types = {"result_type": DataTypes.ROW([DataTypes.FIELD("x", DataTypes.BIGINT())])}
    new_function = udtaf(function, accumulator_type=DataTypes.ARRAY(DataTypes.BIGINT()), **types)
    grouped = table.group_by(col("k")).flat_aggregate(new_function(col(argument)).alias("x")).select(col("k"), col("x"))
    t_env.to_changelog_stream(grouped).print()
    return to_job_graph(env._pending_graph(None))


def test_an_aggregate_function_of_the_users_is_known_by_its_names_and_its_accumulator() -> None:
    longs, doubles = DataTypes.ARRAY(DataTypes.BIGINT()), DataTypes.ARRAY(DataTypes.DOUBLE())
    checkpoint = saved(of_user(Total(), longs))
    assert state_moves(checkpoint, operator_entries(of_user(Total(), longs))) == {}
    with pytest.raises(StateError, match=r"no aggregate Product\[Product .* with Total\[Total OF ARRAY<BIGINT>\]"):
        state_moves(checkpoint, operator_entries(of_user(Product(), longs)))
    with pytest.raises(StateError, match=r"no aggregate Total\[Total OF ARRAY<DOUBLE>\]"):
        state_moves(checkpoint, operator_entries(of_user(Total(), doubles)))
    with pytest.raises(StateError, match=r"no aggregate .*weight=3.* with .*weight=2"):
        state_moves(saved(of_user(Weighted(2), longs)), operator_entries(of_user(Weighted(3), longs)))


def test_a_table_aggregate_function_is_known_by_its_name_and_its_arguments() -> None:
    checkpoint = saved(of_table_function(Both(), "v"))
    assert state_moves(checkpoint, operator_entries(of_table_function(Both(), "v"))) == {}
    with pytest.raises(StateError, match=r"the function Both\[Both.*, and this job has the function Either\[Either"):
        state_moves(checkpoint, operator_entries(of_table_function(Either(), "v")))
    with pytest.raises(StateError, match=r"\(v BIGINT\), and this job has the function .*\(i BIGINT\)"):
        state_moves(checkpoint, operator_entries(of_table_function(Both(), "i")))


def test_state_without_a_description_is_named() -> None:
    """As earlier versions have written it: the job warns, and takes it for that of the same query."""
    _, job_graph = program(EU, COUNT.format("a"))
    entries = operator_entries(job_graph)
    assert undescribed(saved(job_graph), entries) == []
    before = {uid: replace(entry, meaning=None) for uid, entry in entries.items()}
    checkpoint = replace(saved(job_graph), operators=before)
    assert undescribed(checkpoint, entries) == ["GroupAggregate"]
    assert state_moves(checkpoint, entries) == {}

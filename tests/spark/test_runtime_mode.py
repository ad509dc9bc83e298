"""Batch and streaming mode, chains, slots, and how records spread over subtasks."""

from __future__ import annotations

import os
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from funke.common import WatermarkStrategy
from funke.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from funke.datastream.connectors.datagen import DataGeneratorSource
from funke.engine.errors import GraphError
from funke.engine.types.keys.key_groups import KeyGroups
from tests.spark.job_running import collect, new_environment

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def sums(env: StreamExecutionEnvironment, mode: RuntimeExecutionMode) -> list[Any]:
    env.set_runtime_mode(mode)
    pairs = env.from_collection([("a", 1), ("b", 2), ("a", 3)])
    return sorted(collect(pairs.key_by(lambda pair: pair[0]).reduce(lambda x, y: (x[0], x[1] + y[1]))))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (RuntimeExecutionMode.STREAMING, [("a", 1), ("a", 4), ("b", 2)]),
        (RuntimeExecutionMode.BATCH, [("a", 4), ("b", 2)]),
        (RuntimeExecutionMode.AUTOMATIC, [("a", 4), ("b", 2)]),
    ],
)
def test_running_results_or_one_at_the_end(
    env: StreamExecutionEnvironment, mode: RuntimeExecutionMode, expected: list[Any]
) -> None:
    assert sums(env, mode) == expected


def test_unbounded_input_runs_as_a_stream_or_not_at_all(env: StreamExecutionEnvironment) -> None:
    endless = env.from_source(DataGeneratorSource(abs), WatermarkStrategy.no_watermarks(), "endless")
    stream = endless.key_by(lambda number: 0).reduce(max)
    env.set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    with stream.execute_and_collect() as results:
        # Which subtask comes first is open.
        assert next(results) >= 0
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    with pytest.raises(GraphError, match="unbounded"):
        collect(stream)


class Waiting:
    """Collects a record more when it has been seen that the one before has arrived."""

    def __init__(self) -> None:
        self.has_arrived = threading.Event()

    def run(self, ctx: Any) -> None:
        ctx.collect(1)
        self.has_arrived.wait(60)
        ctx.collect(2)

    def cancel(self) -> None:
        self.has_arrived.set()


def test_a_stream_gives_results_before_its_source_ends(env: StreamExecutionEnvironment) -> None:
    source = Waiting()
    stream = env.add_source(source).key_by(lambda number: number).map(lambda number: number * 10)
    with stream.execute_and_collect() as results:
        first = next(results)
        source.has_arrived.set()
        assert [first, *results] == [10, 20]


class Where(MapFunction):
    """Adds the process and the subtask that a record went through."""

    def open(self, context: Any) -> None:
        self.subtask = context.get_index_of_this_subtask()
        self.parallelism = context.get_number_of_parallel_subtasks()
        self.task = context.get_task_name()
        self.max_parallelism = context.get_max_number_of_parallel_subtasks()

    def map(self, value: Any) -> Any:
        return value, os.getpid(), self.subtask, self.task


def test_chained_operators_share_a_task_and_unchained_ones_do_not(env: StreamExecutionEnvironment) -> None:
    def twice(stream: DataStream) -> DataStream:
        return stream.map(Where()).name("first").map(Where()).name("second")

    (chained,) = collect(twice(env.from_collection([1]).rebalance()))
    assert chained[3] == chained[0][3]
    assert chained[3].startswith("first -> second")
    env.disable_operator_chaining()
    (unchained,) = collect(twice(env.from_collection([1]).rebalance()))
    assert (unchained[0][3], unchained[3]) == ("first", "second")
    assert unchained[1] == unchained[0][1], "one slot hosts a subtask of every vertex"


def test_subtask_p_of_every_vertex_is_in_slot_p(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection(list(range(8))).rebalance()
    results = collect(numbers.map(Where()).name("first").rebalance().map(Where()).name("second"))
    first = {(subtask, process) for (_, process, subtask, _), *_ in results}
    second = {(subtask, process) for _, process, subtask, _ in results}
    assert first == second and len({process for _, process in second}) == 2


def test_slot_sharing_groups_have_processes_of_their_own(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection(list(range(8))).rebalance().map(Where()).name("first").slot_sharing_group("red")
    stream = stream.map(Where()).name("second").slot_sharing_group("blue").map(Where()).name("third")
    results = collect(stream)
    first = {result[0][0][1] for result in results}
    second = {result[0][1] for result in results}
    third = {result[1] for result in results}
    assert len(first) == len(second) == 2
    assert not first & second
    assert third == second, "the group goes on behind the operator that names it"


class SubtaskOf(ProcessFunction):
    def open(self, context: Any) -> None:
        self.subtask = context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, self.subtask


def spread(partition: Any, senders: int, receivers: int, records: int = 24) -> dict[int, list[int]]:
    """Which receivers the records of each sender reached: sender -> receivers, in the order of the records."""
    env = new_environment(senders)
    sent = env.from_collection(list(range(records))).rebalance().process(SubtaskOf()).name("senders")
    received = collect(partition(sent).process(SubtaskOf()).set_parallelism(receivers).name("receivers"))
    receivers_of: dict[int, list[int]] = defaultdict(list)
    for (_, sender), receiver in sorted(received):
        receivers_of[sender].append(receiver)
    return dict(receivers_of)


def test_rebalance_gives_every_receiver_its_turn() -> None:
    for receivers in spread(lambda stream: stream.rebalance(), 2, 3).values():
        assert Counter(receivers) == {0: 4, 1: 4, 2: 4}


@pytest.mark.parametrize(
    ("senders", "receivers", "expected"),
    [
        (2, 4, {0: {0, 1}, 1: {2, 3}}),
        (4, 2, {0: {0}, 1: {0}, 2: {1}, 3: {1}}),
    ],
)
def test_rescale_stays_near(senders: int, receivers: int, expected: dict[int, set[int]]) -> None:
    records = spread(lambda stream: stream.rescale(), senders, receivers)
    assert {sender: set(reached) for sender, reached in records.items()} == expected
    assert all(max(Counter(reached).values()) - min(Counter(reached).values()) <= 1 for reached in records.values())


def test_broadcast_reaches_everyone() -> None:
    assert all(Counter(reached) == {0: 12, 1: 12, 2: 12} for reached in spread(lambda s: s.broadcast(), 2, 3).values())


def test_global_reaches_the_first_only() -> None:
    assert all(set(reached) == {0} for reached in spread(lambda stream: stream.global_(), 2, 3).values())


def test_shuffle_reaches_someone_once() -> None:
    records = spread(lambda stream: stream.shuffle(), 2, 2, records=200)
    assert sum(map(len, records.values())) == 200
    assert all(set(reached) == {0, 1} for reached in records.values())


def test_forward_stays_in_the_subtask() -> None:
    assert spread(lambda stream: stream.forward(), 2, 2, 4) == {0: [0, 0], 1: [1, 1]}


def test_a_partitioner_of_ones_own() -> None:
    results = spread(lambda s: s.partition_custom(lambda key, count: key % count, lambda pair: pair[0]), 1, 3, 6)
    assert results == {0: [0, 1, 2, 0, 1, 2]}


class KeyedSubtask(KeyedProcessFunction):
    def open(self, context: Any) -> None:
        self.subtask = context.get_index_of_this_subtask(), context.get_max_number_of_parallel_subtasks()

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, *self.subtask


def test_max_parallelism_decides_which_subtask_has_a_key(env: StreamExecutionEnvironment) -> None:
    env.set_max_parallelism(10)
    keyed = env.from_collection(list(range(30))).key_by(lambda number: number)
    results = collect(keyed.process(KeyedSubtask()).set_parallelism(3))
    assert sorted(results) == [(number, KeyGroups(10).of(number) * 3 // 10, 10) for number in range(30)]


def test_operators_of_different_parallelism(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_sequence(1, 100).set_parallelism(3)
    counted = numbers.map(Where()).set_parallelism(3).map(lambda actual: (actual[0], actual[2])).set_parallelism(1)
    results = collect(counted)
    assert sorted(number for number, _ in results) == list(range(1, 101))
    assert {subtask for _, subtask in results} == {0, 1, 2}

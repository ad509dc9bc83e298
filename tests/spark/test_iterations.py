"""Iterations: what is fed back goes round until nothing circulates, then the job ends; streaming and in epochs."""

from __future__ import annotations

from typing import Any

import pytest

from funke.common import Types
from funke.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from funke.datastream.state import ValueStateDescriptor
from funke.engine.errors import GraphError
from tests.spark.job_running import in_epochs

pytestmark = pytest.mark.spark


def environment() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    return env


@pytest.mark.parametrize("way", [environment, lambda: in_epochs(environment())], ids=["streaming", "in-epochs"])
def test_records_circulate_until_the_condition_ends_them(spark: Any, way: Any) -> None:
    # Its maximum is no minimum: the job ends as soon as nothing circulates.
    numbers = way().from_collection([3, 5, 1]).iterate(max_wait_time_ms=10**9)
    less = numbers.map(lambda number: number - 1)
    numbers.close_with(less.filter(lambda number: number > 0))
    with less.execute_and_collect() as results:
        assert sorted(results) == [0, 0, 0, 1, 1, 2, 2, 3, 4]


def test_state_sees_every_round(spark: Any) -> None:
    class Rounds(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.rounds = runtime_context.get_state(ValueStateDescriptor("rounds", Types.INT()))

        def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Any:
            rounds = (self.rounds.value() or 0) + 1
            self.rounds.update(rounds)
            yield value[0], value[1] // 2, rounds

    halves = environment().from_collection([("a", 8), ("b", 3)]).iterate()
    rounds = halves.key_by(lambda pair: pair[0]).process(Rounds())
    halves.close_with(rounds.filter(lambda row: row[1] > 0).map(lambda row: (row[0], row[1])))
    with rounds.filter(lambda row: row[1] == 0).execute_and_collect() as results:
        assert sorted(results) == [("a", 0, 4), ("b", 0, 2)]


def test_an_iteration_is_closed_once() -> None:
    numbers = environment().from_collection([1]).iterate()
    numbers.close_with(numbers.filter(lambda number: False))
    with pytest.raises(GraphError, match="closed already"):
        numbers.close_with(numbers.filter(lambda number: False))

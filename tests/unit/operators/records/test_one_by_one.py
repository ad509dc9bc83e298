"""Functions whose results leave although a later record of the same epoch takes long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from funke.common import Configuration
from funke.datastream import FilterFunction, FlatMapFunction, MapFunction, StreamExecutionEnvironment
from funke.engine.graph import operations as op
from funke.engine.operators.operator import OperatorFailure
from funke.engine.operators.records.one_by_one import OneByOneOperator
from tests.harness.operator_harness import OperatorHarness, Record, Watermark
from tests.unit.operators.async_io.async_functions import eventually

Start = Callable[[Any], OperatorHarness]


@pytest.fixture
def start() -> Iterator[Start]:
    """Makes harnesses, and closes them in the end."""
    harnesses: list[OperatorHarness] = []

    def make(operation: op.Map | op.FlatMap | op.Filter) -> OperatorHarness:
        harnesses.append(OperatorHarness(op.OneByOne(operation)))
        return harnesses[-1]

    yield make
    for harness in harnesses:
        harness.close()


class Blocking(MapFunction):
    """Blocks at one number until it is let go."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.called: list[int] = []
        self.gate = threading.Event()

    def map(self, value: int) -> int:
        self.called.append(value)
        if value == self.number:
            self.gate.wait(10)
        return value * 10


def test_results_before_a_slow_record_leave_with_the_epoch(start: Start) -> None:
    function = Blocking(3)
    harness = start(op.Map(function))
    harness.process_batch([1, 2, 3, 4], [1, 2, 3, 4])
    harness.watermark(4)
    harness.end_epoch()
    assert harness.elements() == [Record(10, 1), Record(20, 2)], "the watermark waits for the records before it"
    assert harness.operator.has_unfinished
    assert harness.operator.next_wakeup_ms() is not None
    function.gate.set()
    eventually(lambda: len(function.called) == 4)
    harness.end_epoch()
    assert harness.elements() == [Record(30, 3), Record(40, 4), Watermark(4)]
    assert not harness.operator.has_unfinished
    assert harness.operator.next_wakeup_ms() is None


def test_a_function_lives_in_one_thread(start: Start) -> None:
    """A connection of sqlite3, for one, can only be used by the thread that made it."""

    class Threads(MapFunction):
        def open(self, runtime_context: Any) -> None:
            self.threads = [threading.get_ident()]

        def map(self, value: int) -> int:
            self.threads.append(threading.get_ident())
            return value

        def close(self) -> None:
            self.threads.append(threading.get_ident())

    function = Threads()
    harness = start(op.Map(function))
    harness.process_batch([1, 2], None)
    harness.operator.end_input()
    harness.close()
    assert len(function.threads) == 4
    assert set(function.threads) != {threading.get_ident()} and len(set(function.threads)) == 1


def test_an_operator_that_was_never_opened_can_be_closed() -> None:
    OneByOneOperator(op.OneByOne(op.Map(Blocking(0)))).close()


def test_what_open_raises_is_not_hidden(start: Start) -> None:
    class Broken(MapFunction):
        def open(self, runtime_context: Any) -> None:
            raise ValueError("no such table")

        def map(self, value: int) -> int:
            return value

    with pytest.raises(ValueError, match="no such table"):
        start(op.Map(Broken()))


def test_closing_does_not_wait_for_a_call_that_goes_on(start: Start) -> None:
    function = Blocking(1)
    harness = start(op.Map(function))
    harness.process_batch([1], None)
    began = time.monotonic()
    harness.close()
    assert time.monotonic() - began < 5
    function.gate.set()


def test_quick_results_leave_with_their_batch(start: Start) -> None:
    harness = start(op.Map(Blocking(0)))
    harness.process_batch([1, 2], None)
    assert harness.outputs() == [10, 20]


def test_the_end_of_the_input_waits_for_all(start: Start) -> None:
    function = Blocking(2)
    harness = start(op.Map(function))
    harness.process_batch([1, 2, 3], None)
    threading.Timer(0.2, function.gate.set).start()
    harness.operator.end_input()
    assert harness.outputs() == [10, 20, 30]


def test_a_snapshot_holds_what_has_not_left_and_is_processed_again(start: Start) -> None:
    function = Blocking(2)
    harness = start(op.Map(function))
    harness.process_batch([1, 2, 3], [5, 6, 7])
    harness.end_epoch()
    state = harness.snapshot()
    function.gate.set()
    restored = OperatorHarness(op.OneByOne(op.Map(Blocking(0))), restored=[state])
    restored.operator.end_input()
    assert restored.timed_outputs() == [(20, 6), (30, 7)]
    restored.close()


def test_flat_map_and_filter(start: Start) -> None:
    class Twice(FlatMapFunction):
        def flat_map(self, value: int) -> list[int] | None:
            return [value, value] if value > 1 else None

    class Odd(FilterFunction):
        def filter(self, value: int) -> bool:
            return value % 2 == 1

    flat = start(op.FlatMap(Twice()))
    flat.process_batch([1, 2], [7, 8])
    flat.operator.end_input()
    assert flat.timed_outputs() == [(2, 8), (2, 8)]
    kept = start(op.Filter(Odd()))
    kept.process_batch([1, 2, 3], None)
    kept.operator.end_input()
    assert kept.outputs() == [1, 3]


def test_what_the_function_raises_fails_the_operator(start: Start) -> None:
    def divide(value: int) -> float:
        return 1 / value

    harness = start(op.Map(divide))
    with pytest.raises((ZeroDivisionError, OperatorFailure), match="division by zero"):
        harness.process_batch([1, 0, 2], None)
        harness.end_epoch()


@pytest.mark.parametrize(("bundle_size", "is_one_by_one"), [(1, True), (100, True), (101, False), (None, False)])
def test_a_program_that_sets_small_bundles_gets_it(bundle_size: int | None, is_one_by_one: bool) -> None:
    configuration = Configuration()
    if bundle_size is not None:
        configuration.set_integer("python.fn-execution.bundle.size", bundle_size)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_collection([1]).map(lambda number: number + 1).key_by(lambda number: number).map(str).print()
    operations = [node.operation for node in env._pending_graph(None).nodes.values()]
    assert any(isinstance(operation, op.OneByOne) for operation in operations) == is_one_by_one
    keyed = [operation for operation in operations if isinstance(operation, op.Map) and operation.key_selector]
    assert len(keyed) == 1, "functions on keyed streams stay as they are"

"""Windows whose contents are kept in RocksDB give the results of those in memory, also after restarts and rescaling."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from funke.datastream.functions import AggregateFunction, ProcessWindowFunction
from funke.engine.errors import StateError
from funke.engine.graph.operations import Window
from funke.engine.operators.windowing.assigners import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from funke.engine.operators.windowing.evictor import CountEvictor
from funke.engine.operators.windowing.fast.aligned_windows import AlignedWindowOperator
from funke.engine.operators.windowing.triggers import CountTrigger
from funke.engine.operators.windowing.window_operator import WindowOperator
from funke.engine.types.keys.key_groups import KeyGroups
from tests.harness.backends import choice_of
from tests.harness.operator_harness import OperatorHarness

BACKENDS = ("rocksdb", "rocksdb-without-cache")


class Mean(AggregateFunction):
    """Has an accumulator that is changed in place."""

    def create_accumulator(self) -> Any:
        return [0, 0]

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator[0] += value[1]
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return tuple(accumulator)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return [acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]]


class Sorted(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, sorted(elements)

    def clear(self, context: Any) -> None:
        pass


def key_of(value: Any) -> Any:
    return value[0]


def add(left: Any, right: Any) -> Any:
    return left[0], left[1] + right[1]


def window(assigner: Any, trigger: Any = None, **settings: Any) -> Window:
    chosen = trigger or assigner.get_default_trigger(None)
    return Window(assigner=assigner, trigger=chosen, key_selector=key_of, **settings)


OPERATIONS: dict[str, Callable[[], Window]] = {
    "tumbling reduce": lambda: window(TumblingEventTimeWindows(10, 0), reduce=add),
    "tumbling aggregate": lambda: window(TumblingEventTimeWindows(10, 3), aggregate=Mean()),
    "tumbling lists": lambda: window(TumblingEventTimeWindows(10, 0), window_function=Sorted()),
    "tumbling late": lambda: window(TumblingEventTimeWindows(10, 0), reduce=add, allowed_lateness_ms=12),
    "sliding reduce": lambda: window(SlidingEventTimeWindows(12, 4, 0), reduce=add),
    "sliding lists": lambda: window(SlidingEventTimeWindows(12, 4, 0), window_function=Sorted()),
    "session aggregate": lambda: window(EventTimeSessionWindows(5), aggregate=Mean()),
    "session lists": lambda: window(EventTimeSessionWindows(5), window_function=Sorted()),
    "count trigger": lambda: window(TumblingEventTimeWindows(10, 0), CountTrigger(3), reduce=add),
    "evictor": lambda: window(TumblingEventTimeWindows(10, 0), window_function=Sorted(), evictor=CountEvictor(2)),
}


def elements_of(seed: int) -> list[tuple[list[Any], list[int], int]]:
    """Batches with the watermark that follows each; some records are late."""
    chosen = random.Random(seed)
    batches = []
    for now in range(0, 60, 6):
        times = [max(0, now + chosen.randrange(-8, 8)) for _ in range(20)]
        values = [(chosen.choice(["a", "b", 7, (1, "x"), 2.5]), chosen.randrange(100)) for _ in times]
        batches.append((values, times, now - 4))
    return batches


def run(operation: Window, backend: str, seed: int, restarts: bool, is_native: bool = False) -> list[str]:
    harness = OperatorHarness(operation, backend=choice_of(backend))
    results: list[Any] = []
    for values, times, watermark in elements_of(seed):
        harness.process_batch(values, times)
        harness.watermark(watermark)
        harness.end_epoch()
        results += harness.timed_outputs()
        if restarts:
            restart = restarted_natively if is_native else restarted
            harness = restart(harness, operation, backend)
            harness.watermark(watermark)
    harness.end_input()
    results += harness.timed_outputs()
    harness.close()
    return sorted(map(repr, results))


def restarted(harness: OperatorHarness, operation: Window, backend: str) -> OperatorHarness:
    snapshot = harness.snapshot()
    harness.close()
    return OperatorHarness(operation, backend=choice_of(backend), restored=[snapshot])


def restarted_natively(harness: OperatorHarness, operation: Window, backend: str) -> OperatorHarness:
    operator = harness.operator
    operator.prepare_snapshot(1)
    operator.native_files()
    timers = list(operator.snapshot_timers())
    again = OperatorHarness(
        operation,
        backend=choice_of(backend),
        before_open=lambda new: (
            new.restore_native([operator.backend._latest.folder], range(128)),  # type: ignore[attr-defined]
            new.restore_keyed(timers),
        ),
    )
    harness.close()
    return again


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("name", OPERATIONS)
def test_results_do_not_depend_on_the_backend(name: str, backend: str, restarts: bool) -> None:
    in_memory = run(OPERATIONS[name](), "hashmap", 1, restarts=False)
    assert run(OPERATIONS[name](), backend, 1, restarts) == in_memory


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_results_do_not_depend_on_restarts_from_files_of_the_database(name: str, backend: str) -> None:
    in_memory = run(OPERATIONS[name](), "hashmap", 3, restarts=False)
    assert run(OPERATIONS[name](), backend, 3, restarts=True, is_native=True) == in_memory


@pytest.mark.parametrize(
    ("before", "after"), [("tumbling reduce", "count trigger"), ("count trigger", "tumbling reduce")]
)
def test_files_of_the_database_need_the_same_trigger(before: str, after: str) -> None:
    harness = OperatorHarness(OPERATIONS[before](), backend=choice_of("rocksdb-without-cache"))
    harness.process_batch([(f"key-{number}", 1) for number in range(20)], [5] * 20)
    with pytest.raises(StateError, match="another trigger, lateness or state backend than in the checkpoint"):
        restarted_natively(harness, OPERATIONS[after](), "rocksdb-without-cache")
    harness.close()


@pytest.mark.parametrize("name", ["tumbling reduce", "sliding reduce", "session lists", "tumbling late"])
def test_a_snapshot_moves_between_backends_and_parallelisms(name: str) -> None:
    expected = run(OPERATIONS[name](), "hashmap", 5, restarts=False)
    for source, target in (("hashmap", "rocksdb"), ("rocksdb", "hashmap")):
        first = OperatorHarness(OPERATIONS[name](), backend=choice_of(source))
        batches = elements_of(5)
        for values, times, watermark in batches[:5]:
            first.process_batch(values, times)
            first.watermark(watermark)
        outputs, snapshot = first.timed_outputs(), first.snapshot()
        first.close()
        second = [
            OperatorHarness(
                OPERATIONS[name](), backend=choice_of(target), parallelism=3, subtask=subtask, restored=[snapshot]
            )
            for subtask in range(3)
        ]
        for harness in second:
            harness.watermark(batches[4][2])
        for values, times, watermark in batches[5:]:
            for value, time in zip(values, times, strict=True):
                second[owner_of(value[0])].process(value, time)
            for harness in second:
                harness.watermark(watermark)
        for harness in second:
            harness.end_input()
            outputs += harness.timed_outputs()
            harness.close()
        # One record at a time, a late window fires for each of them as in a batch.
        assert sorted(map(repr, outputs)) == expected


def owner_of(key: Any) -> int:
    return KeyGroups(128).of(key) * 3 // 128


def test_windows_in_memory_only_are_not_used_outside_memory() -> None:
    kinds = {}
    for name, make in OPERATIONS.items():
        harness = OperatorHarness(make(), backend=choice_of("rocksdb"))
        kinds[name] = type(harness.operator)
        harness.close()
    assert kinds["tumbling reduce"] is kinds["sliding reduce"] is AlignedWindowOperator
    assert kinds["session lists"] is kinds["count trigger"] is WindowOperator


def test_a_window_is_fired_piece_by_piece() -> None:
    harness = OperatorHarness(OPERATIONS["tumbling reduce"](), backend=choice_of("rocksdb"))
    harness.process_batch([(key, 1) for key in range(5000)], [5] * 5000)
    sizes: list[int] = []
    emit = harness.operator.output.emit
    harness.operator.output.emit = lambda values, times: (sizes.append(len(values)), emit(values, times))  # type: ignore[assignment]
    harness.watermark(20)
    assert [size for size in sizes if size] == [2000, 2000, 1000]
    assert sorted(harness.outputs()) == [(key, 1) for key in range(5000)]
    assert not harness.operator.backend.snapshot()  # type: ignore[attr-defined]
    harness.close()

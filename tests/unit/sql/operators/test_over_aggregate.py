"""OVER aggregates: on columns the same as row by row, however the input is cut, dealt out and restarted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from funke.engine.sql.binding.relations import Column
from funke.engine.sql.binding.windows.window_relations import WindowTime
from funke.engine.sql.plan.over.over_aggregate import OverAggregate
from funke.table.types import DataTypes
from tests.harness.backends import choice_of
from tests.harness.operator_harness import OperatorHarness
from tests.harness.plan_nodes import rows_of
from tests.unit.sql.operators.test_window_aggregate import (
    INPUT,
    INPUTS,
    batch_of,
    dealt,
    harness_of,
    results_of,
    sum_of,
    use,
)

RESULTS = (
    *INPUTS,
    Column("n", DataTypes.BIGINT().not_null()),
    Column("total", DataTypes.BIGINT()),
    Column("most", DataTypes.BIGINT()),
)


def over(is_rows: bool, preceding: int | None, is_event_time: bool = True) -> OverAggregate:
    uses = (use("count"), use("sum", 2), use("max", 2))
    return OverAggregate(RESULTS, rows_of(INPUTS), (0,), WindowTime(1, is_event_time), is_rows, preceding, uses)


class Model:
    """Takes rows one by one, and watermarks."""

    def __init__(self, is_rows: bool, preceding: int | None) -> None:
        self._is_rows, self._preceding = is_rows, preceding
        self._watermark = -(1 << 60)
        self._waiting: list[tuple[Any, int, Any]] = []
        self._done: dict[Any, list[tuple[int, Any]]] = {}
        self.results: list[tuple[Any, ...]] = []

    def row(self, key: Any, time: int, value: Any) -> None:
        if time > self._watermark:
            self._waiting.append((key, time, value))

    def watermark(self, watermark: int) -> None:
        self._watermark = watermark
        due = sorted((row for row in self._waiting if row[1] <= watermark), key=lambda row: row[1])
        self._waiting = [row for row in self._waiting if row[1] > watermark]
        for index, (key, time, value) in enumerate(due):
            before = self._done.setdefault(key, [])
            before.append((time, value))
            peers = [] if self._is_rows else [row[2] for row in due[index + 1 :] if row[:2] == (key, time)]
            frame = [*self._frame(before, time), *peers]
            most = max((each for each in frame if each is not None), default=None)
            self.results.append((key, time, value, len(frame), sum_of(frame), most))

    def _frame(self, before: list[tuple[int, Any]], time: int) -> list[Any]:
        if self._preceding is None:
            return [value for _, value in before]
        if self._is_rows:
            return [value for _, value in before[-self._preceding - 1 :]]
        return [value for each, value in before if each >= time - self._preceding]


@pytest.mark.parametrize(
    ("backend", "is_rows", "preceding"),
    [
        ("hashmap", True, None),
        ("hashmap", False, None),
        ("hashmap", True, 2),
        ("hashmap", False, 7),
        ("rocksdb", False, None),
        ("rocksdb", False, 7),
    ],
)
@settings(max_examples=8, deadline=None)
@given(batches=INPUT, cut=st.integers(1, 30), restart=st.booleans())
def test_frames_are_those_of_a_row_by_row_model(
    backend: str, is_rows: bool, preceding: int | None, batches: list[Any], cut: int, restart: bool
) -> None:
    model, spec, parallelism = Model(is_rows, preceding), over(is_rows, preceding), 2
    results: list[tuple[Any, ...]] = []
    choice = choice_of(backend)
    subtasks = [harness_of(spec, parallelism=2, subtask=each, backend=choice) for each in range(2)]
    watermark = -100
    for index, (rows, reached) in enumerate(batches):
        for row in rows:
            model.row(*row)
        for start in range(0, len(rows), cut):
            for subtask, part in enumerate(dealt(rows[start : start + cut], parallelism)):
                subtasks[subtask].operator.process_columns(batch_of(part))
        watermark = max(watermark, reached)
        model.watermark(watermark)
        for each in subtasks:
            each.watermark(watermark)
        if restart and index == 1:
            snapshots, parallelism = [each.snapshot() for each in subtasks], 1
            results += take_results(subtasks)
            subtasks = [harness_of(spec, parallelism=1, restored=snapshots, backend=choice)]
    model.watermark(1 << 60)
    for each in subtasks:
        each.end_input()
    assert sorted([*results, *take_results(subtasks)], key=str) == sorted(model.results, key=str)


def take_results(subtasks: list[OperatorHarness]) -> list[tuple[Any, ...]]:
    """What has come out of subtasks that end now."""
    for each in subtasks:
        each.close()
    return [row for each in subtasks for row in results_of(each)]


def test_by_the_clock_rows_are_processed_as_they_come() -> None:
    harness = harness_of(over(True, 1, is_event_time=False))
    harness.operator.process_columns(batch_of([("a", 9, 1), ("b", 8, 5), ("a", 7, 2)]))
    harness.operator.process_columns(batch_of([("a", 6, 3)]))
    assert results_of(harness) == [
        ("a", 9, 1, 1, 1, 1),
        ("b", 8, 5, 1, 5, 5),
        ("a", 7, 2, 2, 3, 2),
        ("a", 6, 3, 2, 5, 3),
    ]


def test_a_late_row_is_dropped_and_counted() -> None:
    harness = harness_of(over(True, None))
    harness.watermark(10)
    harness.operator.process_columns(batch_of([("a", 10, 1), ("a", 11, 2)]))
    harness.watermark(20)
    assert results_of(harness) == [("a", 11, 2, 1, 2, 2)]
    assert harness.operator.metrics()["numLateRecordsDropped"] == 1


def test_a_key_without_new_rows_is_forgotten() -> None:
    spec = replace(over(True, None, is_event_time=False), ttl_ms=1000)
    harness = harness_of(spec)
    for now in (0, 900, 1800, 3000):
        harness.set_processing_time(now)
        harness.operator.process_columns(batch_of([("a", 1, 1)]))
    assert [row[3] for row in results_of(harness)] == [1, 2, 3, 1]

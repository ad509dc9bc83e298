"""Watermarks of tables: computed on whole batches, sent where Flink sends them, however the rows were cut."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.operator import MAX_WATERMARK
from funke.engine.sql.functions.values import from_values
from funke.engine.sql.operators.calculate import schema_of
from funke.engine.sql.plan.assign_watermarks import AssignWatermarks
from funke.engine.sql.plan.lower import lower
from funke.engine.sql.plan.watermarks import EVERY_WATERMARK, WatermarkStep
from funke.engine.types.columns.column_batch import ColumnBatch
from tests.harness.operator_harness import OperatorHarness, Status, Watermark
from tests.harness.sql_tables import relation_of

TABLE = """
    CREATE TABLE t (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS {expression})
    WITH ('connector' = 'filesystem', 'format' = 'csv', 'path' = '/x'{options})
"""
EPOCH = datetime.datetime(1970, 1, 1)


class Columns(OperatorHarness):
    """The operator of a table's watermarks, fed with event times in milliseconds."""

    def __init__(
        self,
        expression: str = "ts - INTERVAL '1' SECOND",
        options: str = "",
        step: WatermarkStep | None = EVERY_WATERMARK,
        **settings: Any,
    ) -> None:
        relation = relation_of(TABLE.format(expression=expression, options=options))
        node = lower(relation)
        assert isinstance(node, AssignWatermarks)
        relation = replace(node, step=step)
        self.columns = relation.input.columns
        super().__init__(ColumnOperator(relation.detached().create), **settings)
        self.recorder.takes_columns = True
        self.operator.output._main._by_columns = list(self.operator.output._main.wires)
        self.operator.output._main._only_by_rows = []

    def rows(self, *times: int | None) -> list[Any]:
        import pyarrow as pa

        timestamps = [None if each is None else EPOCH + datetime.timedelta(milliseconds=each) for each in times]
        ids = from_values(list(range(len(times))), self.columns[0].type)
        arrays = [ids, from_values(timestamps, self.columns[1].type)]
        self.operator.process_columns(ColumnBatch(pa.RecordBatch.from_arrays(arrays, schema=schema_of(self.columns))))
        return self.seen()

    def seen(self) -> list[Any]:
        results: list[Any] = []
        for each in self.elements():
            results += each.timestamps.tolist() if isinstance(each, ColumnBatch) else [each]
        return results


def test_a_watermark_stands_behind_the_row_that_brings_it_far_enough() -> None:
    assert Columns().rows(900, 1200, 1201, 1300, 1402, 1000) == [
        900,
        1200,
        1201,
        Watermark(201),
        1300,
        1402,
        Watermark(402),
        1000,
    ]


def test_rows_are_not_cut_where_nobody_looks() -> None:
    times = (900, 1300, 1700, 2100, 2400)
    assert Columns(step=None).rows(*times) == list(times)
    # A window that ends at 1000 closes with the watermark 999.
    seen = Columns(step=WatermarkStep(1000)).rows(*times)
    assert seen == [900, 1300, 1700, 2100, Watermark(1100), 2400]
    assert Columns(step=WatermarkStep(1000, 400)).rows(*times) == [
        900,
        1300,
        1700,
        Watermark(700),
        2100,
        2400,
        Watermark(1400),
    ]


def test_what_remains_is_sent_when_the_interval_has_passed() -> None:
    harness = Columns()
    assert harness.rows(1100) == [1100]
    harness.set_processing_time(harness.clock.now_ms() + 199)
    assert harness.seen() == []
    harness.set_processing_time(harness.clock.now_ms() + 1)
    assert harness.seen() == [Watermark(100)]
    assert harness.operator.next_wakeup_ms() is None


@given(st.lists(st.integers(-3000, 9000), min_size=1, max_size=40), st.integers(1, 5))
def test_cuts_make_no_difference(times: list[int], size: int) -> None:
    cut = Columns()
    pieces = [element for start in range(0, len(times), size) for element in cut.rows(*times[start : start + size])]
    assert pieces == Columns().rows(*times) == _one_by_one(times)


def _one_by_one(times: list[int]) -> list[Any]:
    """Flink's operator, a row at a time."""
    current = sent = 0
    results: list[Any] = []
    for each in times:
        results.append(each)
        current = max(current, each - 1000)
        if current - sent > 200:
            sent = current
            results.append(Watermark(sent))
    return results


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=60), st.integers(1, 60), st.sampled_from([1, 300]))
def test_late_rows_find_the_watermark_that_they_would_find_among_all(times: list[int], size: int, step_ms: int) -> None:
    harness = Columns(step=WatermarkStep(step_ms, is_for_late_rows=True))
    seen = [element for start in range(0, len(times), size) for element in harness.rows(*times[start : start + size])]
    every = _one_by_one(times)
    assert [each for each in seen if isinstance(each, int)] == times
    for mine, expected in zip(_watermarks_before(seen), _watermarks_before(every)):
        if mine.time <= expected.watermark + 1:
            assert (mine.watermark + 1) // step_ms == (expected.watermark + 1) // step_ms
        else:
            assert mine.watermark <= expected.watermark


def test_rows_are_not_cut_where_no_late_row_follows() -> None:
    step = WatermarkStep(1, is_for_late_rows=True)
    times = (900, 1300, 1700, 2100, 2400, 1401, 3000, 2900)
    # The row of 1401 would still be taken into a session that ends there.
    assert Columns(step=step).rows(*times) == [*times[:5], Watermark(1400), *times[5:], Watermark(2000)]


@dataclass(frozen=True)
class _Row:
    time: int
    watermark: int


def _watermarks_before(elements: list[Any]) -> list[_Row]:
    results, watermark = [], 0
    for each in elements:
        if isinstance(each, Watermark):
            watermark = each.timestamp
        else:
            results.append(_Row(each, watermark))
    return results


def test_general_expressions_may_be_null() -> None:
    harness = Columns("CASE WHEN MOD(id, 2) = 1 THEN ts ELSE NULL END")
    assert harness.rows(5000, 1000, 6000, 1300) == [5000, 1000, Watermark(1000), 6000, 1300, Watermark(1300)]


def test_on_event_sends_behind_rows() -> None:
    options = ", 'scan.watermark.emit.strategy' = 'on-event', 'scan.watermark.emit.on-event.gap' = '2'"
    harness = Columns("ts", options)
    assert harness.rows(1, 2, 3) == [1, 2, Watermark(2), 3]
    assert harness.rows(4, 5, 3) == [4, Watermark(4), 5, 3, Watermark(5)]


def test_a_row_without_event_time_is_an_error() -> None:
    with pytest.raises(ValueError, match="RowTime field should not be null"):
        Columns().rows(1, None)


def test_upstream_watermarks_mean_nothing_but_the_end() -> None:
    harness = Columns()
    harness.watermark(5)
    assert harness.seen() == []
    harness.watermark(MAX_WATERMARK)
    assert harness.seen() == [Watermark(MAX_WATERMARK)]


def test_without_rows_the_stream_falls_idle() -> None:
    harness = Columns(options=", 'scan.watermark.idle-timeout' = '10 s'")
    start = harness.clock.now_ms()
    harness.set_processing_time(start + 9_999)
    assert harness.seen() == []
    harness.set_processing_time(start + 10_000)
    assert harness.seen() == [Status(True)]
    assert harness.rows(0) == [Status(False), 0]


def test_batches_have_no_watermarks() -> None:
    assert Columns(is_batch=True).rows(5000, 9000) == [5000, 9000]

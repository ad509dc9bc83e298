"""Watermarks of tables: computed on whole batches, sent where Flink sends them, however the rows were cut."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.operator import MAX_WATERMARK
from funke.engine.sql.binding.watermark_assigner import WatermarkAssigner
from funke.engine.sql.functions.values import from_values
from funke.engine.sql.operators.assign_watermarks import AssignWatermarks
from funke.engine.sql.operators.calculate import schema_of
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
        self, expression: str = "ts - INTERVAL '1' SECOND", options: str = "", is_heard: bool = True, **settings: Any
    ) -> None:
        relation = relation_of(TABLE.format(expression=expression, options=options))
        assert isinstance(relation, WatermarkAssigner)
        relation = replace(relation, is_heard=is_heard)
        self.columns = relation.input.columns
        super().__init__(ColumnOperator(AssignWatermarks.of(relation)), **settings)
        self.recorder.takes_columns = True
        self.operator.output._main._by_columns = list(self.operator.output._main.wires)
        self.operator.output._main._only_by_rows = []

    def rows(self, *times: int | None) -> list[Any]:
        import pyarrow as pa

        moments = [None if each is None else EPOCH + datetime.timedelta(milliseconds=each) for each in times]
        ids = from_values(list(range(len(times))), self.columns[0].type)
        arrays = [ids, from_values(moments, self.columns[1].type)]
        self.operator.process_columns(ColumnBatch(pa.RecordBatch.from_arrays(arrays, schema=schema_of(self.columns))))
        return self.seen()

    def seen(self) -> list[Any]:
        found: list[Any] = []
        for each in self.elements():
            found += each.timestamps.tolist() if isinstance(each, ColumnBatch) else [each]
        return found


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
    found: list[Any] = []
    for each in times:
        found.append(each)
        current = max(current, each - 1000)
        if current - sent > 200:
            sent = current
            found.append(Watermark(sent))
    return found


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


def test_where_nobody_listens_nothing_is_cut() -> None:
    assert Columns(is_heard=False).rows(900, 1201, 1402, 1000) == [900, 1201, 1402, 1000, Watermark(402)]

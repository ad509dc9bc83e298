"""Event times and watermarks of columns are those of their rows, and stand at the same places."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from funke.engine.graph.operations import AssignTimestamps
from funke.engine.operators.operator import Output, TaskInfo
from funke.engine.operators.time.clock import ManualClock
from funke.engine.operators.time.timestamps import AssignTimestampsOperator, SplitWatermarks
from funke.engine.types import (
    Instant,
    Row,
    TimestampAssigner,
    Types,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkSpec,
)
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.columns.edge_forms import EdgeForms
from funke.engine.types.columns.event_time import ColumnTimestampAssigner
from funke.engine.types.operator_location import OperatorLocation
from tests.harness.operator_harness import OperatorHarness, Record, Recorder, Status, Watermark

ROW = Types.ROW_NAMED(["at", "id"], [Types.LONG(), Types.INT()])
FORMS = EdgeForms(ROW)


class ByFunction(TimestampAssigner):
    def extract_timestamp(self, value: Row, record_timestamp: int) -> int:
        return value["at"] + 1


class AtEvenIds(WatermarkGenerator):
    """A watermark behind every record with an even id."""

    def on_event(self, event: Row, event_timestamp: int, output: WatermarkOutput) -> None:
        if event["id"] % 2 == 0:
            output.emit_watermark(event_timestamp)


SPECS = {
    "none": WatermarkSpec(),
    "column, ascending": WatermarkSpec("monotonous", timestamp_assigner=ColumnTimestampAssigner("at")),
    "column, bounded": WatermarkSpec(
        "bounded", 5, timestamp_assigner=ColumnTimestampAssigner("at"), idle_timeout_ms=30
    ),
    "function": WatermarkSpec("bounded", 5, timestamp_assigner=ByFunction()),
    "own generator": WatermarkSpec(
        "custom", generator_factory=AtEvenIds, timestamp_assigner=ColumnTimestampAssigner("at")
    ),
    "own generator and function": WatermarkSpec(
        "custom", generator_factory=AtEvenIds, timestamp_assigner=ByFunction(), idle_timeout_ms=30
    ),
}


class Source:
    """The watermarks of a source whose receiver takes both forms."""

    def __init__(self, spec: WatermarkSpec) -> None:
        self.clock, self.recorder = ManualClock(), Recorder(takes_columns=True)
        output = Output()
        output.connect(self.recorder, OperatorLocation("recorder"), None, ROW)
        self.marks = SplitWatermarks(spec, TaskInfo(clock=self.clock), output)
        self.marks.start_split("split")

    def elements(self) -> list[Any]:
        """What came out, in the form of rows."""
        results: list[Any] = []
        for element in self.recorder.elements:
            if isinstance(element, ColumnBatch):
                values, stamps = FORMS.rows_of(element)
                results += map(Record, values, stamps or [None] * len(values))
            else:
                results.append(element)
        return results


@pytest.mark.parametrize("name", SPECS)
@settings(max_examples=25)
@given(
    some.lists(some.lists(some.tuples(some.integers(-50, 50), some.integers(0, 9)), max_size=6), max_size=5),
    some.booleans(),
)
def test_columns_are_treated_like_their_rows(name: str, batches: list[list[tuple[int, int]]], stamped: bool) -> None:
    by_rows, by_columns = Source(SPECS[name]), Source(SPECS[name])
    for batch in batches:
        rows = [Row(at=at, id=number) for at, number in batch]
        stamps = [at * 2 for at, _ in batch] if stamped else None
        by_rows.marks.process_batch(rows, stamps)
        by_columns.marks.process_columns(FORMS.columns_of(rows, stamps))
        for source in (by_rows, by_columns):
            source.clock.set(source.clock.now_ms() + 150)
            source.marks.end_epoch()
    assert by_columns.elements() == by_rows.elements()


@pytest.mark.parametrize(
    "arrow_type",
    [pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("us", "UTC")],
    ids=str,
)
def test_columns_of_timestamps(arrow_type: Any) -> None:
    timestamps = [datetime.datetime(1969, 12, 31, 23, 59, 59), datetime.datetime(2024, 2, 29, 1, 2, 3)]
    batch = ColumnBatch(pa.record_batch({"at": pa.array(timestamps, arrow_type)}))
    assigner = ColumnTimestampAssigner("at")
    rows, _ = EdgeForms(None).rows_of(batch)
    assert assigner.timestamps_of(batch).tolist() == [assigner.extract_timestamp(row, 0) for row in rows]
    assert assigner.timestamps_of(batch).tolist() == [-1000, 1_709_168_523_000]


def test_parts_of_a_millisecond_are_rounded_down() -> None:
    batch = ColumnBatch(pa.record_batch({"at": pa.array([-1, 1999], pa.timestamp("us"))}))
    assert ColumnTimestampAssigner("at").timestamps_of(batch).tolist() == [-1, 1]
    assert ColumnTimestampAssigner("at").extract_timestamp(Row(at=Instant(1, 1_999_999)), 0) == 1001


def test_a_row_without_event_time_is_an_error() -> None:
    batch = ColumnBatch(pa.record_batch({"at": pa.array([1, None])}))
    with pytest.raises(ValueError, match="column 'at' is null"):
        ColumnTimestampAssigner("at").timestamps_of(batch)
    with pytest.raises(ValueError, match="column 'at' is null"):
        ColumnTimestampAssigner("at").extract_timestamp(Row(at=None), 0)


def test_in_the_middle_of_a_stream_columns_stay_columns() -> None:
    harness = OperatorHarness(AssignTimestamps(SPECS["column, ascending"]), input_type=ROW)
    operator = harness.operator
    assert isinstance(operator, AssignTimestampsOperator) and not operator.wants_columns
    wanting = Recorder(takes_rows=False, takes_columns=True, wants_columns=True)
    operator.output.connect(wanting, OperatorLocation("wanting"))
    assert operator.wants_columns
    operator.process_columns(FORMS.columns_of([Row(at=7, id=1)], None))
    operator.end_epoch()
    batch, watermark = wanting.elements
    assert batch.timestamps.tolist() == [7] and watermark == Watermark(6)
    assert operator.metrics()["numRecordsIn"] == 1


def test_an_empty_batch_changes_nothing() -> None:
    source = Source(SPECS["column, bounded"])
    source.marks.process_columns(FORMS.columns_of([], None))
    assert source.elements() == []


def test_columns_wake_an_idle_split() -> None:
    source = Source(SPECS["column, bounded"])
    source.clock.set(1_000)
    source.marks.emit_periodically()
    source.marks.process_columns(ColumnBatch(FORMS.columns_of([Row(at=1, id=1)], None).data, np.array([9])))
    assert source.elements() == [Status(True), Status(False), Record(Row(at=1, id=1), 1)]

"""Ingestion time: the source stamps every record once, and watermarks follow by themselves."""

from __future__ import annotations

import time

from funke.engine.graph.operations import Map
from funke.engine.operators.operator import Output, TaskInfo
from funke.engine.operators.time.timestamps import SplitWatermarks
from funke.engine.types.ingestion_time import INGESTION_TIME
from funke.engine.types.operator_location import OperatorLocation
from tests.harness.operator_harness import OperatorHarness, Record, Recorder, Watermark


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def test_a_source_stamps_records_with_the_clock_and_sends_watermarks() -> None:
    recorder, output = Recorder(), Output()
    output.connect(recorder, OperatorLocation("recorder"))
    source = SplitWatermarks(INGESTION_TIME, TaskInfo(), output)
    source.start_split("all")
    before = now_ms()
    # The timestamp that a record brings along does not count.
    source.process_batch(["a", "b"], [5, 3])
    source.end_epoch()
    records = [element for element in recorder.elements if isinstance(element, Record)]
    watermarks = [element for element in recorder.elements if isinstance(element, Watermark)]
    stamps = [record.timestamp for record in records if record.timestamp is not None]
    assert [record.value for record in records] == ["a", "b"]
    assert len(stamps) == 2 and before <= stamps[0] <= stamps[1] <= now_ms()
    assert watermarks[-1] == Watermark(stamps[1] - 1)


def test_later_operators_use_the_same_stamp() -> None:
    harness = OperatorHarness(Map(str.upper))
    harness.process_batch(["a", "b"], [1_700_000_000_000, 1_700_000_000_001])
    assert harness.timed_outputs() == [("A", 1_700_000_000_000), ("B", 1_700_000_000_001)]

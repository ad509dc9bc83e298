"""A source subtask: reads what it is given, stops when told to, and goes on where it was."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from typing import Any

import pytest

from funke.engine.connectors.generator import GeneratorSource
from funke.engine.connectors.python_source import PythonSource
from funke.engine.connectors.record_buffer import LiveEnumerator, LiveReader, RecordBuffer
from funke.engine.connectors.source import Batch, Source, Split, SplitReader
from funke.engine.operators.operator import MAX_WATERMARK, MIN_WATERMARK, OperatorContext, Output, TaskInfo
from funke.engine.operators.records import slice_sizer
from funke.engine.operators.source import ReadCommand, SourceOperator
from funke.engine.operators.time.clock import ManualClock
from funke.engine.types.operator_location import OperatorLocation
from funke.engine.types.watermark_spec import WatermarkSpec
from tests.unit.jobs.attempts.test_pacing import FakeTime

CLOCK = FakeTime()
CALLS: list[int] = []


@pytest.fixture(autouse=True)
def fake_time(monkeypatch: pytest.MonkeyPatch) -> None:
    CLOCK.now = 0.0
    CALLS.clear()
    monkeypatch.setattr(slice_sizer, "time", CLOCK)


class Received:
    """Everything that comes out of the source, in order."""

    takes_rows, takes_columns, wants_columns = True, False, False

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.marks: list[Any] = []

    def process_batch(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.values += values

    def process_watermark(self, watermark: int) -> None:
        self.marks.append(watermark)

    def process_status(self, is_idle: bool) -> None:
        self.marks.append("idle" if is_idle else "active")


def operator(
    reader: SplitReader, spec: WatermarkSpec | None = None, task: TaskInfo | None = None
) -> tuple[SourceOperator, Received]:
    source, received, output = SourceOperator(reader, spec), Received(), Output()
    output.connect(received, OperatorLocation("receiver"))
    source.setup(OperatorContext(task or TaskInfo(), "source", "id", output))
    source.open()
    return source, received


class Lists(SplitReader):
    """Splits are lists of batches; keeps a connection."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def open(self) -> None:
        self.calls.append("open")

    def close(self) -> None:
        self.calls.append("close")

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        self.calls.append(split.id)
        for values in split.payload:
            yield values, values
        return f"end of {split.id}"


def read_all(source: SourceOperator) -> None:
    while source.read():
        pass


def test_the_reader_is_opened_and_closed_once_and_reads_split_after_split() -> None:
    reader = Lists()
    source, received = operator(reader)
    source.take(ReadCommand(0, 0, (Split("a", [[1, 2], [3]]), Split("b", [[4]]))))
    read_all(source)
    source.take(ReadCommand(0, 0, (Split("c", [[5]]),)))
    read_all(source)
    source.close()
    source.close()
    assert received.values == [1, 2, 3, 4, 5]
    assert reader.calls == ["open", "a", "b", "c", "close"]


def test_a_split_that_is_left_in_the_middle_goes_on_and_is_reported_when_it_is_read() -> None:
    reader = Lists()
    source, received = operator(reader)
    source.take(ReadCommand(0, 0, (Split("a", [[1, 2], [3]]), Split("b", [[4]]))))
    assert source.read() and source.read()
    report = source.report()
    assert (received.values, report.outcomes, report.unfinished, report.records) == ([1, 2], (), (2, 0), 2)
    read_all(source)
    report = source.report()
    assert [(o.split.id, o.records, o.result) for o in report.outcomes] == [("a", 3, "end of a"), ("b", 1, "end of b")]
    assert (report.unfinished, report.records, reader.calls) == ((), 2, ["open", "a", "b"])
    assert source.report().outcomes == ()


@pytest.mark.parametrize("skip", range(4))
def test_records_that_an_earlier_attempt_has_read_are_left_out(skip: int) -> None:
    source, received = operator(Lists())
    source.take(ReadCommand(0, 0, (Split("a", [[1, 2], [3]]),), (skip,)))
    read_all(source)
    assert received.values == [1, 2, 3][skip:]
    assert source.report().outcomes[0].records == 3


def test_the_end_of_all_splits_ends_event_time() -> None:
    source, received = operator(Lists(), WatermarkSpec("monotonous"))
    source.take(ReadCommand(0, 0, (Split("a", [[1, 7]]),), is_over=True))
    assert source.read() and source.read()
    source.end_epoch()
    assert received.marks == [6], "the split is not read to its end"
    read_all(source)
    source.end_epoch()
    assert received.marks == [6, MAX_WATERMARK]


def test_how_far_it_is_behind_the_clock() -> None:
    clock = ManualClock(1_000)
    source, _ = operator(Lists(), WatermarkSpec("monotonous"), TaskInfo(clock=clock))
    assert "watermarkLag" not in source.metrics() and "sourceIdleTime" not in source.metrics()
    source.take(ReadCommand(0, 0, (Split("a", [[1, 700]]),)))
    assert source.read() and source.read()
    source.end_epoch()
    clock.set(1_200)
    metrics = source.metrics()
    assert (metrics["watermarkLag"], metrics["currentEmitEventTimeLag"], metrics["sourceIdleTime"]) == (501, 300, 0)
    read_all(source)
    assert source.metrics()["sourceIdleTime"] == 200


def test_how_far_it_is_ahead_of_its_group() -> None:
    spec = WatermarkSpec("monotonous", alignment_group="g", alignment_drift_ms=100)
    source, _ = operator(Lists(), spec)
    source.take(ReadCommand(0, 0, (Split("a", [[1, 700]]),)))
    assert source.read() and source.read()
    source.end_epoch()
    assert "watermarkAlignmentDrift" not in source.metrics(), "nothing was announced"
    source.take(ReadCommand(0, 0, watermark_limit=600))
    assert source.metrics()["watermarkAlignmentDrift"] == 199 and not source.is_reading
    source.take(ReadCommand(0, 0, watermark_limit=MIN_WATERMARK + 100))
    assert "watermarkAlignmentDrift" not in source.metrics(), "somebody has no watermark yet"
    source.take(ReadCommand(0, 0, watermark_limit=MAX_WATERMARK))
    assert "watermarkAlignmentDrift" not in source.metrics(), "nobody is left to wait for"


def test_a_subtask_without_splits_has_no_say_about_event_time() -> None:
    source, _ = operator(Lists())
    assert source.is_idle
    source.take(ReadCommand(0, 0, (Split("a", []),)))
    assert not source.is_idle
    expecting, _ = operator(GeneratorSource(str).create_reader())
    assert not expecting.is_idle


def test_event_time_goes_on_after_a_restart_and_begins_anew_after_a_drain() -> None:
    source, _ = operator(Lists(), WatermarkSpec("monotonous"))
    source.take(ReadCommand(0, 0, (Split("a", [[7]], is_last=False),)))
    read_all(source)
    source.end_epoch()
    again, received = operator(Lists(), WatermarkSpec("monotonous"))
    again.restore(source.snapshot())
    again.announce()
    assert received.marks == [6]
    source.end_input()
    drained, received = operator(Lists(), WatermarkSpec("monotonous"))
    drained.restore(source.snapshot())
    drained.announce()
    assert received.marks == []


def slowly(index: int) -> int:
    CLOCK.now += 0.01
    CALLS.append(index)
    return index


class SlowSource(PythonSource):
    """One split that takes ten milliseconds per record."""

    def enumerate_splits(self) -> Iterable[Any]:
        return ["all"]

    def read_split(self, split: Any) -> Iterable[Any]:
        return map(slowly, range(500))


@pytest.mark.parametrize("source", [GeneratorSource(slowly, 500), SlowSource()])
def test_nothing_is_made_twice_however_often_reading_is_interrupted(source: Source) -> None:
    reading, received = operator(source.create_reader())
    reading.take(ReadCommand(0, 0, tuple(source.create_enumerator(1).poll(500))))
    steps = 1
    while reading.read():
        steps += 1
    assert received.values == CALLS == list(range(500))
    assert steps > 1


def test_a_reader_that_knows_the_rest_of_what_it_reads_shows_it() -> None:
    class Knowing(Lists):
        def rest(self, split: Split, records: int) -> Split | None:
            return Split(split.id, split.payload[records:]) if records else None

    source, _ = operator(Knowing())
    source.take(ReadCommand(0, 0, (Split("a", [[1], [2], [3]]), Split("b", [[4]]))))
    source.read()
    report = source.report()
    assert report.unfinished == (1, 0)
    assert report.rests == (Split("a", [[2], [3]]),)


def test_what_has_come_is_read_to_its_last_record_before_the_source_rests() -> None:
    """A batch is read in pieces: that the reader has nothing more to offer does not mean that all of it was read."""
    has_put, may_end = threading.Event(), threading.Event()

    def produce(buffer: RecordBuffer) -> None:
        buffer.put(list(range(200)))
        has_put.set()
        may_end.wait(5)

    source, received = operator(LiveReader("numbers", produce))
    source.take(ReadCommand(0, 0, tuple(LiveEnumerator("numbers").poll(1))))
    assert source.is_reading
    source.read()
    assert has_put.wait(5)
    while source.is_reading:
        source.read()
    assert received.values == list(range(200))
    may_end.set()
    source.close()


class Partitions(SplitReader):
    """Splits are read side by side: their records come when the test says so."""

    is_concurrent = True

    def __init__(self) -> None:
        self.queues: dict[str, list[Batch]] = {}

    @property
    def has_more(self) -> bool:
        return any(self.queues.values())

    def prepare(self, splits: list[Split]) -> None:
        self.queues.update({split.id: [] for split in splits})

    def has_records(self, split: Split) -> bool:
        return bool(self.queues[split.id])

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        queue = self.queues[split.id]
        while True:
            batch = queue.pop(0) if queue else ([], None)
            if batch[0] == ["end"]:
                return
            yield batch

    def rest(self, split: Split, records: int) -> Split | None:
        return Split(split.id, records, split.is_last)


def test_splits_without_an_end_are_read_side_by_side() -> None:
    reader = Partitions()
    source, received = operator(reader, WatermarkSpec("bounded", 0))
    source.take(ReadCommand(1, 0, tuple(Split(name, None) for name in "abc")))
    assert not source.is_reading
    reader.queues["c"] += [(["c1", "c2", "c3"], [30, 31, 32])]
    reader.queues["a"] += [(["a1"], [10]), (["a2"], [11])]
    while source.is_reading:
        source.read()
    assert sorted(received.values) == ["a1", "a2", "c1", "c2", "c3"]
    assert [split.payload for split in source.report().rests if split is not None] == [2, 0, 3]
    reader.queues["b"] += [(["b1"], [20]), (["end"], None)]
    while source.is_reading:
        source.read()
    report = source.report()
    assert [outcome.split.id for outcome in report.outcomes] == ["b"] and report.unfinished == (2, 3)
    assert [split and split.id for split in report.rests] == ["a", "c"]


def test_no_partition_is_overtaken_by_one_that_is_read_before_it() -> None:
    reader = Partitions()
    source, received = operator(reader, WatermarkSpec("bounded", 0))
    source.take(ReadCommand(1, 0, tuple(Split(name, None, is_last=True) for name in "ab")))
    reader.queues["b"] += [(["b1"], [100])]
    source.read()
    source.end_epoch()
    assert received.marks == []
    reader.queues["a"] += [(["a1"], [50]), (["end"], None)]
    while source.is_reading:
        source.read()
    source.end_epoch()
    assert received.marks == [99]


def test_a_source_that_is_ahead_of_its_group_waits() -> None:
    reader = Partitions()
    source, _ = operator(reader, WatermarkSpec("bounded", 0))
    source.take(ReadCommand(1, 0, (Split("a", None, is_last=False),)))
    reader.queues["a"] += [(["a1"], [100])]
    source.read()
    source.end_epoch()
    reader.queues["a"] += [(["a2"], [200])]
    source.take(ReadCommand(1, 0, watermark_limit=50))
    assert not source.is_reading
    source.take(ReadCommand(1, 0, watermark_limit=99))
    assert source.is_reading

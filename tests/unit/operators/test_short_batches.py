"""Short batches of columns leave a source together, as far as they are there; marks stay where they stood."""

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from funke.engine.connectors.source import Batch, Split, SplitReader
from funke.engine.operators import source as source_module
from funke.engine.operators.operator import OperatorContext, Output, TaskInfo
from funke.engine.operators.records import slice_sizer
from funke.engine.operators.source import ReadCommand, SourceOperator
from funke.engine.operators.time.clock import ManualClock
from funke.engine.types import Row, Types
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.columns.event_time import ColumnTimestampAssigner
from funke.engine.types.operator_location import OperatorLocation
from funke.engine.types.watermark_spec import WatermarkSpec
from tests.harness.operator_harness import Record, Recorder, Watermark
from tests.unit.jobs.attempts.test_pacing import FakeTime

BY_NUMBER = WatermarkSpec("monotonous", timestamp_assigner=ColumnTimestampAssigner("n"))


class Columns(SplitReader):
    """Splits are lists of batches, which are numbers, and of functions that are called when their turn comes."""

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        raise NotImplementedError

    def read_columns(self, split: Split) -> Generator[ColumnBatch, None, Any]:
        for item in split.payload:
            if callable(item):
                item()
            else:
                numbers = item if isinstance(item, pa.Array) else pa.array(item, pa.int64())
                yield ColumnBatch(pa.record_batch({"n": numbers}))


class Arrivals(Columns):
    """Splits are read side by side: batches come when the test says so."""

    is_concurrent = True

    def __init__(self) -> None:
        self.queues: dict[str, list[Any]] = {}

    @property
    def has_more(self) -> bool:
        return any(self.queues.values())

    def prepare(self, splits: list[Split]) -> None:
        self.queues.update({split.id: [] for split in splits})

    def has_records(self, split: Split) -> bool:
        return bool(self.queues[split.id])

    def read_columns(self, split: Split) -> Generator[ColumnBatch, None, Any]:
        queue = self.queues[split.id]
        while True:
            yield ColumnBatch(pa.record_batch({"n": pa.array(queue.pop(0) if queue else [], pa.int64())}))


class Rows(SplitReader):
    """Splits are lists of batches of numbers; they come as rows."""

    def read(self, split: Split) -> Generator[Batch, None, Any]:
        for numbers in split.payload:
            yield [Row(n=each) for each in numbers], None


class SlowReceiver(Recorder):
    """Takes half a second for each row."""

    def process_columns(self, batch: ColumnBatch) -> None:
        super().process_columns(batch)
        TIME.now += len(batch) / 2


TIME = FakeTime()


@pytest.fixture(autouse=True)
def still_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time passes when the test says so."""
    TIME.now = 0.0
    for module in (source_module, slice_sizer):
        monkeypatch.setattr(module, "time", TIME)
    monkeypatch.setattr(slice_sizer, "_waits", lambda: 0)


def source_of(
    reader: SplitReader, spec: WatermarkSpec | None = None, receiver: Recorder | None = None
) -> tuple[SourceOperator, Recorder, ManualClock]:
    """A source, what it sends to, and its clock."""
    source, clock, output = SourceOperator(reader, spec), ManualClock(), Output()
    receiver = receiver or Recorder(takes_rows=False, takes_columns=True, wants_columns=True)
    output.connect(receiver, OperatorLocation("receiver"), edge_type=Types.ROW_NAMED(["n"], [Types.LONG()]))
    source.setup(OperatorContext(TaskInfo(clock=clock), "source", "id", output))
    source.open()
    return source, receiver, clock


def take(source: SourceOperator, *splits: Split) -> None:
    source.take(ReadCommand(1, 0, splits))


def warm(source: SourceOperator) -> None:
    """Lets a source learn that its receiver is quick; then slices are long."""
    take(source, Split("warm-up", [list(range(5_000))]))
    while source.read():
        pass


def batches(receiver: Recorder) -> list[Any]:
    """What has come since the last call: the numbers of each batch, and watermarks."""
    elements, receiver.elements = receiver.elements, []
    return [each.data.column("n").to_pylist() if isinstance(each, ColumnBatch) else each for each in elements]


def test_batches_that_are_there_leave_together() -> None:
    source, receiver, _ = source_of(Columns())
    warm(source)
    batches(receiver)
    take(source, Split("a", [[1, 2], [3], [4, 5]]), Split("b", [[6]]))
    assert source.read()
    assert batches(receiver) == [[1, 2, 3, 4, 5]]
    assert not source.read()
    assert batches(receiver) == [[6]], "the next split may have to be opened first"
    report = source.report()
    assert [(each.split.id, each.records) for each in report.outcomes][1:] == [("a", 5), ("b", 1)]


def test_nothing_waits_for_what_is_still_to_come() -> None:
    reader = Arrivals()
    source, receiver, _ = source_of(reader)
    take(source, Split("a", None), Split("b", None))
    reader.queues["a"].append(list(range(5_000)))
    while source.is_reading:
        source.read()
    batches(receiver)
    reader.queues["a"] += [[1], [2]]
    reader.queues["b"] += [[3]]
    source.read()
    assert [sorted(each) for each in batches(receiver)] == [[1, 2, 3]], "those of both splits, in one turn"
    reader.queues["b"] += [[4]]
    source.read()
    assert batches(receiver) == [[4]]


def test_a_reader_that_takes_its_time_holds_nothing_back() -> None:
    source, receiver, _ = source_of(Columns())
    warm(source)
    batches(receiver)

    def read_slowly() -> None:
        TIME.now += 0.01

    take(source, Split("a", [[1], [2], read_slowly, [3], [4]]))
    assert source.read()
    assert batches(receiver) == [[1, 2, 3]]
    assert not source.read()
    assert batches(receiver) == [[4]]


def test_watermarks_stay_between_the_rows_where_they_stood() -> None:
    source, receiver, clock = source_of(Columns(), BY_NUMBER)
    warm(source)
    batches(receiver)

    def later() -> None:
        clock.set(clock.now_ms() + 1_000)

    take(source, Split("a", [[5_001], [5_002], later, [5_003], [5_004], later, [5_005]]))
    while source.read():
        pass
    elements = batches(receiver)
    marks = [each for each in elements if isinstance(each, Watermark)]
    assert elements == [[5_001, 5_002, 5_003], marks[0], [5_004, 5_005], marks[1]]
    assert [each.timestamp for each in marks] == [5_002, 5_004]


def test_a_slow_receiver_gets_few_rows_at_a_time() -> None:
    receiver = SlowReceiver(takes_rows=False, takes_columns=True, wants_columns=True)
    source, receiver, _ = source_of(Columns(), receiver=receiver)
    take(source, Split("a", [[number] for number in range(50)]))
    while source.read():
        pass
    lengths = [len(each) for each in batches(receiver)]
    assert sum(lengths) == 50 and max(lengths) <= 2


def test_long_batches_are_not_copied() -> None:
    source, receiver, _ = source_of(Columns())
    warm(source)
    batches(receiver)
    numbers = pa.array(range(20_000))
    take(source, Split("a", [numbers, numbers]))
    while source.read():
        pass
    addresses = [each.data.column("n").buffers()[1].address for each in receiver.elements]
    assert set(addresses) == {numbers.buffers()[1].address}


def test_batches_with_other_columns_are_apart() -> None:
    class Growing(Columns):
        def read_columns(self, split: Split) -> Generator[ColumnBatch, None, Any]:
            for item in split.payload:
                yield ColumnBatch(pa.record_batch({name: pa.array([1]) for name in item}))

    source, receiver, _ = source_of(Growing())
    take(source, Split("a", [*["n"] * 21, "nm", "nm", "n"]))
    while source.read():
        pass
    names = [each.data.schema.names for each in receiver.elements]
    assert [one for one, other in pairwise([*names, None]) if one != other] == [["n"], ["n", "m"], ["n"]]
    assert sum(len(each) for each in receiver.elements) == 24


def test_rows_for_those_who_take_columns_alone_leave_together_as_columns() -> None:
    source, receiver, _ = source_of(Rows())
    warm(source)
    batches(receiver)
    take(source, Split("a", [[1, 2], [3], [], [4]]))
    assert source.read()
    assert batches(receiver) == [[1, 2, 3]], "an empty batch: nothing is there yet"
    while source.read():
        pass
    assert batches(receiver) == [[4]]


def test_rows_stay_rows_where_a_receiver_takes_them() -> None:
    source, columns, _ = source_of(Rows())
    rows = Recorder()
    source.output.connect(rows, OperatorLocation("rows"))
    take(source, Split("a", [[1, 2], [3]]))
    while source.read():
        pass
    assert rows.elements == [Record(Row(n=number)) for number in (1, 2, 3)]
    assert [number for some in batches(columns) for number in some] == [1, 2, 3]

"""A source gives columns when somebody behind it wants them and its reader can; positions are those of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from funke.engine.connectors.collection import CollectionSource
from funke.engine.connectors.files.file_source import FileSource
from funke.engine.connectors.source import Source, Split
from funke.engine.connectors.spark.source import ArrowReader
from funke.engine.formats.csv_reader import CsvColumn, CsvFileFormat
from funke.engine.graph.operations import ReadSplits
from funke.engine.operators.operator import Output
from funke.engine.operators.source import ReadCommand, SourceOperator
from funke.engine.types import Row, Types
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.operator_location import OperatorLocation
from tests.harness.operator_harness import OperatorHarness, Record, Recorder

FORMAT = CsvFileFormat((CsvColumn("id", Types.LONG()), CsvColumn("name", Types.STRING())))


@pytest.fixture
def source(tmp_path: Path) -> FileSource:
    (tmp_path / "people.csv").write_text("".join(f"{number},name {number}\n" for number in range(100)))
    return FileSource([str(tmp_path)], FORMAT)


def started(reader: Any, wants_columns: bool) -> tuple[SourceOperator, Recorder]:
    """A source whose receiver takes both forms, and perhaps wants columns."""
    operator = OperatorHarness(ReadSplits(reader)).operator
    assert isinstance(operator, SourceOperator)
    receiver = Recorder(takes_columns=True, wants_columns=wants_columns)
    operator.output.connect(receiver, OperatorLocation("receiver"), None, FORMAT.produced_type)
    return operator, receiver


def splits_of(source: Source) -> tuple[Split, ...]:
    return tuple(source.create_enumerator(1).poll(1_000))


def ids(receiver: Recorder) -> list[int]:
    elements = receiver.elements
    values = [
        each.data.column("id").to_pylist() if isinstance(each, ColumnBatch) else [each.value.id] for each in elements
    ]
    return [number for some in values for number in some]


@pytest.mark.parametrize("skip", [0, 1, 40, 100])
@pytest.mark.parametrize("wants_columns", [True, False], ids=["columns", "rows"])
def test_both_forms_go_on_behind_the_same_record(source: FileSource, skip: int, wants_columns: bool) -> None:
    operator, receiver = started(source.create_reader(), wants_columns)
    operator.take(ReadCommand(1, 0, splits_of(source), (skip,)))
    while operator.read():
        pass
    report = operator.report()
    assert ids(receiver) == list(range(skip, 100)) and report.records == 100 - skip
    assert [outcome.records for outcome in report.outcomes] == [100]
    assert {type(element) for element in receiver.elements} <= {ColumnBatch if wants_columns else Record}


def test_a_split_that_is_left_in_the_middle_is_counted_to_there(source: FileSource) -> None:
    operator, receiver = started(source.create_reader(), wants_columns=True)
    operator.take(ReadCommand(1, 0, splits_of(source)))
    assert operator.read() and operator.read()
    (read,) = operator.report().unfinished
    assert 0 < read < 100 and ids(receiver) == list(range(read))
    again, rest = started(source.create_reader(), wants_columns=True)
    again.take(ReadCommand(1, 0, splits_of(source), (read,)))
    while again.read():
        pass
    assert ids(rest) == list(range(read, 100))


def test_a_reader_that_has_no_columns_gives_rows() -> None:
    source = CollectionSource([Row(id=1, name="a")])
    operator, receiver = started(source.create_reader(), wants_columns=True)
    operator.take(ReadCommand(1, 0, splits_of(source)))
    while operator.read():
        pass
    assert receiver.elements == [Record(Row(id=1, name="a"))]


def test_what_spark_has_read_stays_as_it_is() -> None:
    batches = [pa.record_batch({"id": [1, 2]}), pa.record_batch({"id": pa.array([], pa.int64())})]
    operator, receiver = started(ArrowReader(), wants_columns=True)
    operator.take(ReadCommand(1, 0, (Split("spark", batches),)))
    while operator.read():
        pass
    assert all(isinstance(element, ColumnBatch) for element in receiver.elements) and ids(receiver) == [1, 2]


def test_nobody_wants_columns_of_an_output_without_receivers() -> None:
    assert not Output().wants_columns

"""The Spark sink without Spark: what slots send, and what the driver makes of it."""

from __future__ import annotations

import pickle
import threading

import pytest

from funke.engine.connectors.spark.sink import SparkSink
from funke.engine.errors import ConfigurationError, SinkError
from funke.engine.types.driver_messages import SparkRecords
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.row import Row
from tests.unit.connectors.sink_harness import SinkHarness


class FakeSpark:
    """Stands in for a session: a DataFrame is the Arrow table it was made of."""

    def createDataFrame(self, table):
        return table


def send(sink, input_type, *epochs):
    harness = SinkHarness()
    writer = sink.create_writer(harness.context(input_type))
    for values in epochs:
        writer.write(values, None)
        writer.flush(False)
    assert all(isinstance(message, SparkRecords) and message.sink_id == sink.sink_id for message in harness.sent)
    return [message.content for message in harness.sent]


def test_batches_become_one_frame_with_the_streams_columns():
    written = []
    sink = SparkSink(written.append, sink_id="s1")
    kind = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.INT()])
    batches = send(sink, kind, [Row("a", 1), Row("b", 2)], [], [Row("c", None)])
    assert len(batches) == 2
    sink.write_epoch(FakeSpark(), batches, 4)
    (frame,) = written
    assert frame.to_pydict() == {"word": ["a", "b", "c"], "count": [1, 2, None]}
    assert str(frame.schema.field("count").type) == "int32"


def test_single_values_are_a_column_named_value():
    written = []
    sink = SparkSink(written.append)
    sink.write_epoch(FakeSpark(), send(sink, Types.LONG(), [1, 2]), 0)
    assert written[0].to_pydict() == {"value": [1, 2]}


def test_untyped_batches_agree_on_the_wider_type():
    written = []
    sink = SparkSink(written.append)
    sink.write_epoch(FakeSpark(), send(sink, None, [("a", 1)], [("b", 2.5)]), 0)
    assert written[0].to_pydict() == {"f0": ["a", "b"], "f1": [1.0, 2.5]}


def test_untyped_batches_that_disagree_are_an_error():
    sink = SparkSink(lambda frame: None)
    with pytest.raises(SinkError, match="give the stream a type"):
        sink.write_epoch(FakeSpark(), send(sink, None, [1], ["x"]), 0)


def test_a_function_of_two_arguments_gets_the_epoch():
    written = []
    sink = SparkSink(lambda frame, epoch: written.append((frame.num_rows, epoch)))
    sink.write_epoch(FakeSpark(), send(sink, Types.LONG(), [1]), 9)
    assert written == [(1, 9)]


def test_an_epoch_without_records_writes_nothing():
    sink = SparkSink(lambda frame: pytest.fail("was called"))
    sink.write_epoch(FakeSpark(), [], 1)


def test_the_users_function_stays_in_the_driver():
    lock = threading.Lock()  # cannot be pickled, like a Spark session
    sink = SparkSink(lambda frame: lock.acquire())
    copy = pickle.loads(pickle.dumps(sink))
    assert copy.sink_id == sink.sink_id
    assert len(send(copy, Types.LONG(), [1])) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "needs a function"),
        ({"format": "parquet", "path": "/x", "table": "t"}, "a path or a table"),
        ({"format": "parquet", "mode": "upsert"}, "upsert"),
    ],
)
def test_settings_that_leave_things_open_are_rejected(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        SparkSink(**settings)


class Frame:
    """Stands for a DataFrame whose rows Spark computes: it may be computed first, or while it is written."""

    def __init__(self, name="lazy"):
        self.name = name

    def localCheckpoint(self):
        return Frame("computed")


@pytest.mark.parametrize(
    ("form", "mode", "expected"),
    [
        ("parquet", "append", "lazy"),
        ("parquet", "ignore", "lazy"),
        # Spark deletes first what it overwrites.
        ("parquet", "overwrite", "computed"),
        # Each task has a transaction of its own.
        ("jdbc", "append", "computed"),
        ("delta", "overwrite", "lazy"),
    ],
)
def test_rows_are_computed_before_anything_is_touched_unless_a_write_is_all_or_nothing(
    form, mode, expected, monkeypatch
):
    written = []
    monkeypatch.setattr(SparkSink, "_write_frame", lambda sink, frame: written.append(frame.name))
    SparkSink(format=form, path="x", mode=mode, rows=lambda spark: Frame()).write_rows(FakeSpark())
    assert written == [expected]

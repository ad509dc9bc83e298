"""Sinks that users write in Python."""

from __future__ import annotations

import pickle

import pytest

from funke.engine.connectors.python_sink import FunctionSink, PythonSinkAdapter, PythonSinkWriter, UserSink
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError
from tests.unit.connectors.sink_harness import SinkHarness


class RecordingWriter(PythonSinkWriter):
    def __init__(self):
        self.calls = []
        self.buffer = []

    def open(self, context):
        self.calls.append(("open", context.get_index_of_this_subtask(), context.get_number_of_parallel_subtasks()))

    def write(self, value):
        self.buffer.append(value)

    def flush(self):
        self.calls.append("flush")

    def prepare_commit(self):
        prepared, self.buffer = self.buffer, []
        return [("transaction", prepared)]

    def snapshot(self):
        return list(self.buffer)

    def restore(self, state):
        self.calls.append(("restore", state))
        self.buffer = state

    def close(self):
        self.calls.append("close")


class TransactionalSink(UserSink):
    def __init__(self):
        self.writer = RecordingWriter()
        self.committed = []

    def create_writer(self):
        return self.writer

    def commit(self, committables):
        self.committed += committables


class PlainSink(UserSink):
    def create_writer(self):
        return RecordingWriter()


def test_a_writer_is_opened_written_flushed_and_closed():
    user_sink = TransactionalSink()
    sink = PythonSinkAdapter(user_sink)
    writer = sink.create_writer(SinkHarness().context(None, 1, 3))
    writer.write([1, 2], None)
    writer.flush(False)
    assert writer.snapshot() == [1, 2]
    prepared = writer.prepare_commit()
    writer.close()
    assert user_sink.writer.calls == [("open", 1, 3), "flush", "close"]
    sink.create_committer().commit(prepared)
    sink.create_committer().commit([])
    assert user_sink.committed == [("transaction", [1, 2])]


def test_state_is_restored_before_the_writer_is_opened():
    user_sink = TransactionalSink()
    PythonSinkAdapter(user_sink).create_writer(SinkHarness().context(), [7])
    assert user_sink.writer.calls == [("restore", [7]), ("open", 0, 1)]


def test_a_sink_without_commit_has_no_committer():
    assert PythonSinkAdapter(PlainSink()).create_committer() is None


def test_a_sink_must_make_writers():
    class Wrong(UserSink):
        def create_writer(self):
            return []

    with pytest.raises(ConfigurationError, match="PythonSinkWriter"):
        PythonSinkAdapter(Wrong()).create_writer(SinkHarness().context())


class Alerts:
    def __init__(self):
        self.seen = []

    def open(self, context):
        self.seen.append("open")

    def invoke(self, value, context):
        self.seen.append((value, context.timestamp(), context.current_processing_time()))

    def finish(self):
        self.seen.append("finish")

    def close(self):
        self.seen.append("close")


def test_an_object_with_invoke_is_a_sink():
    alerts, harness = Alerts(), SinkHarness(now_ms=100)
    writer = FunctionSink(alerts).create_writer(harness.context())
    writer.write(["a", "b"], [1, 2])
    writer.flush(False)
    writer.write(["c"], None)
    writer.flush(True)
    writer.close()
    assert alerts.seen == ["open", ("a", 1, 100), ("b", 2, 100), ("c", None, 100), "finish", "close"]


def test_invoke_may_take_the_value_alone_and_a_function_does():
    class Collector:
        def __init__(self):
            self.seen = []

        def invoke(self, value):
            self.seen.append(value)

    collector, plain = Collector(), []
    for sink in (FunctionSink(collector), FunctionSink(plain.append)):
        sink.create_writer(SinkHarness().context()).write([1, 2], [5, 6])
    assert collector.seen == plain == [1, 2]


def test_a_sink_has_no_watermark():
    class AsksForWatermark:
        def invoke(self, value, context):
            context.current_watermark()

    writer = FunctionSink(AsksForWatermark()).create_writer(SinkHarness().context())
    with pytest.raises(UnsupportedFeatureError, match="current_watermark"):
        writer.write([1], None)


def test_what_cannot_be_called_is_rejected():
    with pytest.raises(ConfigurationError, match="invoke"):
        FunctionSink(5)


def test_sinks_travel_to_slots():
    sink = pickle.loads(pickle.dumps(FunctionSink(Alerts())))
    sink.create_writer(SinkHarness().context()).write([1], None)
    assert sink.function.seen[1][0] == 1
